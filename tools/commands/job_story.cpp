#include "tools/commands/job_story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

std::string seconds_text(SimTime time) {
  std::string text;
  append_ns_as_seconds(text, time.time_since_epoch().count());
  return text;
}

std::string duration_text(SimDuration time) {
  return as_duration(to_seconds(time));
}

std::string gpus_text(GpuCount gpus) {
  return count_of(gpus.value, "GPU");
}

/// A stretch of a job's life.
struct Stretch {
  SimTime begin{};
  std::optional<SimTime> end{};  ///< none for an instant
  std::string text;
};

class Story {
 public:
  Story(const Scenario& scenario, const RunResult& run, JobId id, std::span<const ReasonChange> reasons)
      : scenario_(scenario),
        workload_(scenario.workload()),
        job_(workload_.jobs[id.value]),
        outcome_(run.result.outcomes[id.value]),
        run_(run),
        reasons_(reasons) {}

  std::string text() {
    add_submission();
    add_waits();
    add_gangs();
    std::ranges::stable_sort(stretches_, {}, &Stretch::begin);
    add_end();
    return header() + "\n" + lines() + "\n" + totals();
  }

 private:
  std::string name_of(JobId job) const { return printable(std::string(workload_.jobs[job.value].name)); }

  std::string header() const {
    std::vector<std::string> parts = {fmt::format("policy {}", run_.summary.policy),
                                      scenario_.cluster().describe()};
    if (job_.tenant) parts.push_back("tenant " + printable(workload_.tenants[job_.tenant.value]));
    if (job_.model) parts.push_back("model " + printable(workload_.models[job_.model.value]));
    return wrap_text(fmt::format("job {}: {}", printable(std::string(job_.name)), fmt::join(parts, ", ")),
                     text_columns()) +
           "\n";
  }

  void add_submission() {
    std::string text = "is submitted: asks for " + gpus_text(job_.num_gpus);
    if (job_.gpu_type) text += " of type " + printable(workload_.gpu_types[job_.gpu_type.value]);
    if (job_.duration.count() > 0) text += fmt::format(", takes {} on them", duration_text(job_.duration));
    if (job_.requested_time.count() > 0)
      text += fmt::format(", limit {}", duration_text(job_.requested_time));
    if (job_.has_deadline()) text += fmt::format(", deadline at {} s", seconds_text(job_.deadline));
    stretches_.push_back({job_.submit, {}, std::move(text)});
  }

  std::string why(const ReasonChange& change) const {
    const WaitReasonInfo& info = info_of(change.reason);
    const std::string at = change.at && *change.at != SimTime::max() ? seconds_text(*change.at) : "";
    switch (change.reason) {
      case WaitReason::Gpus:
      case WaitReason::Placement:
      case WaitReason::Type:
        return fmt::format("{}: {} asked, {} free", info.summary, change.asked.value, change.available.value);
      case WaitReason::OutOfService:
        return fmt::format("{}: {} asked, {} in service", info.summary, change.asked.value,
                           change.available.value);
      case WaitReason::Reservation:
        return fmt::format("it would delay the reservation of job {}{}", name_of(change.by),
                           at.empty() ? "" : fmt::format(", which begins at {} s", at));
      case WaitReason::Order:
        return fmt::format("job {} comes before it", name_of(change.by));
      case WaitReason::Preempted:
        return fmt::format("job {} has taken its GPUs", name_of(change.by));
      case WaitReason::NextDecision:
        return fmt::format("the policy decides on it at {} s", at);
      default:
        return std::string(info.summary);
    }
  }

  void add_waits() {
    for (std::size_t i = 0; i < reasons_.size(); ++i) {
      const ReasonChange& change = reasons_[i];
      if (change.reason == WaitReason::None) continue;
      if (change.reason == WaitReason::TooLarge) {
        stretches_.push_back(
            {change.time,
             {},
             fmt::format("is rejected: it would not fit on the empty cluster, {} asked of {}",
                         change.asked.value, change.available.value)});
        continue;
      }
      if (change.reason == WaitReason::Rejected) {
        std::string text = "is rejected by the policy";
        if (change.at)
          text +=
              fmt::format("; with a deadline at {} s it would have been admitted", seconds_text(*change.at));
        stretches_.push_back({change.time, {}, std::move(text)});
        continue;
      }
      const SimTime end = i + 1 < reasons_.size() ? reasons_[i + 1].time : end_of_replay();
      if (end == change.time) continue;
      stretches_.push_back({change.time, end, "waits: " + why(change)});
      waited_[static_cast<std::size_t>(change.reason)] += end - change.time;
    }
  }

  SimTime end_of_replay() const {
    const auto& samples = run_.result.samples;
    return samples.empty() ? job_.submit : std::max(job_.submit, samples.back().time);
  }

  /// Places of a gang: `8 on node 0`.
  static std::string places(const JobSegment& segment) {
    constexpr std::size_t kMost = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(segment.parts.size(), kMost); ++i) {
      text += fmt::format("{}{} on node {}", i == 0 ? ": " : ", ", segment.parts[i].gpus.value,
                          segment.parts[i].node.value);
    }
    if (segment.parts.size() > kMost)
      text +=
          fmt::format(" and {}", count_of(static_cast<std::int64_t>(segment.parts.size() - kMost), "other"));
    return text;
  }

  void add_gangs() {
    bool was_resized = false;
    for (const JobSegment& segment : run_.result.explained_segments) {
      std::string text = fmt::format("{} {}{}", was_resized ? "goes on with" : "runs on",
                                     gpus_text(segment.num_gpus), places(segment));
      if (segment.how == SegmentEnd::Failed) text += "; a node fails";
      if (segment.how == SegmentEnd::Preempted) text += "; is preempted";
      was_resized = segment.how == SegmentEnd::Resized;
      held_ += segment.end - segment.begin;
      stretches_.push_back({segment.begin, segment.end, std::move(text)});
    }
  }

  /// Relation of the end of the work to the deadline, as a part of a sentence.
  std::string deadline_text() const {
    if (!job_.has_deadline()) return "";
    const SimDuration early = job_.deadline - outcome_.finished;
    return early.count() >= 0 ? fmt::format(", {} before its deadline", duration_text(early))
                              : fmt::format(", {} after its deadline", duration_text(-early));
  }

  void add_end() {
    switch (outcome_.state) {
      case JobState::Completed: {
        std::string text = "is done" + deadline_text();
        if (outcome_.finished != outcome_.end)
          text += fmt::format("; its work ended at {} s", seconds_text(outcome_.finished));
        stretches_.push_back({outcome_.end, {}, std::move(text)});
        break;
      }
      case JobState::Failed:
        stretches_.push_back({outcome_.end, {}, "is ended at its time limit, before its work is done"});
        break;
      case JobState::Unfinished:
        stretches_.push_back({end_of_replay(), {}, "still waits as the replay ends"});
        break;
      default:
        break;
    }
  }

  std::string lines() const {
    constexpr std::size_t kMost = 32;
    std::vector<std::pair<std::string, std::string>> cells;
    std::size_t time_width = 4;
    std::size_t length_width = 6;
    for (const Stretch& stretch : stretches_) {
      cells.emplace_back(seconds_text(stretch.begin),
                         stretch.end ? duration_text(*stretch.end - stretch.begin) : "");
      time_width = std::max(time_width, cells.back().first.size());
      length_width = std::max(length_width, cells.back().second.size());
    }
    const auto line = [&](std::string_view time, std::string_view length, const std::string& text) {
      const std::size_t indent = time_width + length_width + 4;
      return fmt::format("{:>{}}  {:>{}}  {}\n", time, time_width, length, length_width,
                         wrap_text(text, text_columns(), indent));
    };
    std::string text = line("at s", "for", "the job");
    const bool is_cut = stretches_.size() > kMost;
    const std::size_t first_after_cut = stretches_.size() - kMost / 2;
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      if (is_cut && i >= kMost / 2 && i < first_after_cut) {
        if (i == kMost / 2) text += line("", "", fmt::format("... {} more lines", first_after_cut - i));
        continue;
      }
      text += line(cells[i].first, cells[i].second, stretches_[i].text);
    }
    return text;
  }

  std::string totals() const {
    SimDuration waited(0);
    std::vector<std::string> by_reason;
    for (const WaitReasonInfo& info : wait_reasons())
      waited += waited_[static_cast<std::size_t>(info.reason)];
    for (const WaitReasonInfo& info : wait_reasons()) {
      const SimDuration here = waited_[static_cast<std::size_t>(info.reason)];
      if (here.count() == 0) continue;
      by_reason.push_back(fmt::format("{} {} ({})", info.word, duration_text(here),
                                      as_percent(to_seconds(here) / to_seconds(waited))));
    }
    std::string text = fmt::format("waited    {}{}\n", duration_text(waited),
                                   by_reason.empty() ? "" : fmt::format(": {}", fmt::join(by_reason, ", ")));
    if (!run_.result.explained_segments.empty()) {
      text += fmt::format("ran       {}, {}: {}, {}, {}\n", duration_text(held_),
                          as_gpu_hours(outcome_.gpu_time.seconds() / 3600),
                          count_of(outcome_.preemptions, "preemption"), count_of(outcome_.resizes, "resize"),
                          count_of(outcome_.failures, "failure"));
    }
    const bool has_end = outcome_.state == JobState::Completed || outcome_.state == JobState::Failed;
    const bool is_met = has_end && job_.has_deadline() && deadline_met(job_, outcome_);
    text += fmt::format("deadline  {}\n", !job_.has_deadline() ? "none" : is_met ? "met" : "missed");
    return text;
  }

  const Scenario& scenario_;
  const Workload& workload_;
  const Job& job_;
  const JobOutcome& outcome_;
  const RunResult& run_;
  const std::span<const ReasonChange> reasons_;
  std::vector<Stretch> stretches_;
  std::array<SimDuration, static_cast<std::size_t>(WaitReason::None) + 1> waited_{};
  SimDuration held_{0};
};

}  // namespace

Result<JobId> find_job(const Workload& workload, const std::string& name) {
  const auto found = std::ranges::find(workload.jobs, name, &Job::name);
  if (found != workload.jobs.end()) return JobId(static_cast<std::uint32_t>(found - workload.jobs.begin()));
  constexpr std::size_t kShown = 3;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min(workload.jobs.size(), kShown); ++i)
    some.push_back(fmt::format("'{}'", printable(std::string(workload.jobs[i].name))));
  return fail(
      {.field = "--job",
       .message = expected_found(fmt::format("the id of one of the {}, such as {}",
                                             count_of(static_cast<std::int64_t>(workload.jobs.size()), "job"),
                                             fmt::join(some, ", ")),
                                 printable(name))});
}

std::string job_story(const Scenario& scenario, const RunResult& run, JobId job,
                      std::span<const ReasonChange> reasons) {
  return Story(scenario, run, job, reasons).text();
}

}  // namespace vtrain
