#include "sched/simulation/checks.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "core/base/numbers.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

/// The error for a job that does not fit on the empty cluster.
Error gang_too_large_error(const Job& job, const Workload& workload, const ClusterSpec& cluster) {
  const GpuTypes types(cluster, workload.gpu_types);
  if (types.allowed(job.gpu_type).empty())
    return {.field = "gpu_type", .message = types.complaint(workload.gpu_types[job.gpu_type.value])};
  const std::string found = std::to_string(job.num_gpus.value);
  if (job.num_gpus > cluster.total_gpus()) {
    const std::string room = fmt::format("at most {}, the GPUs of the cluster", cluster.total_gpus().value);
    return {.field = "num_gpus", .message = expected_found(room, found)};
  }
  const std::string type = job.gpu_type && types.named()
                               ? fmt::format(" on GPUs of type '{}'", workload.gpu_types[job.gpu_type.value])
                               : "";
  return {.field = "num_gpus",
          .message =
              expected_found("a gang for which the placement has room on the empty cluster" + type, found)};
}

/// Checks that a policy and a placement allow disruptions of jobs.
Result<void> check_can_be_disrupted(const Policy& policy, const SimulationOptions& options) {
  if (options.disruptions == nullptr || !options.disruptions->any()) return {};
  if (!policy.supports_disruptions())
    return fail({.field = fmt::format("policy '{}'", options.policy_name),
                 .message = "computes the progress of jobs itself, as the simulator that it reproduces does, "
                            "which knows no failures, checkpoints or costs of interruption"});
  const PlacementInfo& placement = info_of(options.placement);
  if (options.disruptions->takes_nodes_out() && !placement.knows_nodes)
    return fail(
        {.field = "placement",
         .message = fmt::format("'{}' knows no nodes that could fail; choose one that does, such as 'yarn'",
                                placement.name)});
  return {};
}

std::string in_seconds(SimTime time) {
  std::string text;
  append_ns_as_seconds(text, time.time_since_epoch().count());
  return text + " s";
}

}  // namespace

Result<void> check_job(const Job& job, const Workload& workload, const ClusterSpec& cluster,
                       const Placement& placement, ProgressRule rule, bool strict) {
  const bool picks_sizes = rule == ProgressRule::Iterations && job.curve;
  if (job.duration.count() > 0 && job.num_gpus.value > 0 && !picks_sizes && !strict) return {};
  const auto fits = [&] { return placement.fits_empty(request_of(job, job.num_gpus)); };
  if (job.duration.count() <= 0 && (job.curve || fits())) {
    return fail(job_error(workload, job, "duration",
                          expected_found("more than 0 s", fmt::format("{} ns", job.duration.count()))));
  }
  if (job.num_gpus.value <= 0) {
    return fail(job_error(workload, job, "num_gpus",
                          expected_found("at least 1", std::to_string(job.num_gpus.value))));
  }
  if (picks_sizes && workload.curves[job.curve.value].iterations_per_s(job.num_gpus) <= 0) {
    return fail(job_error(workload, job, "num_gpus",
                          expected_found("a number of GPUs that its throughput table has a speed for",
                                         std::to_string(job.num_gpus.value))));
  }
  if (strict && !fits()) return fail(job_error(workload, job, gang_too_large_error(job, workload, cluster)));
  if (strict && job.deadline < job.submit) {
    return fail(
        job_error(workload, job, "deadline_s",
                  expected_found(fmt::format("none before the submission at {}", in_seconds(job.submit)),
                                 in_seconds(job.deadline))));
  }
  return {};
}

Result<void> check_simulation(const Workload& workload, const ClusterSpec& cluster, const Policy& policy,
                              const SimulationOptions& options) {
  const auto placement = make_placement(options.placement, cluster, workload);
  const ProgressRule rule = policy.progress_rule();
  SimTime last_submission = SimTime::min();
  for (const Job& job : workload.jobs) {
    auto checked = check_job(job, workload, cluster, *placement, rule, options.strict);
    if (!checked) return checked;
    if (job.submit < last_submission) throw std::logic_error("simulate: jobs are not ordered by submission");
    last_submission = job.submit;
  }
  const TenantTree nobody;
  const TenantTree& tenants = options.tenants != nullptr ? *options.tenants : nobody;
  if (auto checked = policy.check(workload, cluster, tenants); !checked)
    return fail(std::move(checked.error()));
  return check_can_be_disrupted(policy, options);
}

}  // namespace vtrain
