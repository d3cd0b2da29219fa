#include "tools/live/run_time_book.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace vtrain {
namespace {

std::string key_of(const ListedJob& job) {
  return fmt::format("{}\n{}\n{}", job.user, job.name, job.gpus);
}

/// Values in seconds times a factor, ascending, at most `limit_s` if that is above 0. Of many values some
/// that are evenly spaced remain.
RunTimes times_of(const std::vector<double>& values, double factor, std::int64_t limit_s) {
  constexpr std::size_t kMost = 500;
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const std::size_t count = std::min(sorted.size(), kMost);
  RunTimes times;
  for (std::size_t i = 0; i < count; ++i) {
    double seconds = sorted[(2 * i + 1) * sorted.size() / (2 * count)] * factor;
    if (limit_s > 0) seconds = std::min(seconds, static_cast<double>(limit_s));
    times.values.push_back(std::max<SimDuration>(to_sim_duration(Seconds(seconds)), std::chrono::seconds(1)));
  }
  return times;
}

}  // namespace

std::string_view name_of(RunTimeSource source) {
  switch (source) {
    case RunTimeSource::SameJob:
      return "same job";
    case RunTimeSource::SameUser:
      return "same user";
    case RunTimeSource::Everyone:
      return "all jobs";
    case RunTimeSource::Limit:
      return "time limit";
    case RunTimeSource::Day:
      return "24 h";
  }
  return "";
}

void RunTimeBook::add(const ListedJob& job) {
  if (!job.start || !job.end || *job.end <= *job.start) return;
  ++num_jobs_;
  const auto seconds = static_cast<double>(*job.end - *job.start);
  runs_[key_of(job)].push_back(seconds);
  if (!job.time_limit_s || *job.time_limit_s <= 0) return;
  const double part = std::min(1.0, seconds / static_cast<double>(*job.time_limit_s));
  parts_[job.user].push_back(part);
  all_parts_.push_back(part);
}

RunTimeGuess RunTimeBook::guess(const ListedJob& job, std::int64_t limit_s) const {
  if (const auto found = runs_.find(key_of(job)); found != runs_.end() && found->second.size() >= kFewestRuns)
    return {times_of(found->second, 1, limit_s), RunTimeSource::SameJob};
  const auto limit = static_cast<double>(limit_s);
  if (limit_s > 0) {
    if (const auto found = parts_.find(job.user);
        found != parts_.end() && found->second.size() >= kFewestOfUser)
      return {times_of(found->second, limit, limit_s), RunTimeSource::SameUser};
    if (all_parts_.size() >= kFewestInAll)
      return {times_of(all_parts_, limit, limit_s), RunTimeSource::Everyone};
    return {times_of({limit}, 1, limit_s), RunTimeSource::Limit};
  }
  constexpr double kDay = 24 * 3600;
  return {times_of({kDay}, 1, 0), RunTimeSource::Day};
}

}  // namespace vtrain
