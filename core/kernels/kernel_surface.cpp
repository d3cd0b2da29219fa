#include "core/kernels/kernel_surface.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

namespace vtrain {
namespace {

/// A coordinate between two neighbouring lines of an axis.
struct Position {
  std::size_t low = 0;
  std::size_t high = 0;
  double part = 0;  ///< fraction of the way from `low` to `high`, in logarithms
  Evidence evidence = Evidence::Measured;
  Reach reach{};
};

Position find_position(const KernelSurface::Axis& lines, const std::vector<double>& logarithms, double size) {
  const std::size_t last = lines.size() - 1;
  const auto first_line = static_cast<double>(lines.front());
  const auto last_line = static_cast<double>(lines.back());
  if (!(size > first_line)) {
    if (!(size < first_line)) return {};
    return {.evidence = Evidence::Extrapolated, .reach = {.asked = size, .nearest = first_line}};
  }
  if (size >= last_line) {
    if (!(size > last_line)) return {.low = last, .high = last};
    return {.low = last,
            .high = last,
            .evidence = Evidence::Extrapolated,
            .reach = {.asked = size, .nearest = last_line}};
  }
  const auto above = std::partition_point(
      lines.begin(), lines.end(), [size](std::int64_t line) { return static_cast<double>(line) <= size; });
  const auto high = static_cast<std::size_t>(above - lines.begin());
  const std::size_t low = high - 1;
  if (static_cast<double>(lines[low]) == size) return {.low = low, .high = low};
  const double part = (std::log(size) - logarithms[low]) / (logarithms[high] - logarithms[low]);
  return {.low = low, .high = high, .part = part, .evidence = Evidence::Interpolated};
}

double between(double low, double high, double part) {
  return low + (high - low) * part;
}

}  // namespace

KernelSurface::KernelSurface(Axes axes, std::vector<double> values)
    : axes_(std::move(axes)), values_(std::move(values)) {
  if (const auto fault = find_fault(axes_, values_.size()))
    throw std::logic_error("kernel surface: " + *fault);
  for (std::size_t axis = 0; axis < kNumAxes; ++axis) {
    for (const std::int64_t line : axes_[axis])
      logarithms_[axis].push_back(std::log(static_cast<double>(line)));
  }
}

std::optional<std::string> KernelSurface::find_fault(const Axes& axes, std::size_t num_values) {
  std::size_t nodes = 1;
  for (const Axis& axis : axes) {
    if (axis.empty()) return "an axis without lines";
    if (axis.front() < 1) return "a line below 1";
    if (std::adjacent_find(axis.begin(), axis.end(), std::greater_equal<>()) != axis.end())
      return "lines that do not rise";
    nodes *= axis.size();
  }
  if (nodes != num_values) {
    return "expected " + std::to_string(nodes) + " values for its grid, found " + std::to_string(num_values);
  }
  return std::nullopt;
}

KernelSurface::Reading KernelSurface::at(const Point& sizes) const {
  const Position a = find_position(axes_[0], logarithms_[0], sizes[0]);
  const Position b = find_position(axes_[1], logarithms_[1], sizes[1]);
  const Position c = find_position(axes_[2], logarithms_[2], sizes[2]);
  const auto along_c = [&](std::size_t i, std::size_t j) {
    return between(node(i, j, c.low), node(i, j, c.high), c.part);
  };
  const auto along_b = [&](std::size_t i) { return between(along_c(i, b.low), along_c(i, b.high), b.part); };
  Reading reading{.value = between(along_b(a.low), along_b(a.high), a.part),
                  .evidence = worse(worse(a.evidence, b.evidence), c.evidence)};
  if (reading.evidence != Evidence::Extrapolated) return reading;
  for (std::size_t axis = 0; const Position* position : {&a, &b, &c}) {
    if (position->reach.factor() > reading.reach.factor()) {
      reading.axis = axis;
      reading.reach = position->reach;
    }
    ++axis;
  }
  return reading;
}

}  // namespace vtrain
