#include "profiler/estimate.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace vtrain::profiler {
namespace {

constexpr double kComputeEfficiency = 0.6;
constexpr double kMemoryEfficiency = 0.7;
constexpr double kLaunchNs = 4000;
/// Time of overwriting L2 before a cold repetition: about 200 MB at 3 TB/s.
constexpr double kOverwriteNs = 60000;
/// Time of allocating, asking the library for its fastest kernel, and flushing CUPTI's buffers.
constexpr double kPrepareNs = 3e7;
/// Time in which cuDNN compiles fused attention for a shape.
constexpr double kCompileNs = 5e8;

/// Dense 16-bit operations of one multiprocessor per clock: A100's 312 TFLOP/s are 108 x 1.41 GHz x 2048;
/// H100's 989 are 132 x 1.83 GHz x 4096; B200's 2250 are 148 x 1.86 GHz x 8192 (data sheets); others have
/// 1024.
double flops_per_clock(const std::string& compute_capability) {
  const std::string major = compute_capability.substr(0, compute_capability.find('.'));
  if (compute_capability == "8.0") return 2048;
  if (major == "9") return 4096;
  if (major == "10") return 8192;
  return 1024;
}

}  // namespace

DeviceRates rates_of(const DeviceFacts& facts) {
  return {static_cast<double>(facts.multiprocessors) * static_cast<double>(facts.clock_hz) *
              flops_per_clock(facts.compute_capability),
          static_cast<double>(facts.memory_bytes_per_second)};
}

double estimated_time_ns(const Operator& op, const DeviceRates& rates) {
  const double peak = rates.flops * (op.format == Format::Fp8 ? 2 : 1);
  const double compute = flops_of(op) / (peak * kComputeEfficiency);
  const double memory = traffic_of(op) / (rates.memory * kMemoryEfficiency);
  return std::max(compute, memory) * 1e9 + kLaunchNs;
}

std::size_t repetitions_of(const Operator& op, const DeviceRates& rates, const Protocol& protocol) {
  const double affordable = protocol.budget_ns / estimated_time_ns(op, rates);
  const auto least = static_cast<double>(protocol.least_repetitions);
  const auto most = static_cast<double>(protocol.most_repetitions);
  return static_cast<std::size_t>(std::clamp(affordable, least, most));
}

double estimated_cost_s(const Operator& op, const DeviceRates& rates, const Protocol& protocol) {
  const auto repetitions = static_cast<double>(repetitions_of(op, rates, protocol));
  const double launches = static_cast<double>(protocol.warm_up) + 2 * repetitions;
  const bool compiles = op.variant == Variant::Fused;
  return (launches * estimated_time_ns(op, rates) + repetitions * kOverwriteNs + kPrepareNs +
          (compiles ? kCompileNs : 0)) /
         1e9;
}

void sort_by_cost(std::vector<Operator>& operators, const DeviceRates& rates, const Protocol& protocol) {
  std::vector<std::pair<double, std::string>> ranks;
  for (const Operator& op : operators)
    ranks.emplace_back(estimated_cost_s(op, rates, protocol), key_of(op));
  std::vector<std::size_t> order(operators.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  std::vector<Operator> sorted;
  sorted.reserve(operators.size());
  for (const std::size_t position : order)
    sorted.push_back(std::move(operators[position]));
  operators = std::move(sorted);
}

}  // namespace vtrain::profiler
