/// Throughput curves on a cluster with several types of GPUs.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace vtrain {

class PlanCache;

/// The curves of each type of GPUs of a cluster, and the types that a job may use.
class CurvesByType {
 public:
  /// One type of GPUs.
  struct Type {
    PlanCache* curves = nullptr;
    GpuCount num_gpus{0};  ///< GPUs of this type in the cluster; 0: not known
  };

  /// Curves for GPUs of one type, for every requested type. `num_gpus` bounds the numbers of GPUs of elastic
  /// jobs.
  CurvesByType(PlanCache& curves, GpuCount num_gpus = GpuCount(0)) : types_{{&curves, num_gpus}}, all_{0} {}
  /// `allowed` are the numbers of the types that a job may use, by the type that it requests
  /// (`Job::gpu_type`). The first one prices the job. Jobs that request no type, or one that the cluster
  /// lacks, may use all.
  CurvesByType(std::vector<Type> types, std::vector<std::vector<std::uint32_t>> allowed)
      : types_(std::move(types)), allowed_(std::move(allowed)) {
    for (std::uint32_t type = 0; type < types_.size(); ++type)
      all_.push_back(type);
  }

  /// Types, by the numbers in `allowed`.
  std::span<const Type> types() const { return types_; }
  /// True if the cluster has the type that a job requests, or it requests none.
  bool has(GpuTypeId asked) const {
    return !asked || (asked.value < allowed_.size() && !allowed_[asked.value].empty());
  }
  /// Types that a job may use, never empty: all types if `has` is false.
  std::span<const std::uint32_t> allowed(GpuTypeId asked) const {
    return asked && has(asked) ? allowed_[asked.value] : all_;
  }
  /// True if the types that a job may use have `num_gpus` GPUs together, as far as their numbers are known.
  bool have_room(GpuTypeId asked, GpuCount num_gpus) const {
    GpuCount there{0};
    for (const std::uint32_t type : allowed(asked))
      there += types_[type].num_gpus;
    return there.value == 0 || num_gpus <= there;
  }
  /// The curves that price a job that requests this type.
  PlanCache& of(GpuTypeId asked) const { return *types_[allowed(asked).front()].curves; }

 private:
  std::vector<Type> types_;
  std::vector<std::vector<std::uint32_t>> allowed_;
  std::vector<std::uint32_t> all_;
};

}  // namespace vtrain
