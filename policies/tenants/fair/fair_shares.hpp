/// The shares of tenants, as `FairPolicy` asks for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Knows what tenants hold and what is due to them, by pool of GPUs. Tenants are numbered as leaves, in an
/// order that does not depend on that of any file. A job counts with all its GPUs.
class FairShares {
 public:
  virtual ~FairShares() = default;

  /// Begins without jobs. `types` are those that jobs of each kind may use, by number of GPU type.
  virtual void begin(const SchedulingPass& view, std::span<const std::span<const std::uint32_t>> types) = 0;
  /// Number of leaves, and of pools.
  virtual std::size_t num_leaves() const = 0;
  virtual std::size_t num_pools() const = 0;
  /// Pool of a GPU type.
  virtual std::size_t pool_of(std::uint32_t type) const = 0;
  /// Leaf of a job.
  virtual std::uint32_t leaf_of(const Job& job) const = 0;
  /// Sets the GPUs in service of a pool.
  virtual void set_capacity(std::size_t pool, std::int64_t gpus) = 0;

  /// A job begins to wait (1), or waits no longer (-1).
  virtual void add_waiting(const SchedulingPass& pass, JobId job, std::size_t kind, int times) = 0;
  /// A job gets GPUs of a pool (1), or loses them (-1).
  virtual void add_held(const SchedulingPass& pass, JobId job, std::size_t pool, int times) = 0;

  /// What a leaf holds / what is due to it. Infinite if nothing is due.
  virtual double ratio(std::uint32_t leaf, std::size_t pool) = 0;
  /// Most GPUs that the jobs of a leaf may get beyond those that they hold.
  virtual std::int64_t room(std::uint32_t leaf, std::size_t pool) const = 0;
  /// True if limits of its own branch of the tree hold a waiting job back, whatever GPUs are free.
  virtual bool is_limited(const SchedulingPass& pass, JobId job, std::size_t pool) const = 0;
  /// True if a waiting job may get its GPUs now, as far as limits and other resources go.
  virtual bool allows(const SchedulingPass& pass, JobId job, std::size_t pool) const = 0;
  /// True if a job would be allowed while no other holds anything.
  virtual bool ever_allows(const SchedulingPass& pass, JobId job, std::size_t pool) const = 0;
  /// True if a leaf that is below its share may take the GPUs of a running job of another leaf.
  virtual bool may_take(const SchedulingPass& pass, std::uint32_t taker, JobId victim, std::size_t pool) = 0;
};

}  // namespace vtrain
