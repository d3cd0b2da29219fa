#include "traces/rules/tenants.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "traces/trace_format.hpp"

using vtrain::set_tenants;
using vtrain::TenantRule;
using vtrain::Workload;

namespace {

Workload jobs() {
  return vtrain::parse_trace(
             "job_id,tenant,user,submit_s,num_gpus,duration_s\na,x,u,0,1,5\nb,y,,1,1,5\nc,y,v,2,1,5\n", "f")
      .value()
      .workload;
}

}  // namespace

TEST_CASE("tenant_rule: users become tenants, jobs without a user belong to none") {
  Workload workload = jobs();
  CHECK(set_tenants(workload, TenantRule::parse("users").value(), 1).value() ==
        "the 2 users are used as tenants");
  CHECK(workload.tenants[workload.jobs[0].tenant.value] == "u");
  CHECK_FALSE(static_cast<bool>(workload.jobs[1].tenant));
  CHECK(workload.tenants[workload.jobs[2].tenant.value] == "v");
  Workload without =
      vtrain::parse_trace("job_id,submit_s,num_gpus,duration_s\na,0,1,5\n", "f").value().workload;
  CHECK(set_tenants(without, TenantRule::parse("users").value(), 1).error().describe() ==
        "tenants: the trace does not say who its users are");
}

TEST_CASE("tenant_rule: drawn tenants have the shares of Zipf's law, repeatably") {
  Workload workload = jobs();
  vtrain::Job job = workload.jobs[0];
  workload.jobs.assign(50'000, job);
  CHECK(set_tenants(workload, TenantRule::parse("3").value(), 8).value() ==
        "3 tenants with unequal shares of the jobs, seed 8 (synthetic)");
  CHECK(workload.tenants.size() == 3);
  std::array<double, 3> counts{};
  for (const vtrain::Job& drawn : workload.jobs)
    counts[drawn.tenant.value] += 1;
  // Weights 1, 2^-1.77 = 0.2932 and 3^-1.77 = 0.1430: shares 0.6963, 0.2042 and 0.0996, each with a standard
  // error of at most 0.0021.
  CHECK(std::abs(counts[0] / 50'000 - 0.6963) < 5 * 0.0021);
  CHECK(std::abs(counts[1] / 50'000 - 0.2042) < 5 * 0.0021);
  CHECK(std::abs(counts[2] / 50'000 - 0.0996) < 5 * 0.0021);
  Workload again = jobs();
  again.jobs.assign(50'000, job);
  REQUIRE(set_tenants(again, TenantRule::parse("3").value(), 8).has_value());
  CHECK(again.jobs[49'999].tenant == workload.jobs[49'999].tenant);
}

TEST_CASE("tenant_rule: the trace's own tenants, and what makes no sense") {
  Workload workload = jobs();
  CHECK(set_tenants(workload, TenantRule::parse("trace").value(), 1).value().empty());
  CHECK(workload.tenants[workload.jobs[0].tenant.value] == "x");
  for (const char* bad : {"", "0", "-1", "10001", "user", "1.5"})
    CHECK_FALSE(TenantRule::parse(bad).has_value());
}
