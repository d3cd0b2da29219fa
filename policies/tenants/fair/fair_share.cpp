// Fair shares of GPUs for tenants.
//
//  * `fair-share`: hierarchical weighted max-min over the tree of tenants, with quotas, borrowing and lending
//    limits. Quotas are guarantees: they go before weights, as the minimum shares of Hadoop's Fair Scheduler
//    do. A tenant below its share starts jobs first, and takes GPUs back from tenants above theirs.
//    `policies/README.md` states the rules.
//  * `drf`: dominant resource fairness (Ghodsi et al., NSDI 2011). A tenant's share is the largest of its
//  parts
//    of GPUs, CPUs and memory; tenants have weights and neither quotas nor a tree. With GPUs alone it is
//    `fair-share` on a flat tree without quotas.
#include <optional>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "policies/base/policies.hpp"
#include "policies/tenants/fair/dominant_shares.hpp"
#include "policies/tenants/fair/fair_policy.hpp"
#include "policies/tenants/fair/tree_shares.hpp"

namespace vtrain {
namespace {

FairOptions fair_options(const PolicyArguments& arguments) {
  FairOptions options{.reclaims = arguments["reclaim"] == "true",
                      .overtakes = arguments["overtake"] == "true"};
  if (!arguments["keep"].empty()) {
    for (const std::string_view name : split(arguments["keep"], ';'))
      options.kept_qos.emplace_back(name);
  }
  return options;
}

}  // namespace

MadePolicy make_fair_share(const PolicyArguments& arguments) {
  return std::make_unique<FairPolicy>(make_tree_shares(), fair_options(arguments));
}

MadePolicy make_drf(const PolicyArguments& arguments) {
  ResourcesPerGpu per_gpu;
  const auto read = [&arguments](std::string_view name, double& to) -> Result<void> {
    if (arguments[name] == "none") return {};
    const auto number = parse_number(arguments[name], 1e-3, 1e6);
    if (!number) return fail(arguments.bad_value(name, "none, or a number from 0.001 to 1000000"));
    to = *number;
    return {};
  };
  if (const auto cpus = read("cpus_per_gpu", per_gpu.cpus); !cpus) return fail(cpus.error());
  if (const auto memory = read("memory_per_gpu", per_gpu.memory_gib); !memory) return fail(memory.error());
  return std::make_unique<FairPolicy>(make_dominant_shares(per_gpu), fair_options(arguments));
}

}  // namespace vtrain
