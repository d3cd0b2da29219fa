#include "traces/reading/job_log.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {
bool is_missing(std::string_view text) {
  constexpr std::array<std::string_view, 8> kMissing = {"nan",  "NaN",  "None", "none",
                                                        "NULL", "null", "N/A",  "NaT"};
  const std::string_view word = trim(text);
  return word.empty() || std::find(kMissing.begin(), kMissing.end(), word) != kMissing.end();
}

bool is_name(std::string_view text) {
  return check_name(text).has_value();
}

SimTime to_sim_time(Instant instant) {
  return SimTime(instant.time_since_epoch());
}

std::string_view set_run(Job& job, SimTime submit, SimTime start, SimTime end) {
  if (end < start) return skip::kEndsBeforeStart;
  if (end == start) return skip::kNoRunTime;
  if (end - start > kMaxTraceTime) return skip::kTooLong;
  job.submit = submit;
  job.duration = end - start;
  if (start >= submit) job.original_start = start;
  return {};
}

void JobLog::reserve(std::size_t num_jobs) {
  trace_.workload.jobs.reserve(num_jobs);
}

Result<void> JobLog::skip(std::string_view reason, std::int64_t line, std::string_view field,
                          std::string_view found) {
  if (strict_) {
    return fail({.file = file_,
                 .line = line,
                 .field = std::string(field),
                 .message = expected_found(fmt::format("a job to replay ({})", reason), found)});
  }
  trace_.skipped.add(reason, line);
  return {};
}

Result<void> JobLog::skip(std::string_view reason, Error error) {
  if (strict_) return fail(std::move(error));
  trace_.skipped.add(reason, error.line);
  return {};
}

Result<void> JobLog::add(Job job, std::int64_t line) {
  if (!is_name(job.name)) return skip(skip::kBadName, line, {}, job.name);
  job.name = trace_.workload.keep(job.name);
  job.line = static_cast<std::uint32_t>(line);
  trace_.workload.jobs.push_back(job);
  return {};
}

/// Removes some jobs, each once.
Result<void> JobLog::drop(std::vector<Dropped> dropped) {
  if (dropped.empty()) return {};
  std::sort(dropped.begin(), dropped.end(),
            [](const Dropped& a, const Dropped& b) { return a.position < b.position; });
  std::vector<Job>& jobs = trace_.workload.jobs;
  std::size_t kept = 0;
  auto next = dropped.begin();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (next != dropped.end() && next->position == i) {
      if (auto skipped = skip(next->reason, jobs[i].line, {}, jobs[i].name); !skipped) return skipped;
      ++next;
      continue;
    }
    jobs[kept++] = jobs[i];
  }
  jobs.resize(kept);
  return {};
}

/// Finds the rows that repeat another row with the same id. Gives other jobs with this id new names.
std::vector<JobLog::Dropped> JobLog::find_repeated(const RepetitionRule& rule) {
  std::vector<Job>& jobs = trace_.workload.jobs;
  std::vector<Dropped> dropped;
  if (!rule) {
    for (const SameName& same : find_same_names(jobs))
      dropped.push_back({same.second, skip::kRepeated});
    return dropped;
  }
  std::map<std::size_t, std::vector<std::size_t>> of_name;  // positions, by the first
  for (const SameName& same : find_same_names(jobs))
    of_name.try_emplace(same.first, 1, same.first).first->second.push_back(same.second);
  std::int64_t num_renamed = 0;
  for (auto& [first, positions] : of_name) {
    std::stable_sort(positions.begin(), positions.end(),
                     [&](std::size_t a, std::size_t b) { return jobs[a].submit < jobs[b].submit; });
    const std::string_view name = jobs[first].name;
    std::size_t last = positions.front();
    std::int64_t num_jobs = 1;
    for (const std::size_t position : std::span(positions).subspan(1)) {
      const Repetition repetition = rule(last, position);
      if (repetition == Repetition::SameRow) {
        dropped.push_back({position, skip::kRepeated});
        continue;
      }
      if (repetition == Repetition::LaterRun) {
        dropped.push_back({last, skip::kEarlierRun});
      } else {
        ++num_jobs;
        ++num_renamed;
      }
      if (num_jobs > 1) jobs[position].name = trace_.workload.keep(fmt::format("{}#{}", name, num_jobs));
      last = position;
    }
  }
  if (num_renamed > 0) {
    trace_.assumptions.push_back(
        fmt::format("jobs whose id was used before, by another job, called id#2 and so on: {}",
                    with_thousands(num_renamed)));
  }
  return dropped;
}

/// Moves time 0 to the first submission. `clock` names the clock of the dates.
void JobLog::move_origin(std::string_view clock) {
  std::vector<Job>& jobs = trace_.workload.jobs;
  if (jobs.empty()) return;
  const auto earlier = [](const Job& a, const Job& b) { return a.submit < b.submit; };
  const SimTime origin = std::min_element(jobs.begin(), jobs.end(), earlier)->submit;
  for (Job& job : jobs) {
    job.submit = SimTime(job.submit - origin);
    if (job.original_start != Job::kNoStart) job.original_start = SimTime(job.original_start - origin);
  }
  trace_.origin = TraceOrigin{.time = origin, .clock = clock};
  trace_.assumptions.push_back(trace_.origin->describe());
}

Result<Trace> JobLog::finish(Origin origin, const RepetitionRule& rule) {
  std::vector<Job>& jobs = trace_.workload.jobs;
  if (auto done = drop(find_repeated(rule)); !done) return fail(std::move(done.error()));

  if (origin == Origin::FirstSubmission) move_origin("UTC");
  if (origin == Origin::FirstLocalSubmission) move_origin("local time");
  std::vector<Dropped> dropped;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const SimTime last = jobs[i].original_start == Job::kNoStart ? jobs[i].submit : jobs[i].original_start;
    if (jobs[i].submit < SimTime() || last.time_since_epoch() > kMaxTraceTime)
      dropped.push_back({i, skip::kTooLong});
  }
  if (auto done = drop(std::move(dropped)); !done) return fail(std::move(done.error()));
  return std::move(trace_);
}

void note_shared_gpus(Trace& trace) {
  const auto& jobs = trace.workload.jobs;
  const auto count =
      std::count_if(jobs.begin(), jobs.end(), [](const Job& job) { return job.shares_gpus(); });
  if (count > 0)
    trace.assumptions.push_back(
        fmt::format("jobs that use a part of each of their GPUs: {}", with_thousands(count)));
}

}  // namespace vtrain
