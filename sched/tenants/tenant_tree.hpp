/// Tenants of a cluster as a tree with weights and quotas, and the partitions and qualities of service that
/// jobs name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "sched/cluster/cluster.hpp"

namespace vtrain {

/// A tenant's part of the GPUs of one type. Quotas add up towards the root: a tenant may use its own and
/// those of all tenants below it.
struct Quota {
  std::string gpu_type{};    ///< type as the cluster names it; empty: GPUs of any type
  std::int64_t nominal = 0;  ///< GPUs of the tenant's own
  /// Most GPUs that it may borrow beyond `nominal`; none: all that others lend.
  std::optional<std::int64_t> borrowing_limit{};
  /// Most GPUs of `nominal` that others may use meanwhile; none: all of them.
  std::optional<std::int64_t> lending_limit{};

  friend bool operator==(const Quota&, const Quota&) = default;
};

/// One tenant: a group, an account, a virtual cluster. Jobs refer to it by name (`Workload::tenants`).
struct Tenant {
  std::string name{};                     ///< name, unique in the tree
  std::optional<std::uint32_t> parent{};  ///< position in `TenantTree::tenants`; none: the root
  double weight = 1;                      ///< share among the tenants of one parent, 0 or more
  std::vector<Quota> quotas{};            ///< one per type at most; empty: none

  friend bool operator==(const Tenant&, const Tenant&) = default;
};

/// A part of the cluster with rules of its own. Jobs name it as their queue (`Workload::queues`).
struct Partition {
  std::string name{};                       ///< name, unique among partitions
  std::vector<std::string> gpu_types{};     ///< GPU types of its nodes; empty: all
  std::vector<std::string> tenants{};       ///< tenants that may use it; empty: all
  std::int64_t priority_tier = 0;           ///< jobs of a higher tier go first
  std::optional<SimDuration> time_limit{};  ///< longest time that a job may request
  std::optional<std::int64_t> max_gpus{};   ///< most GPUs of one job

  friend bool operator==(const Partition&, const Partition&) = default;
};

/// A quality of service. Jobs name it (`Workload::qos_names`).
struct Qos {
  std::string name{};                                 ///< name, unique among QoS
  std::int64_t priority = 0;                          ///< higher goes first
  std::vector<std::string> preempts{};                ///< QoS whose jobs it may stop
  std::optional<std::int64_t> max_gpus{};             ///< most GPUs of one job
  std::optional<std::int64_t> max_gpus_per_tenant{};  ///< most GPUs of one tenant's jobs together
  std::optional<std::int64_t> max_gpus_per_user{};    ///< most GPUs of one user's jobs together

  friend bool operator==(const Qos&, const Qos&) = default;
};

/// The tenants of a cluster with its partitions and QoS. Parents come before the tenants below them.
struct TenantTree {
  std::vector<Tenant> tenants{};        ///< tenants, parents first
  std::vector<Partition> partitions{};  ///< partitions in the order of the file
  std::vector<Qos> qos{};               ///< qualities of service in the order of the file

  /// True if nothing is given.
  bool empty() const { return tenants.empty() && partitions.empty() && qos.empty(); }
  /// Position of a tenant; none if the name is unknown. O(tenants).
  std::optional<std::uint32_t> find(std::string_view name) const;
  /// Levels of tenants; 0 without tenants.
  std::int64_t depth() const;
  /// GPUs of all nominal quotas together.
  std::int64_t nominal_gpus() const;

  friend bool operator==(const TenantTree&, const TenantTree&) = default;
};

/// Makes tenants with quotas of the virtual clusters of a cluster, if its table has any (Philly's and
/// Helios').
TenantTree tenants_of_virtual_clusters(const ClusterSpec& cluster);

/// Sentences on quotas that add up to more GPUs than the cluster has, of a type or of all.
std::vector<std::string> quotas_beyond(const TenantTree& tree, const ClusterSpec& cluster);

/// Reads a tree for `cluster` from JSON:
///
///     {"version": 1,
///      "tenants": [{"name": "research", "weight": 2, "quotas": [{"gpu_type": "a100", "gpus": 64,
///                   "borrowing_limit": 32, "lending_limit": 16}]},
///                  {"name": "vision", "parent": "research"}],
///      "partitions": [{"name": "gpu", "gpu_types": ["a100"], "tenants": ["research"], "priority_tier": 1,
///                      "time_limit_s": 172800, "max_gpus": 64}],
///      "qos": [{"name": "high", "priority": 1000, "preempts": ["low"], "max_gpus": 64,
///               "max_gpus_per_tenant": 128, "max_gpus_per_user": 64}, {"name": "low"}]}
///
/// Only names, `gpus` and `version` are required. Errors name `file`: an unknown key, parent, tenant, QoS or
/// GPU type, a cycle of parents, a repeated name or type, a negative number, a lending limit above the quota.
Result<TenantTree> parse_tenant_tree(std::string text, std::string file, const ClusterSpec& cluster);

}  // namespace vtrain
