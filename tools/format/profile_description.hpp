/// Contents of a GPU profile, for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/kernels/evidence.hpp"
#include "core/profile/gpu_profile.hpp"

namespace vtrain {

/// Achieved rates of one kind of kernel or collective by size.
struct RateCurve {
  struct Point {
    double size = 0;
    double rate = 0;  ///< FLOP/s or B/s
    Evidence evidence = Evidence::Measured;
  };
  std::string title;
  std::string size_unit;  ///< `B`, or empty for a number of rows or tokens
  std::string rate_unit;  ///< `FLOP/s` or `B/s`
  double limit = 0;       ///< peak or link rate that bounds the rates
  double sustained = 0;   ///< limit under the power limit; 0 if unknown
  std::vector<Point> points;
};

/// Rates of cubic products in each measured precision, and of attention in each measured generation, forward
/// and backward. Bus bandwidth (as nccl-tests defines it) of each measured collective in its largest group.
std::vector<RateCurve> rate_curves(const GpuProfile& profile);

/// Constants and tables with their sources, and the curves as bars.
std::string describe_profile(const GpuProfile& profile);
nlohmann::ordered_json profile_to_json(const GpuProfile& profile);

/// Peak rates by precision; null for a precision that the GPU lacks.
nlohmann::ordered_json peak_rates_to_json(const GpuProfile& profile);

/// One line for each profile.
std::string list_profiles(const std::vector<GpuProfile>& profiles);
nlohmann::ordered_json profile_summary_to_json(const GpuProfile& profile);

}  // namespace vtrain
