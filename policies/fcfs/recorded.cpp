#include "policies/fcfs/recorded.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "policies/fcfs/fit_first.hpp"
#include "policies/fcfs/waiting_queue.hpp"

namespace vtrain {
namespace {

class Recorded final : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    for (const JobId job : pass.interrupted())
      waiting_.push_back(job, pass.job(job).num_gpus);
    for (const JobId job : pass.arrived())
      upcoming_.emplace(start_of(pass.job(job)), job);
    due_now_.clear();
    while (!upcoming_.empty() && upcoming_.top().first <= pass.now()) {
      due_now_.push_back(upcoming_.top().second);
      waiting_.push_back(due_now_.back(), pass.job(due_now_.back()).num_gpus);
      upcoming_.pop();
    }
    start_fitting(pass, waiting_);
    late_ += std::count_if(due_now_.begin(), due_now_.end(), [&](JobId id) {
      const SimTime recorded = pass.job(id).original_start;
      return recorded != Job::kNoStart && (recorded < pass.now() || pass.state(id) == JobState::Waiting);
    });
    if (!upcoming_.empty()) pass.wake_at(upcoming_.top().first);
  }

  std::vector<PolicyFigure> figures() const override {
    return {{"jobs_started_later_than_recorded", static_cast<double>(late_)}};
  }

 private:
  using Start = std::pair<SimTime, JobId>;

  static SimTime start_of(const Job& job) {
    return job.original_start == Job::kNoStart ? job.submit : job.original_start;
  }

  std::priority_queue<Start, std::vector<Start>, std::greater<>> upcoming_;  ///< submitted, not to start yet
  WaitingQueue waiting_;        ///< jobs that were to start by now, in the order in which they were
  std::vector<JobId> due_now_;  ///< those of this pass
  std::int64_t late_ = 0;       ///< jobs that start later than recorded
};

}  // namespace

Result<std::unique_ptr<Policy>> make_recorded(const PolicyArguments&) {
  return std::make_unique<Recorded>();
}

}  // namespace vtrain
