/// A function of three sizes that is known on a grid: how kernels measured at some shapes answer for all
/// others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/kernels/evidence.hpp"

namespace vtrain {

/// Values on a grid, linear in the logarithm of each coordinate between its lines and constant outside.
/// Immutable, so that threads and profiles may share one.
class KernelSurface {
 public:
  /// Dimensions of the grid.
  static constexpr std::size_t kNumAxes = 3;
  /// The lines of one axis: rising, at least 1.
  using Axis = std::vector<std::int64_t>;
  /// All of them.
  using Axes = std::array<Axis, kNumAxes>;
  /// One coordinate for each.
  using Point = std::array<double, kNumAxes>;

  /// The value at a point and what it rests on: a node of the grid, several, or its rim.
  struct Reading {
    double value = 0;
    Evidence evidence = Evidence::Measured;
  };

  /// `values[a][b][c]` in one row, the last axis fastest. `std::logic_error` if an axis is empty or does not
  /// rise, or if the number of values is not that of the nodes.
  KernelSurface(Axes axes, std::vector<double> values);

  /// The value at sizes above 0. Takes some tens of nanoseconds.
  Reading at(const Point& sizes) const;

  /// The grid.
  const Axes& axes() const { return axes_; }
  /// Of its nodes, in the order of the constructor.
  const std::vector<double>& values() const { return values_; }
  /// The value of a node by the positions of its lines.
  double node(std::size_t a, std::size_t b, std::size_t c) const {
    return values_[(a * axes_[1].size() + b) * axes_[2].size() + c];
  }

  /// Why these would not make a surface, or nothing.
  static std::optional<std::string> find_fault(const Axes& axes, std::size_t num_values);

 private:
  Axes axes_;
  std::array<std::vector<double>, kNumAxes> logarithms_;  ///< of the lines
  std::vector<double> values_;
};

}  // namespace vtrain
