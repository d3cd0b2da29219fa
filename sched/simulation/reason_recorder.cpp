#include "sched/simulation/reason_recorder.hpp"

#include <algorithm>

namespace vtrain {
namespace {

/// Changes that are passed on together.
constexpr std::size_t kBatch = 4096;

/// A number that is equal for equal requests of a workload.
std::uint64_t key_of(const GangRequest& request) {
  constexpr int kShareBits = 10;  // a share below `kWholeGpu`; 0 for whole GPUs
  constexpr int kTypeBits = 22;
  static_assert(kWholeGpu < 1 << kShareBits);
  const auto gpus = static_cast<std::uint64_t>(request.num_gpus.value);
  const auto share = static_cast<std::uint64_t>(request.gpu_share % kWholeGpu);
  const std::uint64_t type = request.gpu_type.value & ((1U << kTypeBits) - 1);
  return gpus << (kShareBits + kTypeBits) | share << kTypeBits | type;
}

}  // namespace

ReasonRecorder::ReasonRecorder(const ReasonOptions& options, const SchedulingPass& pass, const Policy& policy,
                               const Placement& placement, bool is_elastic)
    : options_(options), pass_(pass), policy_(policy), placement_(placement), is_elastic_(is_elastic) {}

GangRequest ReasonRecorder::request_of(JobId job) const {
  const Job& description = pass_.job(job);
  const SpeedByGpus* const levels = is_elastic_ ? pass_.curve(job) : nullptr;
  return vtrain::request_of(description,
                            levels == nullptr ? description.num_gpus : levels->levels().front().num_gpus);
}

void ReasonRecorder::note_refusal(JobId job, WaitReason reason, std::optional<SimTime> earliest_deadline) {
  const GpuCount total = pass_.total_gpus();
  const ReasonChange change{.time = pass_.now(),
                            .job = job,
                            .reason = reason,
                            .asked = request_of(job).num_gpus,
                            .available = reason == WaitReason::TooLarge ? total : pass_.free_gpus(),
                            .at = earliest_deadline};
  if (options_.all != nullptr) {
    set_reason(job, WaitReason::None);
    record(change);
  }
  if (options_.watched != nullptr && job == options_.job) options_.watched->take({&change, 1});
}

void ReasonRecorder::finish_pass() {
  const auto runs = [this](JobId job) { return pass_.state(job) == JobState::Running; };
  const auto has_moved = [this](JobId job) { return std::ranges::find(preempted_, job) != preempted_.end(); };
  first_started_ = {};
  if (!preempted_.empty()) {
    const auto first =
        std::ranges::find_if(started_, [&](JobId job) { return runs(job) && !has_moved(job); });
    if (first != started_.end()) first_started_ = *first;
  }
  heads_.clear();
  policy_.append_heads(heads_);
  if (options_.all != nullptr) update_all();
  if (options_.watched != nullptr) update_watched();
  started_.clear();
  preempted_.clear();
  completed_.clear();
  waiting_again_.clear();
}

void ReasonRecorder::finish() {
  if (options_.all != nullptr && !changes_.empty()) options_.all->take(changes_);
  changes_.clear();
}

WaitReason ReasonRecorder::reason_without_room(const GangRequest& request) const {
  if (request.num_gpus > pass_.usable_gpus()) return WaitReason::OutOfService;
  if (request.num_gpus > pass_.free_gpus()) return WaitReason::Gpus;
  GangRequest of_any_type = request;
  of_any_type.gpu_type = {};
  return request.gpu_type && placement_.has_room(of_any_type) ? WaitReason::Type : WaitReason::Placement;
}

ReasonChange ReasonRecorder::evaluate(JobId job) const {
  const GangRequest request = request_of(job);
  ReasonChange change{
      .time = pass_.now(), .job = job, .asked = request.num_gpus, .available = pass_.free_gpus()};
  if (const auto time = policy_.considers_at(pass_, job)) {
    change.reason = WaitReason::NextDecision;
    change.at = time;
  } else if (const auto forbidden = policy_.forbids(pass_, job)) {
    change.reason = *forbidden;
  } else if (placement_.has_room(request)) {
    const WaitCause cause = policy_.holds_back(pass_, job);
    change.reason = cause.reason;
    change.by = cause.by;
    change.at = cause.at;
  } else {
    change.reason = reason_without_room(request);
    if (change.reason == WaitReason::OutOfService) change.available = pass_.usable_gpus();
  }
  return change;
}

ReasonChange ReasonRecorder::preemption_of(JobId job) const {
  ReasonChange change = evaluate(job);
  if (!first_started_) return change;
  change.reason = WaitReason::Preempted;
  change.by = first_started_;
  change.at.reset();
  return change;
}

void ReasonRecorder::update_all() {
  for (const JobId job : started_) {
    if (reason(job) == WaitReason::None || pass_.state(job) != JobState::Running) continue;
    set_reason(job, WaitReason::None);
    record({.time = pass_.now(),
            .job = job,
            .reason = WaitReason::None,
            .asked = pass_.held_gpus(job),
            .available = pass_.free_gpus()});
  }
  for (const JobId job : preempted_) {
    if (is_waiting(job)) file(preemption_of(job));
  }
  for (const std::span<const JobId> jobs :
       {std::span<const JobId>(waiting_again_), pass_.interrupted(), pass_.arrived()}) {
    for (const JobId job : jobs) {
      if (is_waiting(job)) file(evaluate(job));
    }
  }
  leave_preemptors();
  if (pass_.capacity_changed()) file_again(out_of_service_, {WaitReason::OutOfService});
  again_.clear();
  for (; !undecided_.empty() && undecided_.top().first <= pass_.now(); undecided_.pop())
    again_.push_back(undecided_.top().second);
  for (const JobId job : std::exchange(again_, {})) {
    if (reason(job) == WaitReason::NextDecision && is_waiting(job)) file(evaluate(job));
  }
  update_kinds();
  file_again(forbidden_, {WaitReason::Dependency, WaitReason::Limit});
  for (const JobId job : heads_) {
    const bool was_held = reason(job) == WaitReason::Order || reason(job) == WaitReason::Reservation;
    if (was_held && is_waiting(job)) file(evaluate(job));
  }
}

void ReasonRecorder::leave_preemptors() {
  if (preempted_by_.empty()) return;
  for (const std::span<const JobId> jobs : {pass_.ended(), std::span<const JobId>(completed_),
                                            pass_.interrupted(), std::span<const JobId>(preempted_)}) {
    for (const JobId job : jobs) {
      if (pass_.state(job) == JobState::Running) continue;
      const auto found = preempted_by_.find(job.value);
      if (found == preempted_by_.end()) continue;
      std::vector<JobId> left = std::move(found->second);
      preempted_by_.erase(found);
      // Since then another job may have preempted them.
      std::erase_if(left, [&](JobId each) { return preemptors_.at(each.value) != job; });
      file_again(left, {WaitReason::Preempted});
    }
  }
}

void ReasonRecorder::update_kinds() {
  for (std::size_t i = 0; i < kinds_by_gpus_.size(); ++i) {
    Kind& kind = kinds_[kinds_by_gpus_[i]];
    if (kind.request.num_gpus > pass_.free_gpus() && !some_passed_over_) break;
    update_kind(kind);
  }
  if (some_passed_over_)
    some_passed_over_ =
        std::ranges::any_of(kinds_, [](const Kind& kind) { return !kind.passed_over.empty(); });
}

void ReasonRecorder::update_kind(Kind& kind) {
  if (kind.lacking.empty() && kind.unplaced.empty() && kind.passed_over.empty()) return;
  const bool has_room = placement_.has_room(kind.request);
  if (!has_room) file_again(kind.passed_over, {WaitReason::Policy});
  if (has_room || kind.request.num_gpus <= pass_.free_gpus()) file_again(kind.lacking, {WaitReason::Gpus});
  if (has_room) file_again(kind.unplaced, {WaitReason::Type, WaitReason::Placement});
}

void ReasonRecorder::file_again(std::vector<JobId>& jobs, std::initializer_list<WaitReason> reasons) {
  // Jobs may come back to the list that they leave.
  const std::vector<JobId> left = std::exchange(jobs, {});
  for (const JobId job : left) {
    const bool is_filed_here = std::ranges::find(reasons, reason(job)) != reasons.end();
    if (is_filed_here && is_waiting(job)) file(evaluate(job));
  }
}

ReasonRecorder::Kind& ReasonRecorder::kind_of(JobId job) {
  const GangRequest request = request_of(job);
  const auto number = static_cast<std::uint32_t>(kinds_.size());
  const auto [found, is_new] = kind_numbers_.try_emplace(key_of(request), number);
  if (is_new) {
    kinds_.push_back({.request = request});
    const auto place =
        std::ranges::upper_bound(kinds_by_gpus_, request.num_gpus, {},
                                 [&](std::uint32_t each) { return kinds_[each].request.num_gpus; });
    kinds_by_gpus_.insert(place, number);
  }
  return kinds_[found->second];
}

void ReasonRecorder::file(const ReasonChange& change) {
  const JobId job = change.job;
  if (reason(job) != change.reason) record(change);
  set_reason(job, change.reason);
  switch (change.reason) {
    case WaitReason::Gpus:
      kind_of(job).lacking.push_back(job);
      break;
    case WaitReason::Type:
    case WaitReason::Placement:
      kind_of(job).unplaced.push_back(job);
      break;
    case WaitReason::Policy:
      kind_of(job).passed_over.push_back(job);
      some_passed_over_ = true;
      break;
    case WaitReason::OutOfService:
      out_of_service_.push_back(job);
      break;
    case WaitReason::Dependency:
    case WaitReason::Limit:
      forbidden_.push_back(job);
      break;
    case WaitReason::NextDecision:
      undecided_.push({*change.at, job});
      break;
    case WaitReason::Preempted:
      preemptors_[job.value] = change.by;
      preempted_by_[change.by.value].push_back(job);
      break;
    default:
      break;  // a job that is held back is found among the heads
  }
}

void ReasonRecorder::record(const ReasonChange& change) {
  changes_.push_back(change);
  if (changes_.size() < kBatch) return;
  options_.all->take(changes_);
  changes_.clear();
}

void ReasonRecorder::set_reason(JobId job, WaitReason reason) {
  if (reasons_.size() <= job.value) reasons_.resize(pass_.jobs().size(), WaitReason::None);
  reasons_[job.value] = reason;
}

void ReasonRecorder::update_watched() {
  const JobId job = options_.job;
  if (job.value >= pass_.jobs().size()) return;
  if (!is_waiting(job)) {
    if (watched_ && pass_.state(job) == JobState::Running) {
      record_watched({.time = pass_.now(),
                      .job = job,
                      .reason = WaitReason::None,
                      .asked = pass_.held_gpus(job),
                      .available = pass_.free_gpus()});
    }
    watched_.reset();
    return;
  }
  if (std::ranges::find(preempted_, job) != preempted_.end()) return record_watched(preemption_of(job));
  if (!watched_ || !still_holds(*watched_)) return record_watched(evaluate(job));
  if (watched_->reason != WaitReason::Order && watched_->reason != WaitReason::Reservation) return;
  const WaitCause cause = policy_.holds_back(pass_, job);
  if (cause.reason != watched_->reason || cause.by == watched_->by) return;
  ReasonChange change = *watched_;
  change.time = pass_.now();
  change.available = pass_.free_gpus();
  change.by = cause.by;
  change.at = cause.at;
  record_watched(change);
}

bool ReasonRecorder::still_holds(const ReasonChange& change) const {
  const GangRequest request = request_of(change.job);
  switch (change.reason) {
    case WaitReason::Gpus:
      return request.num_gpus > pass_.free_gpus();
    case WaitReason::Type:
    case WaitReason::Placement:
      return !placement_.has_room(request);
    case WaitReason::Policy:
      return placement_.has_room(request);
    case WaitReason::OutOfService:
      return request.num_gpus > pass_.usable_gpus();
    case WaitReason::Dependency:
    case WaitReason::Limit:
      return policy_.forbids(pass_, change.job) == change.reason;
    case WaitReason::Order:
    case WaitReason::Reservation:
      return std::ranges::find(heads_, change.job) == heads_.end();
    case WaitReason::NextDecision:
      return pass_.now() < *change.at;
    case WaitReason::Preempted:
      return pass_.state(change.by) == JobState::Running;
    default:
      return false;
  }
}

void ReasonRecorder::record_watched(const ReasonChange& change) {
  const bool is_new = !watched_ || watched_->reason != change.reason || watched_->by != change.by;
  if (is_new) options_.watched->take({&change, 1});
  watched_ = change;
}

}  // namespace vtrain
