/// Measured times of collectives within a node or NVLink domain, and the volume that a ring moves.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/kernels/evidence.hpp"

namespace vtrain {

/// Kind of collective: a joint operation of a group of GPUs on a tensor.
enum class Collective : std::uint8_t {
  AllReduce,      ///< gives each GPU the sum of all tensors
  ReduceScatter,  ///< gives each GPU its part of the sum
  AllGather,      ///< gives each GPU the parts of all
  AllToAll        ///< gives each GPU a different part of each other GPU's tensor
};

/// All collectives, in the order of their values.
inline constexpr std::array kCollectives = {Collective::AllReduce, Collective::ReduceScatter,
                                            Collective::AllGather, Collective::AllToAll};

/// Largest number of GPUs of one group in tables and recordings.
inline constexpr std::int64_t kMostCollectiveGpus = 1 << 20;

/// `all_reduce`, `reduce_scatter`, `all_gather`, `all_to_all`.
std::string_view name_of(Collective collective);

/// Amount that each of `num_gpus` GPUs sends, as a part of the whole tensor: 2 (n - 1) / n for an all-reduce,
/// (n - 1) / n for the others (nccl-tests, PERFORMANCE.md).
double collective_volume(Collective collective, std::int64_t num_gpus);
/// Number of sequential messages in a ring: 2 (n - 1) for an all-reduce, n - 1 for the others.
double collective_steps(Collective collective, std::int64_t num_gpus);

/// Times of one collective in a group of one size, by the bytes of the whole tensor.
class MessageTable {
 public:
  /// The time of one size.
  struct Entry {
    double bytes = 0;        ///< size of the whole tensor
    double nanoseconds = 0;  ///< time of one call
  };

  /// Takes the entries; `std::logic_error` if there is none or the sizes do not rise.
  explicit MessageTable(std::vector<Entry> entries);

  /// Time of a size, linear between two sizes. Below the table it is the first time (latency dominates).
  /// Above it, the last time is scaled with the size (bandwidth dominates).
  KernelTime at(Bytes size) const;
  /// The table over links of `factor` times the bandwidth. Times without the latency are divided by `factor`.
  /// The latency is the time of 0 bytes on the line through the first two sizes.
  MessageTable scaled_to_bandwidth(double factor) const;
  /// Entries by rising size.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// Tables by collective and number of GPUs.
class CollectiveTables {
 public:
  /// Adds a table, or replaces an existing one.
  void set(Collective collective, std::int64_t num_gpus, MessageTable table);
  /// The tables of a collective by number of GPUs.
  const std::map<std::int64_t, MessageTable>& of(Collective collective) const {
    return tables_[static_cast<std::size_t>(collective)];
  }
  /// Time in a group of `num_gpus` >= 2. A group without a table uses the table of the largest smaller group,
  /// for a message with equal traffic per GPU. None if there is no smaller one either.
  std::optional<KernelTime> at(Collective collective, std::int64_t num_gpus, Bytes size) const;
  /// All tables over links of `factor` times the bandwidth.
  CollectiveTables scaled_to_bandwidth(double factor) const;

 private:
  std::array<std::map<std::int64_t, MessageTable>, kCollectives.size()> tables_;
};

}  // namespace vtrain
