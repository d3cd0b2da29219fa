/// GPU counts and parallel plans in words, as users write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/profile/gpu_profile.hpp"
#include "sched/cluster/cluster.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

/// Reads `512`, `2240,2800,3360` or ranges `64-512`. A range means the powers of two below a node and the
/// multiples of a node within it. Counts are ascending and distinct; at most 4,096 counts of at most
/// 1,000,000 GPUs.
Result<std::vector<GpuCount>> parse_gpu_counts(std::string_view text, std::int64_t gpus_per_node);

/// Reads `--gpus` (`parse_gpu_counts`) within the cluster. An empty text is the whole cluster or, with
/// `parts`, every part of it.
Result<std::vector<GpuCount>> read_gpus(std::string text, const std::optional<ClusterSpec>& cluster,
                                        const GpuProfile& profile, bool parts);

/// Reads `tensor=8,pipeline=35,micro-batch=1,recompute=full`: a plan without its data-parallel degree, which
/// `on_gpus` adds. Keys are the options of `plan_fields` and their short names (`tp=8,pp=35`). Other fields
/// keep their value in `plan`. The error names the nearest key or value.
Result<ParallelPlan> parse_plan_spec(std::string_view text, ParallelPlan plan);

/// The plan on this number of GPUs, with enough replicas to use all of them. Error: the numbers do not
/// divide.
Result<ParallelPlan> on_gpus(ParallelPlan plan, GpuCount num_gpus);

}  // namespace vtrain
