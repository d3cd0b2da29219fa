// Earliest deadline first: preemptive list policies whose key is the deadline. Jobs without one come last,
// ties go in order of arrival, and a job that has missed its deadline keeps its place.
//
//  * `edf`: a job with a curve gets, in its turn, the number of GPUs that it asks for or, of fewer that are
//    left, that on which it is fastest. GPUs that no waiting job can use then go to the running jobs in the
//    same order, to each the number on which it is fastest. Jobs are resized whenever that changes.
//    `growth=greedy` gives a job, in its turn, all that make it faster; `resize=no` gives it the number it
//    asks for, as every other job.
//  * `edf-admission`: `edf:growth=greedy`, but a job with a deadline is rejected on arrival if it could not
//    meet it, or if a job that would meet its deadline no longer could. To find out, the policy follows the
//    schedule of the admitted jobs to its end, without further arrivals. Jobs without a deadline are always
//    admitted; as they come after all others, they delay none of these. Every admitted job meets its deadline
//    where run times are known exactly, nothing fails, interruptions cost nothing and any free GPUs will do
//    (`count` placement). A test follows each of the n admitted jobs with a deadline to its end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/base/policies.hpp"
#include "policies/list/list_policy.hpp"

namespace vtrain {
namespace {

/// The fewest GPUs on which a job can run: the first level of its curve, or the number it asks for.
GpuCount smallest_level(const SchedulingPass& pass, JobId job) {
  const SpeedByGpus* const curve = pass.curve(job);
  return curve == nullptr ? pass.job(job).num_gpus : curve->levels().front().num_gpus;
}

/// The level on which a job is fastest on at most `num_gpus` GPUs, and of equally fast ones the smallest. A
/// job gets no more than its `max_gpus`, if given, or the number it asks for, whichever is more. A rigid job,
/// without a `curve`, has one level, the number it asks for, with speed 0. 0 GPUs if the job cannot run on
/// `num_gpus`.
SpeedByGpus::Level fastest_level(const Job& job, const SpeedByGpus* curve, GpuCount num_gpus) {
  if (curve == nullptr) return {job.num_gpus <= num_gpus ? job.num_gpus : GpuCount(0), 0};
  const GpuCount most = job.max_gpus.value > 0 ? std::max(job.max_gpus, job.num_gpus) : num_gpus;
  SpeedByGpus::Level fastest;
  for (const SpeedByGpus::Level& level : curve->levels()) {
    if (level.num_gpus > std::min(num_gpus, most)) break;
    if (level.iterations_per_s > fastest.iterations_per_s) fastest = level;
  }
  return fastest;
}

/// The number of GPUs of that level.
GpuCount fastest_within(const SchedulingPass& pass, JobId id, GpuCount num_gpus) {
  return fastest_level(pass.job(id), pass.curve(id), num_gpus).num_gpus;
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

/// Who may hold more GPUs than it asks for.
enum class EdfGrowth : std::uint8_t {
  Spare,   ///< jobs in their turn, by GPUs that no waiting job can use
  Greedy,  ///< jobs in their turn, by all that make them faster
};

class ElasticEdf : public ListPolicy {
 public:
  explicit ElasticEdf(EdfGrowth growth) : growth_(growth) {}

  ProgressRule progress_rule() const override { return ProgressRule::Iterations; }

 private:
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return deadline_key(pass.job(job));
  }
  GpuCount least_gpus(const SchedulingPass& pass, JobId job) const override {
    return smallest_level(pass, job);
  }
  bool resizes() const override { return true; }
  GpuCount gpus_within(const SchedulingPass& pass, const ListedJob& job, GpuCount left) const override {
    const bool greedy = growth_ == EdfGrowth::Greedy;
    return fastest_within(pass, job.job, greedy ? left : std::min(left, pass.job(job.job).num_gpus));
  }
  GpuCount gpus_with_spare(const SchedulingPass& pass, const ListedJob& job, GpuCount left) const override {
    return fastest_within(pass, job.job, left);
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

/// Margin before its deadline at which a job must end to be admitted, if its end follows from the speeds of
/// curves, its own or those of jobs before it. It is more than the sum of rounding to nanoseconds at every
/// event of their lives. Rigid jobs alone are followed exactly.
constexpr SimDuration kMargin = std::chrono::milliseconds(1);
/// Distance up to which two ends of such jobs are equal.
constexpr SimDuration kSame = std::chrono::microseconds(1);
constexpr SimDuration kNever = SimDuration::max();

/// Follows the schedule of admitted jobs to its end, as if no other job came: each has, in its turn, the GPUs
/// on which it is fastest of those that the jobs before it leave.
///
/// The end of a job changes the GPUs of jobs behind it alone, up to the first to which as many GPUs are left
/// as before. So an end costs O(running jobs + jobs that are looked at), and a schedule as many
/// ends as it has jobs.
class EdfSchedule {
 public:
  /// A job that may be followed, with what does not change in its life.
  struct Entry {
    Entry(const SchedulingPass& pass, JobId id)
        : job(id),
          deadline(pass.job(id).deadline),
          is_elastic(pass.curve(id) != nullptr),
          least(smallest_level(pass, id)),
          most(fastest_level(pass.job(id), pass.curve(id), pass.total_gpus())) {}

    JobId job;
    SimTime deadline;
    bool is_elastic;
    GpuCount least;             ///< its smallest level
    SpeedByGpus::Level most{};  ///< on which it is where GPUs enough are left
  };
  /// A job of the schedule.
  struct Planned {
    SimDuration latest{0};  ///< end, from now, up to which it is in time
    bool exact = true;      ///< whether no elastic job is among it and those before it
    SimDuration end{0};     ///< from now; `kNever` if none comes

    bool is_late() const { return end > latest; }
  };

  /// Follows these jobs, which are in the order of deadlines. If `watched` is the number of one, it may stop
  /// as soon as that one is late.
  void follow(const SchedulingPass& pass, std::span<const Entry> jobs, std::size_t watched = SIZE_MAX);
  /// The jobs that were followed.
  std::span<const Planned> jobs() const { return jobs_; }

 private:
  /// State of a job in the schedule at the time to which it has been followed.
  struct Progress {
    SpeedByGpus::Level level{};  ///< on which it runs since `since`; 0 GPUs: it waits
    SimDuration since{0};
    SimDuration left{0};       ///< time left of a rigid job at `since`
    double iterations = 0;     ///< iterations left of an elastic one at `since`
    GpuCount gpus_before{-1};  ///< that the jobs before it leave
    bool is_listed = false;    ///< whether `running_` has it
    // Live jobs around it, or the number of jobs.
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
  };

  void begin(const SchedulingPass& pass, std::span<const Entry> entries);
  /// Hands out GPUs from a live job on, at least to those up to `last`.
  void hand_out(const SchedulingPass& pass, std::span<const Entry> entries, std::uint32_t first,
                GpuCount gpus, std::uint32_t last, SimDuration now);
  void change_level(const Entry& entry, std::uint32_t number, const SpeedByGpus::Level& level,
                    SimDuration now);

  std::vector<Planned> jobs_;
  std::vector<Progress> progress_;      ///< [jobs], and one that is before the first and behind the last
  std::vector<std::uint32_t> running_;  ///< numbers of all that run, and some that do no longer
};

void EdfSchedule::begin(const SchedulingPass& pass, std::span<const Entry> entries) {
  const auto num_jobs = static_cast<std::uint32_t>(entries.size());
  jobs_.resize(num_jobs);
  progress_.assign(num_jobs + std::size_t{1}, {});
  running_.clear();
  bool exact = true;
  for (std::uint32_t i = 0; i <= num_jobs; ++i) {
    Progress& progress = progress_[i];
    progress.previous = i == 0 ? num_jobs : i - 1;
    progress.next = i == num_jobs ? 0 : i + 1;
    if (i == num_jobs) break;
    const Entry& entry = entries[i];
    exact &= !entry.is_elastic;
    jobs_[i] = {entry.deadline - pass.now() - (exact ? SimDuration(0) : kMargin), exact, kNever};
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
  hand_out(pass, entries, 0, pass.usable_gpus(), 0, SimDuration(0));
  while (true) {
    SimDuration next = kNever;
    bool all_have_most = true;
    std::erase_if(running_, [&](std::uint32_t number) {
      Progress& progress = progress_[number];
      progress.is_listed = progress.level.num_gpus.value > 0;
      if (!progress.is_listed) return true;
      next = std::min(next, jobs_[number].end);
      all_have_most = all_have_most && progress.level.num_gpus == entries[number].most.num_gpus;
      return false;
    });
    // Nobody else can ever run on what is in service, or ends while the clock can tell; or all run to their
    // ends as they do.
    if (next == kNever || (all_have_most && running_.size() == num_live)) return;
    if (watched < jobs_.size() && next > jobs_[watched].latest && jobs_[watched].is_late()) return;
    std::uint32_t first = UINT32_MAX;
    std::uint32_t last = 0;
    for (const std::uint32_t number : running_) {
      Progress& ended = progress_[number];
      if (jobs_[number].end > next) continue;
      ended.level = {};
      progress_[ended.previous].next = ended.next;
      progress_[ended.next].previous = ended.previous;
      first = std::min(first, number);
      last = std::max(last, number);
      --num_live;
    }
    if (num_live == 0) return;
    const Progress& ended = progress_[first];
    hand_out(pass, entries, progress_[ended.previous].next, ended.gpus_before, last, next);
  }
}

void EdfSchedule::hand_out(const SchedulingPass& pass, std::span<const Entry> entries, std::uint32_t first,
                           GpuCount gpus, std::uint32_t last, SimDuration now) {
  for (std::uint32_t number = first; number < entries.size(); number = progress_[number].next) {
    const Entry& entry = entries[number];
    Progress& progress = progress_[number];
    if (number > last && progress.gpus_before == gpus) return;
    progress.gpus_before = gpus;
    SpeedByGpus::Level level = entry.most;
    if (gpus < entry.least)
      level = {};
    else if (gpus < entry.most.num_gpus)
      level = fastest_level(pass.job(entry.job), pass.curve(entry.job), gpus);
    if (level.num_gpus != progress.level.num_gpus) change_level(entry, number, level, now);
    gpus -= level.num_gpus;
  }
}

void EdfSchedule::change_level(const Entry& entry, std::uint32_t number, const SpeedByGpus::Level& level,
                               SimDuration now) {
  Progress& progress = progress_[number];
  if (progress.level.num_gpus.value > 0) {
    if (entry.is_elastic)
      progress.iterations -= progress.level.iterations_per_s * to_seconds(now - progress.since);
    else
      progress.left -= now - progress.since;
  }
  progress.level = level;
  progress.since = now;
  jobs_[number].end = kNever;
  if (level.num_gpus.value == 0) return;
  const SimDuration time =
      entry.is_elastic ? time_for_iterations(progress.iterations, level.iterations_per_s) : progress.left;
  jobs_[number].end = saturating_sum(now, time);
  if (!progress.is_listed) running_.push_back(number);
  progress.is_listed = true;
}

class EdfAdmission final : public ElasticEdf {
 public:
  EdfAdmission() : ElasticEdf(EdfGrowth::Greedy) {}

 private:
  bool admits(const SchedulingPass& pass, JobId job) override;

  std::vector<EdfSchedule::Entry> admitted_;  ///< live ones with a deadline, in the order of deadlines
  EdfSchedule with_;                          ///< the last one with the job that asked
  EdfSchedule without_;
};

bool EdfAdmission::admits(const SchedulingPass& pass, JobId id) {
  std::erase_if(admitted_, [&](const EdfSchedule::Entry& entry) { return !pass.is_live(entry.job); });
  const EdfSchedule::Entry asks(pass, id);
  if (!pass.job(id).has_deadline()) return true;
  const auto place = std::ranges::upper_bound(admitted_, asks.deadline, {}, &EdfSchedule::Entry::deadline);
  const auto index = place - admitted_.begin();
  admitted_.insert(place, asks);
  with_.follow(pass, admitted_, static_cast<std::size_t>(index));
  const std::span<const EdfSchedule::Planned> with = with_.jobs();
  const bool is_late = with[static_cast<std::size_t>(index)].is_late();
  if (!is_late && std::ranges::none_of(with, &EdfSchedule::Planned::is_late)) return true;
  admitted_.erase(admitted_.begin() + index);
  if (is_late) return false;
  // Who is late anyway does not count, unless he would be later.
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
