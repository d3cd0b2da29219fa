#include "tools/live/run_time_book.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include <fmt/format.h>

namespace vtrain {
namespace {

/// Kind of a job; one without a name has its limit in place of it.
std::string kind_of(const RunTimeKey& key) {
  return fmt::format("{}\n{}\n{}\n{}", key.user, key.name, key.gpus, key.name.empty() ? key.limit_s : 0);
}

/// Classes of time limits by powers of two: users who ask for long take smaller parts of it.
std::string limit_class(std::string_view user, std::int64_t limit_s) {
  return fmt::format("{}\n{}", user, std::bit_width(static_cast<std::uint64_t>(limit_s)));
}

/// Ascending values in seconds times a factor, at most `limit_s` if that is above 0.
RunTimes times_of(const std::vector<double>& values, double factor, std::int64_t limit_s) {
  RunTimes times;
  times.values.reserve(values.size());
  for (const double value : values) {
    double seconds = value * factor;
    if (limit_s > 0) seconds = std::min(seconds, static_cast<double>(limit_s));
    times.values.push_back(std::max<SimDuration>(to_sim_duration(Seconds(seconds)), std::chrono::seconds(1)));
  }
  return times;
}

}  // namespace

std::string_view name_of(RunTimeSource source) {
  switch (source) {
    case RunTimeSource::Model:
      return "model";
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

const std::vector<double>& RunTimeBook::Sample::quantiles() const {
  constexpr std::size_t kMost = 200;
  constexpr std::size_t kLag = 50;
  if (counted_ > 0 && values_.size() - counted_ <= counted_ / kLag) return quantiles_;
  counted_ = values_.size();
  std::vector<double> sorted = values_;
  std::ranges::sort(sorted);
  const std::size_t count = std::min(sorted.size(), kMost);
  quantiles_.clear();
  for (std::size_t i = 0; i < count; ++i)
    quantiles_.push_back(sorted[(2 * i + 1) * sorted.size() / (2 * count)]);
  return quantiles_;
}

void RunTimeBook::add(const RunTimeKey& key, double seconds) {
  ++num_jobs_;
  if (!key.user.empty()) runs_[kind_of(key)].add(seconds);
  if (key.limit_s <= 0) return;
  const double part = std::min(1.0, seconds / static_cast<double>(key.limit_s));
  if (!key.user.empty()) {
    parts_[std::string(key.user)].add(part);
    parts_[limit_class(key.user, key.limit_s)].add(part);
  }
  parts_[limit_class("", key.limit_s)].add(part);
  all_parts_.add(part);
}

void RunTimeBook::add(const DumpedJob& job) {
  if (!job.start || !job.end || *job.end <= *job.start) return;
  add({.user = job.user, .name = job.name, .gpus = job.gpus, .limit_s = job.time_limit_s.value_or(0)},
      static_cast<double>(*job.end - *job.start));
}

RunTimeGuess RunTimeBook::guess(const RunTimeKey& key) const {
  if (const auto found = runs_.find(kind_of(key));
      found != runs_.end() && found->second.size() >= kFewestRuns)
    return {times_of(found->second.quantiles(), 1, key.limit_s), RunTimeSource::SameJob};
  const auto limit = static_cast<double>(key.limit_s);
  if (key.limit_s > 0) {
    const auto parts_of = [&](const std::string& group, std::size_t fewest) -> const Sample* {
      const auto found = parts_.find(group);
      return found != parts_.end() && found->second.size() >= fewest ? &found->second : nullptr;
    };
    const Sample* of_user = nullptr;
    if (!key.user.empty()) of_user = parts_of(limit_class(key.user, key.limit_s), kFewestOfUser);
    if (of_user == nullptr && !key.user.empty()) of_user = parts_of(std::string(key.user), kFewestOfUser);
    if (of_user != nullptr)
      return {times_of(of_user->quantiles(), limit, key.limit_s), RunTimeSource::SameUser};
    const Sample* of_all = parts_of(limit_class("", key.limit_s), kFewestInAll);
    if (of_all == nullptr && all_parts_.size() >= kFewestInAll) of_all = &all_parts_;
    if (of_all != nullptr)
      return {times_of(of_all->quantiles(), limit, key.limit_s), RunTimeSource::Everyone};
    return {times_of({limit}, 1, key.limit_s), RunTimeSource::Limit};
  }
  constexpr double kDay = 24 * 3600;
  return {times_of({kDay}, 1, 0), RunTimeSource::Day};
}

}  // namespace vtrain
