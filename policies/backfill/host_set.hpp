/// Sets of hosts (one host is one GPU) for policies that reserve particular ones.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

/// The hosts `first` .. `first + count - 1`.
struct HostRange {
  std::int32_t first = 0;
  std::int32_t count = 0;

  friend bool operator==(const HostRange&, const HostRange&) = default;
};

/// Hosts of one gang, as few ranges as possible in ascending order.
using HostRanges = std::vector<HostRange>;

/// A set of the hosts 0 .. num_hosts - 1, one bit each, that knows its size.
class HostSet {
 public:
  /// Of no hosts.
  HostSet() = default;
  /// All hosts of a cluster.
  explicit HostSet(GpuCount num_hosts);

  /// How many hosts it has.
  GpuCount size() const { return GpuCount(size_); }
  /// How many of a range the set has. O(hosts of the range / 64).
  GpuCount size_in(HostRange range) const;
  /// Whether the set has all hosts of `other`, a set over the same cluster.
  bool includes(const HostSet& other) const;
  /// Adds hosts that are not in the set. O(hosts / 64).
  void insert(const HostRanges& hosts);
  /// Takes out hosts that are in the set. O(hosts / 64).
  void erase(const HostRanges& hosts);
  /// Takes out those of `hosts` that are in the set. O(hosts / 64).
  void subtract(const HostRanges& hosts);
  /// Keeps the hosts that `other`, a set over the same cluster, has too.
  void intersect(const HostSet& other);
  /// The `num_hosts` lowest hosts of the set, which has at least so many.
  HostRanges lowest(GpuCount num_hosts) const;
  /// The same of the hosts of a range.
  HostRanges lowest(GpuCount num_hosts, HostRange range) const;

  friend bool operator==(const HostSet&, const HostSet&) = default;

 private:
  std::int32_t size_ = 0;
  std::vector<std::uint64_t> words_;  ///< host h is bit h % 64 of word h / 64
};

}  // namespace vtrain
