#include "sched/event_queue.hpp"

namespace vtrain {

void EventQueue::push(const Event& event) {
  heap_.push_back({event, num_pushed_++});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void EventQueue::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), later);
  heap_.pop_back();
}

}  // namespace vtrain
