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
//    (`count` placement). A test costs O(n) walks of the list of the n admitted jobs with a deadline.
#include <algorithm>
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
/// job gets no more than its `max_gpus`, if given, or the number it asks for, whichever is more. A rigid job
/// has one level, the number it asks for. 0 if the job cannot run on `num_gpus`.
GpuCount fastest_within(const SchedulingPass& pass, JobId id, GpuCount num_gpus) {
  const Job& job = pass.job(id);
  const SpeedByGpus* const curve = pass.curve(id);
  if (curve == nullptr) return job.num_gpus <= num_gpus ? job.num_gpus : GpuCount(0);
  const GpuCount most = job.max_gpus.value > 0 ? std::max(job.max_gpus, job.num_gpus) : num_gpus;
  SpeedByGpus::Level fastest;
  for (const SpeedByGpus::Level& level : curve->levels()) {
    if (level.num_gpus > std::min(num_gpus, most)) break;
    if (level.iterations_per_s > fastest.iterations_per_s) fastest = level;
  }
  return fastest.num_gpus;
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

  EdfGrowth growth_;
};

/// Margin before its deadline at which a job must end to be admitted, if its end follows from the speeds of
/// curves, its own or those of jobs before it. It is more than the sum of rounding to nanoseconds at every
/// event of their lives. Rigid jobs alone are followed exactly.
constexpr SimDuration kMargin = std::chrono::milliseconds(1);
/// Distance up to which two ends of such jobs are equal.
constexpr SimDuration kSame = std::chrono::microseconds(1);
constexpr SimDuration kNever = SimDuration::max();

class EdfAdmission final : public ElasticEdf {
 public:
  EdfAdmission() : ElasticEdf(EdfGrowth::Greedy) {}

 private:
  /// An admitted job in the schedule that is followed.
  struct Planned {
    JobId job;
    SimDuration left{0};    ///< time left of a rigid job
    double iterations = 0;  ///< iterations left of an elastic one
    SimDuration end{0};     ///< from now
    bool exact = true;      ///< whether no elastic job is among it and those before it
  };

  bool admits(const SchedulingPass& pass, JobId job) override;
  /// Follows the schedule of these jobs, which are in the order of deadlines, and sets their ends.
  static void follow(const SchedulingPass& pass, std::vector<Planned>& jobs);
  static Planned planned(const SchedulingPass& pass, JobId job);

  std::vector<JobId> admitted_;  ///< live ones with a deadline, in the order of deadlines
};

EdfAdmission::Planned EdfAdmission::planned(const SchedulingPass& pass, JobId job) {
  if (pass.curve(job) != nullptr) return {.job = job, .iterations = pass.remaining_iterations(job)};
  return {.job = job, .left = pass.remaining(job)};
}

void EdfAdmission::follow(const SchedulingPass& pass, std::vector<Planned>& jobs) {
  struct Run {
    Planned* planned;
    double speed;  ///< 0 for a rigid job
  };
  std::vector<Planned*> live;
  bool exact = true;
  for (Planned& planned : jobs) {
    planned.end = kNever;
    exact &= pass.curve(planned.job) == nullptr;
    planned.exact = exact;
    live.push_back(&planned);
  }
  std::vector<Run> running;
  SimDuration now(0);
  while (!live.empty()) {
    running.clear();
    GpuCount left = pass.usable_gpus();
    SimDuration next = kNever;
    for (Planned* const planned : live) {
      if (left.value == 0) break;
      const GpuCount gpus = fastest_within(pass, planned->job, left);
      if (gpus.value == 0) continue;
      left -= gpus;
      const SpeedByGpus* const curve = pass.curve(planned->job);
      const double speed = curve == nullptr ? 0 : curve->iterations_per_s(gpus);
      running.push_back({planned, speed});
      planned->end = saturating_sum(
          now, curve == nullptr ? planned->left : time_for_iterations(planned->iterations, speed));
      next = std::min(next, planned->end);
    }
    // Nobody else can ever run on what is in service, or ends while the clock can tell.
    if (next == kNever) return;
    // Rigid jobs that all run do so to their ends.
    if (exact && running.size() == live.size()) return;
    for (const Run& run : running) {
      if (run.planned->end <= next) {
        std::erase(live, run.planned);
        continue;
      }
      run.planned->end = kNever;
      if (run.speed > 0) {
        run.planned->iterations -= run.speed * to_seconds(next - now);
      } else {
        run.planned->left -= next - now;
      }
    }
    now = next;
  }
}

bool EdfAdmission::admits(const SchedulingPass& pass, JobId id) {
  std::erase_if(admitted_, [&](JobId job) { return !pass.is_live(job); });
  if (!pass.job(id).has_deadline()) return true;
  const auto deadline = [&](JobId job) { return pass.job(job).deadline; };
  const auto place = std::ranges::upper_bound(admitted_, deadline(id), {}, deadline);
  const auto index = place - admitted_.begin();
  std::vector<Planned> without;
  for (const JobId job : admitted_)
    without.push_back(planned(pass, job));
  std::vector<Planned> with = without;
  with.insert(with.begin() + index, planned(pass, id));
  follow(pass, with);
  const auto is_late = [&](const Planned& job) {
    return job.end > deadline(job.job) - pass.now() - (job.exact ? SimDuration(0) : kMargin);
  };
  if (is_late(with[static_cast<std::size_t>(index)])) return false;
  if (std::ranges::any_of(with, is_late)) {
    follow(pass, without);
    // Who is late anyway does not count, unless he would be later.
    with.erase(with.begin() + index);
    for (std::size_t i = 0; i < with.size(); ++i) {
      const SimDuration same = with[i].exact && without[i].exact ? SimDuration(0) : kSame;
      if (is_late(with[i]) && with[i].end > saturating_sum(without[i].end, same)) return false;
    }
  }
  admitted_.insert(place, id);
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
