/// Number of free GPUs as a step function of time, for policies that plan with counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

/// Counts from now on without an end. Changes of the count are kept in time order in blocks. A tree over the
/// blocks has their sums and their least and largest partial sums. An operation on n changes is O(log n),
/// plus the work on one block. Counts are negative if more is taken than exists.
class CountTimeline {
 public:
  /// Begins with a constant count from `now` on.
  CountTimeline(SimTime now, std::int64_t count);

  /// Forgets the time before `now`, which never goes back.
  void advance(SimTime now);
  /// Adds `count`, which may be negative, in `[begin, end)`; `SimTime::max()` means no end. An earlier time
  /// counts as now.
  void add(SimTime begin, SimTime end, std::int64_t count);

  /// The count now.
  std::int64_t count_now() const { return count_; }
  /// The count at a time that is not before now.
  std::int64_t count_at(SimTime time) const { return cursor_at(time).count; }
  /// The least count in `[begin, end)`, which is not empty and begins no earlier than now.
  std::int64_t least(SimTime begin, SimTime end) const;
  /// The first time after `time` at which the count changes.
  std::optional<SimTime> next_change(SimTime time) const;

  /// Limits of a search.
  struct Window {
    SimTime from{};                   ///< earliest begin, not before now
    SimTime before = SimTime::max();  ///< the begin must lie before this time
    /// A stretch that reaches this time is long enough at any length.
    SimTime enough = SimTime::max();
  };
  /// The first time in the window from which the count is at least `count` for `length`.
  std::optional<SimTime> earliest(std::int64_t count, SimDuration length, const Window& window) const;

 private:
  struct Change {
    SimTime time{};
    std::int64_t by = 0;
  };
  /// The sum of a block's or subtree's changes, and the extremes of its partial sums.
  struct Sums {
    std::int64_t all = 0;
    std::int64_t least = kNone;
    std::int64_t most = -kNone;

    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max() / 4;
    void append(const Sums& later) {
      least = std::min(least, all + later.least);
      most = std::max(most, all + later.most);
      all += later.all;
    }
  };
  /// A change and the count after it. The index -1 is before the first change of the block.
  struct Cursor {
    std::size_t block = 0;
    std::ptrdiff_t index = -1;
    SimTime time{};
    std::int64_t count = 0;
  };
  static constexpr std::size_t kMaxBlock = 256;

  std::size_t block_of(SimTime time) const;
  void change(SimTime time, std::int64_t by);
  /// Splits a full block.
  void split(std::size_t block);
  void update(std::size_t block);
  void drop_past_blocks();
  void build_tree();
  static Sums sums_of(const std::vector<Change>& changes, std::size_t from);
  std::int64_t sum_before(std::size_t block) const;
  /// The last change not after `time`.
  Cursor cursor_at(SimTime time) const;
  /// Moves to the first later change from which the count is below `count` (`kBelow`), or is not; false if
  /// there is none.
  template <bool kBelow>
  bool move_to(Cursor& cursor, std::int64_t count) const;

  SimTime now_;
  std::int64_t count_;                       ///< count now
  std::vector<std::vector<Change>> blocks_;  ///< [blocks], by time; those at the front may be empty
  std::vector<SimTime> begins_;              ///< [blocks], lower bound of the times of its changes
  std::vector<Sums> sums_;                   ///< [blocks]
  std::size_t passed_ = 0;                   ///< changes of the first block in the past
  std::size_t first_ = 0;                    ///< first block in use
  std::size_t num_leaves_ = 1;               ///< a power of two, at least the number of blocks
  std::vector<Sums> tree_;                   ///< [2 * leaves]: node i has children 2i and 2i + 1
};

}  // namespace vtrain
