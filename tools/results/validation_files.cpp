#include "tools/results/validation_files.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

ordered_json errors_to_json(const WaitErrors& errors) {
  ordered_json reasons = ordered_json::object();
  for (std::size_t i = 0; i < kNumLeftOut; ++i)
    reasons[std::string(kLeftOut[i].key)] = errors.left_out[i];
  return {{"jobs", errors.jobs},
          {"compared", errors.compared},
          {"left_out", std::move(reasons)},
          {"median_error_s", finite_or_null(errors.median_error_s)},
          {"p90_error_s", finite_or_null(errors.p90_error_s)},
          {"mean_error_s", finite_or_null(errors.mean_error_s)},
          {"median_difference_s", finite_or_null(errors.median_difference_s)},
          {"rank_correlation", finite_or_null(errors.rank_correlation.value_or(kNoValue))},
          {"mean_wait_s", finite_or_null(errors.mean_wait_s)},
          {"recorded_mean_wait_s", finite_or_null(errors.recorded_mean_wait_s)},
          {"mean_run_time_s", finite_or_null(errors.mean_run_time_s)}};
}

/// A number, or an empty cell for one that does not exist.
std::string cell_of(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

/// The figures of waits behind the name of a group, each after a comma.
void append_errors(std::string& out, const WaitErrors& errors) {
  out += fmt::format(",{},{}", errors.jobs, errors.compared);
  for (const std::int64_t count : errors.left_out)
    out += fmt::format(",{}", count);
  for (const double value : {errors.median_error_s, errors.p90_error_s, errors.mean_error_s,
                             errors.median_difference_s, errors.rank_correlation.value_or(kNoValue),
                             errors.mean_wait_s, errors.recorded_mean_wait_s, errors.mean_run_time_s})
    out += "," + cell_of(value);
}

}  // namespace

ordered_json validation_to_json(const ScheduleValidation& validation) {
  const std::string by = fmt::format("by_{}", name_of(validation.grouping));
  ordered_json policies = ordered_json::array();
  for (const PolicyValidation& policy : validation.policies) {
    ordered_json document = {{"policy", policy.policy}, {"verdict", name_of(policy.verdict)}};
    document.update(errors_to_json(policy.errors));
    document["factor_of_means"] = finite_or_null(policy.errors.factor_of_means());
    document["mean_utilization"] = finite_or_null(policy.use.mean);
    document["mean_utilization_difference"] = finite_or_null(policy.mean_use_difference);
    document["utilization"] = policy.use.shares;
    ordered_json groups = ordered_json::array();
    for (const GroupWaits& group : policy.groups) {
      ordered_json row = {{"name", group.name}};
      row.update(errors_to_json(group.errors));
      groups.push_back(std::move(row));
    }
    document[by] = std::move(groups);
    policies.push_back(std::move(document));
  }
  return {{"nearest", validation.nearest().policy},
          {"grouped_by", name_of(validation.grouping)},
          {"utilization",
           {{"begin_s", to_seconds(validation.intervals.begin)},
            {"interval_s", to_seconds(validation.intervals.length)},
            {"recorded_mean", finite_or_null(validation.recorded.mean)},
            {"recorded", validation.recorded.shares}}},
          {"policies", std::move(policies)}};
}

std::string validation_to_csv(const ScheduleValidation& validation, CellText cells) {
  std::string text = "policy,by,name,jobs,compared";
  for (const LeftOutInfo& reason : kLeftOut)
    text += fmt::format(",{}", reason.key);
  text +=
      ",median_error_s,p90_error_s,mean_error_s,median_difference_s,rank_correlation,mean_wait_s,"
      "recorded_mean_wait_s,mean_run_time_s,mean_utilization_difference,verdict\n";
  for (const PolicyValidation& policy : validation.policies) {
    append_csv_field(text, policy.policy, cells);
    text += ",all,";
    append_errors(text, policy.errors);
    text += fmt::format(",{},{}\n", cell_of(policy.mean_use_difference), name_of(policy.verdict));
    for (const GroupWaits& group : policy.groups) {
      append_csv_field(text, policy.policy, cells);
      text += fmt::format(",{},", name_of(validation.grouping));
      append_csv_field(text, group.name, cells);
      append_errors(text, group.errors);
      text += ",,\n";
    }
  }
  return text;
}

std::string utilization_to_csv(const ScheduleValidation& validation) {
  std::string text = "policy,begin_s,recorded,simulated\n";
  for (const PolicyValidation& policy : validation.policies) {
    for (std::size_t i = 0; i < validation.intervals.size(); ++i) {
      append_csv_field(text, policy.policy);
      const SimTime begin =
          validation.intervals.begin + validation.intervals.length * static_cast<std::int64_t>(i);
      text += ',';
      append_ns_as_seconds(text, begin.time_since_epoch().count());
      text += fmt::format(",{},{}\n", validation.recorded.shares[i], policy.use.shares[i]);
    }
  }
  return text;
}

std::string waits_to_csv(const Workload& workload, std::span<const RunResult> runs, CellText cells) {
  std::string text =
      "policy,job_id,queue,tenant,num_gpus,submit_s,recorded_wait_s,wait_s,difference_s,left_out\n";
  for (const RunResult& run : runs) {
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      const Job& job = workload.jobs[i];
      const JobOutcome& outcome = run.result.outcomes[i];
      append_csv_field(text, run.summary.policy, cells);
      text += ',';
      append_csv_field(text, job.name, cells);
      text += ',';
      if (job.queue) append_csv_field(text, workload.queues[job.queue.value], cells);
      text += ',';
      if (job.tenant) append_csv_field(text, workload.tenants[job.tenant.value], cells);
      text += fmt::format(",{},", job.num_gpus.value);
      append_ns_as_seconds(text, job.submit.time_since_epoch().count());
      const auto add = [&](bool is_known, auto time) {
        text += ',';
        if (is_known) append_ns_as_seconds(text, time().count());
      };
      const auto reason = left_out(job, outcome);
      add(job.original_start != Job::kNoStart, [&] { return recorded_wait(job); });
      add(has_started(outcome), [&] { return queueing_delay(job, outcome); });
      add(!reason, [&] { return queueing_delay(job, outcome) - recorded_wait(job); });
      text += fmt::format(",{}\n", reason ? kLeftOut[static_cast<std::size_t>(*reason)].key : "");
    }
  }
  return text;
}

}  // namespace vtrain
