/// Jobs in order of priority, with a search for the next one that fits.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Key by which a list policy orders jobs, lower first. The members are compared in turn.
struct PriorityKey {
  std::int64_t primary = 0;
  std::int64_t secondary = 0;
  std::int64_t tertiary = 0;

  friend auto operator<=>(const PriorityKey&, const PriorityKey&) = default;
};

/// A live job in the list of a policy. No two have equal key and stamp.
struct ListedJob {
  PriorityKey key;
  std::int64_t stamp = 0;  ///< orders jobs of equal keys, as a stable sort would
  JobId job;
  GpuCount num_gpus;
  std::uint32_t kind = 0;  ///< GPUs that it may use, see `GpuPool`

  /// Order in the list.
  friend bool operator<(const ListedJob& a, const ListedJob& b) {
    const auto order = a.key <=> b.key;
    return order != 0 ? order < 0 : a.stamp < b.stamp;
  }
};

/// Listed jobs in order, kept in blocks that each know their smallest gang of every kind. So a walk skips
/// jobs that do not fit.
class OrderedJobs {
 public:
  /// Makes an empty list for jobs of kinds below `num_kinds`.
  explicit OrderedJobs(std::size_t num_kinds = 1) : num_kinds_(num_kinds) {}

  /// A place in the list. Valid until the next `insert` or `erase`.
  struct Position {
    std::size_t block = 0;
    std::size_t index = 0;
  };

  /// O(sqrt n) in practice: one block moves.
  void insert(const ListedJob& job);
  /// Removes a job that is in the list.
  void erase(const ListedJob& job);
  /// A set of numbers of GPUs below 63, a bit each.
  using Sizes = std::uint64_t;
  static Sizes size(GpuCount num_gpus) { return num_gpus < kLarge ? Sizes{1} << num_gpus.value : 0; }
  /// The first job at or after `from` that needs at most `max_gpus[kind]` and none of the sizes in `without`,
  /// if any.
  std::optional<Position> first_fitting(Position from, std::span<const GpuCount> max_gpus,
                                        Sizes without = 0) const;
  /// The first fitting job in a list with one kind of jobs.
  std::optional<Position> first_fitting(Position from, GpuCount max_gpus) const {
    return first_fitting(from, {&max_gpus, 1});
  }
  const ListedJob& at(Position position) const { return blocks_[position.block][position.index]; }
  bool empty() const { return blocks_.empty(); }

 private:
  using Block = std::vector<ListedJob>;
  static constexpr std::size_t kMaxBlock = 128;
  static constexpr GpuCount kLarge{63};  ///< sizes from here on share the last bit

  static Sizes size_in_block(GpuCount num_gpus) { return Sizes{1} << std::min(num_gpus, kLarge).value; }

  std::size_t block_of(const ListedJob& job) const;
  void add_block(std::size_t at, Block block);
  void erase_block(std::size_t at);
  /// The smallest gangs of a block, by kind.
  std::span<GpuCount> smallest(std::size_t block) {
    return std::span(smallest_gang_).subspan(block * num_kinds_, num_kinds_);
  }
  void update_smallest(std::size_t block);
  bool may_fit(std::size_t block, std::span<const GpuCount> max_gpus) const;

  std::size_t num_kinds_;
  std::vector<Block> blocks_;            ///< none is empty
  std::vector<Sizes> sizes_;             ///< [blocks], sizes present in the block
  std::vector<GpuCount> smallest_gang_;  ///< [blocks][kinds]; if there is none, a number larger than any
};

}  // namespace vtrain
