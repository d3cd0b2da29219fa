/// The profiles of a Batsim workload by name, while its jobs are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Profiles numbered from 0 in the order in which their names appear. A profile may be defined before or
/// after jobs name it. A profile costs 24 bytes, and up to 12 to find its name. A profile that no job can use
/// also costs its error.
class BatsimProfiles {
 public:
  BatsimProfiles() : numbers_(0, Hash{&profiles_}, Equal{&profiles_}) {}
  BatsimProfiles(const BatsimProfiles&) = delete;
  BatsimProfiles& operator=(const BatsimProfiles&) = delete;

  /// Reserves memory for `num_profiles` profiles.
  void reserve(std::size_t num_profiles);
  std::optional<std::uint32_t> find(std::string_view name) const;
  /// Adds a new name; its text must outlive this object.
  std::uint32_t add(std::string_view name);

  /// Sets the run time of a profile, above 0. The last definition counts.
  void define(std::uint32_t profile, SimDuration run_time);
  /// Defines a profile as a sequence of others, which runs `repeat` times in all, at least once.
  void define(std::uint32_t profile, std::int64_t repeat, std::vector<std::uint32_t> parts);
  /// Sets the error of jobs with this profile: `field` of the job and `message`.
  void refuse(std::uint32_t profile, Error problem);

  /// The run time of a profile, or the error of a job with this profile, without file and line.
  Result<SimDuration> run_time(std::uint32_t profile) { return run_time(profile, 0); }

 private:
  struct Sequence {
    std::int64_t repeat = 1;
    std::vector<std::uint32_t> parts;
  };

  Result<SimDuration> run_time(std::uint32_t profile, int depth);
  Result<SimDuration> run_time(const Sequence& sequence, int depth);

  struct Profile {
    std::string_view name;
    SimDuration run_time{};  ///< 0: undefined, refused, or a sequence that was not summed yet
  };
  struct Hash {
    using is_transparent = void;
    const std::vector<Profile>* profiles;
    std::size_t operator()(std::string_view name) const;
    std::size_t operator()(std::uint32_t number) const { return (*this)((*profiles)[number].name); }
  };
  struct Equal {
    using is_transparent = void;
    const std::vector<Profile>* profiles;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
    bool operator()(std::string_view name, std::uint32_t number) const {
      return name == (*profiles)[number].name;
    }
    bool operator()(std::uint32_t number, std::string_view name) const { return (*this)(name, number); }
  };

  std::vector<Profile> profiles_;
  boost::unordered_flat_set<std::uint32_t, Hash, Equal> numbers_;  ///< by name
  std::map<std::uint32_t, Sequence> sequences_;
  std::map<std::uint32_t, Error> problems_;
};

}  // namespace vtrain
