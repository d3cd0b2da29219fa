#include "policies/fcfs/fit_first.hpp"

namespace vtrain {
namespace {

class FitFirst final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    for (const JobId job : pass.interrupted())
      waiting_.insert(job, pass.job(job).num_gpus);
    for (const JobId job : pass.arrived())
      waiting_.push_back(job, pass.job(job).num_gpus);
    start_fitting(pass, waiting_);
  }

 private:
  WaitingQueue waiting_;
};

}  // namespace

void start_fitting(SchedulingPass& pass, WaitingQueue& waiting) {
  auto position = waiting.first_fitting(0, pass.free_gpus());
  while (position) {
    // Enough free GPUs need not be room: under `yarn` they may lie on too many nodes.
    if (pass.try_start(waiting.job(*position))) waiting.remove(*position);
    position = waiting.first_fitting(*position + 1, pass.free_gpus());
  }
}

Result<std::unique_ptr<Policy>> make_fit_first(const PolicyArguments&) {
  return std::make_unique<FitFirst>();
}

}  // namespace vtrain
