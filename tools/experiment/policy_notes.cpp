#include "tools/experiment/policy_notes.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/numbers.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

/// The names of those policies of whose arguments something `holds`; empty if it does of none.
template <class Holds>
std::string policies_that(std::span<const PreparedPolicy> policies, const Holds& holds) {
  std::vector<std::string_view> names;
  for (const PreparedPolicy& policy : policies) {
    const std::string_view name = policy.arguments.policy().name;
    if (holds(policy.arguments) && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// What policies may know of run times.
std::string run_time_knowledge(const Workload& workload) {
  const auto requested = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                       [](const Job& job) { return job.requested_time.count() > 0; });
  if (requested == 0) return "run times known exactly";
  if (requested == std::ssize(workload.jobs)) return "run times bounded by the requested times";
  return fmt::format("run times bounded by the requested times of {}, known exactly for the others",
                     count_of(requested, "job"));
}

/// Names the policies that know run times where others know requested ones; empty if there are none.
std::string clairvoyant_policies(const Workload& workload, std::span<const PreparedPolicy> policies) {
  const bool any_requested = std::any_of(workload.jobs.begin(), workload.jobs.end(),
                                         [](const Job& job) { return job.requested_time.count() > 0; });
  const std::string names =
      policies_that(policies, [](const PolicyArguments& policy) { return policy.policy().is_clairvoyant; });
  return any_requested && !names.empty() ? "run times known exactly to " + names : "";
}

/// Says so if policies take GPUs of all types for the same where jobs ask for one of several, or are not as
/// fast on all of them; empty otherwise.
std::string ignored_gpu_types(const Workload& workload, const ClusterSpec& cluster, bool types_differ,
                              std::span<const PreparedPolicy> policies) {
  const bool is_typed =
      types_differ || std::any_of(workload.jobs.begin(), workload.jobs.end(),
                                  [](const Job& job) { return static_cast<bool>(job.gpu_type); });
  const std::string names =
      policies_that(policies, [](const PolicyArguments& policy) { return policy.ignores_gpu_types(); });
  if (!is_typed || names.empty() || GpuTypes(cluster, workload.gpu_types).names().size() < 2) return {};
  return "GPUs of all types count as one in plans, so that jobs may come late: " + names;
}

/// Says so if requested times would end elastic jobs before their work is done; empty otherwise.
std::string limits_without_effect(const Workload& workload) {
  const auto too_short = std::count_if(workload.jobs.begin(), workload.jobs.end(), [](const Job& job) {
    return job.curve && job.time_limit() < job.duration;
  });
  if (too_short == 0) return {};
  return fmt::format(
      "under elastic policies and ElasticFlow's presets no elastic job is ended at its requested time, which "
      "is shorter than the run time of {}",
      with_thousands(too_short));
}

/// Says so if there are deadlines that lie before their submission; empty otherwise.
std::string hopeless_deadlines(const Workload& workload) {
  const auto hopeless = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                      [](const Job& job) { return job.deadline < job.submit; });
  if (hopeless == 0) return {};
  return count_of(hopeless, "job") + " with a deadline before the submission, which nothing can meet";
}

/// Says from when on policies that go by recorded starts run jobs that have none; an error if no job has one,
/// empty if there is nothing to say.
Result<std::string> jobs_without_recorded_start(const Workload& workload,
                                                std::span<const PreparedPolicy> policies) {
  const std::string names = policies_that(
      policies, [](const PolicyArguments& policy) { return policy.policy().needs_recorded_starts; });
  if (names.empty()) return {};
  const auto without = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                     [](const Job& job) { return job.original_start == Job::kNoStart; });
  if (without == std::ssize(workload.jobs)) {
    return fail({.field = names,
                 .message = "expected a trace that says when its jobs started, found no recorded start"});
  }
  if (without == 0) return {};
  return fmt::format("started when submitted under {}, for want of a recorded start: {}", names,
                     count_of(without, "job"));
}

}  // namespace

std::string tight_deadlines(const Workload& workload) {
  std::int64_t deadlines = 0;
  std::int64_t tight = 0;
  for (const Job& job : workload.jobs) {
    if (!job.has_deadline()) continue;
    ++deadlines;
    if (job.deadline >= job.submit && job.deadline - job.submit < job.duration) ++tight;
  }
  if (tight == 0) return {};
  return fmt::format("{} of {} {} less time than the run time on the GPUs asked for", with_thousands(tight),
                     count_of(deadlines, "deadline"), tight == 1 ? "leaves" : "leave");
}

Result<std::vector<std::string>> policy_notes(const Workload& workload, const ClusterSpec& cluster,
                                              bool types_differ, std::span<const PreparedPolicy> policies) {
  auto recorded = jobs_without_recorded_start(workload, policies);
  if (!recorded) return fail(std::move(recorded.error()));
  std::vector<std::string> notes{run_time_knowledge(workload)};
  for (std::string note :
       {clairvoyant_policies(workload, policies),
        ignored_gpu_types(workload, cluster, types_differ, policies), limits_without_effect(workload),
        hopeless_deadlines(workload), *std::move(recorded)}) {
    if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace vtrain
