#include "traces/rules/tenants.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/rng.hpp"

namespace vtrain {
namespace {

Result<std::string> users_as_tenants(Workload& workload) {
  if (workload.users.size() == 0) {
    return fail({.field = "tenants", .message = "the trace does not say who its users are"});
  }
  workload.tenants = {};
  for (const std::string& user : workload.users.names())
    workload.tenant(user);
  for (Job& job : workload.jobs)
    job.tenant = TenantId(job.user.value);  // the tables have the same order
  return fmt::format("the {} users are used as tenants",
                     with_thousands(static_cast<std::int64_t>(workload.users.size())));
}

}  // namespace

Result<TenantRule> TenantRule::parse(std::string_view text) {
  if (text == "trace") return TenantRule{};
  if (text == "clusters") return TenantRule{.kind = Kind::Clusters};
  if (text == "users") return TenantRule{.kind = Kind::Users};
  const auto count = parse_integer(text, 1, kMostTenants);
  if (!count) {
    return fail({.field = "tenants",
                 .message = expected_found(
                     fmt::format("trace, clusters, users, or a number from 1 to {}", kMostTenants), text)});
  }
  return TenantRule{.kind = Kind::Synthetic, .count = static_cast<std::int32_t>(*count)};
}

Result<std::string> set_tenants(Workload& workload, const TenantRule& rule, std::uint64_t seed) {
  switch (rule.kind) {
    case TenantRule::Kind::Trace:
      return std::string();
    case TenantRule::Kind::Clusters:
      return std::string("each file of the trace is a tenant");
    case TenantRule::Kind::Users:
      return users_as_tenants(workload);
    case TenantRule::Kind::Synthetic:
      workload.tenants = {};
      draw_tenants(workload, unequal_tenants(rule.count), seed);
      return fmt::format("{} tenants with unequal shares of the jobs, seed {} (synthetic)",
                         with_thousands(rule.count), seed);
  }
  throw std::logic_error("a rule for tenants without a kind");
}

std::vector<TenantId> add_tenants(Workload& workload, std::size_t count) {
  std::vector<TenantId> tenants;
  const std::size_t width = std::to_string(count).size();
  for (std::size_t i = 1; i <= count; ++i)
    tenants.push_back(workload.tenant(fmt::format("tenant-{:0{}}", i, width)));
  return tenants;
}

void draw_tenants(Workload& workload, std::span<const double> weights, std::uint64_t seed) {
  const std::vector<TenantId> tenants = add_tenants(workload, weights.size());
  const WeightedChoice choice(weights);
  RandomStream random(seed, "tenants");
  for (Job& job : workload.jobs)
    job.tenant = tenants[choice.draw(random)];
}

std::vector<double> unequal_tenants(std::int32_t count) {
  // Zipf's law through the shares of Philly's eleven virtual clusters with more than 100 jobs: the slope of
  // ln(jobs) over ln(rank) is -1.77 by least squares.
  constexpr double kExponent = 1.77;
  std::vector<double> weights;
  for (std::int32_t i = 1; i <= count; ++i)
    weights.push_back(std::pow(i, -kExponent));
  return weights;
}

}  // namespace vtrain
