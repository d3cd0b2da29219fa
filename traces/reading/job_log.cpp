#include "traces/reading/job_log.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {
namespace {

/// Positions, ascending, of the jobs of which another with the same name is kept.
std::vector<std::size_t> repeated_jobs(const std::vector<Job>& jobs, Repeats repeats) {
  std::vector<std::size_t> positions;
  std::map<std::size_t, std::size_t> last_run;  // by the first
  for (const SameName& same : find_same_names(jobs)) {
    if (repeats == Repeats::KeepFirst) {
      positions.push_back(same.second);
    } else {
      const auto [run, is_new] = last_run.try_emplace(same.first, same.first);
      positions.push_back(std::exchange(run->second, same.second));
    }
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

}  // namespace

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

/// Leaves out the jobs at ascending positions.
Result<void> JobLog::drop(const std::vector<std::size_t>& positions, std::string_view reason) {
  if (positions.empty()) return {};
  std::vector<Job>& jobs = trace_.workload.jobs;
  std::size_t kept = 0;
  auto next = positions.begin();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (next != positions.end() && *next == i) {
      if (auto skipped = skip(reason, jobs[i].line, {}, jobs[i].name); !skipped) return skipped;
      ++next;
      continue;
    }
    jobs[kept++] = jobs[i];
  }
  jobs.resize(kept);
  return {};
}

/// `clock` says which clock shows the dates.
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

Result<Trace> JobLog::finish(Origin origin, Repeats repeats) {
  std::vector<Job>& jobs = trace_.workload.jobs;
  std::vector<std::size_t> dropped = repeated_jobs(jobs, repeats);
  const std::string_view reason = repeats == Repeats::KeepFirst ? skip::kRepeated : skip::kEarlierRun;
  if (auto done = drop(dropped, reason); !done) return fail(std::move(done.error()));

  if (origin == Origin::FirstSubmission) move_origin("UTC");
  if (origin == Origin::FirstLocalSubmission) move_origin("local time");
  dropped.clear();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const SimTime last = jobs[i].original_start == Job::kNoStart ? jobs[i].submit : jobs[i].original_start;
    if (jobs[i].submit < SimTime() || last.time_since_epoch() > kMaxTraceTime) dropped.push_back(i);
  }
  if (auto done = drop(dropped, skip::kTooLong); !done) return fail(std::move(done.error()));
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
