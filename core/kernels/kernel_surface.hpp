/// A function of three sizes, known on a grid: estimates for all shapes from kernels measured at some.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/kernels/evidence.hpp"

namespace vtrain {

/// Values on a grid, linear in the logarithm of each coordinate between grid lines, and constant outside.
/// Immutable, so that threads and profiles may share one.
class KernelSurface {
 public:
  /// Dimensions of the grid.
  static constexpr std::size_t kNumAxes = 3;
  /// Grid lines of one axis: rising, 1 or more.
  using Axis = std::vector<std::int64_t>;
  /// Grid lines of all axes.
  using Axes = std::array<Axis, kNumAxes>;
  /// One coordinate for each axis.
  using Point = std::array<double, kNumAxes>;

  /// The value at a point, and its evidence: a node of the grid (measured), several nodes (interpolated), or
  /// the rim (extrapolated).
  struct Reading {
    double value = 0;                        ///< value at the point
    Evidence evidence = Evidence::Measured;  ///< evidence for the value
    std::size_t axis = 0;                    ///< axis of the coordinate farthest outside the grid
    Reach reach{};                           ///< distance of that coordinate from the grid, without a unit
  };

  /// Takes `values[a][b][c]` in one list, the last axis fastest. `std::logic_error` if an axis is empty or
  /// does not rise, or if the number of values differs from the number of nodes.
  KernelSurface(Axes axes, std::vector<double> values);

  /// The value at sizes above 0. Takes some tens of nanoseconds.
  Reading at(const Point& sizes) const;

  /// The grid.
  const Axes& axes() const { return axes_; }
  /// Values of the nodes, in the order of the constructor.
  const std::vector<double>& values() const { return values_; }
  /// The value of a node by the positions of its lines.
  double node(std::size_t a, std::size_t b, std::size_t c) const {
    return values_[(a * axes_[1].size() + b) * axes_[2].size() + c];
  }

  /// Reason that these do not make a surface; none if they do.
  static std::optional<std::string> find_fault(const Axes& axes, std::size_t num_values);

 private:
  Axes axes_;
  std::array<std::vector<double>, kNumAxes> logarithms_;  ///< logarithms of the grid lines
  std::vector<double> values_;
};

}  // namespace vtrain
