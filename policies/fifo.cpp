#include "policies/fifo.hpp"

namespace vtrain {
namespace {

class Fifo final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    waiting_.insert(waiting_.end(), pass.arrived().begin(), pass.arrived().end());
    while (head_ < waiting_.size() && pass.try_start(waiting_[head_]))
      ++head_;
    if (2 * head_ > waiting_.size()) {
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
  }

 private:
  std::vector<JobId> waiting_;  ///< from `head_` on; what is before has started
  std::size_t head_ = 0;
};

}  // namespace

Result<std::unique_ptr<Policy>> make_fifo(const PolicyArguments&) {
  return std::make_unique<Fifo>();
}

}  // namespace vtrain
