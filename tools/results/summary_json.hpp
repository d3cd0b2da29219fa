/// The metrics of one replay as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sched/metrics/metrics.hpp"

namespace vtrain {

/// A summary under the key names of `summary.json`, in that order. Ratios and averages over nothing are null.
nlohmann::ordered_json summary_to_json(const Summary& summary);

}  // namespace vtrain
