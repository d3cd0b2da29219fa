/// The state of the service: the inputs that it accepted, in their order, in one SQLite file. Whoever replays
/// them has the state again.
///
/// Appends are durable when they are acknowledged (WAL with `synchronous=FULL`). Those that come while a
/// commit waits for the disk share the next commit. A process that is killed loses nothing that was
/// acknowledged, and leaves no part of an input.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "tools/database/file_lock.hpp"
#include "tools/database/sqlite.hpp"

namespace vtrain::serve {

/// One accepted input.
struct Input {
  std::int64_t time_ns = 0;  ///< time of acceptance, nanoseconds since 1970
  std::string kind{};        ///< `job`, `cancel`, `node-down`, ...
  std::string tenant{};      ///< tenant that sent it; empty for none
  std::string key{};         ///< idempotency key, unique for a tenant; empty for none
  std::string body{};        ///< JSON
};

/// A state of the service after some inputs, so that a start need not replay all of them.
struct Snapshot {
  std::int64_t sequence = 0;  ///< last input in it
  std::string body{};         ///< JSON
};

/// A job that is over and that the simulation has forgotten.
struct PastJob {
  std::int64_t id = 0;   ///< number of the job
  std::string tenant{};  ///< its tenant
  std::string state{};   ///< how it ended
  std::string body{};    ///< JSON
};

/// Past jobs to look for.
struct PastQuery {
  std::int64_t below = 0;               ///< jobs with smaller numbers
  std::size_t limit = 0;                ///< at most so many, the newest
  std::optional<std::string> tenant{};  ///< of this tenant alone
  std::optional<std::string> state{};   ///< in this state alone
};

/// Counts of what a store did.
struct StoreFigures {
  std::int64_t inputs = 0;   ///< inputs that were appended
  std::int64_t commits = 0;  ///< commits that they shared
};

/// The open log of one service, which holds a lock on the file. Threads may share it.
class Store {
 public:
  /// Takes the sequence number of a durable input, or the error that prevented it. Called by the store's own
  /// thread; it must not block or throw.
  using Done = std::function<void(Result<std::int64_t>)>;

  /// Opens the file, or makes it. Upgrades files of earlier versions. Errors: another service uses the file;
  /// a file of another program, of a later version or with damage, which is left as it is.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& file);
  /// Waits until all inputs are durable.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Appends an input. Sequence numbers follow the order of the calls and begin at 1. An input whose tenant
  /// and key were appended before is not appended again: `done` gets the earlier number. After a failed
  /// commit every append fails, since later inputs may rest on the lost ones.
  void append(Input input, Done done);
  /// Appends an input and waits until it is durable.
  Result<std::int64_t> append(Input input);

  /// The sequence number of an input, appended or about to be, with this tenant and key.
  std::optional<std::int64_t> find(const std::string& tenant, const std::string& key) const;
  /// Number of the last input that is durable; 0 for none.
  std::int64_t last() const { return last_durable_; }
  /// False after a failed commit.
  bool is_healthy() const { return is_healthy_; }
  StoreFigures figures() const;

  /// Calls `visit(sequence, input)` for the durable inputs after `sequence`, in their order. The first error
  /// of `visit` ends it.
  Result<void> replay(std::int64_t sequence,
                      const std::function<Result<void>(std::int64_t, const Input&)>& visit) const;

  /// Number of the last input that was appended; 0 for none.
  std::int64_t last_appended() const;
  /// The input of a number, which is durable.
  Result<Input> input(std::int64_t sequence) const;

  /// Keeps a snapshot in place of the former one, and jobs that are over. Its inputs must be durable.
  Result<void> keep(const Snapshot& snapshot, std::span<const PastJob> past = {});
  /// Past jobs, the newest first.
  Result<std::vector<PastJob>> past(const PastQuery& query) const;
  /// The snapshot that was kept last; none without one.
  Result<std::optional<Snapshot>> snapshot() const;

 private:
  struct Waiting {
    std::int64_t sequence = 0;
    Input input;
    Done done;
    bool is_known = false;  ///< an earlier input has its key: there is nothing to write
  };

  Store(std::filesystem::path file, FileLock lock, Database database);
  Result<void> load();
  void work();
  Result<void> commit(const std::vector<Waiting>& batch);

  std::filesystem::path file_;
  FileLock lock_;
  Database database_;  ///< connection of the thread, which alone uses it once it runs
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::vector<Waiting> queue_;                                        ///< guarded by `mutex_`
  std::map<std::pair<std::string, std::string>, std::int64_t> keys_;  ///< guarded by `mutex_`
  std::int64_t next_ = 1;                                             ///< guarded by `mutex_`
  bool is_closing_ = false;                                           ///< guarded by `mutex_`
  std::atomic<std::int64_t> last_durable_ = 0;
  std::atomic<std::int64_t> num_appended_ = 0;
  std::atomic<std::int64_t> num_commits_ = 0;
  std::atomic<bool> is_healthy_ = true;
  std::thread thread_;
};

/// Copies the state of a service, which may be running, to a new file. Errors: no such state; `copy` exists.
Result<void> back_up(const std::filesystem::path& file, const std::filesystem::path& copy);

}  // namespace vtrain::serve
