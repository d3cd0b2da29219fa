#include "tools/commands/eta_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"

namespace vtrain {
namespace {

/// Schedulers look about once a second.
constexpr SimDuration kAtOnce = std::chrono::seconds(2);

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

}  // namespace

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
