/// Tagged integers: an index into one table cannot be used with another.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace vtrain {

/// An index into the table that `Tag` names. A default-constructed id has no entry.
template <class Tag>
struct Id {
  /// Value of an id without an entry.
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t value = kNone;  ///< position in the table, from 0

  constexpr Id() = default;
  /// Names the entry at this position.
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  /// True if the id names an entry.
  constexpr explicit operator bool() const { return value != kNone; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

/// Position of a job in `Workload::jobs`.
using JobId = Id<struct JobTag>;
/// Position of a tenant in `Workload::tenants`.
using TenantId = Id<struct TenantTag>;
/// Position of a model name in `Workload::models`.
using ModelId = Id<struct ModelTag>;
/// Position of a user in `Workload::users`.
using UserId = Id<struct UserTag>;
/// Position of an account in `Workload::accounts`.
using AccountId = Id<struct AccountTag>;
/// Position of a queue in `Workload::queues`.
using QueueId = Id<struct QueueTag>;
/// Position of a quality of service in `Workload::qos_names`.
using QosId = Id<struct QosTag>;
/// Position of a job's requirements in `Workload::requirements`.
using RequirementsId = Id<struct RequirementsTag>;
/// Position of a GPU type in `Workload::gpu_types`.
using GpuTypeId = Id<struct GpuTypeTag>;
/// Position of a throughput curve in `Workload::curves`.
using CurveId = Id<struct CurveTag>;
/// Position of a node in the cluster, counted over all its groups.
using NodeId = Id<struct NodeTag>;

}  // namespace vtrain
