/// Groups of jobs: by tenant, user, queue, GPU type or size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Property of jobs by which figures are split.
enum class JobGrouping : std::uint8_t {
  Tenant,  ///< tenant of the job
  User,    ///< user of the job
  Queue,   ///< queue where it was submitted
  Type,    ///< type of GPUs that the job requests
  Size,    ///< GPUs that it requests: 1, 2, 3-4, 5-8, ...
};

/// Names of the groupings on the command line, in the order of the enumeration.
std::span<const std::string_view> grouping_names();
/// Name of one grouping, such as `user`.
std::string_view name_of(JobGrouping grouping);

/// Sizes by powers of two: 0 for one GPU, 1 for 2, 2 for 3-4, 3 for 5-8, ...
std::size_t size_class(GpuCount num_gpus);
/// Label of a size class, such as `5–8`.
std::string size_class_label(std::size_t index);

/// Groups of the jobs of one trace.
class JobGroups {
 public:
  /// Refers to `workload`, which outlives the groups.
  JobGroups(const Workload& workload, JobGrouping grouping);

  /// Number of groups, empty ones too. The last is for jobs without the property, except by size.
  std::size_t size() const;
  /// Group of a job of the workload.
  std::size_t of(const Job& job) const;
  /// Name of a group; empty for jobs without the property.
  std::string name(std::size_t group) const;

 private:
  JobGrouping grouping_;
  const NameTable* names_;  ///< null: by size
};

/// Reads the name of a grouping. Errors: an unknown name; a property that no job of the workload has (the
/// error lists those that some have).
Result<JobGrouping> parse_grouping(std::string_view name, const Workload& workload);

}  // namespace vtrain
