#include "profiler/attribution.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

namespace vtrain::profiler {
namespace {

using Kernels = std::vector<KernelRecord>;

std::vector<std::string> names_of(const Kernels& kernels) {
  std::vector<std::string> names;
  names.reserve(kernels.size());
  for (const KernelRecord& kernel : kernels)
    names.push_back(kernel.name);
  return names;
}

std::int64_t last_end(const Kernels& kernels) {
  std::int64_t end = kernels.front().end_ns;
  for (const KernelRecord& kernel : kernels)
    end = std::max(end, kernel.end_ns);
  return end;
}

/// The kernels of each repetition; null for a repetition that does not count.
std::vector<const Kernels*> usual_repetitions(const Attribution& attribution, std::uint64_t first,
                                              std::size_t count) {
  std::vector<const Kernels*> repetitions(count, nullptr);
  std::map<std::vector<std::string>, std::size_t> frequency;
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = attribution.ranges.find(first + i);
    if (found == attribution.ranges.end() || found->second.empty()) continue;
    repetitions[i] = &found->second;
    ++frequency[names_of(found->second)];
  }
  std::vector<std::string> usual;
  std::size_t most = 0;
  for (const Kernels* kernels : repetitions) {
    if (kernels == nullptr || frequency[names_of(*kernels)] <= most) continue;
    usual = names_of(*kernels);
    most = frequency[usual];
  }
  for (const Kernels*& kernels : repetitions) {
    if (kernels != nullptr && names_of(*kernels) != usual) kernels = nullptr;
  }
  return repetitions;
}

std::int64_t median(const std::vector<double>& values) {
  return std::llround(spread_of(values).median);
}

/// Kernel number `position` of every repetition that counts.
MeasuredKernel summarize_kernel(const std::vector<const Kernels*>& repetitions, std::size_t position,
                                bool back_to_back) {
  MeasuredKernel measured;
  std::vector<double> durations;
  std::vector<double> gaps;
  for (std::size_t i = 0; i < repetitions.size(); ++i) {
    if (repetitions[i] == nullptr) continue;
    const Kernels& kernels = *repetitions[i];
    const KernelRecord& kernel = kernels[position];
    measured.name = kernel.name;
    durations.push_back(static_cast<double>(kernel.end_ns - kernel.start_ns));
    if (position + 1 < kernels.size()) {
      gaps.push_back(static_cast<double>(kernels[position + 1].start_ns - kernel.end_ns));
    } else if (back_to_back && i + 1 < repetitions.size() && repetitions[i + 1] != nullptr) {
      gaps.push_back(static_cast<double>(repetitions[i + 1]->front().start_ns - kernel.end_ns));
    }
  }
  measured.duration_ns = median(durations);
  if (!gaps.empty()) measured.gap_ns = median(gaps);
  return measured;
}

}  // namespace

Attribution attribute(const Activity& activity) {
  std::unordered_map<std::uint32_t, std::uint64_t> range_of;  // never iterated
  for (const RangeRecord& record : activity.ranges) {
    const auto [entry, is_new] = range_of.try_emplace(record.correlation, record.range);
    if (!is_new) entry->second = std::max(entry->second, record.range);
  }
  Attribution attribution;
  for (const KernelRecord& kernel : activity.kernels) {
    const auto found = range_of.find(kernel.correlation);
    if (found != range_of.end()) attribution.ranges[found->second].push_back(kernel);
  }
  for (auto& [range, kernels] : attribution.ranges) {
    std::sort(kernels.begin(), kernels.end(), [](const KernelRecord& a, const KernelRecord& b) {
      return std::tie(a.start_ns, a.end_ns, a.stream, a.name) <
             std::tie(b.start_ns, b.end_ns, b.stream, b.name);
    });
  }
  return attribution;
}

std::optional<Measurement> summarize(const Attribution& attribution, std::uint64_t first, std::size_t count,
                                     bool back_to_back) {
  const std::vector<const Kernels*> repetitions = usual_repetitions(attribution, first, count);
  Measurement measurement;
  std::vector<double> times;
  std::size_t num_kernels = 0;
  for (const Kernels* kernels : repetitions) {
    if (kernels == nullptr) continue;
    num_kernels = kernels->size();
    times.push_back(static_cast<double>(last_end(*kernels) - kernels->front().start_ns));
  }
  if (times.empty() || 2 * times.size() < count) return std::nullopt;
  const Spread spread = spread_of(times);
  measurement.repetitions = times.size();
  measurement.time_ns = std::llround(spread.median);
  measurement.low_ns = std::llround(spread.low);
  measurement.high_ns = std::llround(spread.high);
  for (std::size_t position = 0; position < num_kernels; ++position)
    measurement.kernels.push_back(summarize_kernel(repetitions, position, back_to_back));
  return measurement;
}

double quantile(std::vector<double> values, double part) {
  if (values.empty()) throw std::logic_error("no values to take a quantile of");
  std::sort(values.begin(), values.end());
  const double rank = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(rank));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double weight = rank - static_cast<double>(below);
  return values[below] + weight * (values[above] - values[below]);
}

Spread spread_of(const std::vector<double>& values) {
  return {quantile(values, 0.1), quantile(values, 0.5), quantile(values, 0.9)};
}

}  // namespace vtrain::profiler
