/// `vtrain eta`: when the pending jobs of a running cluster start and end, and why not earlier.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/io/file.hpp"
#include "core/text/calendar.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/eta.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/live/backtest.hpp"
#include "tools/live/cluster_now.hpp"
#include "tools/live/kueue_now.hpp"
#include "tools/live/read_state.hpp"
#include "tools/live/suggestions.hpp"
#include "tools/options/options.hpp"
#include "tools/report/eta_page.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// Schedulers look about once a second.
constexpr SimDuration kAtOnce = std::chrono::seconds(2);

struct EtaArguments {
  std::vector<std::string> now;
  std::vector<std::string> history;
  std::string policy = "easy";
  std::string cluster;
  std::string placement = "count";
  std::string at;
  std::string job;
  std::string models;
  std::string zone;
  PricingArguments pricing{};
  std::string report;
  TraceArguments log{};
  std::vector<std::string> estimates;
  std::int64_t submissions = 2000;
  std::int64_t samples = 200;
  std::uint64_t seed = 1;
  unsigned threads = 0;
  bool json = false;
};

/// The question with its answer.
struct Estimate {
  ClusterNow cluster{};
  EtaAnswer answer{};
  std::int64_t past_jobs = 0;
  std::string policy{};                   ///< spec as given
  std::vector<std::string> used_files{};  ///< files of --now that the policy has read
  std::int64_t unused_files = 0;          ///< files for a policy that is not asked for
  std::vector<Suggestion> suggestions{};  ///< of the job that was asked for

  const Job& job(JobId id) const { return cluster.question.workload.jobs[id.value]; }
  std::string name(JobId id) const { return std::string(job(id).name); }
};

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

Result<Estimate> make_estimate(const EtaArguments& arguments) {
  const auto zone = arguments.zone.empty() ? Result<TimeZone>(kUtc) : TimeZone::find(arguments.zone);
  if (!zone) return fail(in_option("--time-zone", zone.error()));
  const auto state = read_live_state(arguments.now, *zone);
  if (!state) return fail(in_option("--now", state.error()));
  RunTimeBook book;
  for (const DumpedJob& job : state->jobs)
    book.add(job);
  if (!arguments.history.empty()) {
    const auto past = read_live_state(arguments.history, *zone);
    if (!past) return fail(in_option("--history", past.error()));
    for (const DumpedJob& job : past->jobs)
      book.add(job);
  }
  ClusterNowOptions options;
  options.pricing = arguments.pricing;
  std::optional<JobModels> models;
  if (!arguments.models.empty()) {
    auto read = JobModels::read(arguments.models);
    if (!read) return fail(in_option("--models", read.error()));
    models = *std::move(read);
    options.models = &*models;
  }
  const auto at = parse_at(arguments.at);
  if (!at) return fail(at.error());
  options.now = *at;
  const auto placement = parse_placement(arguments.placement);
  if (!placement) return fail(in_option("--placement", placement.error()));
  options.placement = *placement;
  if (!arguments.cluster.empty()) {
    auto cluster = ClusterSpec::parse(arguments.cluster);
    if (!cluster) return fail(in_option("--cluster", cluster.error()));
    options.cluster = *std::move(cluster);
  }
  const std::string spec = with_policy_files(arguments.policy, *state);
  const auto policy = PolicyRegistry::built_in().parse(spec);
  options.policy_names_nodes = policy && policy->policy().follows_requests;
  // It chooses GPU types, whatever jobs ask for.
  options.counts_types = policy && policy->policy().name == "kueue";
  const bool is_kueue = options.counts_types && (*policy)["objects"].empty() && !state->kubernetes.empty();
  auto cluster = make_cluster_now(*state, book, options);
  if (!cluster) return fail(in_option("--now", cluster.error()));
  cluster->question.policy = with_origin(spec, cluster->origin);
  if (is_kueue) {
    auto objects = make_kueue_objects(*state, *cluster);
    if (!objects) return fail(in_option("--now", objects.error()));
    cluster->question.make_policy = [objects = *std::move(objects)](const PolicyArguments& given) {
      return make_kueue_live(given, objects);
    };
  }
  if (options.policy_names_nodes) {
    for (const DumpedPartition& partition : state->partitions) {
      if (partition.state == "UP") cluster->partitions.push_back(partition.name);
    }
  }
  cluster->question.samples = arguments.samples;
  cluster->question.seed = arguments.seed;
  cluster->question.threads = arguments.threads;
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
  return Estimate{*std::move(cluster), *std::move(answer),         book.num_jobs(),
                  arguments.policy,    {used.begin(), used.end()}, std::ssize(unused)};
}

/// Reason for which a job does not start now, as a part of a sentence.
std::string why_text(const Estimate& estimate, const JobEta& eta) {
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
std::string from_now(const Estimate& estimate, const std::optional<SimTime>& time) {
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

std::vector<std::string> assumptions_of(const Estimate& estimate) {
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

/// The policy without its parameters.
std::string policy_name(const Estimate& estimate) {
  const std::string& spec = estimate.cluster.question.policy;
  return spec.substr(0, spec.find(':'));
}

std::string headline(const Estimate& estimate) {
  const auto pending = std::ssize(estimate.answer.jobs);
  const SimTime at_once = estimate.cluster.question.state.now + kAtOnce;
  const auto soon = std::ranges::count_if(estimate.answer.jobs, [at_once](const JobEta& each) {
    return each.start.p50 && *each.start.p50 < at_once;
  });
  const JobEta* last = nullptr;
  for (const JobEta& each : estimate.answer.jobs) {
    if (each.start.p50 && (last == nullptr || *each.start.p50 > *last->start.p50)) last = &each;
  }
  std::string text = fmt::format("Under {}, {} of {} that can start do so now", policy_name(estimate), soon,
                                 count_of(pending, "pending job"));
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
std::string changes_text(const Estimate& estimate) {
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

void print_table(const Estimate& estimate, bool is_of_one_job, std::FILE* stream) {
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
  print_text(stream, "{}\n\n{}{}{}\n{}", wrap_text(headline(estimate), text_columns()),
             labelled_lines(
                 "now", {clock_text(estimate.cluster.now), fmt::format("{} running", num_running(question))}),
             labelled_lines("policy", {estimate.policy}) +
                 labelled_lines("cluster", {question.cluster.describe(),
                                            fmt::format("placement {}", info_of(question.placement).name)}),
             assumed_lines(assumptions_of(estimate)), table.to_string());
  if (is_of_one_job) {
    print_text(stream, "\n{}", changes_text(estimate));
    return;
  }
  if (estimate.cluster.stuck.empty()) return;
  TextTable stuck({"job", "needs somebody to act"});
  for (const StuckJob& job : estimate.cluster.stuck)
    stuck.add_row({job.id, job.reason});
  print_text(stream, "\n{}", stuck.to_string());
}

ordered_json time_json(const Estimate& estimate, const LikelyTime& time) {
  const auto value = [&](const std::optional<SimTime>& at) {
    return at ? ordered_json(estimate.cluster.clock(*at)) : ordered_json();
  };
  return {{"p50", value(time.p50)}, {"p90", value(time.p90)}};
}

/// Median of a job's run times with the range of nine in ten.
ordered_json run_time_json(const Estimate& estimate, JobId job) {
  const std::vector<SimDuration>& values = estimate.cluster.question.run_times[job.value].values;
  const auto at = [&](double part) {
    const auto place = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5);
    return to_seconds(values[place]);
  };
  return {{"p5", at(0.05)}, {"p50", at(0.5)}, {"p95", at(0.95)}};
}

ordered_json estimate_json(const Estimate& estimate) {
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

Result<void> write_page(const Estimate& estimate, const EtaArguments& arguments) {
  const EtaQuestion& question = estimate.cluster.question;
  const auto from_now = [&](const std::optional<SimTime>& time) {
    return time ? std::optional(std::max(to_seconds(*time - question.state.now), 0.0)) : std::nullopt;
  };
  EtaPageInput page{.subject = fmt::format("{}, {}", question.cluster.describe(), policy_name(estimate)),
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
  for (const std::string& file : arguments.now)
    page.provenance.emplace_back("now", file);
  for (const std::string& file : arguments.history)
    page.provenance.emplace_back("history", file);
  page.provenance.emplace_back("policy", estimate.policy);
  page.provenance.emplace_back("seed", std::to_string(question.seed));
  page.provenance.emplace_back("version", "vtrain " VTRAIN_VERSION);
  return write_file(arguments.report, render_eta_page(page));
}

ordered_json backtest_json(const Backtest& test, const EtaArguments& arguments) {
  ordered_json rows = ordered_json::array();
  for (const BacktestRow& row : test.rows) {
    const auto share = [](const std::optional<double>& part) {
      return part ? ordered_json(*part) : ordered_json();
    };
    rows.push_back({{"method", row.method},
                    {"estimates", row.estimates},
                    {"median_error_s", row.median_error_s},
                    {"p90_error_s", row.p90_error_s},
                    {"mean_bias_s", row.mean_bias_s},
                    {"within_p50", share(row.within_p50)},
                    {"within_p90", share(row.within_p90)},
                    {"waited_median_error_s", share(row.waited_median_error_s)},
                    {"waited_within_p50", share(row.waited_within_p50)},
                    {"waited_within_p90", share(row.waited_within_p90)}});
  }
  return {
      {"policy", arguments.policy},    {"submissions", test.submissions},     {"at_once", test.at_once},
      {"impossible", test.impossible}, {"without_start", test.without_start}, {"samples", arguments.samples},
      {"seed", arguments.seed},        {"methods", std::move(rows)}};
}

void print_backtest(const Backtest& test, const EtaArguments& arguments) {
  const BacktestRow& ours = test.rows.front();
  const auto percent = [](const std::optional<double>& part) {
    return part ? as_percent(*part) : std::string("-");
  };
  const std::int64_t waited = test.submissions - test.at_once;
  const std::string text = fmt::format(
      "Of {}, {} waited for more than a minute; {} of these started by the time that {} gave for nine in ten "
      "(p90), {} by p50.",
      count_of(test.submissions, "submission"), with_thousands(waited), percent(ours.waited_within_p90),
      arguments.policy, percent(ours.waited_within_p50));
  TextTable table({"estimate", "median\nerror", "of those\nthat waited", "p90\nerror", "mean\nbias",
                   "start by p50,\nif they waited", "start by p90,\nif they waited"});
  for (const BacktestRow& row : test.rows) {
    table.add_row(
        {row.method, as_duration(row.median_error_s),
         row.waited_median_error_s ? as_duration(*row.waited_median_error_s) : "-",
         as_duration(row.p90_error_s),
         fmt::format("{}{}", row.mean_bias_s < 0 ? "-" : "+", as_duration(std::abs(row.mean_bias_s))),
         percent(row.waited_within_p50), percent(row.waited_within_p90)});
  }
  std::vector<std::string> notes = {fmt::format("{} started within a minute", count_of(test.at_once, "job"))};
  if (test.impossible > 0)
    notes.push_back(
        fmt::format("{} left out, as jobs held more than there is", count_of(test.impossible, "submission")));
  if (test.without_start > 0)
    notes.push_back(fmt::format("{} of the log without a start", count_of(test.without_start, "job")));
  print_text(stdout, "{}\n\n{}\n{}bias: above 0 if estimates are too late\n", wrap_text(text, text_columns()),
             labelled_lines("log", notes), table.to_string());
}

/// Starts that a scheduler estimated, on the clock of a trace, by job: the first one of each.
Result<std::map<std::string, SimTime, std::less<>>> read_estimates(const std::vector<std::string>& files,
                                                                   const Trace& trace) {
  std::map<std::string, SimTime, std::less<>> estimates;
  if (files.empty()) return estimates;
  if (!trace.origin) return fail({.message = "expected a log with dates, found times without"});
  for (const std::string& file : files) {
    const auto state = read_live_state({&file, 1});
    if (!state) return fail(state.error());
    for (const DumpedJob& job : state->jobs) {
      if (!job.start_estimate) continue;
      const SimDuration since_1970 = std::chrono::seconds(*job.start_estimate);
      estimates.emplace(job.id, SimTime(since_1970 - trace.origin->time.time_since_epoch()));
    }
  }
  return estimates;
}

Result<void> backtest(const EtaArguments& arguments) {
  auto log = read_traces(arguments.log);
  if (!log) return fail(std::move(log.error()));
  if (arguments.cluster.empty() && !log->trace.num_gpus)
    return fail({.field = "--cluster", .message = "missing: the cluster of the log"});
  auto cluster = arguments.cluster.empty() ? cluster_of_trace(*log->trace.num_gpus)
                                           : ClusterSpec::parse(arguments.cluster);
  if (!cluster) return fail(in_option("--cluster", cluster.error()));
  auto estimates = read_estimates(arguments.estimates, log->trace);
  if (!estimates) return fail(in_option("--estimates", estimates.error()));
  const auto test = run_backtest(log->trace.workload, *cluster,
                                 {.policy = arguments.policy,
                                  .submissions = arguments.submissions,
                                  .samples = arguments.samples,
                                  .seed = arguments.seed,
                                  .threads = arguments.threads,
                                  .own_estimates = *std::move(estimates)},
                                 PolicyRegistry::built_in());
  if (!test) return fail(in_option("--backtest", test.error()));
  if (arguments.json)
    print_json(backtest_json(*test, arguments));
  else
    print_backtest(*test, arguments);
  return {};
}

Result<void> eta(const EtaArguments& arguments) {
  if (!arguments.log.files.empty()) return backtest(arguments);
  if (arguments.now.empty())
    return fail({.field = "--now", .message = "missing: files of the running cluster, or --backtest LOG"});
  auto estimate = make_estimate(arguments);
  if (!estimate) return fail(std::move(estimate.error()));
  if (!arguments.job.empty()) {
    const auto is_other = [&](const JobEta& each) { return estimate->job(each.job).name != arguments.job; };
    std::erase_if(estimate->answer.jobs, is_other);
    if (estimate->answer.jobs.empty())
      return fail(
          {.field = "--job", .message = expected_found("a pending job that can start", arguments.job)});
    auto found =
        suggest_changes(estimate->cluster, estimate->answer.jobs.front(), PolicyRegistry::built_in());
    if (!found) return fail(std::move(found.error()));
    estimate->suggestions = *std::move(found);
  }
  if (!arguments.report.empty()) {
    if (auto written = write_page(*estimate, arguments); !written) return written;
  }
  if (arguments.json)
    print_json(estimate_json(*estimate), summary_stream(arguments.report));
  else
    print_table(*estimate, !arguments.job.empty(), summary_stream(arguments.report));
  return {};
}

}  // namespace

void add_eta_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "eta",
      "Estimate when the pending jobs of a running cluster start and end, and say why not earlier.\n\n"
      "  vtrain eta --now jobs.txt nodes.txt --policy easy --history sacct.txt\n"
      "  squeue --json | vtrain eta --now - nodes.txt --job 4711\n  vtrain eta --backtest sacct.txt "
      "--cluster 64x8 --policy easy");
  const auto arguments = std::make_shared<EtaArguments>();
  command
      ->add_option(
          "--now", arguments->now,
          "Files that Slurm's commands or kubectl wrote at about one instant, or - for standard "
          "input: scontrol show job|node|partition -o, squeue --json or -o %all, sacct, sinfo --json, "
          "kubectl get workloads,clusterqueues,... -A -o json")
      ->type_name("FILE...");
  CLI::Option* const log = command->add_option("--backtest", arguments->log.files,
                                               "Log of past jobs in any format of traces: estimate for some "
                                               "of its submissions as of then, and compare "
                                               "with what happened");
  log->type_name("LOG...")->excludes(command->get_option("--now"));
  command
      ->add_option("--format", arguments->log.format,
                   "Format of the log (vtrain trace info --help lists them)")
      ->needs(log)
      ->capture_default_str();
  command
      ->add_option("--submissions", arguments->submissions,
                   "Most submissions of a back-test, chosen by the seed")
      ->needs(log)
      ->transform(whole_number(1, 10'000'000))
      ->capture_default_str();
  command
      ->add_option(
          "--estimates", arguments->estimates,
          "Starts that the scheduler estimated for jobs of the log, as squeue --start or scontrol show "
          "job tell them: the first one of each job is compared, too")
      ->type_name("FILE...")
      ->needs(log);
  command
      ->add_option("--history", arguments->history,
                   "Past jobs, as sacct -P or --json writes them: how long jobs really run")
      ->type_name("FILE...");
  command
      ->add_option("--models", arguments->models,
                   "CSV file with the models that jobs train: job (id, or name with *), model, global_batch, "
                   "tokens or iterations, plan")
      ->type_name("FILE");
  add_pricing_options(*command, arguments->pricing);
  command->add_option("--policy", arguments->policy, "Policy that can begin with running jobs")
      ->capture_default_str();
  command
      ->add_option("--cluster", arguments->cluster,
                   "Cluster in place of the nodes in the files, as 16x8:a100")
      ->type_name("SPEC");
  command->add_option("--placement", arguments->placement, "Rule that chooses the GPUs of a gang")
      ->capture_default_str();
  command
      ->add_option("--at", arguments->at,
                   "Instant of the files (UTC), as 2026-11-25T09:16:18; default: the latest time in them")
      ->type_name("TIME");
  command
      ->add_option("--time-zone", arguments->zone,
                   "Zone of times in the files that name none, as Europe/Berlin; default: UTC")
      ->type_name("NAME");
  command
      ->add_option("--job", arguments->job,
                   "Answer for this job alone, with changes that make it start earlier")
      ->type_name("ID");
  command->add_option("--report", arguments->report, "Write an HTML page with the jobs on one time line")
      ->type_name("FILE")
      ->excludes(log);
  command->add_option("--samples", arguments->samples, "Simulations, each with run times drawn anew")
      ->transform(whole_number(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Seed of the draws")->capture_default_str();
  command->add_option("--threads", arguments->threads, "Threads; 0: one per processor")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return eta(*arguments); }; });
}

}  // namespace vtrain
