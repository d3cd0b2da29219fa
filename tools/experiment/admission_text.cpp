#include "tools/experiment/admission_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "tools/experiment/eta.hpp"
#include "tools/format/plan_table.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "workloads/config/plan_json.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// Rows of a table for people; the JSON has all.
constexpr std::ptrdiff_t kShownRows = 10;

std::string span_text(SimDuration span) {
  return as_duration(to_seconds(span));
}

std::string in_text(const AdmitReport& report, SimTime time) {
  const SimDuration span = time - report.request.now();
  return span < std::chrono::seconds(1) ? "now" : span_text(span);
}

std::string_view word_of(AdmissionReason reason) {
  switch (reason) {
    case AdmissionReason::Promised:
      return "promised";
    case AdmissionReason::InTime:
      return "in-time";
    case AdmissionReason::TooLarge:
      return "too-large";
    case AdmissionReason::Rejected:
      return "rejected";
    case AdmissionReason::NeverStarts:
      return "never-starts";
    case AdmissionReason::Late:
      return "late";
    case AdmissionReason::NotPromised:
      return "not-promised";
    case AdmissionReason::BreaksOther:
      return "breaks-other";
  }
  return "";
}

std::string job_text(const AdmitReport& report) {
  constexpr double kBillion = 1e9;
  return fmt::format("{} on {} billion tokens", report.request.name(),
                     short_number(report.request.tokens() / kBillion));
}

std::string name_of_job(const AdmitReport& report, JobId number) {
  return std::string(report.request.jobs().jobs[number.value].name);
}

/// First displaced job whose deadline is missed.
const DisplacedJob* broken_job(const AdmissionAnswer& answer) {
  const auto found = std::ranges::find_if(answer.displaced, &DisplacedJob::misses_deadline);
  return found == answer.displaced.end() ? nullptr : &*found;
}

std::string yes_text(const AdmitReport& report) {
  const Job& job = report.request.job();
  const JobOutcome& outcome = report.answer.course.outcome;
  std::string text =
      fmt::format("yes: {} ends in {}, {} before its deadline", job_text(report),
                  in_text(report, outcome.finished), span_text(job.deadline - outcome.finished));
  if (report.likely)
    text += fmt::format("; it is in time in {} of {} simulations with the predictor's errors",
                        report.likely->in_time, report.likely->samples);
  return text + ".";
}

std::string no_text(const AdmitReport& report) {
  const AdmissionRequest& request = report.request;
  const JobOutcome& outcome = report.answer.course.outcome;
  const std::string& policy = request.spec().policy;
  switch (report.answer.reason) {
    case AdmissionReason::TooLarge:
      return fmt::format("no: {} GPUs find no room on the empty cluster.", request.job().num_gpus.value);
    case AdmissionReason::Rejected:
      return fmt::format("no: {} turns {} away, as no plan that keeps all promises is done within {}.",
                         policy, job_text(report), span_text(request.job().deadline - request.now()));
    case AdmissionReason::NeverStarts:
      return fmt::format("no: {} never gets GPUs under {}.", job_text(report), policy);
    case AdmissionReason::Late:
      return fmt::format("no: {} would end in {}, {} after its deadline.", job_text(report),
                         in_text(report, outcome.finished),
                         span_text(outcome.finished - request.job().deadline));
    case AdmissionReason::NotPromised:
      return fmt::format("no: {} would end in {}, but only by luck: its GPUs are promised to others.",
                         job_text(report), in_text(report, outcome.finished));
    case AdmissionReason::BreaksOther:
      return fmt::format("no: {} would end in {}, but job {} would miss its deadline.", job_text(report),
                         in_text(report, outcome.finished),
                         name_of_job(report, broken_job(report.answer)->number));
    default:
      return "";
  }
}

/// GPUs over time, with the best plan on each number of them.
std::string segments_table(const AdmitReport& report) {
  const std::vector<JobSegment>& segments = report.answer.course.segments;
  const AdmissionRequest& request = report.request;
  const auto shown = std::min(std::ssize(segments), kShownRows);
  std::vector<PlanRow> rows;
  for (std::ptrdiff_t i = 0; i < shown; ++i) {
    const JobSegment& segment = segments[static_cast<std::size_t>(i)];
    const auto plan = report.request.plan_of(segment);
    if (!plan) continue;  // it uses the plan of fewer GPUs
    const auto type = request.type_of(segment);
    std::string label = fmt::format("{} to {}", in_text(report, segment.begin), in_text(report, segment.end));
    if (type && request.has_types()) label += " " + request.type_name(*type);
    rows.push_back({std::move(label), *plan});
  }
  TrainingTerms terms;
  terms.tokens_per_iteration =
      static_cast<double>(request.job().global_batch) * static_cast<double>(request.model().sequence_length);
  std::string text = "\n" + plan_table(rows, terms, true);
  if (std::ssize(segments) > kShownRows)
    text += fmt::format("and {} more (--json)\n", std::ssize(segments) - kShownRows);
  return text;
}

std::string displaced_table(const AdmitReport& report) {
  const std::vector<DisplacedJob>& displaced = report.answer.displaced;
  if (displaced.empty()) return "\nNo other job is done later.\n";
  TextTable table({"done later", "by", "deadline"});
  for (std::ptrdiff_t i = 0; i < std::min(std::ssize(displaced), kShownRows); ++i) {
    const DisplacedJob& job = displaced[static_cast<std::size_t>(i)];
    const bool has_deadline = report.request.jobs().jobs[job.number.value].has_deadline();
    table.add_row({name_of_job(report, job.number),
                   job.by == SimDuration::max() ? std::string("never done") : span_text(job.by),
                   job.misses_deadline ? "missed"
                   : has_deadline      ? (job.has_promise ? "kept, promised" : "kept")
                                       : "none"});
  }
  std::string text = "\n" + table.to_string();
  if (std::ssize(displaced) > kShownRows)
    text += fmt::format("and {} more (--json)\n", std::ssize(displaced) - kShownRows);
  return text;
}

std::string changes_table(const AdmitReport& report) {
  if (report.changes.empty()) return "\nNothing that was tried would be a yes.\n";
  TextTable table({"yes with", "ends in", "jobs done later"});
  for (const AdmissionChange& change : report.changes)
    table.add_row({change.option, in_text(report, change.answer.course.outcome.finished),
                   with_thousands(std::ssize(change.answer.displaced))});
  return "\n" + table.to_string();
}

/// Ends at or before which a part of the simulations have it.
std::optional<SimTime> end_at(const LikelyEnds& likely, double part) {
  const auto place = quantile_position(likely.ends.size(), static_cast<std::size_t>(likely.samples), part);
  return place ? std::optional(likely.ends[*place]) : std::nullopt;
}

constexpr double kLowPart = 0.05;
constexpr double kHighPart = 0.95;

std::string interval_text(const AdmitReport& report) {
  const auto low = end_at(*report.likely, kLowPart);
  const auto high = end_at(*report.likely, kHighPart);
  const auto text = [&](const std::optional<SimTime>& time) {
    return time ? in_text(report, *time) : "never";
  };
  return fmt::format("nine in ten between {} and {}", text(low), text(high));
}

std::vector<std::string> assumptions_of(const AdmitReport& report) {
  std::vector<std::string> list = report.context.assumed;
  list.emplace_back("no job comes after this one");
  const std::vector<std::string>& more = report.request.assumptions();
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

std::int64_t count_of_state(const AdmitReport& report, JobState state) {
  return std::ranges::count_if(report.request.state().jobs,
                               [state](const LiveJob& job) { return job.outcome.state == state; });
}

ordered_json seconds_json(const AdmitReport& report, SimTime time) {
  return to_seconds(time - report.request.now());
}

ordered_json course_json(const AdmitReport& report, const AdmissionAnswer& answer) {
  const JobOutcome& outcome = answer.course.outcome;
  const bool is_done = outcome.state == JobState::Completed;
  ordered_json segments = ordered_json::array();
  for (const JobSegment& segment : answer.course.segments) {
    ordered_json entry = {{"begin_s", seconds_json(report, segment.begin)},
                          {"end_s", seconds_json(report, segment.end)},
                          {"num_gpus", segment.num_gpus.value}};
    if (const auto type = report.request.type_of(segment); type && !report.request.type_name(*type).empty())
      entry["gpu_type"] = report.request.type_name(*type);
    if (const auto plan = report.request.plan_of(segment)) {
      entry["plan"] = plan_to_json(plan->plan);
      entry["iteration_time_s"] = Seconds(plan->iteration).count();
    }
    segments.push_back(std::move(entry));
  }
  ordered_json displaced = ordered_json::array();
  for (const DisplacedJob& job : answer.displaced) {
    displaced.push_back(
        {{"job", name_of_job(report, job.number)},
         {"later_by_s", job.by == SimDuration::max() ? ordered_json() : ordered_json(to_seconds(job.by))},
         {"promised", job.has_promise},
         {"misses_deadline", job.misses_deadline}});
  }
  return {{"start_s", is_done ? seconds_json(report, outcome.start) : ordered_json()},
          {"end_s", is_done ? seconds_json(report, outcome.finished) : ordered_json()},
          {"promised_s", outcome.has_promise() ? seconds_json(report, outcome.promised) : ordered_json()},
          {"preemptions", outcome.preemptions},
          {"resizes", outcome.resizes},
          {"gpus_over_time", std::move(segments)},
          {"displaced", std::move(displaced)}};
}

}  // namespace

std::string admit_text(const AdmitReport& report) {
  const AdmissionRequest& request = report.request;
  const bool is_yes = report.answer.is_yes();
  const Job& job = request.job();
  std::vector<std::string> lines = {
      fmt::format("{} x {} tokens an iteration{}", with_thousands(job.global_batch),
                  with_thousands(request.model().sequence_length),
                  request.assumes_batch() ? " (assumed)" : ""),
      fmt::format("{} iterations", with_thousands(job.iterations)),
      fmt::format("{}{} GPUs{}", request.is_elastic() ? "elastic, requests " : "", job.num_gpus.value,
                  request.assumes_gpus() ? " (the fewest that suffice alone)" : "")};
  std::string text = wrap_text(is_yes ? yes_text(report) : no_text(report), text_columns()) + "\n\n";
  text += labelled_lines("job", lines);
  text += labelled_lines("cluster", {request.cluster().describe(),
                                     fmt::format("{} running", count_of_state(report, JobState::Running)),
                                     fmt::format("{} waiting", count_of_state(report, JobState::Waiting))});
  text += labelled_lines(
      "policy", {request.spec().policy, fmt::format("placement {}", info_of(request.spec().placement).name)});
  if (report.likely) text += labelled_lines("ends", {interval_text(report)});
  text += assumed_lines(assumptions_of(report));
  if (is_yes) return text + segments_table(report) + displaced_table(report);
  return text + changes_table(report);
}

ordered_json admit_json(const AdmitReport& report) {
  const AdmissionRequest& request = report.request;
  const Job& job = request.job();
  ordered_json json = {{"answer", report.answer.is_yes() ? "yes" : "no"},
                       {"reason", word_of(report.answer.reason)},
                       {"sentence", report.answer.is_yes() ? yes_text(report) : no_text(report)},
                       {"policy", request.spec().policy},
                       {"cluster", request.cluster().describe()},
                       {"placement", info_of(request.spec().placement).name},
                       {"running", count_of_state(report, JobState::Running)},
                       {"waiting", count_of_state(report, JobState::Waiting)},
                       {"model", request.name()},
                       {"tenant", request.spec().tenant},
                       {"tokens", request.tokens()},
                       {"global_batch", job.global_batch},
                       {"iterations", job.iterations},
                       {"num_gpus", job.num_gpus.value},
                       {"elastic", request.is_elastic()},
                       {"deadline_s", to_seconds(job.deadline - request.now())}};
  if (report.context.now) json["now"] = *report.context.now;
  json.update(course_json(report, report.answer));
  if (report.likely) {
    const auto seconds = [&](double part) {
      const auto time = end_at(*report.likely, part);
      return time ? seconds_json(report, *time) : ordered_json();
    };
    json["end_interval_s"] = {{"low", seconds(kLowPart)}, {"high", seconds(kHighPart)}, {"coverage", 0.9}};
    json["samples"] = report.likely->samples;
    json["probability_in_time"] =
        static_cast<double>(report.likely->in_time) / static_cast<double>(report.likely->samples);
  }
  if (!report.answer.is_yes()) {
    constexpr std::array kWords = {"deadline", "tokens", "gpus", "gpu-type"};
    ordered_json changes = ordered_json::array();
    for (const AdmissionChange& change : report.changes) {
      ordered_json entry = {{"change", kWords[static_cast<std::size_t>(change.kind)]},
                            {"option", change.option}};
      if (change.kind == AdmissionChange::Kind::Deadline)
        entry["earliest_deadline_s"] = to_seconds(change.deadline - request.now());
      entry["start_s"] = seconds_json(report, change.answer.course.outcome.start);
      entry["end_s"] = seconds_json(report, change.answer.course.outcome.finished);
      entry["displaced"] = std::ssize(change.answer.displaced);
      changes.push_back(std::move(entry));
    }
    json["changes"] = std::move(changes);
  }
  json["predictor"] = request.predictor();
  json["seed"] = request.spec().seed;
  json["assumptions"] = assumptions_of(report);
  return json;
}

}  // namespace vtrain
