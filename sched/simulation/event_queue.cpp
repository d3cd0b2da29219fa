#include "sched/simulation/event_queue.hpp"

namespace vtrain {

void EventQueue::push(const Event& event) {
  const std::uint64_t kind = static_cast<std::uint64_t>(event.kind) << kSequenceBits;
  heap_.push_back({event.time, kind | num_pushed_++, event.job, event.version});
  std::push_heap(heap_.begin(), heap_.end(), Later());
}

void EventQueue::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), Later());
  heap_.pop_back();
}

}  // namespace vtrain
