#include "tools/commands/eta_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// Schedulers look about once a second.
constexpr SimDuration kAtOnce = std::chrono::seconds(2);

/// Reason for which a job does not start now, as a part of a sentence.
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

/// Time from now on: `in 2 h 05 m`, `now`.
std::string from_now(const EtaReport& estimate, const std::optional<SimTime>& time) {
  if (!time) return "never";
  const SimDuration wait = *time - estimate.cluster.question.state.now;
  return wait < kAtOnce ? "now" : as_duration(to_seconds(wait));
}

std::string clock_text(std::int64_t seconds) {
  const auto time = std::chrono::sys_seconds(std::chrono::seconds(seconds));
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
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

std::int64_t num_running(const EtaQuestion& question) {
  return std::ranges::count_if(question.state.jobs,
                               [](const LiveJob& job) { return job.outcome.state == JobState::Running; });
}

std::string headline(const EtaReport& estimate) {
  const auto pending = std::ssize(estimate.answer.jobs);
  const SimTime at_once = estimate.cluster.question.state.now + kAtOnce;
  const auto soon = std::ranges::count_if(estimate.answer.jobs, [at_once](const JobEta& each) {
    return each.start.p50 && *each.start.p50 < at_once;
  });
  const JobEta* last = nullptr;
  for (const JobEta& each : estimate.answer.jobs) {
    if (each.start.p50 && (last == nullptr || *each.start.p50 > *last->start.p50)) last = &each;
  }
  std::string text = fmt::format("Under {}, {} of {} that can start do so now",
                                 name_of_policy(estimate.policy), soon, count_of(pending, "pending job"));
  if (last != nullptr)
    text += fmt::format(", the last, {}, in {} (nine in ten times within {})", estimate.name(last->job),
                        from_now(estimate, last->start.p50), from_now(estimate, last->start.p90));
  text += ".";
  if (!estimate.cluster.stuck.empty())
    text += fmt::format(" {} can't start until somebody acts.",
                        count_of(std::ssize(estimate.cluster.stuck), "job"));
  return text;
}

/// Changes that help the one job of the answer.
std::string changes_text(const EtaReport& estimate) {
  std::string text;
  const JobEta& eta = estimate.answer.jobs.front();
  const auto waits = std::ssize(eta.ahead);
  if (waits > 0) {
    constexpr std::ptrdiff_t kShown = 8;
    std::vector<std::string> names;
    for (std::ptrdiff_t i = 0; i < std::min(waits, kShown); ++i)
      names.push_back(estimate.name(eta.ahead[static_cast<std::size_t>(i)]));
    if (waits > kShown) names.push_back(fmt::format("{} more", waits - kShown));
    text += labelled_lines("ahead", names, ", ");
  }
  if (estimate.suggestions.empty()) return text + "No change that was tried makes it start earlier.\n";
  TextTable table({"earlier with", "starts in\np50", "\np90", "but"});
  for (const Suggestion& each : estimate.suggestions)
    table.add_row(
        {each.change, from_now(estimate, each.start.p50), from_now(estimate, each.start.p90), each.price});
  return text + table.to_string();
}

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

std::string eta_text(const EtaReport& estimate, bool is_of_one_job) {
  const Workload& workload = estimate.cluster.question.workload;
  TextTable table(
      {"job", "user", "GPUs", "starts in\np50", "\np90", "ends in\np50", "\np90", "why it waits"});
  for (const JobEta& each : estimate.answer.jobs) {
    const Job& job = estimate.job(each.job);
    table.add_row({std::string(job.name), job.user ? workload.users[job.user.value] : "",
                   std::to_string(job.num_gpus.value), from_now(estimate, each.start.p50),
                   from_now(estimate, each.start.p90), from_now(estimate, each.end.p50),
                   from_now(estimate, each.end.p90), why_text(estimate, each)});
  }
  const EtaQuestion& question = estimate.cluster.question;
  const std::vector<std::string> now = {clock_text(estimate.cluster.now),
                                        fmt::format("{} running", num_running(question))};
  const std::vector<std::string> cluster = {question.cluster.describe(),
                                            fmt::format("placement {}", info_of(question.placement).name)};
  std::string text = fmt::format("{}\n\n{}{}{}{}\n{}", wrap_text(headline(estimate), text_columns()),
                                 labelled_lines("now", now), labelled_lines("policy", {estimate.policy}),
                                 labelled_lines("cluster", cluster), assumed_lines(assumptions_of(estimate)),
                                 table.to_string());
  if (is_of_one_job) return text + "\n" + changes_text(estimate);
  if (estimate.cluster.stuck.empty()) return text;
  TextTable stuck({"job", "needs somebody to act"});
  for (const StuckJob& job : estimate.cluster.stuck)
    stuck.add_row({job.id, job.reason});
  return text + "\n" + stuck.to_string();
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

EtaPageInput eta_page(const EtaReport& estimate) {
  const EtaQuestion& question = estimate.cluster.question;
  const auto from_now = [&](const std::optional<SimTime>& time) {
    return time ? std::optional(std::max(to_seconds(*time - question.state.now), 0.0)) : std::nullopt;
  };
  EtaPageInput page{
      .subject = fmt::format("{}, {}", question.cluster.describe(), name_of_policy(estimate.policy)),
      .answer = headline(estimate),
      .facts = fmt::format("{} UTC; {} running; {}", clock_text(estimate.cluster.now),
                           count_of(num_running(question), "job"),
                           count_of(estimate.answer.samples, "simulation")),
      .assumptions = assumptions_of(estimate)};
  for (const JobEta& each : estimate.answer.jobs) {
    const Job& job = estimate.job(each.job);
    page.jobs.push_back({.job = std::string(job.name),
                         .user = job.user ? question.workload.users[job.user.value] : "",
                         .gpus = job.num_gpus.value,
                         .start_p50_s = from_now(each.start.p50),
                         .start_p90_s = from_now(each.start.p90),
                         .end_p50_s = from_now(each.end.p50),
                         .end_p90_s = from_now(each.end.p90),
                         .why = why_text(estimate, each)});
  }
  for (const StuckJob& job : estimate.cluster.stuck)
    page.stuck.emplace_back(job.id, job.reason);
  page.provenance.emplace_back("policy", estimate.policy);
  page.provenance.emplace_back("seed", std::to_string(question.seed));
  page.provenance.emplace_back("version", "vtrain " VTRAIN_VERSION);
  return page;
}

}  // namespace vtrain
