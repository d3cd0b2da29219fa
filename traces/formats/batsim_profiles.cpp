#include "traces/formats/batsim_profiles.hpp"

#include <functional>
#include <utility>

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
  problems_.erase(profile);
}

void BatsimProfiles::refuse(std::uint32_t profile, Error problem) {
  profiles_[profile].run_time = {};
  problems_[profile] = std::move(problem);
}

Result<SimDuration> BatsimProfiles::run_time(std::uint32_t profile) const {
  const Profile& found = profiles_[profile];
  if (found.run_time.count() > 0) return found.run_time;
  const auto problem = problems_.find(profile);
  if (problem != problems_.end()) return fail(problem->second);
  return fail(
      {.field = "profile", .message = expected_found("the name of an object in 'profiles'", found.name)});
}

}  // namespace vtrain
