#include "traces/editing/resample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/rng.hpp"
#include "core/base/strings.hpp"

namespace vtrain {
namespace {

constexpr SimDuration kDay = std::chrono::hours(24);
constexpr SimDuration kWeek = 7 * kDay;

/// Time from the first submission to the last.
SimDuration span_of(const Workload& workload) {
  return workload.jobs.empty() ? SimDuration{} : workload.jobs.back().submit - workload.jobs.front().submit;
}

/// Draws jobs of one workload into another order of its blocks.
class Resampler {
 public:
  Resampler(Workload& workload, SimDuration block)
      : workload_(workload), block_(block), from_(std::move(workload.jobs)) {
    workload.jobs.clear();
  }

  /// Fills a block, or its first `length`, with the jobs of another one.
  void fill(std::int64_t to, std::int64_t source, SimDuration length) {
    const SimTime origin = from_.front().submit;
    const SimTime begin = origin + source * block_;
    const auto first = std::ranges::lower_bound(from_, begin, {}, &Job::submit);
    const auto last = std::ranges::lower_bound(from_, begin + length, {}, &Job::submit);
    const SimDuration moved = (to - source) * block_;
    for (auto job = first; job != last; ++job)
      add(*job, moved);
  }

 private:
  void add(const Job& original, SimDuration moved) {
    Job job = original;
    job.submit += moved;
    if (job.has_deadline()) job.deadline += moved;
    if (job.original_start != Job::kNoStart) job.original_start += moved;
    const std::int64_t copy = ++copies_[&original];
    if (copy > 1) job.name = workload_.keep(fmt::format("{}~{}", original.name, copy));
    if (job.requirements) {
      JobRequirements needs = *workload_.requirements_of(original);
      needs.dependencies.clear();
      job.requirements = {};
      if (needs != JobRequirements{}) workload_.add_requirements(job) = std::move(needs);
    }
    workload_.jobs.push_back(job);
  }

  Workload& workload_;
  SimDuration block_;
  std::vector<Job> from_;
  std::unordered_map<const Job*, std::int64_t> copies_;
};

}  // namespace

Result<Blocks> parse_blocks(std::string_view text) {
  static constexpr std::array<std::string_view, 4> kWords = {"none", "auto", "days", "weeks"};
  if (text == "none" || text == "auto") return Blocks::None;
  if (text == "days") return Blocks::Days;
  if (text == "weeks") return Blocks::Weeks;
  return fail({.message = with_guess(fmt::format("expected none, auto, days or weeks, found '{}'", text),
                                     text, kWords)});
}

std::string_view fitting_blocks(const Workload& workload) {
  constexpr std::int64_t kEnough = 4;
  if (span_of(workload) >= kEnough * kWeek) return "weeks";
  return span_of(workload) >= kEnough * kDay ? "days" : "none";
}

Result<std::string> resample(Workload& workload, Blocks blocks, std::uint64_t seed) {
  if (blocks == Blocks::None) return std::string();
  const bool days = blocks == Blocks::Days;
  const SimDuration block = days ? kDay : kWeek;
  const SimDuration span = span_of(workload);
  const std::int64_t complete = span / block;
  if (complete < 2)
    return fail({.message = fmt::format("expected a trace of at least two {}, found one of {:.1f} days",
                                        days ? "days" : "weeks", to_seconds(span) / to_seconds(kDay))});
  RandomStream random(seed, "resample");
  Resampler resampler(workload, block);
  const auto draw = [&] {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(complete)));
  };
  for (std::int64_t to = 0; to < complete; ++to)
    resampler.fill(to, draw(), block);
  // The last submission belongs to the rest.
  const SimDuration rest = span - complete * block + SimDuration(1);
  resampler.fill(complete, draw(), rest);
  workload.sort_by_submission();
  return fmt::format("{} of the trace drawn anew with replacement, seed {}: {} jobs", days ? "days" : "weeks",
                     seed, with_thousands(std::ssize(workload.jobs)));
}

}  // namespace vtrain
