/// Finds out after each pass why jobs wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <queue>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/placement/placement.hpp"
#include "sched/simulation/policy.hpp"
#include "sched/simulation/reasons.hpp"

namespace vtrain {

/// Compares what waiting jobs ask with what is free, and asks the policy about jobs for which there is room.
///
/// Jobs are looked at only when their reason may no longer hold. Those that lack GPUs are kept by what they
/// ask for, so that a pass looks at one number for all that ask alike. Each job changes its reason a few
/// times a wait. So the cost of a pass is O(kinds of requests + jobs whose reason changes), however long the
/// queue.
class ReasonRecorder {
 public:
  /// All references outlive the recorder. `is_elastic`: gangs may have any size of a job's curve.
  ReasonRecorder(const ReasonOptions& options, const SchedulingPass& pass, const Policy& policy,
                 const Placement& placement, bool is_elastic);

  /// Notes a job that gets a gang in this pass.
  void note_start(JobId job) { started_.push_back(job); }
  /// Notes a job that the policy preempts in this pass, and may take back.
  void note_preemption(JobId job) { preempted_.push_back(job); }
  /// A job has ended in this pass, because its policy says so.
  void note_completion(JobId job) { completed_.push_back(job); }
  /// Notes jobs that wait, as the policy begins again.
  void note_waiting(std::span<const JobId> jobs) { waiting_again_.assign(jobs.begin(), jobs.end()); }
  /// Notes a job that never starts.
  void note_refusal(JobId job, WaitReason reason, std::optional<SimTime> earliest_deadline);
  /// Brings the reasons of all waiting jobs up to date. Call it at the end of each pass.
  void finish_pass();
  /// Passes the last changes on.
  void finish();

 private:
  /// Waiting jobs that ask for the same.
  struct Kind {
    GangRequest request;
    std::vector<JobId> lacking{};      ///< jobs with reason `Gpus`; some may have left
    std::vector<JobId> unplaced{};     ///< jobs with reason `Type` or `Placement`; some may have left
    std::vector<JobId> passed_over{};  ///< jobs with reason `Policy`; some may have left
  };
  using Timed = std::pair<SimTime, JobId>;

  GangRequest request_of(JobId job) const;
  bool is_waiting(JobId job) const { return pass_.state(job) == JobState::Waiting; }
  /// Reason of a job that asks for what has no room.
  WaitReason reason_without_room(const GangRequest& request) const;
  /// Reason of a waiting job now.
  ReasonChange evaluate(JobId job) const;
  ReasonChange preemption_of(JobId job) const;

  /// Brings the reasons of all jobs up to date.
  void update_all();
  void leave_preemptors();
  void update_kinds();
  void update_kind(Kind& kind);
  /// Takes the jobs out of a list, and files those again that still have a reason for which they were in it.
  void file_again(std::vector<JobId>& jobs, std::initializer_list<WaitReason> reasons);
  Kind& kind_of(JobId job);
  /// Records a job's reason, and files the job where it is found when the reason may end.
  void file(const ReasonChange& change);
  void record(const ReasonChange& change);
  void set_reason(JobId job, WaitReason reason);
  WaitReason reason(JobId job) const {
    return job.value < reasons_.size() ? reasons_[job.value] : WaitReason::None;
  }

  /// Brings the reason of the watched job up to date.
  void update_watched();
  bool still_holds(const ReasonChange& change) const;
  void record_watched(const ReasonChange& change);

  const ReasonOptions options_;
  const SchedulingPass& pass_;
  const Policy& policy_;
  const Placement& placement_;
  const bool is_elastic_;

  std::vector<JobId> started_;    ///< jobs that got a gang in this pass; some may have lost it again
  std::vector<JobId> preempted_;  ///< jobs preempted in this pass; some may have got it back
  std::vector<JobId> completed_;  ///< jobs that their policy ended in this pass
  JobId first_started_{};         ///< first job that runs since this pass
  std::vector<JobId> waiting_again_;
  std::vector<JobId> heads_;  ///< jobs that no other job holds back

  std::vector<WaitReason> reasons_;  ///< by `JobId`; `None` for jobs that do not wait
  std::deque<Kind> kinds_;
  std::unordered_map<std::uint64_t, std::uint32_t> kind_numbers_;  ///< by request
  std::vector<std::uint32_t> kinds_by_gpus_;                       ///< smallest first
  bool some_passed_over_ = false;  ///< true if some kind may have jobs with reason `Policy`
  std::priority_queue<Timed, std::vector<Timed>, std::greater<>> undecided_;
  std::unordered_map<std::uint32_t, JobId>
      preemptors_;  ///< by job with reason `Preempted`; some may run again
  std::unordered_map<std::uint32_t, std::vector<JobId>> preempted_by_;  ///< by preemptor; some may run again
  std::vector<JobId> out_of_service_;
  std::vector<JobId> forbidden_;  ///< jobs with reason `Dependency` or `Limit`; some may have left
  std::vector<JobId> again_;      ///< jobs that are filed again
  std::vector<ReasonChange> changes_;

  std::optional<ReasonChange> watched_;  ///< reason of the watched job while it waits
};

}  // namespace vtrain
