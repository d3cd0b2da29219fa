#include "sched/simulation/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "core/base/numbers.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

const Disruptions kNoDisruptions;

/// True if nodes may go out of service in a simulation.
bool takes_nodes_out(const SimulationOptions& options, bool open) {
  return (options.disruptions && options.disruptions->takes_nodes_out()) ||
         (open && info_of(options.placement).knows_nodes);
}

/// A gang in an error message.
std::string describe_gang(const LiveJob& live) {
  if (live.gang.empty()) return std::to_string(live.num_gpus.value);
  return fmt::format("{} on {} node{}", live.num_gpus.value, live.gang.size(),
                     live.gang.size() == 1 ? "" : "s");
}

}  // namespace

SimulationEngine::SimulationEngine(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                                   const SimulationOptions& options, Workload* open)
    : workload_(workload),
      open_(open),
      options_(options),
      policy_(policy),
      disruptions_(options.disruptions != nullptr && options.disruptions->any() ? options.disruptions
                                                                                : nullptr),
      gangs_(options.placement, cluster, workload, takes_nodes_out(options, open != nullptr),
             GpusByType::are_needed(cluster, workload, policy)) {
  overcommits_ = repeats_log_ && gangs_.overcommit();
  takes_any_gpus_ = gangs_.placement().info().takes_any_gpus;
  total_gpus_ = usable_gpus_ = free_gpus_ = cluster.total_gpus();
  cluster_ = &cluster;
  if (GpusByType::are_needed(cluster, workload, policy))
    gpus_by_type_ = &by_type_.emplace(cluster, workload, gangs_);
  if ((options.count_gpu_types || options.record_holdings) && gangs_.placement().needs_shares() &&
      GpuTypes(cluster, workload.gpu_types).names().size() > 1)
    counted_types_.emplace(cluster, workload, gangs_);
  result_.holdings_by_type = options.record_holdings && counted_types_.has_value();
  names_ = &workload;
  static const TenantTree kNobody;
  tenants_ = options.tenants != nullptr ? options.tenants : &kNobody;
  if (!workload.jobs.empty()) now_ = workload.jobs.front().submit;
  result_.segments_recorded = options.record_segments;
  result_.losses_known = policy.supports_disruptions();
  if (options.gang_speed_model != nullptr && policy.supports_disruptions())
    placement_speed_.emplace(cluster, workload, *options.gang_speed_model, gangs_.placement());
  run_times_differ_ =
      options.run_time_errors != nullptr && policy.supports_disruptions() && !policy.repeats_log();
  RunTimeTruth truth;
  if (run_times_differ_) truth = {options.run_time_errors, &nodes_.emplace(cluster, workload)};
  if (disruptions_ || policy.may_requeue() || run_times_differ_ ||
      (placement_speed_ && placement_speed_->depends_on_place())) {
    accounting_.emplace(workload.jobs, disruptions_ ? *disruptions_ : kNoDisruptions, gangs_.placement(),
                        placement_speed_ ? &*placement_speed_ : nullptr, truth);
  }
  if (options.reasons.any())
    reasons_.emplace(options.reasons, *this, policy, gangs_.placement(), rule_ != ProgressRule::Duration);
  if (options.reasons.watched != nullptr) explained_ = options.reasons.job;
  expects_more_ = options.expects_more;
  grow();
}

void SimulationEngine::grow() {
  const std::size_t num_jobs = workload_.jobs.size();
  progress_by_job_.resize(num_jobs);
  progress_ = progress_by_job_;
  result_.outcomes.resize(num_jobs);
  if (counted_types_ && options_.count_gpu_types)
    result_.gpu_time_by_type.resize(num_jobs * counted_types_->names().size());
  result_.stopped_early = false;
  gangs_.grow();
  if (accounting_) {
    accounting_->grow();
    overheads_ = accounting_->overheads();
    has_costs_ = options_.expects_more ? accounting_->may_have_costs() : accounting_->has_costs();
  }
  show_submitted();
}

void SimulationEngine::restore(const SimulationState& state) {
  now_ = state.now;
  memory_ = state.memory.get();
  next_arrival_ = static_cast<std::uint32_t>(state.jobs.size());
  show_submitted();
  std::vector<JobId> in_order;
  for (std::uint32_t i = 0; i < state.jobs.size(); ++i) {
    const JobId job(i);
    const LiveJob& live = state.jobs[i];
    result_.outcomes[i] = live.outcome;
    progress_by_job_[i] = {.resumed = live.resumed,
                           .attained = live.outcome.attained,
                           .iterations = live.iterations,
                           .num_gpus = live.num_gpus,
                           .run = live.has_started ? 1U : 0U,
                           .state = live.outcome.state};
    shares_gpus_ = shares_gpus_ || (gangs_.placement().info().shares_gpus && jobs_[i].shares_gpus());
    if (accounting_) {
      accounting_->restore(job, live.accounting);
      accounting_->submit(job, live.outcome.attained);
    }
    if (live.outcome.state == JobState::Waiting)
      ++num_waiting_;
    else
      in_order.push_back(job);
  }
  std::ranges::stable_sort(in_order, {}, [&](JobId job) { return state.jobs[job.value].resumed; });
  for (const JobId job : in_order) {
    const LiveJob& live = state.jobs[job.value];
    check_gang(job, live);
    if (!gangs_.put(job, live.num_gpus, live.gang)) {
      throw bad_gang(job, "GPUs that are there and that no other job holds", describe_gang(live));
    }
    ++num_running_;
    schedule_end(job);
  }
  // Jobs on a node out of service keep their GPUs to their ends.
  for (const NodeId node : state.out_of_service)
    take_out(node, true);
  if (gangs_.service() != nullptr) gangs_.find_staying(staying_, kept_gpus_);
  update_gpus();
}

SimulationFault SimulationEngine::bad_gang(JobId job, std::string_view expected,
                                           const std::string& found) const {
  return SimulationFault(job_error(workload_, jobs_[job.value], "gang", expected_found(expected, found)));
}

void SimulationEngine::check_gang(JobId job, const LiveJob& live) const {
  if (!gangs_.placement().needs_shares()) return;
  const bool has_nodes = gangs_.placement().info().knows_nodes;
  const std::size_t num_nodes = has_nodes ? static_cast<std::size_t>(cluster_->total_nodes())
                                          : GpuTypes(*cluster_, workload_.gpu_types).names().size();
  GpuCount sum{0};
  std::set<std::pair<NodeId, std::int32_t>> seen;
  for (const NodeShare& share : live.gang) {
    if (share.node.value >= num_nodes) {
      throw bad_gang(job, fmt::format("{} below {}", has_nodes ? "nodes" : "types", num_nodes),
                     std::to_string(share.node.value));
    }
    if (share.gpus.value < 1)
      throw bad_gang(job, "at least 1 GPU of a node", std::to_string(share.gpus.value));
    if (!seen.insert({share.node, share.first_gpu}).second)
      throw bad_gang(job, "each node once", std::to_string(share.node.value));
    sum += share.gpus;
  }
  if (sum != live.num_gpus)
    throw bad_gang(job, fmt::format("{} GPUs", live.num_gpus.value), std::to_string(sum.value));
}

void SimulationEngine::begin() {
  if (disruptions_ && disruptions_->takes_nodes_out() && (open_ != nullptr || !workload_.jobs.empty())) {
    outages_.emplace(disruptions_->outages, disruptions_->failures ? &*disruptions_->failures : nullptr,
                     static_cast<std::uint32_t>(cluster_->total_nodes()), now_, disruptions_->seed);
  }
  begin_policy();
  if (next_arrival_ > 0) make_pass();
}

void SimulationEngine::begin_policy() {
  running_.clear();
  waiting_.clear();
  for (std::uint32_t i = 0; i < next_arrival_; ++i) {
    const JobState state = progress_by_job_[i].state;
    if (state == JobState::Running) running_.emplace_back(i);
    if (state == JobState::Waiting) waiting_.emplace_back(i);
  }
  if (!policy_.can_begin_with_jobs() && next_arrival_ > 0) {
    throw policy_fault(
        "must begin with an empty cluster: it remembers more of jobs than can be seen in them");
  }
  policy_.begin(*this);
  memory_ = nullptr;
  if (reasons_) reasons_->note_waiting(waiting_);
}

SimTime SimulationEngine::next() {
  while (!events_.empty() && stale(events_.top()))
    events_.pop();
  SimTime next = kNever;
  if (!events_.empty()) next = events_.top().time;
  if (more_to_come_) next = std::min(next, workload_.jobs[next_arrival_].submit);
  if (!facts_.empty()) next = std::min(next, facts_.front().time);
  if (outages_) next = with_node_changes(next);
  if ((outages_ || policy_.may_requeue()) && next != kNever && !workload_.jobs.empty() &&
      next - workload_.jobs.back().submit > kLongestAfterLastSubmission) {
    result_.stopped_early = true;
    return kNever;
  }
  return next;
}

void SimulationEngine::step(SimTime time) {
  now_ = time;
  if (collect_events()) make_pass();
}

void SimulationEngine::make_pass() {
  policy_.schedule(*this);
  if (reasons_) reasons_->finish_pass();
  account_pass();
  const GpuCount in_use = usable_gpus_ - gangs_.placement().idle_gpus();
  record_sample(result_, {now_, num_waiting_, in_use}, gangs_.placement());
}

bool SimulationEngine::collect_events() {
  ended_.clear();
  interrupted_.clear();
  arrived_.clear();
  capacity_changed_ = false;
  bool timer = false;
  for (; !events_.empty() && events_.top().time == now_; events_.pop()) {
    const Event event = events_.top();
    if (stale(event)) continue;
    ++result_.events;
    if (event.kind == EventKind::Timer) {
      timer = true;
    } else {
      end(event.job, now_, now_);
      ended_.push_back(event.job);
    }
  }
  if (outages_) change_nodes();
  const bool begins_again = !facts_.empty() && take_facts();
  if (gangs_.service() != nullptr) gangs_.find_staying(staying_, kept_gpus_);
  if (begins_again) {
    begin_policy();
    ended_.clear();
    interrupted_.clear();
  }
  while (more_to_come_ && workload_.jobs[next_arrival_].submit == now_) {
    ++result_.events;
    const JobId job(next_arrival_++);
    show_submitted();
    arrive(job);
  }
  if (!timer && !begins_again && ended_.empty() && interrupted_.empty() && !capacity_changed_ &&
      arrived_.empty())
    return false;
  ++timer_version_;
  return true;
}

void SimulationEngine::change_nodes() {
  while (outages_->next() == now_) {
    const NodeChange change = outages_->pop();
    ++result_.events;
    if (change.kind == NodeChange::Kind::Return)
      return_to_service(change.node);
    else
      take_out(change.node, change.kind == NodeChange::Kind::Drain);
  }
  std::sort(interrupted_.begin(), interrupted_.end());
  update_gpus();
}

void SimulationEngine::take_out(NodeId node, bool drains) {
  NodeService& service = *gangs_.service();
  capacity_changed_ |= service.in_service(node);
  if (!drains) stop_jobs_on(node);
  service.take_out(node);
}

void SimulationEngine::return_to_service(NodeId node) {
  NodeService& service = *gangs_.service();
  service.return_to_service(node);
  capacity_changed_ |= service.in_service(node);
}

void SimulationEngine::stop_jobs_on(NodeId node) {
  for (const JobId job : gangs_.service()->jobs_on(node)) {
    send_back(job, SegmentEnd::Failed);
    ++result_.outcomes[job.value].failures;
    interrupted_.push_back(job);
  }
}

bool SimulationEngine::take_facts() {
  bool begins_again = false;
  for (; !facts_.empty() && facts_.front().time == now_; facts_.pop_front()) {
    ++result_.events;
    begins_again |= std::visit([this](const auto& fact) { return take(fact); }, facts_.front().fact);
  }
  std::sort(interrupted_.begin(), interrupted_.end());
  update_gpus();
  return begins_again;
}

bool SimulationEngine::take(const JobEnded& fact) {
  // The scheduled end may be at this instant.
  if (std::ranges::find(ended_, fact.job) != ended_.end()) return false;
  if (fact.job.value >= jobs_.size() || state(fact.job) != JobState::Running)
    throw contradiction(fact.job, "ended, which does not run");
  leave(fact.job, JobState::Completed, now_, now_);
  ended_.push_back(fact.job);
  return false;
}

bool SimulationEngine::take(const JobCancelled& fact) {
  if (fact.job.value >= jobs_.size() || !is_live(fact.job))
    throw contradiction(fact.job, "was cancelled, which neither runs nor waits");
  if (state(fact.job) == JobState::Running) {
    leave(fact.job, JobState::Cancelled, now_, SimTime{});
    ended_.push_back(fact.job);
    return false;
  }
  progress_by_job_[fact.job.value].state = JobState::Cancelled;
  result_.outcomes[fact.job.value].end = now_;
  --num_waiting_;
  count_done();
  return true;
}

bool SimulationEngine::take(const JobChanged& fact) {
  if (fact.job.value >= jobs_.size() || !is_live(fact.job))
    throw contradiction(fact.job, "was changed, which neither runs nor waits");
  const bool runs = state(fact.job) == JobState::Running;
  if (runs && fact.num_gpus) throw contradiction(fact.job, "was given another number of GPUs while it runs");
  Job changed = jobs_[fact.job.value];
  changed.duration = fact.duration.value_or(changed.duration);
  changed.iterations = fact.iterations.value_or(changed.iterations);
  changed.requested_time = fact.requested_time.value_or(changed.requested_time);
  changed.deadline = fact.deadline.value_or(changed.deadline);
  changed.num_gpus = fact.num_gpus.value_or(changed.num_gpus);
  open_->jobs[fact.job.value] = changed;
  if (accounting_) accounting_->submit(fact.job, progress_by_job_[fact.job.value].attained);
  if (runs) schedule_end(fact.job);
  return true;
}

bool SimulationEngine::take(const NodeDown& fact) {
  take_out(fact.node, fact.drains);
  return false;
}

bool SimulationEngine::take(const NodeUp& fact) {
  if (gangs_.service()->in_service(fact.node)) {
    throw SimulationFault(
        {.kind = ErrorKind::Failed,
         .message = fmt::format("node {} came back, which was in service", fact.node.value)});
  }
  return_to_service(fact.node);
  return false;
}

SimulationFault SimulationEngine::contradiction(JobId job, std::string_view what) const {
  return SimulationFault({.kind = ErrorKind::Failed,
                          .message = fmt::format("job '{}' {}", workload_.jobs[job.value].name, what)});
}

JobOutcome SimulationEngine::outcome(JobId job) const {
  JobOutcome outcome = result_.outcomes[job.value];
  outcome.state = progress_by_job_[job.value].state;
  outcome.attained = progress_by_job_[job.value].attained;
  return outcome;
}

LiveJob SimulationEngine::live_job(JobId job) const {
  const JobProgress& progress = progress_by_job_[job.value];
  LiveJob live{.outcome = outcome(job), .iterations = progress.iterations, .has_started = progress.run > 0};
  if (accounting_) live.accounting = accounting_->state(job);
  if (progress.state != JobState::Running) return live;
  const std::span<const NodeShare> held = gangs_.held(job);
  live.resumed = progress.resumed;
  live.num_gpus = progress.num_gpus;
  live.gang.assign(held.begin(), held.end());
  return live;
}

std::vector<NodeId> SimulationEngine::out_of_service() const {
  if (gangs_.service() == nullptr) return {};
  const std::span<const NodeId> nodes = gangs_.service()->out_of_service();
  return {nodes.begin(), nodes.end()};
}

SimulationResult SimulationEngine::finish() {
  stop_running_jobs();
  for (std::uint32_t i = 0; i < workload_.jobs.size(); ++i) {
    JobOutcome& outcome = result_.outcomes[i];
    outcome.attained = progress_by_job_[i].attained;
    outcome.state =
        progress_by_job_[i].state == JobState::Waiting ? JobState::Unfinished : progress_by_job_[i].state;
  }
  if (accounting_) result_.losses = accounting_->take_losses();
  if (outages_) result_.outages = outages_->take_history();
  result_.figures = policy_.figures();
  if (reasons_) reasons_->finish();
  return std::move(result_);
}

bool SimulationEngine::try_start(JobId job) {
  require(job, JobState::Waiting, "started", "waiting");
  return start(job, Allocation{jobs_[job.value].num_gpus});
}

bool SimulationEngine::try_start(JobId job, const Allocation& gpus) {
  require(job, JobState::Waiting, "started", "waiting");
  require_allocation(job, gpus, "started");
  return start(job, gpus);
}

bool SimulationEngine::try_resize(JobId job, const Allocation& gpus) {
  require(job, JobState::Running, "resized", "running");
  require_allocation(job, gpus, "resized");
  const GpuCount before = progress_by_job_[job.value].num_gpus;
  if (gpus.gpus == before && (!gpus.type || held(job).type == gpus.type)) return true;
  if (gpus.gpus > free_gpus_ + before) return false;
  ClosedSegment closed = closed_segment_of(job, SegmentEnd::Resized);
  if (!gangs_.resize(job, before, gpus.gpus, gpus.type)) return false;
  closed_.push_back(std::move(closed));
  add_progress(job, SegmentEnd::Resized);
  open_segment(job, gpus.gpus);
  sweep_stale_events();
  return true;
}

void SimulationEngine::reject(JobId job, std::optional<SimTime> earliest_deadline) {
  require(job, JobState::Waiting, "rejected", "waiting");
  if (progress_by_job_[job.value].run > 0) {
    throw policy_fault(fmt::format("rejected job '{}', which had started", jobs_[job.value].name));
  }
  progress_by_job_[job.value].state = JobState::Rejected;
  result_.outcomes[job.value].rejected_by_policy = true;
  if (reasons_) reasons_->note_refusal(job, WaitReason::Rejected, earliest_deadline);
  --num_waiting_;
  count_done();
}

void SimulationEngine::promise(JobId job) {
  if (job.value >= jobs_.size() || !is_live(job))
    throw policy_fault(
        fmt::format("made a promise to job number {}, which neither waits nor runs", job.value));
  if (!jobs_[job.value].has_deadline()) return;
  JobOutcome& outcome = result_.outcomes[job.value];
  if (!outcome.has_promise()) outcome.promised = now_;
}

void SimulationEngine::complete(JobId job, SimTime job_end, SimTime finished) {
  require(job, JobState::Running, "completed", "running");
  if (ends_jobs()) throw policy_fault("ends jobs, which is not its part");
  if (job_end > now_) throw policy_fault("booked the end of a job that lies in the future");
  end(job, job_end, finished);
  if (reasons_) reasons_->note_completion(job);
}

void SimulationEngine::preempt(JobId job) {
  require(job, JobState::Running, "preempted", "running");
  closed_.push_back(closed_segment_of(job, SegmentEnd::Preempted));
  stop(job, SegmentEnd::Preempted);
  if (reasons_) reasons_->note_preemption(job);
  sweep_stale_events();
}

void SimulationEngine::requeue(JobId job) {
  require(job, JobState::Running, "requeued", "running");
  if (!policy_.may_requeue()) throw policy_fault("requeues jobs, which it did not announce");
  ++result_.outcomes[job.value].preemptions;
  send_back(job, SegmentEnd::Failed);
  if (reasons_) reasons_->note_preemption(job);
  sweep_stale_events();
}

void SimulationEngine::cancel(JobId job) {
  if (job.value >= jobs_.size() || !is_live(job))
    throw policy_fault(fmt::format("cancelled job number {}, which neither waits nor runs", job.value));
  if (state(job) == JobState::Running) return leave(job, JobState::Cancelled, now_, SimTime{});
  progress_by_job_[job.value].state = JobState::Cancelled;
  result_.outcomes[job.value].end = now_;
  --num_waiting_;
  count_done();
}

bool SimulationEngine::try_resume(JobId job) {
  const auto closed = std::ranges::find(closed_, job, &ClosedSegment::job);
  if (closed == closed_.end() || !is_live(job)) return false;
  const EndedSegment& segment = closed->segment;
  JobProgress& progress = progress_by_job_[job.value];
  const bool runs = progress.state == JobState::Running;
  if (!gangs_.restore(job, runs ? progress.num_gpus : GpuCount(0), segment.progress.num_gpus, closed->gang))
    return false;
  if (!runs) {
    --num_waiting_;
    ++num_running_;
  }
  update_gpus();
  const std::uint32_t runs_so_far = progress.run;
  progress = segment.progress;
  progress.run = runs_so_far;
  if (accounting_) accounting_->restore(job, segment.state);
  std::erase_if(closed_, [job](const ClosedSegment& each) { return each.job() == job; });
  schedule_end(job);
  sweep_stale_events();
  return true;
}

void SimulationEngine::wake_at(SimTime time) {
  if (time <= now_) throw policy_fault("asked for a timer that does not lie in the future");
  if (time == kNever) {
    throw SimulationFault(
        {.message = fmt::format("policy '{}' plans for later than the simulated clock can tell (292 years)",
                                options_.policy_name)});
  }
  events_.push({time, EventKind::Timer, {}, ++timer_version_});
}

/// The end of a running job's segment.
SimulationEngine::EndedSegment SimulationEngine::segment_of(JobId job, SegmentEnd how) const {
  const std::span<const NodeShare> shares = gangs_.shares(job);
  return {job,
          how,
          gangs_.gpu_share(job, shares),
          progress_by_job_[job.value],
          accounting_ ? accounting_->state(job) : SegmentAccounting::State{},
          records_segments(job) ? parts_of(shares) : std::vector<GangPart>{},
          held_by_type(job)};
}

std::vector<GpuCount> SimulationEngine::held_by_type(JobId job) const {
  if (!counted_types_) return {};
  std::vector<GpuCount> gpus(counted_types_->names().size());
  for (const NodeShare& share : counted_types_->held(job))
    gpus[counted_types_->type_of(share)] += share.gpus;
  return gpus;
}

SimulationEngine::ClosedSegment SimulationEngine::closed_segment_of(JobId job, SegmentEnd how) const {
  const std::span<const NodeShare> held = gangs_.held(job);
  return {segment_of(job, how), {held.begin(), held.end()}};
}

void SimulationEngine::add_progress(JobId job, SegmentEnd how) {
  JobProgress& progress = progress_by_job_[job.value];
  const SimDuration held = now_ - progress.resumed;
  const SimDuration work = accounting_ ? accounting_->end(job, held, progress.attained, how) : held;
  progress.attained += held;
  progress.iterations += progress.speed * to_seconds(work);
}

void SimulationEngine::account(EndedSegment&& segment) {
  const SimDuration held = now_ - segment.progress.resumed;
  const GpuCount num_gpus = segment.progress.num_gpus;
  result_.outcomes[segment.job.value].gpu_time.add(held, num_gpus, segment.gpu_share);
  const std::size_t num_types = options_.count_gpu_types ? segment.by_type.size() : 0;
  for (std::size_t type = 0; type < num_types; ++type)
    result_.gpu_time_by_type[segment.job.value * num_types + type].add(held, segment.by_type[type],
                                                                       segment.gpu_share);
  if (accounting_)
    accounting_->charge(segment.job, segment.state, num_gpus, segment.gpu_share, held, segment.how);
  if (held.count() == 0) return;
  result_.last_release = now_;
  if (options_.record_holdings) record_holding(segment);
  if (!records_segments(segment.job)) return;
  JobSegment record{segment.job, segment.progress.resumed, now_,
                    num_gpus,    std::move(segment.parts), segment.gpu_share,
                    segment.how};
  if (segment.job == explained_) result_.explained_segments.push_back(record);
  if (options_.record_segments) result_.segments.push_back(std::move(record));
}

void SimulationEngine::record_holding(const EndedSegment& segment) {
  JobHolding holding{segment.job, segment.progress.resumed, now_, segment.progress.num_gpus, 0, segment.how,
                     true};
  if (segment.by_type.empty()) {
    result_.holdings.push_back(holding);
    return;
  }
  for (std::uint32_t type = 0; type < segment.by_type.size(); ++type) {
    if (segment.by_type[type].value == 0) continue;
    holding.type = type;
    holding.gpus = segment.by_type[type];
    result_.holdings.push_back(holding);
    holding.is_first_part = false;
  }
}

void SimulationEngine::account_pass() {
  for (ClosedSegment& closed : closed_) {
    JobOutcome& outcome = result_.outcomes[closed.segment.job.value];
    outcome.preemptions += closed.segment.how == SegmentEnd::Preempted ? 1 : 0;
    outcome.resizes += closed.segment.how == SegmentEnd::Resized ? 1 : 0;
    account(std::move(closed.segment));
  }
  closed_.clear();
}

void SimulationEngine::require(JobId job, JobState state, std::string_view action,
                               std::string_view state_name) const {
  if (job.value >= jobs_.size()) {
    throw policy_fault(
        fmt::format("{} job number {}, of which {} have been submitted", action, job.value, jobs_.size()));
  }
  if (progress_by_job_[job.value].state != state) {
    throw policy_fault(
        fmt::format("{} job '{}', which is not {}", action, jobs_[job.value].name, state_name));
  }
}

SimulationFault SimulationEngine::policy_fault(const std::string& what) const {
  std::string time;
  append_ns_as_seconds(time, now_.time_since_epoch().count());
  return SimulationFault(
      {.kind = ErrorKind::Failed,
       .message = fmt::format("policy '{}', at {} s: {}", options_.policy_name, time, what)});
}

bool SimulationEngine::stale(const Event& event) const {
  if (event.kind == EventKind::Timer) return event.version != timer_version_;
  const JobProgress& progress = progress_by_job_[event.job.value];
  return progress.state != JobState::Running || progress.run != event.version;
}

void SimulationEngine::sweep_stale_events() {
  constexpr std::size_t kFewEvents = 64;
  if (events_.size() <= 2 * num_running_ + kFewEvents) return;
  events_.remove_if([this](const Event& event) { return stale(event); });
}

SimTime SimulationEngine::with_node_changes(SimTime next) const {
  const bool matters = next != kNever || (num_waiting_ > 0 && outages_->awaits_return());
  return matters ? std::min(next, outages_->next()) : next;
}

void SimulationEngine::send_back(JobId job, SegmentEnd how) {
  account(segment_of(job, how));
  stop(job, how);
}

void SimulationEngine::stop(JobId job, SegmentEnd how) {
  release_gpus(job, how);
  progress_by_job_[job.value].state = JobState::Waiting;
  --num_running_;
  ++num_waiting_;
}

void SimulationEngine::stop_running_jobs() {
  if (!outages_ || num_running_ == 0) return;
  now_ = workload_.jobs.back().submit + kLongestAfterLastSubmission;
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    if (progress_by_job_[i].state == JobState::Running) send_back(JobId(i), SegmentEnd::Preempted);
  }
}

void SimulationEngine::end(JobId job, SimTime job_end, SimTime finished) {
  const Job& description = jobs_[job.value];
  const bool by_duration = rule_ == ProgressRule::Duration || curve(job) == nullptr;
  const bool cut = by_duration && !repeats_log_ && description.duration > work_to_do(job);
  leave(job, cut ? JobState::Failed : JobState::Completed, job_end, finished);
}

void SimulationEngine::leave(JobId job, JobState state, SimTime job_end, SimTime finished) {
  account(segment_of(job, SegmentEnd::Done));
  release_gpus(job, SegmentEnd::Done);
  progress_by_job_[job.value].state = state;
  --num_running_;
  result_.outcomes[job.value].end = job_end;
  result_.outcomes[job.value].finished = finished;
  count_done();
}

void SimulationEngine::count_done() {
  constexpr std::int64_t kBatch = 1024;
  if (options_.jobs_done == nullptr || ++num_done_ % kBatch != 0) return;
  options_.jobs_done->fetch_add(kBatch, std::memory_order_relaxed);
}

void SimulationEngine::arrive(JobId job) {
  const Job& description = jobs_[job.value];
  shares_gpus_ = shares_gpus_ || (gangs_.placement().info().shares_gpus && description.shares_gpus());
  const SpeedByGpus* const levels = rule_ == ProgressRule::Duration ? nullptr : curve(job);
  const GpuCount least = levels == nullptr ? description.num_gpus : levels->levels().front().num_gpus;
  if (!gangs_.placement().fits_empty(request_of(description, least))) {
    progress_by_job_[job.value].state = JobState::Rejected;
    if (reasons_) reasons_->note_refusal(job, WaitReason::TooLarge, std::nullopt);
    count_done();
    return;
  }
  progress_by_job_[job.value].state = JobState::Waiting;
  ++num_waiting_;
  if (accounting_) accounting_->submit(job);
  arrived_.push_back(job);
}

bool SimulationEngine::start(JobId job, const Allocation& gpus) {
  if ((gpus.gpus > free_gpus_ && !overcommits_) || !gangs_.place(job, gpus.gpus, gpus.type)) return false;
  JobProgress& progress = progress_by_job_[job.value];
  if (progress.run == 0) result_.outcomes[job.value].start = now_;
  progress.state = JobState::Running;
  --num_waiting_;
  ++num_running_;
  if (reasons_) reasons_->note_start(job);
  open_segment(job, gpus.gpus);
  return true;
}

void SimulationEngine::open_segment(JobId job, GpuCount num_gpus) {
  update_gpus();
  JobProgress& progress = progress_by_job_[job.value];
  progress.resumed = now_;
  progress.num_gpus = num_gpus;
  schedule_end(job);
}

void SimulationEngine::schedule_end(JobId job) {
  JobProgress& progress = progress_by_job_[job.value];
  const SimTime begin = progress.resumed;
  ++progress.run;
  if (!ends_jobs()) {
    if (const SpeedByGpus* const levels = curve(job))
      progress.speed = levels->iterations_per_s(progress.num_gpus);
    if (accounting_) accounting_->begin(job, progress.num_gpus, gangs_.shares(job), begin, progress.attained);
    return;
  }
  const SimDuration left = time_left(job);
  if (left >= kNever - begin) {
    throw SimulationFault(job_error(workload_, jobs_[job.value], "duration",
                                    "ends later than the simulated clock can tell (292 years)"));
  }
  // After a fact the job may need less work than it has done already.
  events_.push({std::max(begin + left, now_), EventKind::End, job, progress.run});
}

SimDuration SimulationEngine::time_left(JobId job) {
  JobProgress& progress = progress_by_job_[job.value];
  const SpeedByGpus* const levels = rule_ == ProgressRule::Duration ? nullptr : curve(job);
  if (levels != nullptr) progress.speed = levels->iterations_per_s(progress.num_gpus);
  const SimDuration work = levels != nullptr ? time_for_iterations_left(job) : time_for_duration(job);
  if (!accounting_) return work;
  return accounting_->begin(job, progress.num_gpus, gangs_.shares(job), progress.resumed, progress.attained)
      .time_for(work);
}

SimDuration SimulationEngine::time_for_iterations_left(JobId job) const {
  const JobProgress& progress = progress_by_job_[job.value];
  const double left = static_cast<double>(jobs_[job.value].iterations) - progress.iterations;
  return time_for_iterations(left, progress.speed);
}

SimDuration SimulationEngine::time_for_duration(JobId job) const {
  const SimDuration attained = progress_by_job_[job.value].attained;
  const SimDuration done = accounting_ ? attained - overheads_[job.value].lost : attained;
  const SimDuration left = work_to_do(job) - done;
  return run_times_differ_ ? std::max(left, SimDuration(0)) : left;
}

double SimulationEngine::part_done(JobId job, SimTime time) const {
  const JobProgress& progress = progress_by_job_[job.value];
  SimDuration work{0};
  if (progress.state == JobState::Running) {
    const SimDuration held = std::max(time - progress.resumed, SimDuration(0));
    work = accounting_ ? overheads_[job.value].plan.work(held) : held;
  }
  double part = 0;
  if (rule_ != ProgressRule::Duration && curve(job) != nullptr) {
    part = (progress.iterations + progress.speed * to_seconds(work)) /
           static_cast<double>(jobs_[job.value].iterations);
  } else {
    const SimDuration before =
        accounting_ ? progress.attained - overheads_[job.value].lost : progress.attained;
    part = to_seconds(before + work) / to_seconds(work_to_do(job));
  }
  return std::clamp(part, 0.0, 1.0);
}

SimDuration SimulationEngine::work_to_do(JobId job) const {
  const Job& description = jobs_[job.value];
  if (repeats_log_) return description.duration;
  if (!accounting_ || !run_times_differ_) return time_on_gpus(description);
  const SimDuration limit =
      accounting_->work_limit(job, progress_by_job_[job.value].num_gpus, gangs_.shares(job));
  return std::min(description.duration, limit);
}

void SimulationEngine::release_gpus(JobId job, SegmentEnd how) {
  add_progress(job, how);
  gangs_.release(job, progress_by_job_[job.value].num_gpus);
  update_gpus();
}

void SimulationEngine::update_gpus() {
  free_gpus_ = gangs_.placement().free_gpus();
  if (const NodeService* service = gangs_.service()) usable_gpus_ = total_gpus_ - service->withheld_gpus();
}

void SimulationEngine::require_allocation(JobId job, const Allocation& gpus, std::string_view action) const {
  if (gpus.type) {
    if (by_type_ == std::nullopt || !policy_.chooses_types()) {
      throw policy_fault(
          fmt::format("{} job '{}' on GPUs of type number {}, where types are not its to choose", action,
                      jobs_[job.value].name, *gpus.type));
    }
    const std::span<const std::uint32_t> allowed = by_type_->allowed(jobs_[job.value].gpu_type);
    if (!std::ranges::binary_search(allowed, *gpus.type)) {
      throw policy_fault(fmt::format("{} job '{}' on GPUs of type number {}, which it may not use", action,
                                     jobs_[job.value].name, *gpus.type));
    }
  }
  const SpeedByGpus* const levels = curve(job);
  const bool free_choice = rule_ != ProgressRule::Duration && levels != nullptr;
  if (free_choice ? levels->iterations_per_s(gpus.gpus) > 0 : gpus.gpus == jobs_[job.value].num_gpus) return;
  throw policy_fault(fmt::format("{} job '{}' on {} GPUs, which is none of its sizes", action,
                                 jobs_[job.value].name, gpus.gpus.value));
}

double SimulationEngine::speed(JobId job, const Allocation& gpus) const {
  const Job& description = jobs_[job.value];
  const SpeedByGpus* const levels = rule_ == ProgressRule::Duration ? nullptr : curve(job);
  const double speed = levels != nullptr                   ? levels->iterations_per_s(gpus.gpus)
                       : gpus.gpus == description.num_gpus ? 1.0
                                                           : 0.0;
  if (speed == 0 || !gpus.type || !by_type_) return speed;
  if (!std::ranges::binary_search(by_type_->allowed(description.gpu_type), *gpus.type)) return 0;
  if (!placement_speed_ || !placement_speed_->depends_on_place() || !placement_speed_->knows(job))
    return speed;
  return speed * placement_speed_->packed_speed(job, gpus.gpus, *gpus.type);
}

SegmentTiming SimulationEngine::slowest_segment(JobId job, const Allocation& gpus) const {
  return accounting_ ? accounting_->slowest_segment(job, gpus.gpus, gpus.type) : SegmentTiming{};
}

std::optional<SegmentTiming> SimulationEngine::segment_if_started(JobId job, const Allocation& gpus) {
  require(job, JobState::Waiting, "planned to start", "waiting");
  require_allocation(job, gpus, "planned to start");
  if (gpus.gpus > free_gpus_ || !gangs_.place(job, gpus.gpus, gpus.type)) return std::nullopt;
  const SegmentTiming timing =
      accounting_ ? accounting_->next_segment(job, gpus.gpus, gangs_.shares(job)) : SegmentTiming{};
  gangs_.release(job, gpus.gpus);
  return timing;
}

void SimulationEngine::refuse(JobId job, std::string_view rule) const {
  const std::string name =
      job.value < jobs_.size() ? std::string(jobs_[job.value].name) : "number " + std::to_string(job.value);
  throw policy_fault(fmt::format("decided on job '{}' what cannot be: {}", name, rule));
}

}  // namespace vtrain
