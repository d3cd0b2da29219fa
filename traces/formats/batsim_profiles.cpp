#include "traces/formats/batsim_profiles.hpp"

#include <functional>
#include <utility>

#include "traces/reading/job_fields.hpp"

namespace vtrain {

std::size_t BatsimProfiles::Hash::operator()(std::string_view name) const {
  return std::hash<std::string_view>{}(name);
}

void BatsimProfiles::reserve(std::size_t num_profiles) {
  profiles_.reserve(num_profiles);
  numbers_.reserve(num_profiles);
}

std::optional<std::uint32_t> BatsimProfiles::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(*found);
}

std::uint32_t BatsimProfiles::add(std::string_view name) {
  const auto number = static_cast<std::uint32_t>(profiles_.size());
  profiles_.push_back({.name = name, .run_time = {}});
  numbers_.insert(number);
  return number;
}

void BatsimProfiles::define(std::uint32_t profile, SimDuration run_time) {
  profiles_[profile].run_time = run_time;
  sequences_.erase(profile);
  problems_.erase(profile);
}

void BatsimProfiles::define(std::uint32_t profile, std::int64_t repeat, std::vector<std::uint32_t> parts) {
  define(profile, SimDuration());
  sequences_.emplace(profile, Sequence{repeat, std::move(parts)});
}

void BatsimProfiles::refuse(std::uint32_t profile, Error problem) {
  define(profile, SimDuration());
  problems_.emplace(profile, std::move(problem));
}

Result<SimDuration> BatsimProfiles::run_time(std::uint32_t profile, int depth) {
  const Profile found = profiles_[profile];
  if (found.run_time.count() > 0) return found.run_time;
  if (const auto problem = problems_.find(profile); problem != problems_.end()) return fail(problem->second);
  const auto at = sequences_.find(profile);
  if (at == sequences_.end()) {
    return fail(
        {.field = "profile", .message = expected_found("the name of an object in 'profiles'", found.name)});
  }
  // Each sequence is summed once, so the time is linear even if many sequences share many parts.
  const Sequence sequence = std::move(at->second);
  refuse(profile, {.field = "profile", .message = expected_found("no sequence within itself", found.name)});
  auto total = run_time(sequence, depth);
  if (total) {
    define(profile, *total);
  } else {
    refuse(profile, total.error());
  }
  return total;
}

Result<SimDuration> BatsimProfiles::run_time(const Sequence& sequence, int depth) {
  constexpr int kMostDepth = 64;
  if (depth == kMostDepth)
    return fail({.field = "profile", .message = "expected at most 64 levels of sequences, found more"});
  SimDuration total{};
  for (const std::uint32_t part : sequence.parts) {
    const auto each = run_time(part, depth + 1);
    if (!each) return each;
    total += *each;
    if (total > kMaxTraceTime / sequence.repeat)
      return fail({.field = "profile", .message = "expected at most 100 years, found a longer sequence"});
  }
  return total * sequence.repeat;
}

}  // namespace vtrain
