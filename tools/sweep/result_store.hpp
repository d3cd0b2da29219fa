/// The results of a sweep in one SQLite file. docs/sweep.md describes its tables.
///
/// A file is written by one process, which holds a lock (`file_lock.hpp`). Others may read meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/database/sqlite.hpp"
#include "tools/sweep/grid.hpp"

namespace vtrain {

/// Message of a file that another sweep writes.
inline constexpr std::string_view kResultsInUse =
    "another sweep is writing to this file: wait for it, or name another one with --out";

/// `PRAGMA application_id` of a sweep's results: the letters `vtrn`.
inline constexpr std::int64_t kResultsApplication = 0x7674726e;
/// `PRAGMA user_version`: the version of the tables.
inline constexpr std::int64_t kResultsVersion = 1;

/// Part of a sweep: its scenarios whose number leaves `index - 1` when divided by `count`.
struct Shard {
  std::int64_t index = 1;  ///< from 1 to `count`
  std::int64_t count = 1;  ///< 1: the whole sweep

  /// Reads `2/8`. The error names `--shard`.
  static Result<Shard> parse(std::string_view text);
  /// True if a scenario is in this part.
  bool holds(std::int64_t scenario) const { return scenario % count == index - 1; }
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// Subject of a file of results.
struct StoredSweep {
  std::string spec{};     ///< `Grid::text`
  std::string program{};  ///< version of vtrain
  Shard shard{};
};

/// A run that is finished.
struct FinishedRun {
  std::int64_t run = 0;           ///< number in the grid
  std::vector<double> metrics{};  ///< values of `metric_columns`
  std::string error{};            ///< message of a run that failed; empty: it has metrics
};

/// Opens the results of a sweep to read them. Errors: no such file, another kind of file, another version.
Result<Database> open_results(const std::filesystem::path& file);
/// Subject of an open file of results.
Result<StoredSweep> read_stored_sweep(const Database& results);

/// Error if an open file has the results of something else; it says the difference.
Result<void> check_stored_sweep(const Database& results, const StoredSweep& wanted);
/// True for each run, by its number, that a file has, failed ones too. One longer than the grid.
Result<std::vector<bool>> finished_runs(const Database& results, const Grid& grid);

/// A file of results that is open for more runs. For one thread.
class ResultStore {
 public:
  /// Opens the results of a sweep to go on, or begins a new file. `replace` removes one that exists. Errors:
  /// a file of another kind or version; results of another spec, program or shard, which says the difference;
  /// another process that writes to it. `grid` must outlive the store.
  static Result<ResultStore> open(const std::filesystem::path& file, const Grid& grid,
                                  const StoredSweep& sweep, bool replace);
  ResultStore(ResultStore&&) noexcept;
  ResultStore& operator=(ResultStore&&) = delete;
  /// Closes the file; what has not been committed is lost.
  ~ResultStore();

  /// Runs that the file has (`finished_runs`).
  Result<std::vector<bool>> finished() const;
  /// Number of runs that failed.
  Result<std::int64_t> num_errors() const;
  /// Forgets the runs that failed, so that they are run again.
  Result<void> drop_errors();

  /// Remembers the hash of a file that runs have read. Error if it has another hash than before.
  Result<void> add_input(const SpecFile& input);
  /// Adds a run. It is in the file after `commit`.
  Result<void> add(const FinishedRun& run);
  /// Adds the runs of another file of the same spec, and its inputs. Error: a run that both have with
  /// different results. Commits.
  Result<void> add_all_of(const std::filesystem::path& file);
  /// Writes what was added to the disk.
  Result<void> commit();
  /// Commits, and moves everything to the one file.
  Result<void> close();

 private:
  struct State;
  explicit ResultStore(std::unique_ptr<State> state);
  Result<void> begin();

  std::unique_ptr<State> state_;
};

}  // namespace vtrain
