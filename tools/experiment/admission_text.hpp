/// The answer of `vtrain admit` for people and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/experiment/admission_request.hpp"

namespace vtrain {

/// Remarks on the cluster.
struct AdmitContext {
  std::optional<std::int64_t> now{};   ///< seconds since 1970; none: an empty cluster
  std::vector<std::string> assumed{};  ///< assumptions and omissions
};

/// A request with its answer.
struct AdmitReport {
  AdmissionRequest& request;
  AdmissionAnswer answer{};
  AdmitContext context{};
  std::optional<LikelyEnds> likely{};      ///< ends in simulations with errors, for a yes
  std::vector<AdmissionChange> changes{};  ///< changes that would be a yes, for a no
};

/// The answer in one sentence, then tables.
std::string admit_text(const AdmitReport& report);
/// The answer as one document. Times count from now on.
nlohmann::ordered_json admit_json(const AdmitReport& report);

}  // namespace vtrain
