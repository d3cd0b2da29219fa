#include "sched/placement/fragmentation.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

/// F_n(k), in thousandths of a GPU.
std::int64_t fragmentation_for(const NodeRoom& room, const TypicalSize& size) {
  const std::int64_t free = room.free_milli();
  const bool type_fits = std::binary_search(size.types.begin(), size.types.end(), room.type);
  if (size.num_gpus == 0 || !type_fits || room.cpu_milli < size.cpu_milli) return free;
  std::int64_t useful_gpus = room.whole_gpus;
  std::int64_t useless_milli = 0;
  for (const std::int16_t part : room.parts) {
    if (part >= size.gpu_share) {
      ++useful_gpus;
    } else {
      useless_milli += part;
    }
  }
  return useful_gpus < size.num_gpus ? free : useless_milli;
}

}  // namespace

std::int64_t NodeRoom::free_milli() const {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{whole_gpus} * kWholeGpu);
}

double fragmentation(const NodeRoom& room, std::span<const TypicalSize> sizes) {
  double sum = 0;
  for (const TypicalSize& size : sizes)
    sum += size.frequency * static_cast<double>(fragmentation_for(room, size));
  return sum;
}

NodeRoom room_after(const NodeRoom& room, GpuCount num_gpus, std::int16_t gpu_share, std::int16_t part,
                    std::vector<std::int16_t>& left) {
  NodeRoom after = room;
  left.assign(room.parts.begin(), room.parts.end());
  std::int32_t whole_gpus = num_gpus.value;
  if (gpu_share < kWholeGpu) {
    // GPUs with the least free first, except that one part goes to the given GPU.
    const bool one = num_gpus == GpuCount(1);
    for (std::int16_t& free : left) {
      if (whole_gpus == 0) break;
      if (one ? free != part : free < gpu_share) continue;
      free = static_cast<std::int16_t>(free - gpu_share);
      --whole_gpus;
    }
    left.insert(left.end(), static_cast<std::size_t>(whole_gpus),
                static_cast<std::int16_t>(kWholeGpu - gpu_share));
  }
  after.whole_gpus -= whole_gpus;
  after.parts = left;
  return after;
}

std::vector<TypicalSize> typical_sizes(const Workload& workload, const GpuTypes& types) {
  constexpr std::size_t kStep = 10;
  constexpr double kCovered = 0.6;
  using Size = std::tuple<std::int32_t, std::int16_t, GpuTypeId>;
  std::map<Size, std::int64_t> jobs_by_size;
  for (const Job& job : workload.jobs)
    ++jobs_by_size[{job.num_gpus.value, job.gpu_share, job.gpu_type}];
  std::vector<std::pair<std::int64_t, Size>> by_frequency;
  by_frequency.reserve(jobs_by_size.size());
  for (const auto& [size, jobs] : jobs_by_size)
    by_frequency.emplace_back(-jobs, size);
  std::sort(by_frequency.begin(), by_frequency.end());

  const double enough = kCovered * static_cast<double>(workload.jobs.size());
  std::int64_t covered = 0;
  std::size_t count = 0;
  while (count < by_frequency.size() && static_cast<double>(covered) < enough) {
    const std::size_t next = std::min(count + kStep, by_frequency.size());
    for (; count < next; ++count)
      covered -= by_frequency[count].first;
  }
  std::vector<TypicalSize> sizes;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [num_gpus, gpu_share, gpu_type] = by_frequency[i].second;
    const auto allowed = types.allowed(gpu_type);
    sizes.push_back(
        {.num_gpus = num_gpus,
         .gpu_share = gpu_share,
         .types = {allowed.begin(), allowed.end()},
         .frequency = static_cast<double>(-by_frequency[i].first) / static_cast<double>(covered)});
  }
  return sizes;
}

}  // namespace vtrain
