/// Time of collectives: measured all-reduce tables and the formulas of the public vTrain release.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// One measured all-reduce (nccl-tests, in place).
struct AllReduceEntry {
  std::int64_t mebibytes = 0;  ///< message size of each GPU, rounded down to whole MiB
  Nanoseconds time{0};         ///< time of one all-reduce
  double bus_bandwidth = 0;    ///< GB/s as nccl-tests defines it: size / time * 2 (n - 1) / n
};

/// All-reduce times of one number of GPUs within a node, by message size.
class AllReduceTable {
 public:
  /// Reads a file `AR_GPU{n}_1M_1024M_LUT` of the public vTrain release: a header, then rows of increasing
  /// size. The first column is the size in bytes; the last two are time (ns) and bus bandwidth (GB/s) in
  /// place. A row of 1024 MiB is required.
  static Result<AllReduceTable> parse(std::string_view text, const std::string& file);
  /// Makes a table of rows. They must be ordered by size and include 1024 MiB; `std::logic_error` otherwise.
  static AllReduceTable from_entries(std::vector<AllReduceEntry> entries);
  /// Reads a table from a file, gzip or not.
  static Result<AllReduceTable> read(const std::filesystem::path& path);

  /// The rows, by increasing size.
  std::span<const AllReduceEntry> entries() const { return entries_; }
  /// The row of exactly this size, or null.
  const AllReduceEntry* find(std::int64_t mebibytes) const;
  /// The row of 1024 MiB.
  const AllReduceEntry& gibibyte() const { return entries_[gibibyte_]; }

 private:
  std::vector<AllReduceEntry> entries_;
  std::size_t gibibyte_ = 0;  ///< position of the row of 1024 MiB
};

/// All-reduce tables by number of GPUs.
using AllReduceTables = std::map<std::int64_t, AllReduceTable>;

/// Numbers of GPUs for which the public vTrain release has tables.
inline constexpr std::int64_t kMinTableGpus = 2;
inline constexpr std::int64_t kMaxTableGpus = 8;

/// The file of a table: `{folder}/AR_GPU{num_gpus}_1M_1024M_LUT`.
std::filesystem::path all_reduce_table_path(const std::filesystem::path& folder, std::int64_t num_gpus);

/// The formulas of the public vTrain release, with its units and its order of operations, so that results
/// agree to the last bit. "GB/s" and "Gbit/s" count in 2^30. Source: measured behaviour of the release, MIT
/// licence.
namespace vtrain_release {

/// Time of sending `activations` bytes to the neighbouring stage: twice the message over a quarter of the
/// node's bandwidth (Gbit/s), without latency.
Nanoseconds send_time(Bytes activations, double inter_node_gbits);

/// Time of an all-reduce without a table (1 GPU, or more than 8): 2 (n - 1) / n of the message at
/// `intra_node_gbytes` (GB/s).
Nanoseconds ring_time(Bytes size, std::int64_t num_gpus, double intra_node_gbytes);

/// Time of an all-reduce between nodes: 2 (n - 1) / n of the message at the bandwidth of a whole node
/// (Gbit/s).
Nanoseconds inter_node_ring_time(Bytes size, std::int64_t num_gpus, double inter_node_gbits);

/// Time of an all-reduce with a table, and whether the table has its size.
struct TableTime {
  Nanoseconds time{0};
  bool in_table = false;
};

/// The table's time for the size rounded to whole MiB (half to even). For a size that the table lacks (0 or
/// more than 1024 MiB): size / bus bandwidth at 1024 MiB. The factor 2 (n - 1) / n is missing.
TableTime table_time(const AllReduceTable& table, Bytes size);

}  // namespace vtrain_release
}  // namespace vtrain
