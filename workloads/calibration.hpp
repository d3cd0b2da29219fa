/// Correction of predictions by measurements: one factor for each software stack and GPU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "workloads/accuracy.hpp"

namespace vtrain {

/// What a stack on a GPU takes over what is predicted.
struct CalibrationFactor {
  std::string stack{};
  std::string profile{};                 ///< name of the GPU profile
  double factor = 1;                     ///< measured over predicted time
  std::vector<std::string> fitted_on{};  ///< ids of the rows
  Accuracy fitted{};                     ///< with the factor, on these rows
  Accuracy held_out{};                   ///< with the factor, on the rest
  Accuracy held_out_before{};            ///< without it, on the rest
};

/// The factors of a calibration, by stack and profile.
struct Calibration {
  std::string file{};  ///< as the user named it
  std::vector<CalibrationFactor> factors{};

  /// The factor of a stack on a GPU, 1 where there is none.
  double factor(std::string_view stack, std::string_view profile) const;
};

/// The median of measured over predicted, shrunk towards 1 by the number of rows k: its power k / (k + 1). A
/// median because some runs are far slower than their configuration should be; shrunk because the factor of a
/// single row makes a good group worse. 1 without rows.
double shrunk_factor(std::span<const Outcome> rows);

/// Reads a calibration (schema `vtrain-calibration`, version 1), as `vtrain profile calibrate` writes it.
Result<Calibration> parse_calibration(std::string text, const std::string& file);

/// Its JSON.
std::string calibration_json(const Calibration& calibration);

}  // namespace vtrain
