#include "tools/mcp/call_queue.hpp"

#include <algorithm>
#include <utility>

namespace vtrain::mcp {

CallQueue::CallQueue(unsigned threads) {
  for (unsigned i = 0; i < std::max(threads, 1U); ++i)
    threads_.emplace_back([this] { work(); });
}

CallQueue::~CallQueue() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

bool CallQueue::add(std::function<void()> call) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back(std::move(call));
  }
  changed_.notify_all();
  return true;
}

void CallQueue::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && running_ == 0; });
}

void CallQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::function<void()> call = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    call();
    call = nullptr;  // what it holds ends with it
    lock.lock();
    --running_;
    changed_.notify_all();
  }
}

}  // namespace vtrain::mcp
