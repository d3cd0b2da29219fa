// Earliest deadline first: preemptive list policies whose key is the deadline. Jobs without one come last,
// ties go in order of arrival, and a job that has missed its deadline keeps its place.
//
//  * `edf`: a job with a curve gets, in its turn, the number of GPUs that it requests or, if fewer are left,
//    the number of these on which it is fastest. GPUs that no waiting job can use then go to the running jobs
//    in that order, to each the number on which it is fastest. Jobs are resized whenever that changes.
//    `growth=greedy` gives a job, in its turn, all GPUs that make it faster; `resize=no` gives it the
//    requested number, as to every other job. On a cluster of several GPU types a gang has GPUs of one type,
//    the one on which the job is fastest, and moves for that; it grows on its present type. `resize=no`
//    leaves types to placement.
//  * `edf-admission`: `edf:growth=greedy`, but a job with a deadline is rejected on arrival if it could not
//    meet it, or if a job that would meet its deadline no longer could. For this test the policy follows the
//    schedule of the admitted jobs to its end, without further arrivals. Jobs without a deadline are always
//    admitted; they come after all others, so they delay none of these. Every admitted job meets its deadline
//    if run times are known exactly, nothing fails, interruptions are free and all free GPUs are usable
//    (`count` placement). A test follows each of the n admitted jobs with a deadline to its end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/base/earliest_deadline.hpp"
#include "policies/base/policies.hpp"
#include "policies/list/gpu_pool.hpp"
#include "policies/list/list_policy.hpp"
#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {
namespace {

/// Fewest GPUs on which a job can run: the first level of its curve, or the requested number.
GpuCount smallest_level(const SchedulingPass& pass, JobId job) {
  const SpeedByGpus* const curve = pass.curve(job);
  return curve == nullptr ? pass.job(job).num_gpus : curve->levels().front().num_gpus;
}

/// GPUs and a job's speed on them: iterations a second, or, for a rigid job, a multiple of the speed that its
/// run time implies.
struct GpuSpeed {
  Allocation gpus{};
  double speed = 0;
};

/// The level on which a job is fastest on at most `left` GPUs; of equally fast ones the smallest. A job gets
/// no more than its `max_gpus`, if given, or the requested number, if larger. A rigid job has one level, the
/// requested number. 0 GPUs if the job cannot run on the GPUs left.
GpuSpeed fastest_within(const SchedulingPass& pass, JobId id, const Allocation& left) {
  const Job& job = pass.job(id);
  const SpeedByGpus* const curve = pass.curve(id);
  if (curve == nullptr) {
    const Allocation gpus{job.num_gpus, left.type};
    const double speed = job.num_gpus > left.gpus ? 0 : left.type ? pass.speed(id, gpus) : 1;
    return speed > 0 ? GpuSpeed{gpus, speed} : GpuSpeed{};
  }
  const GpuCount most = job.max_gpus.value > 0 ? std::max(job.max_gpus, job.num_gpus) : left.gpus;
  GpuSpeed fastest;
  for (const SpeedByGpus::Level& level : curve->levels()) {
    if (level.num_gpus > std::min(left.gpus, most)) break;
    const Allocation gpus{level.num_gpus, left.type};
    const double speed = left.type ? pass.speed(id, gpus) : level.iterations_per_s;
    if (speed > fastest.speed) fastest = {gpus, speed};
  }
  return fastest;
}

/// GPUs on which a job is fastest, of those left of each type. Of equally fast types the type of `held`,
/// otherwise the first. `left` has one number if types do not matter.
GpuSpeed fastest_of(const SchedulingPass& pass, JobId id, std::span<const std::int64_t> left,
                    std::optional<std::uint32_t> held) {
  const auto count = [&](std::size_t type) { return GpuCount(static_cast<std::int32_t>(left[type])); };
  const GpusByType* const by_type = GpuPool::types(pass);
  if (by_type == nullptr) return fastest_within(pass, id, {count(0)});
  GpuSpeed best;
  for (const std::uint32_t type : by_type->allowed(pass.job(id).gpu_type)) {
    const GpuSpeed here = fastest_within(pass, id, {count(type), type});
    if (here.speed > best.speed || (here.speed == best.speed && here.speed > 0 && type == held)) best = here;
  }
  return best;
}

/// True if a rigid job's run time on every type that it may use is the recorded one.
bool runs_as_recorded(const SchedulingPass& pass, JobId id) {
  const GpusByType* const by_type = GpuPool::types(pass);
  const Job& job = pass.job(id);
  return by_type == nullptr || std::ranges::all_of(by_type->allowed(job.gpu_type), [&](std::uint32_t type) {
           return pass.speed(id, {job.num_gpus, type}) == 1;
         });
}

/// GPUs of the whole cluster, by type if types matter.
std::vector<std::int64_t> all_gpus(const SchedulingPass& pass) {
  if (GpuPool::types(pass) == nullptr) return {pass.total_gpus().value};
  const std::span<const std::int64_t> total = GpuPool::types(pass)->total();
  return {total.begin(), total.end()};
}

/// GPUs that `SchedulingPass::usable_gpus` counts, by type if types matter.
std::vector<std::int64_t> usable_gpus(const SchedulingPass& pass) {
  std::vector<std::int64_t> gpus{pass.usable_gpus().value};
  if (GpuPool::types(pass) != nullptr) GpuPool::types(pass)->get_usable(gpus);
  return gpus;
}

/// Orders jobs by their deadlines; those without one come last.
PriorityKey deadline_key(const Job& job) {
  return {.primary = job.deadline.time_since_epoch().count()};
}

class RigidEdf final : public ListPolicy {
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return deadline_key(pass.job(job));
  }
  bool may_skip_order(const SchedulingPass&) override { return true; }
};

/// Jobs that may hold more GPUs than they request.
enum class EdfGrowth : std::uint8_t {
  Spare,   ///< jobs in their turn, by GPUs that no waiting job can use
  Greedy,  ///< jobs in their turn, by all GPUs that make them faster
};

class ElasticEdf : public ListPolicy {
 public:
  explicit ElasticEdf(EdfGrowth growth) : growth_(growth) {}

  ProgressRule progress_rule() const override { return ProgressRule::Iterations; }
  bool chooses_types() const override { return true; }

 protected:
  /// A job that can run on no type of GPUs is rejected.
  bool admits(const SchedulingPass& pass, JobId job) override {
    return GpuPool::types(pass) == nullptr || fastest_of(pass, job, all_gpus(pass), {}).speed > 0;
  }

 private:
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return deadline_key(pass.job(job));
  }
  GpuCount least_gpus(const SchedulingPass& pass, JobId job) const override {
    return smallest_level(pass, job);
  }
  bool resizes() const override { return true; }
  GpuCount gpus_within(const SchedulingPass& pass, const ListedJob& job,
                       const Allocation& left) const override {
    const bool greedy = growth_ == EdfGrowth::Greedy;
    const GpuCount most = greedy ? left.gpus : std::min(left.gpus, pass.job(job.job).num_gpus);
    return fastest_within(pass, job.job, {most, left.type}).gpus.gpus;
  }
  GpuCount gpus_with_spare(const SchedulingPass& pass, const ListedJob& job,
                           const Allocation& left) const override {
    return fastest_within(pass, job.job, left).gpus.gpus;
  }
  GpuCount next_size(const SchedulingPass& pass, const ListedJob& job, GpuCount gpus) const override {
    const SpeedByGpus* const curve = pass.curve(job.job);
    if (curve == nullptr) return GpuCount(0);
    const double speed = curve->iterations_per_s(gpus);
    const auto levels = curve->levels();
    const auto faster = std::ranges::find_if(levels, [&](const SpeedByGpus::Level& level) {
      return level.num_gpus > gpus && level.iterations_per_s > speed;
    });
    return faster == levels.end() ? GpuCount(0) : faster->num_gpus;
  }

  EdfGrowth growth_;
};

/// Margin before its deadline at which a job must end to be admitted. It applies if the end follows from the
/// speeds of curves, of the job or of jobs before it. It exceeds the sum of rounding to nanoseconds at every
/// event of their lives. Rigid jobs alone are followed exactly.
constexpr SimDuration kMargin = std::chrono::milliseconds(1);
/// Further margin, as a part of the time to the deadline, if types differ: the simulation counts speeds in
/// billionths.
constexpr std::int64_t kMarginParts = 50'000'000;
/// Distance up to which two ends of such jobs are equal.
constexpr SimDuration kSame = std::chrono::microseconds(1);
constexpr SimDuration kNever = SimDuration::max();

/// Follows the schedule of admitted jobs to its end, without further arrivals. Each has, in its turn, the
/// GPUs on which it is fastest of those that the jobs before it leave.
///
/// The end of a job changes only the GPUs of jobs after it. The change stops at the first job with as many
/// GPUs left as before, of each type. So an end costs O(running jobs + visited jobs), and a schedule has as
/// many ends as jobs.
class EdfSchedule {
 public:
  /// A job that may be followed, with the constants of its life.
  struct Entry {
    Entry(const SchedulingPass& pass, JobId id)
        : job(id),
          deadline(pass.job(id).deadline),
          is_elastic(pass.curve(id) != nullptr),
          is_exact(!is_elastic && runs_as_recorded(pass, id)),
          least(smallest_level(pass, id)),
          most(fastest_of(pass, id, all_gpus(pass), {})) {}

    JobId job;
    SimTime deadline;
    bool is_elastic;
    bool is_exact;   ///< true if its work takes exactly its run time
    GpuCount least;  ///< its smallest level
    GpuSpeed most;   ///< its GPUs if enough are left
  };
  /// A job of the schedule.
  struct Planned {
    SimDuration latest{0};  ///< latest end, from now, for which it is in time
    bool exact = true;      ///< true if neither it nor a job before it is elastic
    SimDuration end{0};     ///< end from now; `kNever` if none comes

    bool is_late() const { return end > latest; }
  };

  /// Follows these jobs, which are in the order of deadlines. If `watched` is the number of one, it may stop
  /// once that one is late.
  void follow(const SchedulingPass& pass, std::span<const Entry> jobs, std::size_t watched = SIZE_MAX);
  /// Jobs that were followed.
  std::span<const Planned> jobs() const { return jobs_; }

 private:
  /// State of a job in the schedule at the time to which it has been followed.
  struct Progress {
    GpuSpeed held{};  ///< GPUs on which it runs since `since`; 0: it waits
    SimDuration since{0};
    SimDuration left{0};     ///< time left of a rigid job at `since`
    double iterations = 0;   ///< iterations left of an elastic one at `since`
    bool is_listed = false;  ///< whether `running_` has it
    // Live jobs around it, or the number of jobs.
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
  };

  void begin(const SchedulingPass& pass, std::span<const Entry> entries);
  /// Hands out `left_` from a live job on, at least to those up to `last`.
  void distribute_gpus(const SchedulingPass& pass, std::span<const Entry> entries, std::uint32_t first,
                       std::uint32_t last, SimDuration now);
  /// Picks the GPUs that a job gets of `left_`.
  GpuSpeed choose(const SchedulingPass& pass, const Entry& entry, const GpuSpeed& held) const;
  void change_gpus(const Entry& entry, std::uint32_t number, const GpuSpeed& gpus, SimDuration now);
  /// GPUs that the jobs before a job leave, by type; -1 while unknown.
  std::span<std::int64_t> left_before(std::uint32_t number) {
    return std::span(left_before_).subspan(number * left_.size(), left_.size());
  }

  std::vector<Planned> jobs_;
  std::vector<Progress> progress_;      ///< [jobs], and one that is both before the first and after the last
  std::vector<std::uint32_t> running_;  ///< numbers of all running jobs, and of some that have stopped
  std::vector<std::int64_t> left_;      ///< [types]: GPUs not handed out
  std::vector<std::int64_t> left_before_;  ///< [jobs][types]
};

void EdfSchedule::begin(const SchedulingPass& pass, std::span<const Entry> entries) {
  const auto num_jobs = static_cast<std::uint32_t>(entries.size());
  jobs_.resize(num_jobs);
  progress_.assign(num_jobs + std::size_t{1}, {});
  running_.clear();
  left_ = usable_gpus(pass);
  left_before_.assign(num_jobs * left_.size(), -1);
  const bool has_types = GpuPool::types(pass) != nullptr;
  bool exact = true;
  for (std::uint32_t i = 0; i <= num_jobs; ++i) {
    Progress& progress = progress_[i];
    progress.previous = i == 0 ? num_jobs : i - 1;
    progress.next = i == num_jobs ? 0 : i + 1;
    if (i == num_jobs) break;
    const Entry& entry = entries[i];
    exact &= entry.is_exact;
    const SimDuration time = entry.deadline - pass.now();
    const SimDuration margin = kMargin + (has_types ? time / kMarginParts : SimDuration(0));
    jobs_[i] = {time - (exact ? SimDuration(0) : margin), exact, kNever};
    if (has_types) progress.held.gpus.type = pass.held(entry.job).type;
    if (entry.is_elastic)
      progress.iterations = pass.remaining_iterations(entry.job);
    else
      progress.left = pass.remaining(entry.job);
  }
}

void EdfSchedule::follow(const SchedulingPass& pass, std::span<const Entry> entries, std::size_t watched) {
  begin(pass, entries);
  std::size_t num_live = entries.size();
  if (num_live == 0) return;
  distribute_gpus(pass, entries, 0, 0, SimDuration(0));
  while (true) {
    SimDuration next = kNever;
    bool all_have_most = true;
    std::erase_if(running_, [&](std::uint32_t number) {
      Progress& progress = progress_[number];
      progress.is_listed = progress.held.gpus.gpus.value > 0;
      if (!progress.is_listed) return true;
      next = std::min(next, jobs_[number].end);
      all_have_most = all_have_most && progress.held.speed == entries[number].most.speed;
      return false;
    });
    // Either no other job can ever run on the GPUs in service or end within the range of the clock, or all
    // run to their ends on their present GPUs.
    if (next == kNever || (all_have_most && running_.size() == num_live)) return;
    if (watched < jobs_.size() && next > jobs_[watched].latest && jobs_[watched].is_late()) return;
    std::uint32_t first = UINT32_MAX;
    std::uint32_t last = 0;
    for (const std::uint32_t number : running_) {
      Progress& ended = progress_[number];
      if (jobs_[number].end > next) continue;
      ended.held = {};
      progress_[ended.previous].next = ended.next;
      progress_[ended.next].previous = ended.previous;
      first = std::min(first, number);
      last = std::max(last, number);
      --num_live;
    }
    if (num_live == 0) return;
    std::ranges::copy(left_before(first), left_.begin());
    distribute_gpus(pass, entries, progress_[progress_[first].previous].next, last, next);
  }
}

void EdfSchedule::distribute_gpus(const SchedulingPass& pass, std::span<const Entry> entries,
                                  std::uint32_t first, std::uint32_t last, SimDuration now) {
  for (std::uint32_t number = first; number < entries.size(); number = progress_[number].next) {
    const std::span<std::int64_t> before = left_before(number);
    if (number > last && std::ranges::equal(before, left_)) return;
    std::ranges::copy(left_, before.begin());
    Progress& progress = progress_[number];
    const GpuSpeed gpus = choose(pass, entries[number], progress.held);
    if (gpus.gpus != progress.held.gpus) change_gpus(entries[number], number, gpus, now);
    left_[gpus.gpus.type.value_or(0)] -= gpus.gpus.gpus.value;
  }
}

GpuSpeed EdfSchedule::choose(const SchedulingPass& pass, const Entry& entry, const GpuSpeed& held) const {
  if (GpuPool::types(pass) == nullptr) {
    if (left_.front() < entry.least.value) return {};
    if (left_.front() >= entry.most.gpus.gpus.value) return entry.most;
  }
  return fastest_of(pass, entry.job, left_, held.gpus.type);
}

void EdfSchedule::change_gpus(const Entry& entry, std::uint32_t number, const GpuSpeed& gpus,
                              SimDuration now) {
  Progress& progress = progress_[number];
  const SimDuration ran = now - progress.since;
  const double speed = progress.held.speed;
  if (entry.is_elastic)
    progress.iterations -= speed * to_seconds(ran);
  else
    progress.left -= speed == 1 ? ran : to_sim_duration(Seconds(speed * to_seconds(ran)));
  progress.held = gpus;
  progress.since = now;
  jobs_[number].end = kNever;
  if (gpus.speed == 0) return;
  const double left = entry.is_elastic ? progress.iterations : to_seconds(progress.left);
  const bool as_asked = !entry.is_elastic && gpus.speed == 1;
  jobs_[number].end = saturating_sum(now, as_asked ? progress.left : time_for_iterations(left, gpus.speed));
  if (!progress.is_listed) running_.push_back(number);
  progress.is_listed = true;
}

class EdfAdmission final : public ElasticEdf {
 public:
  EdfAdmission() : ElasticEdf(EdfGrowth::Greedy) {}

 private:
  bool admits(const SchedulingPass& pass, JobId job) override;
  bool gives_promises() const override { return true; }
  std::optional<SimTime> admitting_deadline(const SchedulingPass& pass, JobId job) override;
  /// Adds a job with a deadline to the admitted ones, unless it or one of them would be late.
  bool try_add(const SchedulingPass& pass, const EdfSchedule::Entry& asks);
  /// The schedule ignores jobs without a deadline, which hold GPUs, too.
  bool prefers_free_types() const override { return false; }

  std::vector<EdfSchedule::Entry> admitted_;  ///< live jobs with a deadline, in the order of deadlines
  EdfSchedule with_;                          ///< last schedule with the tested job
  EdfSchedule without_;
};

bool EdfAdmission::admits(const SchedulingPass& pass, JobId id) {
  std::erase_if(admitted_, [&](const EdfSchedule::Entry& entry) { return !pass.is_live(entry.job); });
  const EdfSchedule::Entry asks(pass, id);
  if (asks.most.speed == 0) return false;
  return !pass.job(id).has_deadline() || try_add(pass, asks);
}

std::optional<SimTime> EdfAdmission::admitting_deadline(const SchedulingPass& pass, JobId id) {
  EdfSchedule::Entry asks(pass, id);
  if (asks.most.speed == 0) return std::nullopt;
  const auto is_admitted = [&](SimTime deadline) {
    asks.deadline = deadline;
    const bool added = try_add(pass, asks);
    if (added) std::erase_if(admitted_, [id](const EdfSchedule::Entry& entry) { return entry.job == id; });
    return added;
  };
  return earliest_deadline(pass.now(), pass.job(id).deadline, std::chrono::seconds(1), is_admitted);
}

bool EdfAdmission::try_add(const SchedulingPass& pass, const EdfSchedule::Entry& asks) {
  const auto place = std::ranges::upper_bound(admitted_, asks.deadline, {}, &EdfSchedule::Entry::deadline);
  const auto index = place - admitted_.begin();
  admitted_.insert(place, asks);
  with_.follow(pass, admitted_, static_cast<std::size_t>(index));
  const std::span<const EdfSchedule::Planned> with = with_.jobs();
  const bool is_late = with[static_cast<std::size_t>(index)].is_late();
  if (!is_late && std::ranges::none_of(with, &EdfSchedule::Planned::is_late)) return true;
  admitted_.erase(admitted_.begin() + index);
  if (is_late) return false;
  // A job that is late anyway does not count, unless it would be later.
  without_.follow(pass, admitted_);
  const std::span<const EdfSchedule::Planned> without = without_.jobs();
  for (std::size_t i = 0; i < without.size(); ++i) {
    const EdfSchedule::Planned& job = with[i < static_cast<std::size_t>(index) ? i : i + 1];
    const SimDuration same = job.exact && without[i].exact ? SimDuration(0) : kSame;
    if (job.is_late() && job.end > saturating_sum(without[i].end, same)) return false;
  }
  admitted_.insert(admitted_.begin() + index, asks);
  return true;
}

}  // namespace

MadePolicy make_edf(const PolicyArguments& arguments) {
  if (arguments["resize"] == "no") return std::make_unique<RigidEdf>();
  return std::make_unique<ElasticEdf>(arguments["growth"] == "greedy" ? EdfGrowth::Greedy : EdfGrowth::Spare);
}

MadePolicy make_edf_admission(const PolicyArguments&) {
  return std::make_unique<EdfAdmission>();
}

}  // namespace vtrain
