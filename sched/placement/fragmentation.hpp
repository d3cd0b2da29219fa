/// Fragmentation of free GPUs, as fragmentation gradient descent measures it: the part of the free GPUs that
/// the jobs of a workload cannot use (Weng et al., USENIX ATC'23, "Beware of fragmentation": FGD).
///
/// F_n(k) is defined for a node n and a size k of jobs. A job cannot run on the node if it uses no GPU, may
/// not use the node's type, lacks CPU, or needs more GPUs than have enough free. Then F_n(k) is all that is
/// free on the node. Otherwise it is the free part of the GPUs that have too little left for the job. F_n is
/// the mean of F_n(k) over the sizes, weighted by their frequency. The rate of fragmentation of a cluster is
/// the sum of F_n over its nodes divided by the sum of what is free.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/cluster/gpu_types.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// A size of jobs.
struct TypicalSize {
  std::int32_t num_gpus = 0;
  std::int16_t gpu_share = kWholeGpu;  ///< part of each GPU, in thousandths
  std::int64_t cpu_milli = 0;          ///< thousandths of a core; 0: not known, never short
  std::vector<std::uint32_t> types{};  ///< types that it may use, ascending
  double frequency = 0;                ///< part of all jobs; the frequencies of all sizes add up to 1
};

/// Free resources of a node.
struct NodeRoom {
  std::uint32_t type = 0;
  std::int32_t whole_gpus = 0;            ///< GPUs that are free as a whole
  std::span<const std::int16_t> parts{};  ///< free thousandths of the partly free GPUs
  std::int64_t cpu_milli = 0;

  /// All free GPUs and parts, in thousandths of a GPU.
  std::int64_t free_milli() const;
};

/// F_n, in thousandths of a GPU.
double fragmentation(const NodeRoom& room, std::span<const TypicalSize> sizes);

/// The room of a node after a gang has come that takes `gpu_share` thousandths of each of its GPUs. A gang of
/// one part of a GPU uses a GPU with exactly `part` free, `kWholeGpu` for a whole one. Other gangs take GPUs
/// with the least free first. `left` holds the parts to which the result refers.
NodeRoom room_after(const NodeRoom& room, GpuCount num_gpus, std::int16_t gpu_share, std::int16_t part,
                    std::vector<std::int16_t>& left);

/// Sizes that measure a workload's fragmentation: its most frequent ones (number of GPUs, share and type),
/// ten at a time until they make up 60 % of the jobs. Frequencies are relative to the chosen sizes. Types are
/// those of the cluster; ties are in order of size.
std::vector<TypicalSize> typical_sizes(const Workload& workload, const GpuTypes& types);

}  // namespace vtrain
