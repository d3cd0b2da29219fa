/// Says whose share of the cluster each job uses, where the trace does not, or differently.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// More tenants than this are neither drawn nor kept in a shape.
inline constexpr std::int32_t kMostTenants = 10'000;

/// Who the tenants are.
struct TenantRule {
  enum class Kind : std::uint8_t {
    Trace,      ///< as the trace says
    Clusters,   ///< each file of the trace is a cluster, and each cluster a tenant; done by `join_traces`
    Users,      ///< every user is a tenant
    Synthetic,  ///< so many tenants, drawn
  };
  Kind kind = Kind::Trace;
  std::int32_t count = 0;  ///< of `Synthetic`

  /// `trace`, `clusters`, `users`, or a number from 1 to `kMostTenants`.
  static Result<TenantRule> parse(std::string_view text);
};

/// Applies the rule to all jobs. Returns a sentence that says so, empty for `Trace`. An error for `Users`
/// where no job has one; jobs without a user then belong to no tenant.
Result<std::string> set_tenants(Workload& workload, const TenantRule& rule, std::uint64_t seed);

/// Adds tenants `tenant-1`, `tenant-2`, ..., with as many digits as the last one needs.
std::vector<TenantId> add_tenants(Workload& workload, std::size_t count);

/// Every job's tenant becomes one of `tenant-1`, `tenant-2`, ..., drawn in proportion to the weights.
void draw_tenants(Workload& workload, std::span<const double> weights, std::uint64_t seed);

/// The weights of so many tenants: the i-th in proportion to i^-1.77, as in Philly.
std::vector<double> unequal_tenants(std::int32_t count);

}  // namespace vtrain
