/// The Gittins index of jobs whose service follows a sampled distribution.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// Ranks a job by the service it has attained. The rank is the probability that the job ends within the next
/// quantum over the service expected until then. Tiresias (NSDI'19, section 3.3) computes it from a sample;
/// the roundings are those of its simulator.
class GittinsIndex {
 public:
  /// `sample`: services of past jobs in GPU-seconds, at least one, positive, in any order. `delta`: the
  /// quantum, positive.
  GittinsIndex(std::vector<double> sample, double delta);
  /// Reads the sample from a file: one number per line, optionally after a header `duration`.
  static Result<GittinsIndex> read(const std::string& file, double delta);

  /// Rank of a job with this service, in GPU-seconds: higher is more urgent. In 1e-4 of the simulator's unit;
  /// 0 for a job with more service than all of the sample. O(log sample).
  std::int64_t rank(double attained) const {
    std::uint32_t passed = 0;
    return rank(attained, passed);
  }
  /// Rank of a job whose service never falls. `passed` is the number of sample values that it had reached at
  /// the last call, 0 at first; the call updates it. O(log values reached since).
  std::int64_t rank(double attained, std::uint32_t& passed) const;

 private:
  std::vector<double> sample_;  ///< sorted
  /// [sample + 1], by the number of sample values at or below the attained service.
  std::vector<std::int64_t> ranks_;
};

}  // namespace vtrain
