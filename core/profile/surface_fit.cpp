#include "core/profile/surface_fit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace vtrain {
namespace {

/// Limit that lets every stack's time count.
constexpr double kAllCount = std::numeric_limits<double>::infinity();

using Sizes = std::array<std::int64_t, KernelSurface::kNumAxes>;
/// Measured values by their sizes.
using Points = std::map<Sizes, double>;

constexpr double kPercent = 100;

KernelSurface::Point as_point(const Sizes& sizes) {
  return {static_cast<double>(sizes[0]), static_cast<double>(sizes[1]), static_cast<double>(sizes[2])};
}

/// The mean of |error| in per cent.
class MeanError {
 public:
  void add(double error) {
    sum_ += std::abs(error);
    ++count_;
  }
  double percent() const { return count_ == 0 ? 0 : kPercent * sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

/// The lines of the grid that a set of sizes spans.
template <class Range, class ToSizes>
KernelSurface::Axes axes_of(const Range& range, ToSizes to_sizes) {
  std::array<std::set<std::int64_t>, KernelSurface::kNumAxes> lines;
  for (const auto& item : range) {
    const Sizes& sizes = to_sizes(item);
    for (std::size_t axis = 0; axis < lines.size(); ++axis)
      lines[axis].insert(sizes[axis]);
  }
  KernelSurface::Axes axes;
  for (std::size_t axis = 0; axis < lines.size(); ++axis)
    axes[axis].assign(lines[axis].begin(), lines[axis].end());
  return axes;
}

std::size_t num_nodes(const KernelSurface::Axes& axes) {
  return axes[0].size() * axes[1].size() * axes[2].size();
}

/// The sizes of every node, the last axis fastest.
std::vector<Sizes> nodes_of(const KernelSurface::Axes& axes) {
  std::vector<Sizes> nodes;
  nodes.reserve(num_nodes(axes));
  for (const std::int64_t a : axes[0]) {
    for (const std::int64_t b : axes[1]) {
      for (const std::int64_t c : axes[2])
        nodes.push_back({a, b, c});
    }
  }
  return nodes;
}

/// Gives every node without a value (NaN) that of the node before it on one axis, or after it (`backward`).
void fill_holes(const KernelSurface::Axes& axes, std::size_t axis, bool backward,
                std::vector<double>& values) {
  const std::size_t stride = axis == 2 ? 1 : axis == 1 ? axes[2].size() : axes[1].size() * axes[2].size();
  const std::size_t length = axes[axis].size();
  for (std::size_t step = 0; step < values.size(); ++step) {
    const std::size_t i = backward ? values.size() - 1 - step : step;
    const std::size_t position = i / stride % length;
    if (!std::isnan(values[i]) || position == (backward ? length - 1 : 0)) continue;
    values[i] = values[backward ? i + stride : i - stride];
  }
}

/// The surface through the points of one stack. An error if most nodes of their grid have no point.
Result<KernelSurface> surface_through(const Points& points) {
  KernelSurface::Axes axes = axes_of(points, [](const auto& point) -> const Sizes& { return point.first; });
  if (num_nodes(axes) > 2 * points.size()) {
    return fail({.message = fmt::format("expected shapes on a grid, found {} shapes scattered over {} nodes",
                                        points.size(), num_nodes(axes))});
  }
  std::vector<double> values;
  values.reserve(num_nodes(axes));
  for (const Sizes& node : nodes_of(axes)) {
    const auto point = points.find(node);
    values.push_back(point == points.end() ? std::nan("") : point->second);
  }
  for (const bool backward : {false, true}) {
    for (const std::size_t axis : {2, 1, 0})
      fill_holes(axes, axis, backward, values);
  }
  return KernelSurface(std::move(axes), std::move(values));
}

/// Mean of several surfaces at the nodes of the union of their grids. Values more than `most_above` above the
/// lowest of a node are ignored there.
KernelSurface mean_of(const std::vector<KernelSurface>& surfaces, double most_above) {
  std::vector<Sizes> all;
  for (const KernelSurface& surface : surfaces) {
    const std::vector<Sizes> nodes = nodes_of(surface.axes());
    all.insert(all.end(), nodes.begin(), nodes.end());
  }
  KernelSurface::Axes axes = axes_of(all, [](const Sizes& sizes) -> const Sizes& { return sizes; });
  std::vector<double> values;
  std::vector<double> at_node;
  for (const Sizes& node : nodes_of(axes)) {
    at_node.clear();
    for (const KernelSurface& surface : surfaces)
      at_node.push_back(surface.at(as_point(node)).value);
    const double limit = *std::min_element(at_node.begin(), at_node.end()) + most_above;
    std::erase_if(at_node, [limit](double value) { return value > limit; });
    values.push_back(std::accumulate(at_node.begin(), at_node.end(), 0.0) /
                     static_cast<double>(at_node.size()));
  }
  return KernelSurface(std::move(axes), std::move(values));
}

/// The surface without one line of an axis.
KernelSurface without_line(const KernelSurface& surface, std::size_t axis, std::int64_t line) {
  KernelSurface::Axes axes = surface.axes();
  std::erase(axes[axis], line);
  std::vector<double> values;
  for (const Sizes& node : nodes_of(axes))
    values.push_back(surface.at(as_point(node)).value);
  return KernelSurface(std::move(axes), std::move(values));
}

/// Mean error of predicting the measured nodes of every inner line from the neighbouring lines. `counts`
/// selects nodes.
template <class Counts>
double left_out_error(const KernelSurface& surface, const std::set<Sizes>& measured, Counts counts) {
  MeanError error;
  for (std::size_t axis = 0; axis < KernelSurface::kNumAxes; ++axis) {
    const KernelSurface::Axis& lines = surface.axes()[axis];
    for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
      const KernelSurface thinned = without_line(surface, axis, lines[i]);
      KernelSurface::Axes line = surface.axes();
      line[axis] = {lines[i]};
      for (const Sizes& node : nodes_of(line)) {
        if (!counts(node) || !measured.contains(node)) continue;
        error.add(std::expm1(thinned.at(as_point(node)).value - surface.at(as_point(node)).value));
      }
    }
  }
  return error.percent();
}

/// The fit through the points of several stacks, joined by `mean_of`.
template <class Counts>
Result<SurfaceFit> fit_points(const std::vector<Points>& stacks, double most_above, Counts counts) {
  std::vector<KernelSurface> surfaces;
  std::set<Sizes> measured;
  std::int64_t num_points = 0;
  for (const Points& points : stacks) {
    if (points.empty()) continue;
    auto surface = surface_through(points);
    if (!surface) return fail(surface.error());
    surfaces.push_back(std::move(*surface));
    num_points += static_cast<std::int64_t>(points.size());
    for (const auto& point : points)
      measured.insert(point.first);
  }
  if (surfaces.empty()) return fail({.kind = ErrorKind::NotFound, .message = "no measured shapes to use"});
  SurfaceFit fit{.surface = mean_of(surfaces, most_above), .num_points = num_points};
  MeanError spread;
  for (const Points& points : stacks) {
    for (const auto& [sizes, value] : points)
      spread.add(std::expm1(fit.surface.at(as_point(sizes)).value - value));
  }
  fit.spread_percent = spread.percent();
  fit.left_out_error_percent = left_out_error(fit.surface, measured, counts);
  return fit;
}

bool is_power_of_two(std::int64_t number) {
  return std::has_single_bit(static_cast<std::uint64_t>(number));
}

/// True for a power of 2, or one of the seven sizes that divide the way to the next one into eighths.
bool is_round_size(std::int64_t bytes) {
  const auto number = static_cast<std::uint64_t>(bytes);
  return number >> std::countr_zero(number) < 16;
}

Points attention_points(const std::vector<AttentionSample>& stack) {
  constexpr std::int64_t kShortest = 256;
  constexpr std::int64_t kLargestHead = 256;
  constexpr std::int64_t kQueryHeads = 4;            // to a key head, at least
  std::map<Sizes, std::pair<double, double>> rates;  // sum and number
  for (const AttentionSample& sample : stack) {
    const std::int64_t heads = sample.batch * sample.heads;
    if (sample.sequence < kShortest || sample.head_size > kLargestHead || !is_power_of_two(heads) ||
        sample.heads < kQueryHeads * sample.key_value_heads)
      continue;
    const double flops = 2.0 * static_cast<double>(heads) * static_cast<double>(sample.sequence) *
                         static_cast<double>(sample.sequence) * static_cast<double>(sample.head_size);
    auto& [sum, count] = rates[{sample.head_size, sample.sequence, heads}];
    sum += flops / Seconds(sample.time).count();
    count += 1;
  }
  Points points;
  for (const auto& [sizes, sum_and_count] : rates)
    points[sizes] = std::log(sum_and_count.first / sum_and_count.second);
  return points;
}

}  // namespace

Result<SurfaceFit> fit_gemm(const GpuProfile& device, Precision precision,
                            std::span<const std::vector<GemmSample>> stacks) {
  constexpr std::int64_t kRows = 64;
  constexpr std::int64_t kSmallest = 256;
  std::vector<Points> points;
  for (const std::vector<GemmSample>& stack : stacks) {
    Points& of_stack = points.emplace_back();
    for (const GemmSample& sample : stack) {
      if (sample.precision != precision || sample.m % kRows != 0 || sample.n < kSmallest ||
          sample.k < kSmallest)
        continue;
      const Nanoseconds roofline =
          gemm_roofline(device, precision, static_cast<double>(sample.m), static_cast<double>(sample.n),
                        static_cast<double>(sample.k));
      const double value = std::log(sample.time / roofline);
      const auto [point, is_new] = of_stack.emplace(Sizes{sample.m, sample.n, sample.k}, value);
      if (!is_new) point->second = std::min(point->second, value);
    }
  }
  // Products of 16 bits are those of the vendor's library in every stack: the published pairs are within 1.25
  // of each other for 97 to 100 % of the shapes of a GPU, 90 % on GB200, and what is beyond 1.5 is, but for a
  // few, large shapes of that one, as if it had held its clock down. Those of 8 and 4 bits are kernels of the
  // stacks' own, timed with more or less of the conversion: there each is as good as the other.
  constexpr double kSameKernel = 1.5;
  const double most_above = precision == Precision::Bf16 ? std::log(kSameKernel) : kAllCount;
  return fit_points(points, most_above, [](const Sizes& node) {
    const auto [m, n, k] = node;
    return m >= 2048 && std::min(n, k) >= 1024 && std::max(n, k) <= 16384;
  });
}

Result<RelativeRate> fit_relative_rate(const GpuProfile& base, std::span<const OperatorSample> operators) {
  const KernelSurface* const surface = base.gemm[static_cast<std::size_t>(Precision::Bf16)].get();
  if (surface == nullptr) return fail({.message = "expected a base with a table of bf16 products"});
  std::vector<double> ratios;
  for (const OperatorSample& sample : operators) {
    if (sample.op != "matmul" || sample.shape.find("accumulate=False") == std::string::npos) continue;
    const auto m = static_cast<double>(sample.size("m"));
    const auto n = static_cast<double>(sample.size("n"));
    const auto k = static_cast<double>(sample.size("k"));
    if (sample.size("b") != 1 || m * n * k == 0) continue;
    const Seconds measured(2 * m * n * k / (base.peak_rate.value * sample.efficiency));
    const Nanoseconds expected =
        gemm_roofline(base, Precision::Bf16, m, n, k) * std::exp(surface->at({m, n, k}).value);
    ratios.push_back(Seconds(expected) / measured);
  }
  if (ratios.empty())
    return fail({.message = "expected 'matmul' operators without accumulation, found none"});
  std::sort(ratios.begin(), ratios.end());
  const auto quantile = [&ratios](double part) {
    return ratios[static_cast<std::size_t>(part * static_cast<double>(ratios.size() - 1))];
  };
  return RelativeRate{.median = quantile(0.5),
                      .low = quantile(0.1),
                      .high = quantile(0.9),
                      .num_points = static_cast<std::int64_t>(ratios.size())};
}

Result<SurfaceFit> fit_attention(std::span<const std::vector<AttentionSample>> stacks) {
  std::vector<Points> points;
  for (const std::vector<AttentionSample>& stack : stacks)
    points.push_back(attention_points(stack));
  return fit_points(points, kAllCount, [](const Sizes&) { return true; });
}

Result<AttentionBackward> fit_attention_backward(std::span<const OperatorSample> operators) {
  std::map<std::string_view, double> forward;
  for (const OperatorSample& sample : operators) {
    if (sample.op == "sdp_fwd") forward[sample.shape] = sample.efficiency;
  }
  std::map<double, std::pair<double, double>> ratios;  // sum of logarithms and number, by work
  for (const OperatorSample& sample : operators) {
    const auto pair = forward.find(sample.shape);
    const std::int64_t work = sample.size("batch") * sample.size("head_num") * sample.size("seq_len");
    if (sample.op != "sdp_bwd" || pair == forward.end() || work < 1 ||
        sample.size("qk_head_dim") != sample.size("v_head_dim"))
      continue;
    auto& [sum, count] = ratios[static_cast<double>(work)];
    sum += std::log(sample.efficiency / pair->second);
    count += 1;
  }
  if (ratios.empty()) {
    return fail(
        {.kind = ErrorKind::NotFound, .message = "expected pairs of sdp_fwd and sdp_bwd, found none"});
  }
  std::vector<double> work;
  std::vector<double> ratio;
  for (const auto& [amount, sum_and_count] : ratios) {
    work.push_back(amount);
    ratio.push_back(std::exp(sum_and_count.first / sum_and_count.second));
  }
  return AttentionBackward(std::move(work), std::move(ratio));
}

CollectiveFit fit_collectives(std::span<const std::vector<CollectiveSample>> stacks) {
  using Group = std::pair<Collective, std::int64_t>;
  std::map<Group, std::map<std::int64_t, std::pair<double, double>>> groups;  // sum and number by size
  for (const std::vector<CollectiveSample>& stack : stacks) {
    std::set<Group> taken;
    for (const auto& group : groups)
      taken.insert(group.first);
    for (const CollectiveSample& sample : stack) {
      const Group group{sample.collective, sample.num_gpus};
      if (taken.contains(group)) continue;
      auto& [sum, count] = groups[group][sample.bytes];
      sum += sample.time.count();
      count += 1;
    }
  }
  CollectiveFit fit;
  std::array<MeanError, kCollectives.size()> errors;
  for (const auto& [group, times] : groups) {
    std::vector<MessageTable::Entry> entries;
    for (const auto& [bytes, sum_and_count] : times) {
      if (!is_round_size(bytes)) continue;
      entries.push_back({static_cast<double>(bytes), std::round(sum_and_count.first / sum_and_count.second)});
    }
    if (entries.empty()) continue;
    const MessageTable table(std::move(entries));
    const auto index = static_cast<std::size_t>(group.first);
    for (const auto& [bytes, sum_and_count] : times) {
      const Nanoseconds measured(sum_and_count.first / sum_and_count.second);
      errors[index].add(table.at(Bytes(static_cast<double>(bytes))).time / measured - 1);
      ++fit.num_points[index];
    }
    fit.tables.set(group.first, group.second, table);
  }
  for (std::size_t i = 0; i < errors.size(); ++i)
    fit.compaction_error_percent[i] = errors[i].percent();
  return fit;
}

double compaction_error_percent(const KernelSurface& full, const KernelSurface& compact) {
  MeanError error;
  for (const Sizes& node : nodes_of(full.axes()))
    error.add(std::expm1(compact.at(as_point(node)).value - full.at(as_point(node)).value));
  return error.percent();
}

}  // namespace vtrain
