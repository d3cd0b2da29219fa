/// Memory of `PromisePolicy`.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "policies/promises/promise_policy.hpp"

namespace vtrain {

/// All that later passes depend on. Jobs have their places among the live ones as ids.
struct PromisePolicy::Memory final : PolicyMemory {
  std::string kind = "promises";  ///< tells it from memories of other policies
  PlanTime now = 0;
  PlanTime last_pass = 0;
  bool any_gpus = true;
  std::vector<std::int64_t> total{};
  std::vector<LiveJob> jobs{};
  std::map<std::string, double> tenant_gpu_s{};

  nlohmann::json to_json() const override;
  template <class Archive>
  void members(Archive& archive);
};

}  // namespace vtrain
