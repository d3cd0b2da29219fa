#include "policies/fcfs/fifo.hpp"

#include <algorithm>

namespace vtrain {
namespace {

class Fifo final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    for (const JobId job : pass.interrupted())
      take_back(job);
    waiting_.insert(waiting_.end(), pass.arrived().begin(), pass.arrived().end());
    while (head_ < waiting_.size() && pass.try_start(waiting_[head_]))
      ++head_;
    if (2 * head_ > waiting_.size()) {
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
  }

 private:
  /// Puts a job that had started back into its place in the order of arrival.
  void take_back(JobId job) {
    const auto head = waiting_.begin() + static_cast<std::ptrdiff_t>(head_);
    waiting_.insert(std::upper_bound(head, waiting_.end(), job), job);
  }

  std::vector<JobId> waiting_;  ///< from `head_` on; what is before has started
  std::size_t head_ = 0;
};

}  // namespace

Result<std::unique_ptr<Policy>> make_fifo(const PolicyArguments&) {
  return std::make_unique<Fifo>();
}

}  // namespace vtrain
