/// The GPU types of a cluster, and those that a job may use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"

namespace vtrain {

class NameTable;

/// The types are numbered in the order in which the cluster's groups name them. Groups without a type have a
/// common type with an empty name. Upper and lower case are equal.
class GpuTypes {
 public:
  /// `asked` are the types that jobs request: a name, or alternatives as in `V100M16|V100M32`.
  GpuTypes(const ClusterSpec& cluster, const NameTable& asked);

  /// Names of the types, as the cluster first writes them.
  const std::vector<std::string>& names() const { return names_; }
  /// Number of a group's type.
  std::uint32_t number_of(const NodeGroup& group) const;
  /// Numbers of the types that a job may use, ascending. All if it requests none, or on a cluster that names
  /// none; empty for a type that the cluster lacks.
  std::span<const std::uint32_t> allowed(GpuTypeId asked) const {
    return asked && named_ ? allowed_[asked.value] : all_;
  }
  /// Numbers of the types for a gang of the type `only`, if one is named. Empty if the job may not use it.
  std::span<const std::uint32_t> allowed(GpuTypeId asked, std::optional<std::uint32_t> only) const {
    const std::span<const std::uint32_t> types = allowed(asked);
    if (!only) return types;
    const auto found = std::lower_bound(types.begin(), types.end(), *only);
    return found != types.end() && *found == *only ? std::span(&*found, 1) : std::span<const std::uint32_t>();
  }
  /// True if the cluster names types, so that requests of jobs have a meaning.
  bool named() const { return named_; }
  /// Error text for a type that the cluster lacks, with the types it has and the nearest of them.
  std::string complaint(const std::string& asked) const;

 private:
  std::optional<std::uint32_t> find(std::string_view name) const;

  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t> numbers_;  ///< number by name in lower case
  bool named_ = false;
  std::vector<std::uint32_t> all_;
  std::vector<std::vector<std::uint32_t>> allowed_;  ///< [asked]
};

}  // namespace vtrain
