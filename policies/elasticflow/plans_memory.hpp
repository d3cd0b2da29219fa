/// Memory of `ElasticFlow`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/elasticflow/elasticflow.hpp"

namespace vtrain {

/// Memory with the plans of the last decision, which jobs keep where new ones are late.
struct ElasticFlow::PlansMemory final : Memory {
  using Memory::Memory;

  std::string kind = "elasticflow";          ///< tells it from memories of other policies
  std::vector<SharePlanner::Plans> plans{};  ///< by type
  std::optional<WholeSeconds> next_change{};

  nlohmann::json to_json() const override;
  template <class Archive>
  void members(Archive& archive);
};

}  // namespace vtrain
