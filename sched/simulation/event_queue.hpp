/// Future events in a heap with a total order, so that a replay always repeats exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Kinds of events, in the order in which they are handled at one instant. Arrivals lie between them: they
/// come sorted from the workload and need no heap.
enum class EventKind : std::uint8_t {
  End,    ///< a running job has done its work, or is out of time
  Timer,  ///< the policy asked for a pass
};

/// An event at an instant, unless a later change makes it stale.
struct Event {
  SimTime time{};
  EventKind kind = EventKind::End;
  JobId job;  ///< the job that ends
  /// Number of the job's segment or of the timer's request. A newer one makes the event stale.
  std::uint32_t version = 0;
};

/// Future events by (time, kind, order of scheduling).
class EventQueue {
 public:
  /// Schedules an event. O(log n).
  void push(const Event& event) {
    const std::uint64_t kind = static_cast<std::uint64_t>(event.kind) << kSequenceBits;
    heap_.push_back({event.time, kind | num_pushed_++, event.job, event.version});
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  /// The first event. The queue must not be empty.
  Event top() const { return heap_.front().event(); }
  /// Drops the first event. O(log n).
  void pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    heap_.pop_back();
  }
  /// Drops every event for which `stale` is true; the others keep their order. O(n).
  template <class Predicate>
  void remove_if(Predicate stale) {
    std::erase_if(heap_, [&](const Entry& entry) { return stale(entry.event()); });
    std::make_heap(heap_.begin(), heap_.end(), Later());
  }

 private:
  /// An event in 24 bytes. Kind and sequence number are one integer, which orders events of equal time.
  struct Entry {
    SimTime time;
    std::uint64_t kind_and_sequence;
    JobId job;
    std::uint32_t version;

    Event event() const {
      return {time, static_cast<EventKind>(kind_and_sequence >> kSequenceBits), job, version};
    }
  };
  static constexpr int kSequenceBits = 56;

  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.time != b.time ? a.time > b.time : a.kind_and_sequence > b.kind_and_sequence;
    }
  };

  std::vector<Entry> heap_;
  std::uint64_t num_pushed_ = 0;
};

}  // namespace vtrain
