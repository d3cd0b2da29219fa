/// The Gittins index of jobs whose service follows a sampled distribution.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// Ranks a job by the service it has attained: the chance that it ends within the next quantum over the
/// service expected until then, as Tiresias (NSDI'19, section 3.3) computes it from a sample, with the
/// roundings of its simulator.
class GittinsIndex {
 public:
  /// `sample`: services of past jobs in GPU-seconds, at least one, positive, in any order. `delta`: the
  /// quantum, positive.
  GittinsIndex(std::vector<double> sample, double delta);
  /// Reads the sample from a file: one number a line, after a header `duration` if there is one.
  static Result<GittinsIndex> read(const std::string& file, double delta);

  /// The rank of a job with this service, in GPU-seconds: higher is more urgent. In 1e-4 of the simulator's
  /// unit; 0 for a job that has outlived the sample. O(log sample).
  std::int64_t rank(double attained) const {
    std::uint32_t passed = 0;
    return rank(attained, passed);
  }
  /// The same for a job whose service never falls. `passed` is how many values of the sample it had come to
  /// when its rank was last looked up, 0 at first, and is kept up to date. O(log values that it has come to
  /// since).
  std::int64_t rank(double attained, std::uint32_t& passed) const;

 private:
  std::vector<double> sample_;  ///< sorted
  /// [sample + 1], by the number of sample values at or below the attained service.
  std::vector<std::int64_t> ranks_;
};

}  // namespace vtrain
