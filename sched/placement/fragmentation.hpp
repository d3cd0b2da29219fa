/// Fragmentation of free GPUs, as fragmentation gradient descent measures it (Weng et al., USENIX ATC'23,
/// "Beware of fragmentation": FGD): how much of what is free is of no use to the jobs that there are.
///
/// For a node n and a size k of jobs, F_n(k) is all that is free on the node if such a job cannot run there
/// (the job uses no GPU, may not use the node's type, lacks CPU, or fewer GPUs than it needs have enough
/// free), and otherwise what is free on GPUs that have too little left for it. F_n is the mean of F_n(k) over
/// the sizes, weighted by how frequent they are. The rate of fragmentation of a cluster is the sum of F_n
/// over its nodes divided by the sum of what is free.
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
  std::int16_t gpu_share = kWholeGpu;  ///< of each of them, in thousandths
  std::int64_t cpu_milli = 0;          ///< thousandths of a core; 0: not known, and never short
  std::vector<std::uint32_t> types{};  ///< that it may use, ascending
  double frequency = 0;                ///< those of all sizes add up to 1
};

/// What is free on a node.
struct NodeRoom {
  std::uint32_t type = 0;
  std::int32_t whole_gpus = 0;            ///< GPUs that are free as a whole
  std::span<const std::int16_t> parts{};  ///< free thousandths of the others
  std::int64_t cpu_milli = 0;

  /// All that is free, in thousandths of a GPU.
  std::int64_t free_milli() const;
};

/// F_n, in thousandths of a GPU.
double fragmentation(const NodeRoom& room, std::span<const TypicalSize> sizes);

/// The room of a node after a gang has come that takes `gpu_share` thousandths of each of its GPUs. A gang of
/// one part of a GPU takes it of a GPU with exactly `part` free, `kWholeGpu` for a whole one; others take
/// those with the least free first. `left` keeps the parts to which the result refers.
NodeRoom room_after(const NodeRoom& room, GpuCount num_gpus, std::int16_t gpu_share, std::int16_t part,
                    std::vector<std::int16_t>& left);

/// The sizes by which a workload's fragmentation is judged: its most frequent ones (number of GPUs, share and
/// type), ten at a time until they make up 60 % of the jobs, with frequencies among themselves. Types are
/// those of the cluster; ties in order of size.
std::vector<TypicalSize> typical_sizes(const Workload& workload, const GpuTypes& types);

}  // namespace vtrain
