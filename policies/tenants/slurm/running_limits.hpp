/// Limits of associations and QOS on running jobs (accounting policy of slurmctld, Slurm 22.05).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/tenants/slurm/associations.hpp"
#include "policies/tenants/slurm/quality_of_service.hpp"

namespace vtrain::slurm {

/// A job as limits see it.
struct LimitedJob {
  std::uint32_t association = 0;                 ///< position in the tree
  std::optional<std::uint32_t> qos{};            ///< position of its QOS
  std::optional<std::uint32_t> partition_qos{};  ///< position of the QOS of its partition
  std::uint32_t user = 0;                        ///< number of its user
  std::uint32_t account = 0;                     ///< position of its account in the tree
  TresList tres{};                               ///< resources that it asks for
  std::int32_t nodes = 1;                        ///< nodes that it asks for
  std::int64_t limit_minutes = 0;                ///< its time limit
};

/// Counts running and submitted jobs, and says whether one more may start.
class RunningLimits {
 public:
  /// Both outlive it. `has_limits`: `AccountingStorageEnforce` has limits.
  RunningLimits(const AssociationTree& tree, const std::vector<Qos>& qos, bool has_limits);

  /// True if a job may ever start: it is within the limits of one job.
  bool ever_fits(const LimitedJob& job) const;
  /// True if a job may start beside those that run.
  bool fits_now(const LimitedJob& job) const;
  /// True if a job may be submitted beside those that run and wait.
  bool may_submit(const LimitedJob& job) const;
  /// Counts a job that is submitted, or leaves (`sign` −1).
  void count_submitted(const LimitedJob& job, std::int32_t sign);
  /// Counts a job that starts, or leaves its nodes (`sign` −1).
  void count_running(const LimitedJob& job, std::int32_t sign);

 private:
  /// What runs, and what is submitted.
  struct Sums {
    std::int64_t jobs = 0;
    std::int64_t submitted = 0;
    TresList tres{};
  };
  /// Sums of one QOS: of all its jobs, by user, and by account.
  struct QosSums {
    Sums all{};
    std::map<std::uint32_t, Sums> by_user{};
    std::map<std::uint32_t, Sums> by_account{};
  };
  /// QOS whose limits hold for a job, those that take precedence first.
  std::vector<std::uint32_t> qos_of(const LimitedJob& job) const;
  template <class Change>
  void change(const LimitedJob& job, Change change);

  const AssociationTree& tree_;
  const std::vector<Qos>& qos_;
  bool has_limits_;
  std::vector<Sums> associations_;  ///< [position]
  std::vector<QosSums> by_qos_;     ///< [position]
};

}  // namespace vtrain::slurm
