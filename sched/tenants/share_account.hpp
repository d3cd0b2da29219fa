/// GPUs that tenants hold, wait for and are due, by pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/tenants/share_division.hpp"
#include "sched/tenants/share_tree.hpp"

namespace vtrain {

/// Keeps the demand of the leaves of a tree and divides the GPUs of each pool when asked. Demand of a leaf in
/// a pool is what its jobs hold there, and what its waiting jobs ask for. A waiting job that may use the
/// types of several pools counts in each with a part, see `SharePools::part`.
class ShareAccount {
 public:
  /// Begins without jobs. `tree` and `pools` outlive this.
  ShareAccount(const ShareTree& tree, const SharePools& pools);

  /// Adds GPUs that jobs of a leaf wait for, on any of these types; a negative number removes them. `kind` is
  /// a number for the set of types.
  void add_waiting(std::uint32_t leaf, std::size_t kind, std::span<const std::uint32_t> types,
                   std::int64_t gpus);
  /// Adds GPUs that jobs of a leaf hold in a pool; a negative number removes them.
  void add_held(std::uint32_t leaf, std::size_t pool, std::int64_t gpus);
  /// Sets the GPUs in service of a pool.
  void set_capacity(std::size_t pool, std::int64_t gpus);

  /// Tree over which GPUs are divided.
  const ShareTree& tree() const { return *tree_; }
  /// GPUs in use in a pool.
  const ShareUse& use(std::size_t pool) const { return pools_[pool].use; }
  /// Shares due in a pool with the present demand. Divides anew if that has changed: a job that waited and
  /// now holds its GPUs in the only pool that it may use changes nothing. O(leaves that changed) without a
  /// division.
  const ShareDivision& shares(std::size_t pool);

 private:
  /// One pool.
  struct Pool {
    ShareUse use;
    ShareDivision division;
    std::int64_t capacity = 0;
    std::vector<double> demand{};          ///< [nodes], as of the last call of `shares`
    std::vector<std::uint32_t> changed{};  ///< leaves whose demand may have changed since then, each once
    std::vector<bool> has_changed{};       ///< [nodes], true if listed there
    bool is_current = false;               ///< the division is of this demand and capacity

    void note_change(std::uint32_t leaf);
  };

  double demand_of(std::uint32_t leaf, std::size_t pool) const;

  const ShareTree* tree_;
  const SharePools* shared_;
  std::vector<Pool> pools_;
  std::vector<std::vector<double>> parts_;          ///< [kinds][pools]; empty for kinds without jobs
  std::vector<std::vector<std::int64_t>> waiting_;  ///< [kinds][nodes]
};

}  // namespace vtrain
