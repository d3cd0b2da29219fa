#include "tools/live/eta_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/text/calendar.hpp"
#include "policies/registry.hpp"
#include "policies/tenants/slurm/slurm_files.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/live/kueue_now.hpp"

namespace vtrain {
namespace {

Result<std::optional<std::int64_t>> parse_at(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto seconds = parse_seconds_since_1970(text);
  if (!seconds) return fail(in_option("--at", seconds.error()));
  return *seconds;
}

/// The spec with the files of a state as parameters, where the policy reads such files and the spec names
/// none.
std::string with_policy_files(const std::string& spec, const LiveState& state) {
  const auto policy = PolicyRegistry::built_in().parse(spec);
  if (!policy || state.policy_files.empty()) return spec;
  const auto& known = policy->policy().parameters;
  std::string text = spec;
  const auto is_known = [&](std::string_view name) {
    return std::ranges::find(known, name, &PolicyParameter::name) != known.end();
  };
  if (!is_known("conf") || !(*policy)["folder"].empty()) return spec;
  for (const auto& [name, file] : state.policy_files) {
    if (!is_known(name) || !(*policy)[name].empty()) continue;
    text += fmt::format("{}{}={}", text.find(':') == std::string::npos ? ":" : ",", name, file);
  }
  return text;
}

/// The spec with the instant of time 0, where the policy reads dates and the spec names none.
std::string with_origin(const std::string& spec, std::int64_t origin) {
  const auto policy = PolicyRegistry::built_in().parse(spec);
  if (!policy) return spec;
  const auto& known = policy->policy().parameters;
  if (std::ranges::find(known, std::string_view("origin"), &PolicyParameter::name) == known.end() ||
      !(*policy)["origin"].empty())
    return spec;
  return fmt::format("{}{}origin={}", spec, spec.find(':') == std::string::npos ? ":" : ",", origin);
}

Result<EtaReport> estimate(EtaRequest& request) {
  const auto zone = request.zone.empty() ? Result<TimeZone>(kUtc) : TimeZone::find(request.zone);
  if (!zone) return fail(in_option("--time-zone", zone.error()));
  const auto state = read_live_texts(std::move(request.now), *zone);
  if (!state) return fail(in_option("--now", state.error()));
  const auto book = make_run_times(*state, std::move(request.history), *zone);
  if (!book) return fail(in_option("--history", book.error()));
  ClusterNowOptions options;
  options.pricing = request.pricing;
  std::optional<JobModels> models;
  if (request.models) {
    auto read = JobModels::parse(request.models->text, request.models->name);
    if (!read) return fail(in_option("--models", read.error()));
    models = *std::move(read);
    options.models = &*models;
  }
  const auto at = parse_at(request.at);
  if (!at) return fail(at.error());
  options.now = *at;
  const auto placement = parse_placement(request.placement);
  if (!placement) return fail(in_option("--placement", placement.error()));
  options.placement = *placement;
  if (!request.cluster.empty()) {
    auto cluster = ClusterSpec::parse(request.cluster);
    if (!cluster) return fail(in_option("--cluster", cluster.error()));
    options.cluster = *std::move(cluster);
  }
  const std::string spec = with_policy_files(request.policy, *state);
  const auto policy = PolicyRegistry::built_in().parse(spec);
  options.policy_names_nodes = policy && policy->policy().follows_requests;
  // It chooses GPU types, whatever jobs ask for.
  options.counts_types = policy && policy->policy().name == "kueue";
  const bool is_kueue = options.counts_types && (*policy)["objects"].empty() && !state->kubernetes.empty();
  auto cluster = make_cluster_now(*state, *book, options);
  if (!cluster) return fail(in_option("--now", cluster.error()));
  cluster->question.policy = with_origin(spec, cluster->origin);
  if (is_kueue) {
    auto objects = make_kueue_objects(*state, *cluster);
    if (!objects) return fail(in_option("--now", objects.error()));
    cluster->question.make_policy = [objects = *std::move(objects)](const PolicyArguments& given) {
      return make_kueue_live(given, objects);
    };
  }
  if (policy && policy->policy().name == "slurm") {
    cluster->question.make_policy = [texts = state->policy_texts](const PolicyArguments& given) {
      return make_slurm_live(given, texts);
    };
  }
  if (options.policy_names_nodes) {
    for (const DumpedPartition& partition : state->partitions) {
      if (partition.state == "UP") cluster->partitions.push_back(partition.name);
    }
  }
  cluster->question.samples = request.samples;
  cluster->question.seed = request.seed;
  cluster->question.threads = request.threads;
  auto answer = estimate_starts(cluster->question, PolicyRegistry::built_in());
  if (!answer) return fail(in_option("--policy", answer.error()));
  // Jobs of which the policy says that somebody must act are no estimates.
  for (const JobEta& each : answer->jobs) {
    if (each.words.needs_somebody)
      cluster->stuck.push_back(
          {std::string(cluster->question.workload.jobs[each.job.value].name), each.words.text});
  }
  std::erase_if(answer->jobs, [](const JobEta& each) { return each.words.needs_somebody; });
  std::set<std::string> used;
  std::set<std::string> unused;
  for (const auto& [name, file] : state->policy_files)
    (spec.find(fmt::format("{}={}", name, file)) == std::string::npos ? unused : used).insert(file);
  std::erase_if(unused, [&](const std::string& file) { return used.contains(file); });
  return EtaReport{*std::move(cluster), *std::move(answer),         book->num_jobs(),
                   request.policy,      {used.begin(), used.end()}, std::ssize(unused)};
}

}  // namespace

Result<EtaReport> estimate_all(EtaRequest request) {
  return estimate(request);
}

Result<void> narrow_to(const std::string& job, EtaReport& report) {
  std::erase_if(report.answer.jobs, [&](const JobEta& each) { return report.job(each.job).name != job; });
  if (report.answer.jobs.empty())
    return fail({.field = "--job", .message = expected_found("a pending job that can start", job)});
  auto found = suggest_changes(report.cluster, report.answer.jobs.front(), PolicyRegistry::built_in());
  if (!found) return fail(std::move(found.error()));
  report.suggestions = *std::move(found);
  return {};
}

Result<EtaReport> answer_eta(EtaRequest request) {
  const std::string job = request.job;
  auto report = estimate(request);
  if (!report || job.empty()) return report;
  if (auto narrowed = narrow_to(job, *report); !narrowed) return fail(std::move(narrowed.error()));
  return report;
}

}  // namespace vtrain
