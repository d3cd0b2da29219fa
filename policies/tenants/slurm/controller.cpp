#include "policies/tenants/slurm/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "policies/tenants/slurm/dependency_book.hpp"
#include "policies/tenants/slurm/fair_share.hpp"
#include "policies/tenants/slurm/priority.hpp"
#include "policies/tenants/slurm/scheduler.hpp"
#include "policies/tenants/slurm/usage_decay.hpp"

namespace vtrain::slurm {
namespace {

/// Slurm adds these seconds to the time of a requeue before the job may start again (22.05).
constexpr SimDuration kRequeueDelay = std::chrono::seconds(121);

/// A job's end is known, and its nodes are free, after this time.
constexpr SimDuration kEndDelay = std::chrono::milliseconds(50);

/// Number of the user of jobs with neither user nor tenant.
constexpr std::uint32_t kNoUser = std::numeric_limits<std::uint32_t>::max();

/// Tables with the names that jobs give.
struct NameTables {
  const NameTable& queues;
  const NameTable& accounts;
  const NameTable& users;
  const NameTable& qos_names;
  const NameTable& tenants;
};

JobNames names_of(const Job& job, const NameTables& tables, const JobRequirements* requirements) {
  const auto name_in = [](const NameTable& table, auto name) {
    return name ? std::string_view(table[name.value]) : std::string_view();
  };
  return {.partition = name_in(tables.queues, job.queue),
          .account = name_in(tables.accounts, job.account),
          .user = name_in(tables.users, job.user),
          .tenant = name_in(tables.tenants, job.tenant),
          .qos = name_in(tables.qos_names, job.qos),
          .requirements = requirements,
          // Even numbers are users, odd ones tenants.
          .user_number = job.user     ? 2 * job.user.value
                         : job.tenant ? 2 * job.tenant.value + 1
                                      : kNoUser};
}

}  // namespace

class Controller::Machine final : private Actions {
  /// Something that happens to a job at a known time.
  struct DueJob {
    SimTime time{};
    std::uint32_t job = 0;

    friend bool operator>(const DueJob& a, const DueJob& b) {
      return std::pair(a.time, a.job) > std::pair(b.time, b.job);
    }
  };
  using DueJobs = std::priority_queue<DueJob, std::vector<DueJob>, std::greater<>>;

 public:
  explicit Machine(ControllerOptions options)
      : options_(std::move(options)),
        conf_(options_.setup.configuration),
        translator_(options_.setup, options_.reservations),
        pool_(conf_.nodes),
        limits_(options_.setup.associations, options_.setup.qos, conf_.enforces_limits),
        scheduler_({options_.setup, options_.reservations, options_.out_of_service, jobs_, pool_, limits_,
                    dependencies_, options_.clock}),
        multifactor_(conf_, options_.names, options_.setup.associations, options_.setup.qos),
        usage_(conf_.priority, first_pass()) {
    for (const UsedTime& used : options_.history)
      usage_.start(std::numeric_limits<std::uint32_t>::max(), used);
    make_history_passes();
    for (const Reservation& reservation : options_.reservations) {
      boundaries_.push_back(reservation.start);
      boundaries_.push_back(reservation.end);
    }
    std::ranges::sort(boundaries_);
  }

  Result<std::vector<std::string>> check(const Workload& workload) const {
    std::int64_t of_tenants = 0;
    const NameTables tables{workload.queues, workload.accounts, workload.users, workload.qos_names,
                            workload.tenants};
    for (const Job& job : workload.jobs) {
      const auto record = translator_.translate(job, names_of(job, tables, workload.requirements_of(job)));
      if (!record) return fail(job_error(workload, job, record.error()));
      of_tenants += !job.user && job.tenant ? 1 : 0;
    }
    std::vector<std::string> sentences;
    if (of_tenants > 0)
      sentences.push_back(
          fmt::format("{} jobs without a user: their tenants are user and account", of_tenants));
    std::string list;
    for (const auto& [key, count] : conf_.ignored)
      list +=
          fmt::format("{}{}{}", list.empty() ? "" : ", ", key, count > 1 ? fmt::format(" ({})", count) : "");
    if (!list.empty()) sentences.push_back(fmt::format("keys of {} without effect: {}", conf_.file, list));
    sentences.emplace_back(
        "the policy chooses nodes by the CPUs and GPUs of slurm.conf; memory is not counted");
    return sentences;
  }

  bool may_requeue() const {
    if (conf_.preempt_type == PreemptType::None) return false;
    const auto requeues = [](const auto& each) { return each.preempt_mode == PreemptMode::Requeue; };
    return conf_.preempt_mode == PreemptMode::Requeue || std::ranges::any_of(conf_.partitions, requeues) ||
           std::ranges::any_of(options_.setup.qos, requeues);
  }

  void begin(const SchedulingPass& view) {
    running_before_.assign(view.running().begin(), view.running().end());
    waiting_before_.assign(view.waiting().begin(), view.waiting().end());
  }

  void schedule(SchedulingPass& pass) {
    pass_ = &pass;
    now_ = pass.now();
    if (!running_before_.empty() || !waiting_before_.empty()) take_in_jobs();
    for (const JobId job : pass.ended())
      note_end(job.value);
    // Slurm requeues the jobs of a node that fails.
    for (const JobId job : pass.interrupted())
      note_end(job.value);
    for (const JobId job : pass.arrived())
      submit(job);
    while (!leaving_.empty() && leaving_.top().time <= now_) {
      const std::uint32_t job = leaving_.top().job;
      leaving_.pop();
      leave(job);
    }
    while (!eligible_.empty() && eligible_.top().time <= now_) {
      const std::uint32_t job = eligible_.top().job;
      eligible_.pop();
      if (jobs_[job].stage == JobStage::Ineligible) enqueue(job);
    }
    while (next_boundary_ < boundaries_.size() && boundaries_[next_boundary_] <= now_) {
      ++next_boundary_;
      is_changed();
    }
    if (conf_.priority.multifactor && next_pass_ <= now_) make_passes();
    if (needs_full_ && next_full_pass_ <= now_ && !std::exchange(needs_main_, true)) next_main_ = now_;
    run_schedulers();
    wake();
  }

  std::optional<SimTime> considers_at(const SchedulingPass& pass, JobId id) const {
    const JobRecord& record = jobs_[id.value];
    const bool is_early = record.stage == JobStage::Ineligible && record.eligible > pass.now();
    return is_early && !dependencies_.is_open(id.value) ? std::optional(record.eligible) : std::nullopt;
  }

  std::optional<WaitReason> forbids(JobId id) const {
    if (dependencies_.is_open(id.value)) return WaitReason::Dependency;
    const JobStage stage = jobs_[id.value].stage;
    const bool is_held =
        stage == JobStage::Stuck || (stage == JobStage::Queued && !scheduler_.may_start(id.value));
    return is_held ? std::optional(WaitReason::Limit) : std::nullopt;
  }

  WaitCause holds_back(JobId id) const {
    if (jobs_[id.value].stage != JobStage::Queued) return {};
    for (const std::uint32_t partition : jobs_[id.value].partitions) {
      const auto head = scheduler_.head_of(partition);
      if (head && *head != id.value) return {.reason = WaitReason::Order, .by = JobId(*head)};
    }
    return {};
  }

  void append_heads(std::vector<JobId>& heads) const {
    for (const std::uint32_t job : scheduler_.jobs_behind_nobody())
      heads.emplace_back(job);
  }

 private:
  double first_pass() const {
    double first = 0;
    for (const UsedTime& used : options_.history)
      first = std::min(first, used.start_s);
    return first;
  }

  double period_s() const {
    return static_cast<double>(std::max<std::int64_t>(conf_.priority.calc_period_s, 1));
  }

  /// Makes the passes before the trace begins.
  void make_history_passes() {
    const double period = period_s();
    double at = to_seconds(options_.pass_at);
    while (at > first_pass())
      at -= period;
    update_shares();
    for (; at < 0; at += period)
      usage_.pass(options_.setup.associations, at, [this] { update_shares(); });
    next_pass_ = SimTime(SimDuration(std::chrono::seconds(0))) + to_duration(at);
  }

  static SimDuration to_duration(double seconds) { return to_sim_duration(Seconds(seconds)); }

  void update_shares() {
    if (!conf_.priority.multifactor || conf_.priority.weight_fair_share == 0) return;
    shares_ = fair_share_factors(options_.setup.associations, conf_.priority);
  }

  /// Makes the passes of the priority plugin that are due.
  void make_passes() {
    const SimDuration period = to_duration(period_s());
    for (; next_pass_ <= now_; next_pass_ += period)
      usage_.pass(options_.setup.associations, to_seconds(next_pass_), [this] { update_shares(); });
    const SimTime last = next_pass_ - period;
    scheduler_.update_priorities([&](const QueueEntry& entry) {
      const std::int64_t priority = priority_of(entry.job, entry.partition, last);
      return conf_.priority.incr_only ? std::max(priority, entry.priority) : priority;
    });
    is_changed();
  }

  /// The priority of a job in a partition, by its age at a time.
  std::int64_t priority_of(std::uint32_t job, std::uint32_t partition, SimTime time) const {
    if (!conf_.priority.multifactor) return 0;
    const JobRecord& record = jobs_[job];
    const SimTime from = conf_.priority.accrue_always ? record.submit : record.eligible;
    const PriorityRequest request{
        .nodes = record.request.nodes,
        .cpus = std::int64_t{record.request.nodes} * record.request.cpus_per_node,
        .limit_minutes = record.limited.limit_minutes,
        .tres = record.limited.tres,
        .age_s = to_seconds(time - from),
        .fair_share = shares_.empty() ? 0 : shares_[record.limited.association],
        .assoc_priority = options_.setup.associations[record.limited.association].priority,
        .qos_priority = record.limited.qos ? options_.setup.qos[*record.limited.qos].priority : 0,
        .partition = partition,
        .nice = record.nice};
    return multifactor_.priority(multifactor_.factors(request), record.nice);
  }

  /// The first instant from a time on at which a scheduler looks that does so once a period.
  SimTime next_look(SimTime from, SimDuration phase) const {
    const SimDuration period = options_.period;
    if (period.count() == 0) return from;
    const SimDuration since = (from.time_since_epoch() + period - phase) % period;
    return since.count() == 0 ? from : from + (period - since);
  }
  SimTime next_main_look(SimTime from) const { return next_look(from, options_.period / 2); }
  SimTime next_backfill_look(SimTime from) const { return next_look(from, options_.period / 4); }

  void is_changed() {
    if (!std::exchange(needs_main_, true)) next_main_ = next_main_look(now_);
    if (!std::exchange(needs_backfill_, conf_.scheduler.backfill)) next_backfill_ = next_backfill_look(now_);
  }

  /// Takes in the jobs that ran and waited before the first pass. Files tell the usage until then, so that
  /// running jobs add to it from now on only, and passes of the priority plugin begin now.
  void take_in_jobs() {
    while (next_pass_ <= now_)
      next_pass_ += to_duration(period_s());
    update_shares();
    is_taking_in_ = true;
    for (const JobId job : std::exchange(running_before_, {}))
      take_in_running(job);
    for (const JobId job : std::exchange(waiting_before_, {}))
      submit(job);
    is_taking_in_ = false;
    is_changed();
  }

  void take_in_running(JobId id) {
    JobRecord& record = add_record(id);
    const std::uint32_t job = id.value;
    dependencies_.add(job, pass_->job(id).name, pass_->requirements(id));
    limits_.count_submitted(record.limited, 1);
    limits_.count_running(record.limited, 1);
    const std::vector<std::uint32_t> nodes = nodes_held_by(id, record);
    pool_.take({job, saturating_sum(pass_->holds_since(id), record.limit), record.request, nodes});
    dependencies_.count_task(job, 1);
    record.stage = JobStage::Running;
    record.runs_in = record.partitions.front();
    start_usage(job);
    dependencies_.note_start(job, freed_by_starts_);
  }

  /// The nodes that a job names as its own; without names those that Slurm would have chosen.
  std::vector<std::uint32_t> nodes_held_by(JobId id, const JobRecord& record) const {
    std::vector<std::uint32_t> nodes;
    const JobRequirements* const requirements = pass_->requirements(id);
    for (const std::string& name :
         requirements == nullptr ? std::vector<std::string>{} : requirements->held_nodes) {
      const auto found = std::ranges::find(conf_.nodes, name, &NodeConf::name);
      if (found == conf_.nodes.end()) pass_->refuse(id, fmt::format("node '{}' is not in slurm.conf", name));
      nodes.push_back(static_cast<std::uint32_t>(found - conf_.nodes.begin()));
    }
    if (!nodes.empty()) {
      std::ranges::sort(nodes);
      return nodes;
    }
    NodeSet allowed(conf_.nodes.size());
    for (const std::uint32_t node : conf_.partitions[record.partitions.front()].nodes)
      allowed.add(node);
    return pool_.choose(record.request, allowed).value_or(std::vector<std::uint32_t>{});
  }

  /// Adds the record of a job.
  JobRecord& add_record(JobId id) {
    const Job& job = pass_->job(id);
    if (jobs_.size() <= id.value) jobs_.resize(id.value + 1);
    auto record =
        translator_.translate(job, names_of(job,
                                            {pass_->queue_names(), pass_->account_names(),
                                             pass_->user_names(), pass_->qos_names(), pass_->tenant_names()},
                                            pass_->requirements(id)));
    if (!record) pass_->refuse(id, record.error().message);
    return jobs_[id.value] = *std::move(record);
  }

  void submit(JobId id) {
    const std::uint32_t number = id.value;
    JobRecord& added = add_record(id);
    const auto state = dependencies_.add(number, pass_->job(id).name, pass_->requirements(id));
    if (added.is_refused || !limits_.may_submit(added.limited)) {
      pass_->reject(id);
      added.stage = JobStage::Done;
      return;
    }
    limits_.count_submitted(added.limited, 1);
    if (state == DependencyBook::State::Never || !limits_.ever_fits(added.limited))
      added.stage = JobStage::Stuck;
    if (added.stage == JobStage::Stuck || state == DependencyBook::State::Awaited) return;
    make_eligible(number);
  }

  /// A job that waits for no other job.
  void make_eligible(std::uint32_t job) {
    JobRecord& record = jobs_[job];
    if (record.stage != JobStage::Ineligible) return;
    if (record.eligible > now_) return eligible_.push({record.eligible, job});
    enqueue(job);
  }

  void enqueue(std::uint32_t job) {
    JobRecord& record = jobs_[job];
    record.stage = JobStage::Queued;
    if (!is_taking_in_) record.eligible = std::max(record.eligible, now_);
    std::vector<std::int64_t> priorities;
    for (const std::uint32_t partition : record.partitions)
      priorities.push_back(priority_of(job, partition, now_));
    scheduler_.enqueue(job, priorities);
    is_changed();
  }

  void note_end(std::uint32_t job) {
    jobs_[job].stage = JobStage::Leaving;
    usage_.end(options_.setup.associations, job, std::floor(to_seconds(now_)));
    leaving_.push({now_ + std::min(kEndDelay, options_.period), job});
  }

  /// A job's nodes are free.
  void leave(std::uint32_t job) {
    JobRecord& record = jobs_[job];
    pool_.release(job);
    limits_.count_running(record.limited, -1);
    dependencies_.count_task(job, -1);
    is_changed();
    if (pass_->state(JobId(job)) == JobState::Waiting) {
      record.stage = JobStage::Ineligible;
      record.submit = now_;
      record.eligible = now_ + kRequeueDelay;
      eligible_.push({record.eligible, job});
      return;
    }
    record.stage = JobStage::Done;
    limits_.count_submitted(record.limited, -1);
    const JobStatus status = pass_->job(JobId(job)).status;
    const bool succeeded = pass_->state(JobId(job)) == JobState::Completed && status != JobStatus::Failed &&
                           status != JobStatus::Cancelled && status != JobStatus::TimedOut;
    std::vector<std::uint32_t> freed;
    dependencies_.note_end(job, succeeded, freed);
    for (const std::uint32_t other : freed)
      make_eligible(other);
  }

  bool start(std::uint32_t job, const std::vector<std::uint32_t>& /*nodes*/) override {
    if (!pass_->try_start(JobId(job))) return false;
    start_usage(job);
    dependencies_.note_start(job, freed_by_starts_);
    has_started_ = true;
    return true;
  }

  void start_usage(std::uint32_t job) {
    if (!conf_.priority.multifactor || conf_.priority.weight_fair_share == 0) return;
    const JobRecord& record = jobs_[job];
    usage_.start(job, {record.limited.association, record.billing, std::floor(to_seconds(now_)),
                       std::numeric_limits<double>::infinity()});
  }

  SimTime stop(std::uint32_t job, PreemptMode mode) override {
    JobRecord& record = jobs_[job];
    record.stage = JobStage::Leaving;
    usage_.end(options_.setup.associations, job, std::floor(to_seconds(now_)));
    if (mode == PreemptMode::Requeue)
      pass_->requeue(JobId(job));
    else
      pass_->cancel(JobId(job));
    const SimTime gone = now_ + std::chrono::seconds(conf_.kill_wait_s) + kEndDelay;
    pool_.set_end(job, gone);
    leaving_.push({gone, job});
    return gone;
  }

  void run_schedulers() {
    const SchedulerConf& conf = conf_.scheduler;
    for (;;) {
      if (needs_main_ && next_main_ <= now_) {
        const bool is_full = now_ >= next_full_pass_;
        if (is_full) next_full_pass_ = now_ + std::chrono::seconds(conf.sched_interval_s);
        const auto depth = static_cast<std::size_t>(conf.default_queue_depth);
        needs_full_ = !is_full && scheduler_.size() > depth;
        needs_main_ = false;
        scheduler_.main_pass(now_, is_full ? scheduler_.size() : depth, *this);
      }
      if (needs_backfill_ && next_backfill_ <= now_) {
        if (now_ < last_backfill_ + std::chrono::seconds(conf.bf_interval_s)) {
          next_backfill_ = next_backfill_look(last_backfill_ + std::chrono::seconds(conf.bf_interval_s));
        } else {
          last_backfill_ = now_;
          needs_backfill_ = has_started_ = false;
          scheduler_.backfill_pass(now_, *this);
        }
      }
      // A start changes what backfill promises to others.
      if (has_started_ && conf_.scheduler.backfill && !std::exchange(needs_backfill_, true))
        next_backfill_ = next_backfill_look(now_ + SimDuration(1));
      has_started_ = false;
      const std::vector<std::uint32_t> freed = std::exchange(freed_by_starts_, {});
      if (freed.empty()) return;
      for (const std::uint32_t job : freed)
        make_eligible(job);
    }
  }

  void wake() {
    SimTime next = SimTime::max();
    const auto consider = [&](SimTime time) { next = std::min(next, time); };
    if (!leaving_.empty()) consider(leaving_.top().time);
    if (!eligible_.empty()) consider(eligible_.top().time);
    if (scheduler_.size() > 0) {
      // On an idle cluster no order of the queue starts more jobs.
      if (conf_.priority.multifactor && !pool_.holders().empty()) consider(next_pass_);
      if (needs_main_) consider(next_main_);
      if (needs_backfill_) consider(next_backfill_);
      if (needs_full_) consider(next_full_pass_);
      if (next_boundary_ < boundaries_.size()) consider(boundaries_[next_boundary_]);
    } else {
      needs_main_ = needs_backfill_ = false;
    }
    if (next != SimTime::max()) pass_->wake_at(std::max(next, now_ + SimDuration(1)));
  }

  ControllerOptions options_;
  const Configuration& conf_;
  JobTranslator translator_;
  std::vector<JobRecord> jobs_;  ///< by `JobId`
  NodePool pool_;
  RunningLimits limits_;
  DependencyBook dependencies_;
  Scheduler scheduler_;
  MultifactorPriority multifactor_;
  UsageDecay usage_;
  std::vector<double> shares_;       ///< fair-share factor by association
  DueJobs leaving_;                  ///< ended jobs whose nodes are not free yet
  DueJobs eligible_;                 ///< jobs that may not start before a time
  std::vector<SimTime> boundaries_;  ///< starts and ends of reservations, ascending
  std::size_t next_boundary_ = 0;
  SimTime next_pass_{};
  SimTime next_main_{};
  SimTime next_backfill_{};
  SimTime last_backfill_ = SimTime{} - std::chrono::hours(1);
  SimTime next_full_pass_{};
  bool needs_main_ = false;
  bool needs_backfill_ = false;
  bool needs_full_ = false;
  bool has_started_ = false;
  bool is_taking_in_ = false;          ///< jobs come that ran or waited before the first pass
  std::vector<JobId> running_before_;  ///< jobs that ran then
  std::vector<JobId> waiting_before_;  ///< jobs that waited then
  std::vector<std::uint32_t> freed_by_starts_;
  SchedulingPass* pass_ = nullptr;
  SimTime now_{};
};

Controller::Controller(ControllerOptions options) : machine_(std::make_unique<Machine>(std::move(options))) {}
Controller::Controller(Controller&&) noexcept = default;
Controller& Controller::operator=(Controller&&) noexcept = default;
Controller::~Controller() = default;

Result<std::vector<std::string>> Controller::check(const Workload& workload) const {
  return machine_->check(workload);
}

bool Controller::may_requeue() const {
  return machine_->may_requeue();
}

void Controller::begin(const SchedulingPass& view) {
  machine_->begin(view);
}

void Controller::schedule(SchedulingPass& pass) {
  machine_->schedule(pass);
}

std::optional<SimTime> Controller::considers_at(const SchedulingPass& pass, JobId job) const {
  return machine_->considers_at(pass, job);
}

std::optional<WaitReason> Controller::forbids(JobId job) const {
  return machine_->forbids(job);
}

WaitCause Controller::holds_back(JobId job) const {
  return machine_->holds_back(job);
}

void Controller::append_heads(std::vector<JobId>& heads) const {
  machine_->append_heads(heads);
}

}  // namespace vtrain::slurm
