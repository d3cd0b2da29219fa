#include "tools/live/eta_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

ordered_json time_json(const EtaReport& estimate, const LikelyTime& time) {
  const auto value = [&](const std::optional<SimTime>& at) {
    return at ? ordered_json(estimate.cluster.clock(*at)) : ordered_json();
  };
  return {{"p50", value(time.p50)}, {"p90", value(time.p90)}};
}

/// Median of a job's run times with the range of nine in ten.
ordered_json run_time_json(const EtaReport& estimate, JobId job) {
  const std::vector<SimDuration>& values = estimate.cluster.question.run_times[job.value].values;
  const auto at = [&](double part) {
    const auto place = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5);
    return to_seconds(values[place]);
  };
  return {{"p5", at(0.05)}, {"p50", at(0.5)}, {"p95", at(0.95)}};
}

}  // namespace

std::string_view name_of_policy(std::string_view spec) {
  return spec.substr(0, spec.find(':'));
}

std::string why_text(const EtaReport& estimate, const JobEta& eta) {
  const ReasonChange& change = eta.now;
  const bool has_words = change.reason != WaitReason::None && change.reason != WaitReason::TooLarge;
  if (has_words && !eta.words.text.empty()) return eta.words.text;
  const Job& job = estimate.job(change.job);
  const std::string& told = estimate.cluster.reasons[change.job.value];
  if (job.submit > estimate.cluster.question.state.now)
    return fmt::format("it may not start earlier ({})", told);
  switch (change.reason) {
    case WaitReason::None:
      return "it starts now";
    case WaitReason::Policy:
    case WaitReason::NextDecision:
      return told.empty() ? std::string(info_of(change.reason).summary)
                          : fmt::format("the scheduler says: {}", told);
    case WaitReason::Reservation:
      return fmt::format("it would delay job {}", estimate.name(change.by));
    case WaitReason::Order:
      return fmt::format("job {} comes before it", estimate.name(change.by));
    case WaitReason::Gpus:
    case WaitReason::Type:
    case WaitReason::Placement:
      return fmt::format("{} ({} asked, {} free)", info_of(change.reason).summary, change.asked.value,
                         change.available.value);
    case WaitReason::Dependency:
      return told.empty() ? std::string(info_of(change.reason).summary)
                          : fmt::format("it waits for another job ({})", told);
    case WaitReason::Limit:
      return told.empty() ? std::string(info_of(change.reason).summary)
                          : fmt::format("a limit holds it ({})", told);
    default:
      return std::string(info_of(change.reason).summary);
  }
}

std::vector<std::string> assumptions_of(const EtaReport& estimate) {
  std::vector<std::string> list;
  std::map<RunTimeSource, std::int64_t> sources;
  for (const RunTimeSource source : estimate.cluster.sources)
    ++sources[source];
  std::vector<std::string> parts;
  for (const auto& [source, count] : sources)
    parts.push_back(fmt::format("{} for {}", name_of(source), count_of(count, "job")));
  list.push_back(fmt::format("run times from: {}", fmt::join(parts, ", ")));
  list.emplace_back("no job comes after those in the files");
  if (const auto kept = std::ssize(estimate.cluster.question.calendar.reservations); kept > 0)
    list.push_back(fmt::format("{} {}{} kept", count_of(kept, "reservation"), kept == 1 ? "is" : "are",
                               estimate.answer.follows_calendar ? "" : " not"));
  if (estimate.unused_files > 0)
    list.push_back(fmt::format("{} with rules of Slurm not used by {}",
                               count_of(estimate.unused_files, "file"), estimate.policy));
  if (!estimate.used_files.empty())
    list.push_back(fmt::format("rules of {}", fmt::join(estimate.used_files, ", ")));
  for (const auto& [text, count] : estimate.cluster.assumed)
    list.push_back(count > 1 ? fmt::format("{}: {}", text, count) : text);
  return list;
}

ordered_json eta_json(const EtaReport& estimate) {
  const EtaQuestion& question = estimate.cluster.question;
  ordered_json jobs = ordered_json::array();
  for (const JobEta& each : estimate.answer.jobs) {
    ordered_json ahead = ordered_json::array();
    for (const JobId other : each.ahead)
      ahead.push_back(estimate.name(other));
    ordered_json blocked = {{"reason", info_of(each.now.reason).word},
                            {"scheduler", estimate.cluster.reasons[each.job.value]}};
    if (each.now.by && (each.now.reason == WaitReason::Reservation || each.now.reason == WaitReason::Order))
      blocked["by"] = estimate.name(each.now.by);
    if (!each.words.text.empty()) blocked["policy"] = each.words.text;
    jobs.push_back({{"job", estimate.name(each.job)},
                    {"gpus", estimate.job(each.job).num_gpus.value},
                    {"start", time_json(estimate, each.start)},
                    {"end", time_json(estimate, each.end)},
                    {"starts", each.starts},
                    {"blocked", std::move(blocked)},
                    {"ahead", std::move(ahead)},
                    {"run_time_from", name_of(estimate.cluster.sources[each.job.value])},
                    {"run_time_s", run_time_json(estimate, each.job)}});
  }
  ordered_json stuck = ordered_json::array();
  for (const StuckJob& job : estimate.cluster.stuck)
    stuck.push_back({{"job", job.id}, {"reason", job.reason}});
  ordered_json suggestions = ordered_json::array();
  for (const Suggestion& each : estimate.suggestions)
    suggestions.push_back(
        {{"change", each.change}, {"price", each.price}, {"start", time_json(estimate, each.start)}});
  return {{"now", estimate.cluster.now},
          {"policy", estimate.policy},
          {"policy_files", estimate.used_files},
          {"cluster", question.cluster.describe()},
          {"placement", info_of(question.placement).name},
          {"samples", estimate.answer.samples},
          {"seed", question.seed},
          {"past_jobs", estimate.past_jobs},
          {"jobs", std::move(jobs)},
          {"stuck", std::move(stuck)},
          {"suggestions", std::move(suggestions)},
          {"assumptions", assumptions_of(estimate)}};
}

}  // namespace vtrain
