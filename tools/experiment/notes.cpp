#include "tools/experiment/notes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/numbers.hpp"
#include "policies/registry.hpp"
#include "sched/accounting/placement_speed.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "sched/simulation/policy.hpp"
#include "tools/experiment/preparation.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/jobs/gang_speed_model.hpp"
#include "workloads/pricing/curves_by_type.hpp"
#include "workloads/pricing/predicted_speeds.hpp"
#include "workloads/pricing/training_jobs.hpp"

namespace vtrain {
namespace {

/// Names of the policies for whose arguments `holds` is true; empty without any.
template <class Holds>
std::string policies_that(std::span<const PreparedPolicy> policies, const Holds& holds) {
  std::vector<std::string_view> names;
  for (const PreparedPolicy& policy : policies) {
    const std::string_view name = policy.arguments.policy().name;
    if (holds(policy.arguments) && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// A note, or none.
using MaybeNote = std::optional<Note>;

/// Note on the knowledge of policies about run times.
Note run_time_knowledge(const Workload& workload, bool times_differ) {
  const std::string_view known = times_differ ? "predicted" : "exact";
  const auto requested = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                       [](const Job& job) { return job.requested_time.count() > 0; });
  std::string text =
      requested == 0 ? fmt::format("policies know {} run times", known)
      : requested == std::ssize(workload.jobs)
          ? "policies know requested times as upper bounds of run times"
          : fmt::format("policies know requested times of {} as upper bounds, and {} run times of the others",
                        count_of(requested, "job"), known);
  return {NoteKind::Policies, requested, std::move(text)};
}

/// Note on policies that know run times where others know requested times; none without such policies.
MaybeNote clairvoyant_policies(const Workload& workload, std::span<const PreparedPolicy> policies) {
  const bool any_requested = std::any_of(workload.jobs.begin(), workload.jobs.end(),
                                         [](const Job& job) { return job.requested_time.count() > 0; });
  const std::string names =
      policies_that(policies, [](const PolicyArguments& policy) { return policy.policy().is_clairvoyant; });
  if (!any_requested || names.empty()) return std::nullopt;
  return Note{NoteKind::Policies, 0, "exact run times are known to " + names};
}

/// Note on policies that treat all GPU types alike although jobs request one of several types, or differ in
/// speed between types; none otherwise.
MaybeNote ignored_gpu_types(const Workload& workload, const ClusterSpec& cluster, bool types_differ,
                            std::span<const PreparedPolicy> policies) {
  const bool is_typed =
      types_differ || std::any_of(workload.jobs.begin(), workload.jobs.end(),
                                  [](const Job& job) { return static_cast<bool>(job.gpu_type); });
  const std::string names =
      policies_that(policies, [](const PolicyArguments& policy) { return policy.ignores_gpu_types(); });
  if (!is_typed || names.empty() || GpuTypes(cluster, workload.gpu_types).names().size() < 2)
    return std::nullopt;
  return Note{NoteKind::Policies, 0,
              "plans treat GPUs of all types as one type, so jobs may be late: " + names};
}

/// Note on jobs that ran past their requested time in the recorded trace, and on their treatment; none
/// without such jobs.
MaybeNote jobs_past_limit(const Workload& workload, std::span<const PreparedPolicy> policies) {
  const auto past = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                  [](const Job& job) { return job.duration > job.time_limit(); });
  if (past == 0) return std::nullopt;
  std::vector<std::string_view> lenient;
  for (const PreparedPolicy& policy : policies) {
    if (policy.policy->repeats_log()) lenient.push_back(policy.arguments.policy().name);
  }
  const std::string who = count_of(past, "job") + " ran longer than requested";
  std::string text = lenient.size() == policies.size()
                         ? who + ": recorded run time kept"
                         : fmt::format("{}: stopped at the requested time{}{}", who,
                                       lenient.empty() ? "" : ", but not under ", fmt::join(lenient, ", "));
  return Note{NoteKind::Policies, past, std::move(text)};
}

/// Note on requested times that would end elastic jobs before their work is done; none otherwise.
MaybeNote limits_without_effect(const Workload& workload) {
  const auto too_short = std::count_if(workload.jobs.begin(), workload.jobs.end(), [](const Job& job) {
    return job.curve && job.time_limit() < job.duration;
  });
  if (too_short == 0) return std::nullopt;
  return Note{NoteKind::Policies, too_short,
              fmt::format("under elastic policies and ElasticFlow's presets no elastic job is stopped at its "
                          "requested time, which is shorter than the run time of {}",
                          with_thousands(too_short))};
}

/// Note on policies that use a property that no job has; none otherwise.
MaybeNote lacking(const Workload& workload, std::span<const PreparedPolicy> policies, bool PolicyNeeds::*need,
                  bool (*says)(const Job&), std::string_view text) {
  const std::string names =
      policies_that(policies, [need](const PolicyArguments& policy) { return policy.policy().needs.*need; });
  if (names.empty() || std::ranges::any_of(workload.jobs, says)) return std::nullopt;
  return Note{NoteKind::Policies, std::ssize(workload.jobs), fmt::format("{} under {}", text, names)};
}

/// Notes on properties that policies need but no job has, other than recorded starts.
std::vector<MaybeNote> lacks(const Workload& workload, std::span<const PreparedPolicy> policies) {
  return {lacking(
              workload, policies, &PolicyNeeds::deadlines, [](const Job& job) { return job.has_deadline(); },
              "no job has a deadline, which decides (--deadlines 1:2 makes some)"),
          lacking(
              workload, policies, &PolicyNeeds::time_limits,
              [](const Job& job) { return job.requested_time.count() > 0; },
              "no job has a requested time; run times are used instead"),
          lacking(
              workload, policies, &PolicyNeeds::tenants,
              [](const Job& job) { return static_cast<bool>(job.tenant); },
              "no job has a tenant, which decides")};
}

/// Note on deadlines before the submission; none otherwise.
MaybeNote hopeless_deadlines(const Workload& workload) {
  const auto hopeless = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                      [](const Job& job) { return job.deadline < job.submit; });
  if (hopeless == 0) return std::nullopt;
  return Note{NoteKind::Policies, hopeless,
              count_of(hopeless, "job") + " with a deadline before submission, which no schedule can meet"};
}

/// Note on the time from which policies that use recorded starts run jobs without one. Error if no job has a
/// start; none if all have.
Result<MaybeNote> jobs_without_recorded_start(const Workload& workload,
                                              std::span<const PreparedPolicy> policies) {
  const std::string names = policies_that(
      policies, [](const PolicyArguments& policy) { return policy.policy().needs.recorded_starts; });
  if (names.empty()) return std::nullopt;
  const auto without = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                     [](const Job& job) { return job.original_start == Job::kNoStart; });
  if (without == std::ssize(workload.jobs)) {
    return fail({.field = names,
                 .message = "expected a trace that says when its jobs started, found no recorded start"});
  }
  if (without == 0) return std::nullopt;
  return Note{NoteKind::Policies, without,
              fmt::format("started at submission under {}, as no start is recorded: {}", names,
                          count_of(without, "job"))};
}

/// GPU types that jobs request but the cluster lacks, with the numbers of their jobs.
std::string lacking_types(const Workload& workload, const GpuTypes& types) {
  std::vector<std::int64_t> jobs_by_type(workload.gpu_types.size());
  for (const Job& job : workload.jobs) {
    if (job.gpu_type && types.allowed(job.gpu_type).empty()) ++jobs_by_type[job.gpu_type.value];
  }
  std::string text;
  for (std::uint32_t type = 0; type < jobs_by_type.size(); ++type) {
    if (jobs_by_type[type] > 0)
      text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", with_thousands(jobs_by_type[type]),
                          workload.gpu_types[type]);
  }
  return text;
}

}  // namespace

std::string_view name_of(NoteKind kind) {
  constexpr std::array<std::string_view, 11> kNames = {"trace",     "cluster",      "generated",  "changed",
                                                       "run-times", "extrapolated", "speeds",     "tenants",
                                                       "policies",  "placement",    "disruptions"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<std::string> texts_of(std::span<const Note> notes) {
  std::vector<std::string> texts;
  texts.reserve(notes.size());
  for (const Note& note : notes)
    texts.push_back(note.text);
  return texts;
}

std::optional<Note> tight_deadlines(const Workload& workload) {
  std::int64_t deadlines = 0;
  std::int64_t tight = 0;
  for (const Job& job : workload.jobs) {
    if (!job.has_deadline()) continue;
    ++deadlines;
    if (job.deadline >= job.submit && job.deadline - job.submit < job.duration) ++tight;
  }
  if (tight == 0) return std::nullopt;
  return Note{
      NoteKind::Policies, tight,
      fmt::format("{} of {} cannot meet {} on the GPUs {}, even if started at once", with_thousands(tight),
                  count_of(deadlines, "job"), tight == 1 ? "its deadline" : "their deadlines",
                  tight == 1 ? "it requests" : "they request")};
}

Result<std::vector<Note>> policy_notes(const Workload& workload, const ClusterSpec& cluster,
                                       bool types_differ, bool times_differ,
                                       std::span<const PreparedPolicy> policies) {
  auto recorded = jobs_without_recorded_start(workload, policies);
  if (!recorded) return fail(std::move(recorded.error()));
  std::vector<Note> notes{run_time_knowledge(workload, times_differ)};
  for (MaybeNote note :
       {jobs_past_limit(workload, policies), clairvoyant_policies(workload, policies),
        ignored_gpu_types(workload, cluster, types_differ, policies), limits_without_effect(workload),
        hopeless_deadlines(workload), *std::move(recorded)}) {
    if (note) notes.push_back(*std::move(note));
  }
  for (MaybeNote& note : lacks(workload, policies)) {
    if (note) notes.push_back(*std::move(note));
  }
  return notes;
}

std::vector<Note> tenant_notes(const Workload& workload, const TenantTree& tree,
                               std::span<const PreparedPolicy> policies) {
  std::vector<Note> notes;
  const auto add = [&notes](std::int64_t count, std::string text) {
    notes.push_back({NoteKind::Tenants, count, std::move(text)});
  };
  if (!tree.tenants.empty()) {
    const std::string sharing =
        policies_that(policies, [](const PolicyArguments& policy) { return policy.policy().keeps_quotas; });
    add(0, fmt::format("{} with quotas of {}; {}", count_of(std::ssize(tree.tenants), "tenant"),
                       count_of(tree.nominal_gpus(), "GPU"),
                       sharing.empty() ? "no policy keeps to them" : "shares are those of " + sharing));
  }
  const auto count_strangers = [&](const auto& known, auto id, const NameTable& names, const char* of) {
    if (known.empty()) return;
    std::vector<bool> is_known;
    for (const std::string& name : names.names())
      is_known.push_back(std::ranges::any_of(known, [&](const auto& each) { return each.name == name; }));
    const auto jobs = std::ranges::count_if(
        workload.jobs, [&](const Job& job) { return !(job.*id) || !is_known[(job.*id).value]; });
    if (jobs > 0) add(jobs, fmt::format("{} of no known {}", count_of(jobs, "job"), of));
  };
  count_strangers(tree.tenants, &Job::tenant, workload.tenants, "tenant");
  count_strangers(tree.partitions, &Job::queue, workload.queues, "partition");
  count_strangers(tree.qos, &Job::qos, workload.qos_names, "QoS");
  const auto asking = [&](auto holds) {
    return std::ranges::count_if(workload.jobs, [&](const Job& job) {
      const JobRequirements* const asked = workload.requirements_of(job);
      return asked != nullptr && holds(*asked);
    });
  };
  const auto follows = [](const PolicyArguments& policy) { return policy.policy().follows_requests; };
  const std::string following = policies_that(policies, follows);
  const bool all_follow =
      std::ranges::all_of(policies, [&](const PreparedPolicy& policy) { return follows(policy.arguments); });
  const auto add_ignored = [&](std::int64_t jobs, const char* what, const char* reason) {
    if (jobs == 0) return;
    const std::string text = fmt::format("{} of {}", what, count_of(jobs, "job"));
    add(jobs, following.empty() ? fmt::format("{} are ignored: {}", text, reason)
                                : fmt::format("{} are followed by {} alone", text, following));
  };
  const auto has_features = [](const JobRequirements& asked) { return !asked.node_features.empty(); };
  const auto has_nodes = [](const JobRequirements& asked) {
    return asked.num_nodes > 0 || asked.gpus_per_node.value > 0;
  };
  if (!all_follow || policies.empty()) {
    add_ignored(asking([](const JobRequirements& asked) { return !asked.dependencies.empty(); }),
                "dependencies", "no policy waits for other jobs");
    add_ignored(asking([&](const JobRequirements& asked) {
                  return has_nodes(asked) || (following.empty() && has_features(asked));
                }),
                "node requests", "no placement uses them");
  }
  if (const auto jobs = asking(has_features); jobs > 0 && !following.empty())
    add(jobs, fmt::format("node features requested by {} are ignored", count_of(jobs, "job")));
  return notes;
}

std::vector<Note> placement_notes(const Workload& workload, const ClusterSpec& cluster,
                                  PlacementKind placement) {
  std::vector<Note> notes;
  const auto add = [&notes](std::int64_t count, std::string text) {
    notes.push_back({NoteKind::Placement, count, std::move(text)});
  };
  const GpuTypes types(cluster, workload.gpu_types);
  const auto typed = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                   [](const Job& job) { return static_cast<bool>(job.gpu_type); });
  if (typed > 0 && !types.named()) {
    add(typed, fmt::format("GPU types requested by {} are ignored: the cluster names no types",
                           count_of(typed, "job")));
  }
  if (const std::string lacking = lacking_types(workload, types); types.named() && !lacking.empty())
    add(0, "jobs rejected because the cluster lacks their GPU type: " + lacking);
  if (types.names().size() > 1) {
    const TrainingJobs predicted(workload);
    const auto anywhere = std::count_if(workload.jobs.begin(), workload.jobs.end(), [&](const Job& job) {
      return types.allowed(job.gpu_type).size() > 1 && !predicted.include(job);
    });
    if (anywhere > 0)
      add(anywhere, fmt::format("{} as fast on every GPU type: no known model", count_of(anywhere, "job")));
  }
  const auto shared = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                    [](const Job& job) { return job.shares_gpus(); });
  const bool shares = info_of(placement).shares_gpus;
  if (shared > 0 && !shares) {
    add(shared,
        fmt::format("whole GPUs for {} with requests for part of one: only best-fit and fgd share GPUs",
                    count_of(shared, "job")));
  }
  if (placement == PlacementKind::Fgd) add(0, "fgd knows the distribution of job sizes of the whole trace");
  return notes;
}

std::vector<Note> gang_speed_notes(PredictedSpeeds& speeds, const CurvesByType& curves,
                                   const Workload& workload, const ClusterSpec& cluster,
                                   PlacementKind placement, std::span<const PreparedPolicy> policies) {
  std::vector<Note> notes;
  const auto add = [&notes](std::int64_t count, std::string text) {
    notes.push_back({NoteKind::Speeds, count, std::move(text)});
  };
  const auto books = make_placement(placement, cluster, workload);
  if (!PlacementSpeed(cluster, workload, speeds, *books).depends_on_place()) return notes;
  add(speeds.num_jobs(), fmt::format("speed of {} predicted for the GPU type and the nodes of each gang",
                                     count_of(speeds.num_jobs(), "job")));
  for (const PreparedPolicy& prepared : policies) {
    if (!prepared.policy->supports_disruptions())
      add(0, fmt::format("under {} the placement of a gang does not change its speed", prepared.spec));
  }
  if (const std::int64_t jobs = speeds.num_without_plan(workload); jobs > 0) {
    const std::string count = count_of(jobs, "job");
    add(jobs,
        curves.types().size() > 1
            ? fmt::format(
                  "no plan for {} on some GPU types that they may get: their run times stay the same there",
                  count)
            : fmt::format("no plan for {} on the GPUs requested: placement does not change their speed",
                          count));
  }
  return notes;
}

std::vector<Note> run_time_error_notes(const std::string& rule, const ScenarioParts& parts) {
  std::vector<Note> notes;
  const auto add = [&notes](std::int64_t count, std::string text) {
    notes.push_back({NoteKind::RunTimes, count, std::move(text)});
  };
  std::int64_t jobs = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  double sum = 0;
  for (std::uint32_t i = 0; i < parts.workload.jobs.size(); ++i) {
    if (!parts.run_time_errors->knows(JobId(i))) continue;
    ++jobs;
    least = std::min(least, parts.time_factors[i]);
    most = std::max(most, parts.time_factors[i]);
    sum += std::log(parts.time_factors[i]);
  }
  if (jobs > 0)
    add(jobs,
        fmt::format("true run times of {} are {:.2f} to {:.2f} times the predicted ones, which policies know "
                    "(--prediction-error {}; geometric mean {:.3f})",
                    count_of(jobs, "job"), least, most, rule, std::exp(sum / static_cast<double>(jobs))));
  if (const auto others = std::ssize(parts.workload.jobs) - jobs; others > 0)
    add(others, fmt::format("no prediction error of {}: no known model with global batch and iterations",
                            count_of(others, "job")));
  for (const PreparedPolicy& policy : parts.policies) {
    if (!has_run_time_errors(policy, parts))
      add(0,
          fmt::format("under {} jobs run as predicted: it {}", policy.spec,
                      policy.policy->repeats_log() ? "repeats the log" : "computes their progress itself"));
  }
  return notes;
}

std::string spread_factor_note(double factor, const Workload& workload, const GangSpeedModel* speeds) {
  const auto num_jobs = static_cast<std::uint32_t>(workload.jobs.size());
  std::uint32_t others = 0;
  for (std::uint32_t job = 0; job < num_jobs; ++job)
    others += speeds == nullptr || !speeds->knows(JobId(job)) ? 1 : 0;
  if (others == 0)
    return "--spread-factor has no effect: the speed of all jobs is predicted for the nodes of their gangs";
  return fmt::format(
      "run times of the trace apply on one node; across nodes of a rack {} {:.3g} of that speed, across "
      "racks {:.3g}",
      others == num_jobs ? "jobs have"
                         : fmt::format("the {} that {} not predicted {}", count_of(others, "job"),
                                       others == 1 ? "is" : "are", others == 1 ? "has" : "have"),
      factor, factor * factor);
}

std::string order_of_types(const Workload& workload, const ClusterSpec& cluster, PlacementKind placement,
                           bool keeps_durations, std::span<const PreparedPolicy> policies) {
  const std::vector<Job>& jobs = workload.jobs;
  const bool any_open = std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return !job.gpu_type; });
  if (!any_open || GpuTypes(cluster, workload.gpu_types).names().size() < 2) return {};
  const std::string& first = cluster.groups.front().gpu_type;
  if (!info_of(placement).knows_nodes) {
    return fmt::format(
        "jobs that request no GPU type run as fast as on {}; --placement {} gives types different speeds",
        first, info_of(PlacementKind::Consolidate).name);
  }
  std::vector<std::string_view> others;  // that choose no types
  for (const PreparedPolicy& policy : policies) {
    if (!policy.policy->chooses_types()) others.push_back(policy.spec);
  }
  if (others.empty()) return {};
  const bool all = others.size() == policies.size();
  return fmt::format(
             "{}jobs that request no GPU type get the first type of --cluster with room, fast or slow",
             all ? "" : fmt::format("under {} ", fmt::join(others, ", "))) +
         (keeps_durations ? fmt::format("; their durations are those on {}", first) : "");
}

}  // namespace vtrain
