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

/// What a group of GPUs does with a tensor together.
enum class Collective : std::uint8_t { AllReduce, ReduceScatter, AllGather, AllToAll };

/// All of them, in the order of their values.
inline constexpr std::array kCollectives = {Collective::AllReduce, Collective::ReduceScatter,
                                            Collective::AllGather, Collective::AllToAll};

/// The most GPUs of one group in tables and recordings.
inline constexpr std::int64_t kMostCollectiveGpus = 1 << 20;

/// `all_reduce`, `reduce_scatter`, `all_gather`, `all_to_all`.
std::string_view name_of(Collective collective);

/// What each of `num_gpus` GPUs sends, as a part of the whole tensor: 2 (n - 1) / n for an all-reduce,
/// (n - 1) / n for the others (nccl-tests, PERFORMANCE.md).
double collective_volume(Collective collective, std::int64_t num_gpus);
/// Messages one after another in a ring: 2 (n - 1) for an all-reduce, n - 1 for the others.
double collective_steps(Collective collective, std::int64_t num_gpus);

/// Times of one collective in a group of one size, by the bytes of the whole tensor.
class MessageTable {
 public:
  /// The time of one size.
  struct Entry {
    double bytes = 0;
    double nanoseconds = 0;
  };

  /// `std::logic_error` if there is no entry or the sizes do not rise.
  explicit MessageTable(std::vector<Entry> entries);

  /// Linear between two sizes, the first time below the table (there latency rules), and the last time scaled
  /// with the size above it (there bandwidth rules).
  KernelTime at(Bytes size) const;
  /// The same over links of `factor` times the bandwidth, by which all is divided but the latency: the time
  /// of no bytes on the line through the first two sizes.
  MessageTable over_links(double factor) const;
  /// By rising size.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// Tables by collective and number of GPUs.
class CollectiveTables {
 public:
  /// Adds a table, or replaces the one there is.
  void set(Collective collective, std::int64_t num_gpus, MessageTable table);
  /// The tables of a collective by number of GPUs.
  const std::map<std::int64_t, MessageTable>& of(Collective collective) const {
    return tables_[static_cast<std::size_t>(collective)];
  }
  /// Time in a group of `num_gpus` >= 2. Without a table of its own the group takes that of the largest
  /// smaller one, for a message that makes each GPU send as much. Nothing if there is no smaller one either.
  std::optional<KernelTime> at(Collective collective, std::int64_t num_gpus, Bytes size) const;
  /// All tables over links of `factor` times the bandwidth.
  CollectiveTables over_links(double factor) const;

 private:
  std::array<std::map<std::int64_t, MessageTable>, kCollectives.size()> tables_;
};

}  // namespace vtrain
