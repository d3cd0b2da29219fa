/// The order in which the heads of one cycle are processed.
///
/// Rules: Kueue, commit ff69552.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "policies/tenants/kueue/cache.hpp"

namespace vtrain::kueue {

/// What the classic order looks at.
struct EntryKey {
  std::int32_t borrowing_level = 0;
  std::int64_t priority = 0;
  Instant queue_time = 0;
  bool awaits_preemptions = false;  ///< its preemptions are under way
};
/// Classic order: lower borrowing level, higher priority, earlier queue time.
bool comes_first(const EntryKey& a, const EntryKey& b, const Gates& gates);

/// One entry of the tournament of fair sharing.
struct Contender {
  QueueId queue = 0;
  std::int64_t priority = 0;
  Instant queue_time = 0;
  bool awaits_preemptions = false;
  const Usage* usage = nullptr;  ///< its demand; never null
};

/// The tournament: picks the next entry by the shares at each cohort, as usage grows.
class Tournament {
 public:
  /// Contenders by number. The cache, and their usage, must live on.
  Tournament(Cache& cache, std::vector<Contender> contenders);

  /// Number of the next contender; none if all have been picked.
  std::optional<std::size_t> next();
  /// Takes in that the usage of a contender's queue has changed since it was picked.
  void usage_changed(std::size_t contender);

 private:
  /// A node above a contender, with the contender's demand put in.
  struct Level {
    NodeId node = kNoNode;
    DominantShare share{};
    bool borrows_requested = false;  ///< the node borrows what the contender requests
  };
  /// Contenders of one tree that are left.
  struct Tree {
    NodeId root = kNoNode;
    std::vector<std::size_t> left{};
  };

  void find_levels(std::size_t contender);
  /// The best contender below a cohort, by its shares there. `left` are those below it.
  std::size_t best_below(const std::vector<std::size_t>& left, std::size_t depth) const;
  bool is_better(std::size_t a, std::size_t b, std::size_t depth) const;
  /// The level of a contender at a depth: 1 is a child of the root.
  const Level& at_depth(std::size_t contender, std::size_t depth) const;

  Cache& cache_;
  std::vector<Contender> contenders_;
  std::vector<std::vector<Level>> levels_;  ///< by contender, from its queue up to the child of the root
  std::vector<Tree> trees_;
  std::size_t next_tree_ = 0;
};

}  // namespace vtrain::kueue
