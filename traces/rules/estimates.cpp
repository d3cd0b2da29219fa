#include "traces/rules/estimates.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/rng.hpp"
#include "core/base/strings.hpp"
#include "core/text/quantities.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {
namespace {

constexpr double kMostSigma = 10;
constexpr double kMostFactor = 1000;
constexpr std::string_view kRoundTimes = "1h/4h/12h/1d/2d/4d/7d/14d/30d";

/// Reads `A/B/...`, ascending and above 0; empty for any other text.
std::vector<SimDuration> parse_limits(std::string_view text) {
  std::vector<SimDuration> limits;
  for (const std::string_view part : split(text, '/')) {
    const auto limit = parse_time_span(part);
    if (!limit || limit->count() == 0 || (!limits.empty() && *limit <= limits.back())) return {};
    limits.push_back(*limit);
  }
  return limits;
}

SimDuration rounded_up(SimDuration duration, const std::vector<SimDuration>& limits) {
  const auto limit = std::lower_bound(limits.begin(), limits.end(), duration);
  if (limit != limits.end()) return *limit;
  const std::int64_t last = limits.back().count();
  return SimDuration((duration.count() + last - 1) / last * last);
}

SimDuration scaled(SimDuration duration, double factor) {
  // In doubles first: a large factor on a long job exceeds 64 bits of nanoseconds.
  const Nanoseconds estimate = Nanoseconds(duration) * factor;
  return estimate < kMaxTraceTime ? to_sim_duration(estimate) : kMaxTraceTime;
}

}  // namespace

Result<EstimateRule> EstimateRule::parse(std::string_view text) {
  const auto [name, given] = split_once(text, ':');
  const std::string_view value = given.value_or("");
  if (text == "trace") return EstimateRule{};
  if (text == "exact") return EstimateRule{.kind = Kind::Exact};
  if (name == "lognormal") {
    if (const auto sigma = parse_number(value, 0, kMostSigma))
      return EstimateRule{.kind = Kind::LogNormal, .value = *sigma};
  }
  if (name == "factor") {
    if (const auto factor = parse_number(value, 1, kMostFactor))
      return EstimateRule{.kind = Kind::Factor, .value = *factor};
  }
  if (name == "rounded") {
    auto limits = parse_limits(given.value_or(kRoundTimes));
    if (!limits.empty()) return EstimateRule{.kind = Kind::Rounded, .limits = std::move(limits)};
  }
  return fail({.field = "estimates",
               .message = expected_found("trace, exact, lognormal:SIGMA (0 to 10), factor:F (1 to 1000), "
                                         "rounded, or rounded:A/B/... with ascending times such as 1h/4h/1d",
                                         text)});
}

std::string EstimateRule::describe() const {
  switch (kind) {
    case Kind::Trace:
      return "requested times as in the trace";
    case Kind::Exact:
      return "requested times left out";
    case Kind::LogNormal:
      return fmt::format("requested time = duration × max(1, exp(N(0, {})))", value);
    case Kind::Factor:
      return fmt::format("requested time = {} × duration", value);
    case Kind::Rounded: {
      std::string list;
      for (const SimDuration limit : limits)
        list += (list.empty() ? "" : ", ") + describe_time_span(limit);
      return "requested time = duration rounded up to " + list;
    }
  }
  throw std::logic_error("a rule for estimates without a kind");
}

std::string set_estimates(Workload& workload, const EstimateRule& rule, std::uint64_t seed) {
  if (rule.kind == EstimateRule::Kind::Trace) return std::string();
  RandomStream random(seed, "estimates");
  for (Job& job : workload.jobs) {
    if (rule.kind == EstimateRule::Kind::Exact) {
      job.requested_time = {};
      continue;
    }
    SimDuration estimate{};
    if (rule.kind == EstimateRule::Kind::LogNormal) {
      estimate = scaled(job.duration, std::exp(rule.value * random.normal()));
    } else if (rule.kind == EstimateRule::Kind::Factor) {
      estimate = scaled(job.duration, rule.value);
    } else {
      estimate = std::min(rounded_up(job.duration, rule.limits), kMaxTraceTime);
    }
    if (job.duration.count() > 0) job.requested_time = std::max(estimate, job.duration);
  }
  if (rule.kind == EstimateRule::Kind::Exact) return rule.describe();
  const bool drawn = rule.kind == EstimateRule::Kind::LogNormal;
  return fmt::format("{}{} (synthetic)", rule.describe(), drawn ? fmt::format(", seed {}", seed) : "");
}

}  // namespace vtrain
