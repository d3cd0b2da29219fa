/// The kernel table of SCHEMA.md: in memory, as text, and on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/attribution.hpp"
#include "profiler/bus_bandwidth.hpp"
#include "profiler/operator.hpp"

namespace vtrain::profiler {

/// The GPU of a table.
struct DeviceFacts {
  std::string name;
  std::string compute_capability;  ///< `9.0`
  std::int64_t multiprocessors = 0;
  std::int64_t clock_hz = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t memory_bytes_per_second = 0;
  std::int64_t l2_bytes = 0;

  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

/// Versions of driver and libraries; none for absent ones.
struct SoftwareFacts {
  std::optional<std::string> driver;
  std::int64_t cuda_driver = 0;
  std::int64_t cuda_runtime = 0;
  std::int64_t cublaslt = 0;
  std::optional<std::int64_t> cudnn;
  std::optional<std::int64_t> nccl;
  std::int64_t cupti = 0;

  friend bool operator==(const SoftwareFacts&, const SoftwareFacts&) = default;
};

/// One recording: its times, and the state of the GPU.
struct Session {
  std::string started;  ///< UTC, `2026-11-21T10:00:00Z`
  std::string ended;
  std::optional<Spread> sm_clock_hz;
  std::optional<Spread> memory_clock_hz;
  std::optional<Spread> temperature_c;
  std::optional<Spread> power_w;
  std::optional<double> throttled;  ///< throttled part of the samples, 0 to 1
  std::uint64_t dropped_records = 0;
};

/// A measured operator. The description is kept unchanged: a recording adds rows and changes none.
struct OperatorRow {
  std::string key;
  std::string description;  ///< the row's members from `operator` to `bytes`, as JSON
  std::size_t session = 0;
  Measurement warm;
  Measurement cold;
};

/// A measured collective.
struct CollectiveRow {
  std::string key;
  Collective collective = Collective::AllReduce;
  std::int64_t num_gpus = 2;
  std::int64_t num_nodes = 1;
  std::int64_t bytes = 1;
  std::size_t session = 0;
  std::size_t repetitions = 0;
  Spread time_ns;
};

/// An operator or collective that could not be measured, with the reason.
struct SkippedRow {
  std::string key;
  std::string reason;
};

/// `all_reduce gpus=8 nodes=1 bytes=16777216`.
std::string collective_key(Collective collective, std::int64_t num_gpus, std::int64_t num_nodes,
                           std::int64_t bytes);

/// A table that only grows.
class KernelTable {
 public:
  KernelTable(std::string made_by, DeviceFacts device, SoftwareFacts software)
      : made_by_(std::move(made_by)), device_(std::move(device)), software_(std::move(software)) {}

  /// Reads the text of a table; `InputError` names the place of a fault.
  static KernelTable parse(std::string_view text);
  /// The table as JSON, one element of a list per line, ended by a newline. Reading and writing it gives the
  /// same bytes.
  std::string to_json() const;

  const DeviceFacts& device() const { return device_; }
  const SoftwareFacts& software() const { return software_; }
  const std::vector<OperatorRow>& operators() const { return operators_; }
  const std::vector<CollectiveRow>& collectives() const { return collectives_; }
  const std::vector<SkippedRow>& skipped() const { return skipped_; }
  const std::vector<Session>& sessions() const { return sessions_; }
  /// True if an operator or a collective of that key was measured.
  bool contains(const std::string& key) const { return positions_.count(key) > 0; }
  /// The row of an operator, or null.
  const OperatorRow* find(const std::string& key) const;

  /// Begins a recording; later rows belong to it. Skipped rows are removed, so that they are tried again.
  void begin_session(Session session);
  /// The latest recording; `std::logic_error` without one.
  Session& session();
  /// Adds a row. `std::logic_error` for a measured row without a session, or with an existing key.
  void add(const Operator& op, Measurement warm, Measurement cold);
  void add(CollectiveRow row);
  void add(SkippedRow row);

 private:
  void parse_rows(const class JsonValue& document);
  /// Stores the position of a new key; `std::logic_error` if the key exists.
  void claim(const std::string& key, std::size_t position);

  std::string made_by_;
  DeviceFacts device_;
  SoftwareFacts software_;
  std::vector<Session> sessions_;
  std::vector<OperatorRow> operators_;
  std::vector<CollectiveRow> collectives_;
  std::vector<SkippedRow> skipped_;
  std::map<std::string, std::size_t> positions_;  ///< positions of keys, each in its own list
};

/// The table in a file, or an empty one if there is no file. `InputError` for a file of another device or
/// other libraries, with the first difference.
KernelTable open_table(const std::filesystem::path& file, const std::string& made_by,
                       const DeviceFacts& device, const SoftwareFacts& software);

/// Replaces a file as a whole: writes a temporary file next to it and renames that. Missing folders are made.
/// `std::runtime_error` on failure; then the old file is unchanged.
void write_whole(const std::filesystem::path& file, std::string_view text);

/// The content of a file; `std::runtime_error` if it cannot be read.
std::string read_whole(const std::filesystem::path& file);

}  // namespace vtrain::profiler
