/// One object of a dump as named texts, whatever the format of the dump.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// Named values of one job, node, partition or reservation. Names are those of the dump: `JobId` of
/// `scontrol`, `JOBID` of `squeue`, `job_id` of JSON, `time/limit` for a value within an object of JSON.
class LiveRecord {
 public:
  LiveRecord(std::string file, std::int64_t line) : file_(std::move(file)), line_(line) {}

  /// Adds a value. Words for none, such as `(null)` and `N/A`, become empty.
  void add(std::string_view name, std::string value);
  /// The first value under one of the names that is not empty; empty without one. Of several values under one
  /// name, whole numbers come first: squeue has columns that repeat a name.
  std::string_view operator[](std::initializer_list<std::string_view> names) const;
  /// True if it has a value, if only a word for none, under one of the names.
  bool has(std::initializer_list<std::string_view> names) const;
  /// An error at the value under one of the names.
  Error error_at(std::initializer_list<std::string_view> names, std::string message) const;

 private:
  std::string file_;
  std::int64_t line_;
  std::vector<std::pair<std::string, std::string>> values_;
};

/// Records of one kind in a dump.
enum class LiveKind : std::uint8_t {
  Jobs,
  Nodes,
  Partitions,
  Reservations,
  NodeRows,    ///< rows of sinfo: nodes of one state in one partition
  Priorities,  ///< rows of sprio
};
struct LiveRecords {
  LiveKind kind{};
  std::vector<LiveRecord> records{};
};

}  // namespace vtrain
