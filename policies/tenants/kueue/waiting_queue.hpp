/// The workloads that wait for one ClusterQueue: in the queue, or parked because another attempt is
/// pointless.
///
/// Rules: Kueue, commit ff69552. Workloads of one shape are decided alike, so a queue of a shape is parked
/// as a whole: that costs no more for many workloads than for one. All shapes return at once, in O(1).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "policies/tenants/kueue/cache.hpp"

namespace vtrain::kueue {

/// Why a workload goes back after an attempt.
enum class RequeueReason : std::uint8_t {
  Generic,
  NoFit,
  PreemptionNoCandidates,
  NamespaceMismatch,
  FailedAfterNomination,  ///< skipped, or its admission failed
  PreemptionFailed,
  PendingPreemption  ///< waits for the quota of its victims
};
/// Names of the reasons, by value.
inline constexpr std::array<std::string_view, 7> kRequeueReasonNames = {"Generic",
                                                                        "NoFit",
                                                                        "PreemptionNoCandidates",
                                                                        "NamespaceMismatch",
                                                                        "FailedAfterNomination",
                                                                        "PreemptionFailed",
                                                                        "PendingPreemption"};

/// Where a workload goes after an attempt.
struct RequeuePlace {
  bool is_parked = false;
  bool stays_head = false;        ///< before all others until it is admitted
  bool parks_same_shape = false;  ///< workloads of its shape are parked with it
};
/// `has_more`: it has flavors left to try.
RequeuePlace place_after(QueueingStrategy strategy, RequeueReason reason, bool has_more, const Gates& gates);

/// The key by which workloads wait: higher priority, earlier queue time, smaller uid, smaller number.
struct WaitingOrder {
  const Cache* cache;
  bool operator()(WorkloadId a, WorkloadId b) const;
};

/// The waiting workloads of one ClusterQueue.
class WaitingQueue {
 public:
  explicit WaitingQueue(const Cache& cache) : cache_(&cache), order_{&cache} {}

  /// Adds a workload to the queue; it is parked if its shape is.
  void push(WorkloadId id);
  /// Takes a workload out, whether it is in the queue or parked. Nothing happens if it is neither.
  void erase(WorkloadId id);
  /// Parks a workload of the queue: alone, or with all of its shape, now and later.
  void park(WorkloadId id, bool with_its_shape);
  /// Returns all parked workloads to the queue. True if there were any.
  bool return_parked();
  /// Makes a workload the head, before all others; `kNone`: nobody.
  void set_sticky(WorkloadId id) { sticky_ = id; }
  WorkloadId sticky() const { return sticky_; }

  /// The workload that is tried next; none if the queue is empty.
  std::optional<WorkloadId> head() const;
  std::size_t num_queued() const { return num_queued_; }
  std::size_t num_parked() const { return num_parked_; }
  bool is_parked(WorkloadId id) const;
  /// Workloads of the queue, and parked ones, each in their order.
  std::vector<WorkloadId> queued() const;
  std::vector<WorkloadId> parked() const;

 private:
  using Ordered = std::set<WorkloadId, WaitingOrder>;
  /// All workloads of one shape.
  struct ShapeQueue {
    Ordered workloads;
    std::uint64_t parked_in = 0;  ///< it is parked if this is the present round
  };
  /// First workload of a shape.
  struct Head {
    WorkloadId workload = 0;
    ShapeQueue* shape = nullptr;
  };

  ShapeQueue& shape_queue(WorkloadId id);
  bool is_parked(const ShapeQueue& shape) const { return shape.parked_in == round_; }
  std::vector<Head>::iterator find_head(WorkloadId id);
  void show_head(ShapeQueue& shape);
  void hide_head(ShapeQueue& shape);
  /// Takes a workload out of its shape.
  void take(ShapeQueue& shape, WorkloadId id);
  void skip_parked();

  const Cache* cache_;
  WaitingOrder order_;
  std::unordered_map<ShapeId, ShapeQueue> shapes_;
  std::vector<Head> heads_;            ///< of all shapes with workloads, in order
  std::size_t first_open_ = 0;         ///< the first in `heads_` that is not parked, or their number
  std::uint64_t round_ = 1;            ///< number of returns
  std::set<WorkloadId> parked_alone_;  ///< parked although their shape is not
  WorkloadId sticky_ = kNone;
  std::size_t num_queued_ = 0;
  std::size_t num_parked_ = 0;
};

}  // namespace vtrain::kueue
