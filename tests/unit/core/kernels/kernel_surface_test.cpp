#include "core/kernels/kernel_surface.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "core/base/rng.hpp"

namespace vtrain {
namespace {

const KernelSurface::Axes kAxes = {{{1, 4, 16}, {2, 8}, {1, 10, 100, 1000}}};

/// A function linear in the logarithm of each size, and in their products. Not inlined, because a compiler
/// that folds logarithms may round them differently from the library.
[[gnu::noinline]] double smooth(double a, double b, double c) {
  return 1 + 2 * std::log(a) - 3 * std::log(b) + 0.5 * std::log(c) +
         0.25 * std::log(a) * std::log(b) * std::log(c);
}

KernelSurface smooth_surface() {
  std::vector<double> values;
  for (const std::int64_t a : kAxes[0]) {
    for (const std::int64_t b : kAxes[1]) {
      for (const std::int64_t c : kAxes[2])
        values.push_back(smooth(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)));
    }
  }
  return KernelSurface(kAxes, values);
}

TEST_CASE("kernel_surface: between the lines it is linear in each logarithm") {
  const KernelSurface surface = smooth_surface();
  RandomStream random(7);
  for (int i = 0; i < 1000; ++i) {
    const double a = std::pow(16, random.uniform());
    const double b = 2 * std::pow(4, random.uniform());
    const double c = std::pow(1000, random.uniform());
    const KernelSurface::Reading reading = surface.at({a, b, c});
    CHECK(reading.value == doctest::Approx(smooth(a, b, c)));
    CHECK(reading.evidence == Evidence::Interpolated);
  }
}

TEST_CASE("kernel_surface: a node is measured, and its value exact") {
  const KernelSurface surface = smooth_surface();
  CHECK(surface.at({4, 8, 100}).value == smooth(4, 8, 100));
  CHECK(surface.at({4, 8, 100}).evidence == Evidence::Measured);
  CHECK(surface.at({16, 2, 1000}).evidence == Evidence::Measured);
  CHECK(surface.at({4, 8, 101}).evidence == Evidence::Interpolated);
}

TEST_CASE("kernel_surface: outside the grid the rim counts") {
  const KernelSurface surface = smooth_surface();
  CHECK(surface.at({64, 8, 100}).value == smooth(16, 8, 100));
  CHECK(surface.at({4, 1, 100}).value == smooth(4, 2, 100));
  CHECK(surface.at({0.5, 100, 1e9}).value == smooth(1, 8, 1000));
  CHECK(surface.at({64, 8, 100}).evidence == Evidence::Extrapolated);
  CHECK(surface.at({4, 1, 55}).evidence == Evidence::Extrapolated);
  // 64 over 16 is farther than 2 over 1, and 2 over 1 than 1.5 over 1 (1,500 over 1,000).
  const KernelSurface::Reading rows = surface.at({64, 1, 100});
  CHECK(rows.axis == 0);
  CHECK(rows.reach.asked == 64);
  CHECK(rows.reach.nearest == 16);
  CHECK(rows.reach.factor() == 4);
  CHECK(surface.at({4, 1, 1500}).axis == 1);
  CHECK(surface.at({4, 1, 1500}).reach.factor() == 2);
  CHECK(surface.at({4, 8, 100}).reach.factor() == 1);
}

TEST_CASE("kernel_surface: an axis of one line is constant") {
  const KernelSurface surface({{{128}, {1, 2}, {1}}}, {5, 6});
  CHECK(surface.at({128, 2, 1}).value == 6);
  CHECK(surface.at({64, 1, 3}).value == 5);
}

TEST_CASE("kernel_surface: what is no grid is refused") {
  CHECK(KernelSurface::find_fault({{{1, 2}, {1}, {1}}}, 2) == std::nullopt);
  CHECK(KernelSurface::find_fault({{{1, 2}, {1}, {1}}}, 3) == "expected 2 values for its grid, found 3");
  CHECK(KernelSurface::find_fault({{{2, 2}, {1}, {1}}}, 2) == "lines that do not rise");
  CHECK(KernelSurface::find_fault({{{0, 2}, {1}, {1}}}, 2) == "a line below 1");
  CHECK(KernelSurface::find_fault({{{1}, {}, {1}}}, 0) == "an axis without lines");
  CHECK_THROWS_AS(KernelSurface({{{1}, {1}, {1}}}, {}), std::logic_error);
}

}  // namespace
}  // namespace vtrain
