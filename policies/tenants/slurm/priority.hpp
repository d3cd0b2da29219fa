/// Multifactor priority (priority/multifactor of Slurm 22.05): factors of a job, weights, and the whole
/// number that orders jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policies/tenants/slurm/associations.hpp"
#include "policies/tenants/slurm/configuration.hpp"
#include "policies/tenants/slurm/quality_of_service.hpp"

namespace vtrain::slurm {

/// What the factors of a job in one partition follow from.
struct PriorityRequest {
  std::int64_t nodes = 1;                       ///< nodes that it asks for
  std::int64_t cpus = 1;                        ///< CPUs that it asks for
  std::optional<std::int64_t> limit_minutes{};  ///< its time limit; none: unlimited
  TresList tres{};                              ///< resources that it asks for
  double age_s = 0;                             ///< seconds for which it has waited while it could have run
  double fair_share = 0;                        ///< factor of its association
  std::int64_t assoc_priority = 0;              ///< priority of its association
  std::int64_t qos_priority = 0;                ///< priority of its QOS
  std::uint32_t partition = 0;                  ///< position of its partition
  std::int64_t nice = 0;                        ///< `--nice`
};

/// Factors of a job in one partition, each from 0 to 1 unless a flag says that it is not normalised.
struct PriorityFactors {
  double age = 0;         ///< waiting time / `PriorityMaxAge`
  double assoc = 0;       ///< priority of the association / largest one
  double fair_share = 0;  ///< see `fair_share.hpp`
  double job_size = 0;    ///< part of the cluster that it asks for
  double partition = 0;   ///< `PriorityJobFactor` / largest one
  double qos = 0;         ///< priority of the QOS / largest one
  TresList tres{};        ///< part of the partition that it asks for, of each weighted resource
};

/// Computes factors and priorities. The configuration outlives it.
class MultifactorPriority {
 public:
  /// Takes the sizes of the cluster and its partitions, and the largest priorities.
  MultifactorPriority(const Configuration& configuration, const TresNames& names, const AssociationTree& tree,
                      const std::vector<Qos>& qos);
  /// The factors of a job.
  PriorityFactors factors(const PriorityRequest& request) const;
  /// Σ weight × factor − nice, cut to a whole number, at least 1.
  std::int64_t priority(const PriorityFactors& factors, std::int64_t nice) const;

 private:
  double job_size(const PriorityRequest& request) const;

  const Configuration* configuration_;
  double max_assoc_ = 0;
  double max_partition_ = 0;
  double max_qos_ = 0;
  double num_cpus_ = 0;
  std::vector<TresList> totals_;  ///< weighted resources of each partition
};

}  // namespace vtrain::slurm
