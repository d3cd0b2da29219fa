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

/// The curves of each type of GPUs of a cluster, and which types a job may use.
class CurvesByType {
 public:
  /// One type of GPUs.
  struct Type {
    PlanCache* curves = nullptr;
    GpuCount num_gpus{0};  ///< of this type in the cluster; 0: not known
  };

  /// GPUs of one type, whatever jobs ask for. `num_gpus` of them bound the numbers of GPUs of elastic jobs.
  CurvesByType(PlanCache& curves, GpuCount num_gpus = GpuCount(0)) : types_{{&curves, num_gpus}}, all_{0} {}
  /// `allowed` are the numbers of the types that a job may use, by what it asks for (`Job::gpu_type`), the
  /// one by which it is priced first; jobs that ask for nothing, or for what no type of the cluster is, may
  /// use all.
  CurvesByType(std::vector<Type> types, std::vector<std::vector<std::uint32_t>> allowed)
      : types_(std::move(types)), allowed_(std::move(allowed)) {
    for (std::uint32_t type = 0; type < types_.size(); ++type)
      all_.push_back(type);
  }

  /// By the numbers that `allowed` gives.
  std::span<const Type> types() const { return types_; }
  /// Whether some type of the cluster is what a job asks for, or it asks for none.
  bool has(GpuTypeId asked) const {
    return !asked || (asked.value < allowed_.size() && !allowed_[asked.value].empty());
  }
  /// Never empty: all types where `has` is false.
  std::span<const std::uint32_t> allowed(GpuTypeId asked) const {
    return asked && has(asked) ? allowed_[asked.value] : all_;
  }
  /// Whether there are so many GPUs of the types that a job may use, as far as their numbers are known.
  bool have_room(GpuTypeId asked, GpuCount num_gpus) const {
    GpuCount there{0};
    for (const std::uint32_t type : allowed(asked))
      there += types_[type].num_gpus;
    return there.value == 0 || num_gpus <= there;
  }
  /// The curves by which a job that asks for this type is priced.
  PlanCache& of(GpuTypeId asked) const { return *types_[allowed(asked).front()].curves; }

 private:
  std::vector<Type> types_;
  std::vector<std::vector<std::uint32_t>> allowed_;
  std::vector<std::uint32_t> all_;
};

}  // namespace vtrain
