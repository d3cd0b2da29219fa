#include "traces/rules/deadlines.hpp"

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {

Result<DeadlineRule> DeadlineRule::parse(std::string_view text) {
  constexpr double kMostFactor = 1000;
  constexpr std::string_view kBestEffort = "best-effort=";
  const auto refuse = [text] {
    return fail(
        {.field = "deadlines",
         .message = expected_found("'elasticflow', a factor or LOW:HIGH with 0 <= LOW <= HIGH <= 1000, "
                                   "with or without ',best-effort=SHARE' of 0 to 1",
                                   text)});
  };
  DeadlineRule rule;
  const auto [factors, option] = split_once(text, ',');
  if (option) {
    if (!option->starts_with(kBestEffort)) return refuse();
    const auto share = parse_number(option->substr(kBestEffort.size()), 0, 1);
    if (!share) return refuse();
    rule.best_effort = *share;
  }
  if (factors == "elasticflow") return rule;
  const auto [from, to] = split_once(factors, ':');
  const auto low = parse_number(from, 0, kMostFactor);
  const auto high = to ? parse_number(*to, 0, kMostFactor) : low;
  if (!low || !high || *low > *high) return refuse();
  rule.low = *low;
  rule.high = *high;
  return rule;
}

std::string DeadlineRule::describe() const {
  const std::string factor = low == high ? fmt::format("{}", low) : fmt::format("U({}, {})", low, high);
  return fmt::format(
      "deadline = submit + {} × duration{}", factor,
      best_effort > 0 ? fmt::format(", none for {:.4g} % of the jobs", best_effort * 100) : "");
}

SimTime DeadlineRule::deadline(SimTime submit, SimDuration duration, RandomStream& random) const {
  // In doubles first: a large factor on a long job exceeds 64 bits of nanoseconds.
  const Nanoseconds slack = random.uniform(low, high) * Nanoseconds(duration);
  return slack < kMaxTraceTime - submit.time_since_epoch() ? submit + to_sim_duration(slack)
                                                           : Job::kNoDeadline;
}

std::string assign_deadlines(Workload& workload, const DeadlineRule& rule, std::uint64_t seed) {
  RandomStream random(seed, "deadlines");
  RandomStream best_effort(seed, "best effort");
  std::int64_t without = 0;
  for (Job& job : workload.jobs) {
    const SimTime deadline = rule.deadline(job.submit, job.duration, random);
    const bool wants_none = best_effort.uniform() < rule.best_effort;
    if (job.has_deadline() || job.duration.count() == 0) continue;
    ++without;
    if (!wants_none) job.deadline = deadline;
  }
  if (without == 0) return std::string();
  const bool some_had = without < std::ssize(workload.jobs);
  return fmt::format("{}, seed {} (synthetic{})", rule.describe(), seed,
                     some_had ? "; for jobs without one" : "");
}

}  // namespace vtrain
