/// All outages of one replay in order of their beginnings and ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/rng.hpp"
#include "core/base/units.hpp"
#include "sched/disruption/failure_rates.hpp"
#include "sched/disruption/outage.hpp"

namespace vtrain {

/// A node that comes back, or goes out of service.
struct NodeChange {
  enum class Kind : std::uint8_t { Return, Drain, Failure };  ///< listed in the order of one instant
  SimTime time{};
  Kind kind = Kind::Return;
  NodeId node;
};

/// Given and random outages. Each node draws from a stream of its own, keyed by the seed and the node. So its
/// history of failures is equal under every policy and with any number of other nodes. O(log(nodes + given
/// outages)) per change.
class OutageSchedule {
 public:
  /// All nodes are up at `begin`; random failures are drawn from then on. `rates` may be null, and outlives
  /// the schedule.
  OutageSchedule(std::span<const Outage> given, const FailureRates* rates, std::uint32_t num_nodes,
                 SimTime begin, std::uint64_t seed);

  /// Time of the next change; `SimTime::max()` if there is none.
  SimTime next() const { return heap_.empty() ? SimTime::max() : heap_.front().change.time; }
  /// Removes and returns the next change. There must be one.
  NodeChange pop();
  /// True if a node that is out of service now will be back.
  bool awaits_return() const { return num_returns_ > 0; }
  /// Moves out the outages that have begun so far, in this order.
  std::vector<Outage> take_history() { return std::move(history_); }

 private:
  struct Entry {
    NodeChange change;
    SimTime end{};        ///< end of a given outage that begins
    bool random = false;  ///< drawn rather than given
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const;
  };

  void push(const Entry& entry);
  /// Schedules the next failure of a node that is up from `from` on.
  void draw_failure(NodeId node, SimTime from);

  const FailureRates* rates_;
  std::vector<RandomStream> streams_;  ///< [nodes], empty without rates
  std::vector<Entry> heap_;
  std::int64_t num_returns_ = 0;
  std::vector<Outage> history_;
};

}  // namespace vtrain
