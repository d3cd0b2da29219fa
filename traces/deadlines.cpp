#include "traces/deadlines.hpp"

#include <fmt/format.h>

#include "core/text.hpp"

namespace vtrain {

Result<DeadlineRule> DeadlineRule::parse(std::string_view text) {
  if (text == "elasticflow") return DeadlineRule{};
  constexpr double kMostFactor = 1000;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto low = parse_number(text.substr(0, colon), 0, kMostFactor);
    const auto high = parse_number(text.substr(colon + 1), 0, kMostFactor);
    if (low && high && *low <= *high) return DeadlineRule{.low = *low, .high = *high};
  }
  return fail({.field = "deadlines",
               .message = expected_found("'elasticflow' or LOW:HIGH with 0 <= LOW <= HIGH <= 1000", text)});
}

std::string DeadlineRule::describe() const {
  return fmt::format("deadline = submit + U({}, {}) × duration", low, high);
}

SimTime DeadlineRule::deadline(SimTime submit, SimDuration duration, RandomStream& random) const {
  // In doubles first: a large factor on a long job exceeds 64 bits of nanoseconds.
  const double slack = random.uniform(low, high) * static_cast<double>(duration.count());
  const double most = static_cast<double>((Job::kNoDeadline - submit).count()) * 0.999;
  return slack < most ? submit + to_sim_duration(Nanoseconds(slack)) : Job::kNoDeadline;
}

Result<std::int64_t> assign_deadlines(Workload& workload, const DeadlineRule& rule, std::uint64_t seed) {
  RandomStream random(seed, "deadlines");
  std::int64_t assigned = 0;
  for (Job& job : workload.jobs) {
    if (job.duration.count() <= 0) {
      return fail({.field = std::string(job.name),
                   .message = "a deadline needs a duration, and the job has none yet"});
    }
    const SimTime deadline = rule.deadline(job.submit, job.duration, random);
    if (job.has_deadline()) continue;
    job.deadline = deadline;
    ++assigned;
  }
  return assigned;
}

}  // namespace vtrain
