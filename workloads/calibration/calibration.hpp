/// Correction of predictions by measurements: one set of factors for each software stack and GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/calibration/accuracy.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// Factors of a stack on a GPU: measured over predicted kernel times.
struct CalibratedStack {
  std::string stack{};
  std::string profile{};  ///< base name of the GPU profile (`GpuProfile::base_name`)
  KernelFactors factors{};
  std::vector<std::string> fitted_on{};  ///< ids of the rows
  Accuracy fitted{};                     ///< accuracy with the factors, on these rows
  Accuracy held_out{};                   ///< accuracy with the factors, on the other rows
  Accuracy held_out_before{};            ///< accuracy without factors, on the other rows
  /// Logarithms of measured over predicted time of each row, with factors fitted on the rows without it;
  /// empty where nothing was left out. Only `calibrate_runs` fills them.
  std::vector<double> left_out{};
};

/// Factors for several stacks and GPUs.
struct Calibration {
  std::string file{};     ///< name that the user gave; empty for none
  std::string made_by{};  ///< the command line that wrote it, or empty
  std::vector<CalibratedStack> stacks{};

  /// The factors of a stack on a GPU; 1 where it has none.
  KernelFactors factors(std::string_view stack, std::string_view profile) const;
};

/// Predicts one of the rows of a fit, by its position, with given factors.
using FactorPrediction = std::function<Seconds(std::size_t row, const KernelFactors& factors)>;

/// The factors of greatest posterior probability: the least of
///
///     sum over rows of ln(1 + (e / 0.04)^2) + 1/2 sum over factors of (ln factor / width)^2
///
/// with e the logarithm of predicted over measured time and widths of 0.02 for products, 0.05 for
/// memory-bound kernels and 0.1 for communication. The heavy tail is for runs that are far slower than their
/// configuration should be. The prior keeps factors from few rows near 1. Found by compass search from 1, to
/// a thousandth.
KernelFactors fit_factors(std::span<const Seconds> measured, const FactorPrediction& predict);

/// The factors of a user's own runs: as `fit_factors`, but for one more factor on everything, without a
/// prior. The user's machine and software may well be slower as a whole than those of published runs.
KernelFactors fit_own_factors(std::span<const Seconds> measured, const FactorPrediction& predict);

/// Reads a calibration (schema `vtrain-calibration`, version 1), as `vtrain profile calibrate` writes it. Of
/// the accuracies, the number of rows, the means and the bias are read.
Result<Calibration> parse_calibration(std::string text, const std::string& file);

/// The calibration that is part of the program, fitted to published runs.
inline constexpr std::string_view kPublishedCalibration = "published";

/// Reads a calibration from a file, or `kPublishedCalibration`. With an empty name nothing is read, and every
/// factor is 1.
Result<Calibration> read_calibration(const std::string& path);

/// The JSON of a calibration.
std::string calibration_json(const Calibration& calibration);

}  // namespace vtrain
