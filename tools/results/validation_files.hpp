/// Simulated waits against recorded ones, as JSON and CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "core/io/csv.hpp"
#include "tools/experiment/schedule_validation.hpp"

namespace vtrain {

/// All figures, with the use over time. Figures that do not exist are null.
nlohmann::ordered_json validation_to_json(const ScheduleValidation& validation);

/// Text of `validation.csv`: a row for each policy, and for each of its groups.
std::string validation_to_csv(const ScheduleValidation& validation, CellText cells);
/// Text of `utilization.csv`: a row for each policy and interval.
std::string utilization_to_csv(const ScheduleValidation& validation);
/// Text of `waits.csv`: a row for each policy and job.
std::string waits_to_csv(const Workload& workload, std::span<const RunResult> runs, CellText cells);

}  // namespace vtrain
