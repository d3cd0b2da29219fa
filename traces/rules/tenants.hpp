/// Replaces the tenants of jobs, or adds tenants if the trace has none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Largest number of tenants that are drawn, or kept in a shape.
inline constexpr std::int32_t kMostTenants = 10'000;

/// Rule for the tenants of jobs.
struct TenantRule {
  enum class Kind : std::uint8_t {
    Trace,      ///< tenants of the trace
    Clusters,   ///< one tenant for each file, which is a cluster; set by `join_traces`
    Users,      ///< one tenant for each user
    Synthetic,  ///< `count` tenants, drawn at random
  };
  Kind kind = Kind::Trace;
  std::int32_t count = 0;  ///< number of tenants for `Synthetic`

  /// Reads `trace`, `clusters`, `users`, or a number from 1 to `kMostTenants`.
  static Result<TenantRule> parse(std::string_view text);
};

/// Applies the rule to all jobs. Returns a sentence on the change, empty for `Trace`. `Users` is an error if
/// no job has a user; otherwise, jobs without a user get no tenant.
Result<std::string> set_tenants(Workload& workload, const TenantRule& rule, std::uint64_t seed);

/// Adds tenants `tenant-1`, `tenant-2`, ..., with as many digits as the last one needs.
std::vector<TenantId> add_tenants(Workload& workload, std::size_t count);

/// Draws every job's tenant from `tenant-1`, `tenant-2`, ..., in proportion to the weights.
void draw_tenants(Workload& workload, std::span<const double> weights, std::uint64_t seed);

/// The weights of `count` tenants: the i-th is proportional to i^-1.77, as in Philly.
std::vector<double> unequal_tenants(std::int32_t count);

}  // namespace vtrain
