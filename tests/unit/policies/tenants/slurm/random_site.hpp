/// Random clusters of Slurm with workloads, and their limits by brute force.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::testing {

/// Amounts of `cpu`, `node` and `gres/gpu`.
using SiteTres = std::map<std::string, std::int64_t>;

/// Limits of an association or a QOS; none where empty.
struct SiteLimits {
  SiteTres group_tres{};                               ///< `GrpTRES`
  std::optional<std::int64_t> group_jobs{};            ///< `GrpJobs`
  std::optional<std::int64_t> group_submit{};          ///< `GrpSubmit`
  std::optional<std::int64_t> max_jobs{};              ///< `MaxJobs`; of a QOS: of each user
  std::optional<std::int64_t> max_submit{};            ///< `MaxSubmit`; of a QOS: of each user
  SiteTres max_tres{};                                 ///< `MaxTRES` of one job
  std::optional<std::int64_t> max_wall{};              ///< `MaxWall` in minutes
  SiteTres max_tres_per_user{};                        ///< `MaxTRESPU` of a QOS
  SiteTres max_tres_per_account{};                     ///< `MaxTRESPA` of a QOS
  std::optional<std::int64_t> max_jobs_per_account{};  ///< `MaxJobsPA` of a QOS
};

/// An account, or a user in an account.
struct SiteAssociation {
  std::string name{};
  std::optional<std::size_t> parent{};  ///< none: root
  bool is_user = false;
  std::int64_t share = 1;
  SiteLimits limits{};  ///< with what it inherits
  SiteLimits own{};     ///< as written
};

/// A QOS.
struct SiteQos {
  std::string name{};
  std::int64_t priority = 0;
  std::vector<std::string> preempts{};
  std::string preempt_mode = "cluster";
  bool beyond_partition = false;  ///< flags `PartitionMaxNodes` and `PartitionTimeLimit`
  bool over_partition = false;    ///< flag `OverPartQOS`
  SiteLimits limits{};
};

/// A partition over nodes in a row.
struct SitePartition {
  std::string name{};
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::optional<std::int64_t> max_nodes{};
  std::int64_t min_nodes = 0;
  std::optional<std::int64_t> max_minutes{};
  std::int64_t tier = 1;
  std::string preempt_mode{};
  std::optional<std::size_t> qos{};
};

/// A job as Slurm's limits see it.
struct SiteJob {
  std::size_t user = 0;  ///< position of its association
  std::size_t qos = 0;
  std::vector<std::size_t> partitions{};
  std::int64_t nodes = 1;
  std::int64_t cpus = 1;  ///< on each node
  std::int64_t gpus = 1;  ///< on each node
  std::int64_t minutes = 1;

  /// Amount of a resource that it holds while it runs.
  std::int64_t amount(const std::string& tres) const {
    return tres == "node" ? nodes : nodes * (tres == "cpu" ? cpus : gpus);
  }
};

/// One limit on the running jobs of a group, with the jobs that it holds back.
struct SiteRule {
  std::string text{};  ///< name in messages
  std::int64_t limit = 0;
  std::string tres{};                  ///< resource; empty: jobs are counted
  std::vector<std::size_t> counted{};  ///< jobs that count
  std::vector<bool> bound{};           ///< by job: the limit holds for it
};

/// A cluster with a workload.
class RandomSite {
 public:
  static constexpr std::int64_t kNodes = 4;
  static constexpr std::int64_t kCpus = 16;
  static constexpr std::int64_t kGpus = 8;

  explicit RandomSite(std::uint64_t seed);

  /// Writes slurm.conf, the dump of associations and the table of QOS, their rows in an order of `seed`.
  void write(const std::filesystem::path& folder, std::uint64_t seed) const;
  const Workload& workload() const { return workload_; }
  const std::vector<SiteJob>& jobs() const { return jobs_; }
  const std::vector<SiteAssociation>& associations() const { return associations_; }

  /// All limits on running jobs of a group.
  std::vector<SiteRule> rules() const;
  /// Partitions in which a job may run.
  std::vector<std::size_t> partitions_of(const SiteJob& job) const;
  /// Nodes of these partitions, a bit each.
  std::uint32_t nodes_of(const std::vector<std::size_t>& partitions) const;
  /// True if the job would start on the empty cluster.
  bool can_start(std::size_t job) const;
  /// True if some job could take its nodes away.
  bool is_preemptible(const SiteJob& job) const;
  /// True if jobs may be stopped for others that come after them in the queue. Then both may wait for ever.
  bool may_stop_without_end() const;
  /// True if some associations limit the jobs that run or wait.
  bool has_submit_limits() const { return has_submit_limits_; }

 private:
  void make_associations(RandomStream& random);
  void make_qos(RandomStream& random);
  void make_partitions(RandomStream& random);
  void make_jobs(RandomStream& random);
  /// QOS whose limits hold for a job, those that take precedence first.
  std::vector<std::size_t> qos_of(const SiteJob& job) const;
  bool is_below(std::size_t association, std::size_t ancestor) const;
  bool is_covered(const SiteJob& job, std::size_t qos, const std::string& tres,
                  SiteTres SiteLimits::*list) const;
  bool is_covered(const SiteJob& job, std::size_t qos, std::optional<std::int64_t> SiteLimits::*count) const;
  bool is_within_own_limits(const SiteJob& job) const;

  std::vector<SiteAssociation> associations_;
  std::vector<std::size_t> users_;
  std::vector<SiteQos> qos_;
  std::vector<SitePartition> partitions_;
  std::vector<SiteJob> jobs_;
  Workload workload_;
  std::string scheduler_;
  std::string preempt_;
  std::string preempt_mode_ = "OFF";
  bool has_submit_limits_ = false;
  std::uint64_t rarity_ = 1;  ///< how rare limits are
};

}  // namespace vtrain::testing
