#include "policies/list/edf_admission.hpp"

#include <algorithm>
#include <vector>

#include "policies/list/elastic_edf.hpp"

namespace vtrain {
namespace {

/// So much before its deadline a job must end to be admitted whose end follows from the speeds of curves, its
/// own or those of jobs before it: more than what rounding to nanoseconds, at every event of their lives, may
/// add up to. Rigid jobs alone are followed exactly.
constexpr SimDuration kMargin = std::chrono::milliseconds(1);
/// Ends of such jobs that are no further apart are the same.
constexpr SimDuration kSame = std::chrono::microseconds(1);
constexpr SimDuration kNever = SimDuration::max();

class EdfAdmission final : public ElasticEdf {
 private:
  /// An admitted job in the schedule that is followed.
  struct Planned {
    JobId job;
    SimDuration left{0};    ///< of a rigid job
    double iterations = 0;  ///< left of an elastic one
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

Result<std::unique_ptr<Policy>> make_edf_admission(const PolicyArguments&) {
  return std::make_unique<EdfAdmission>();
}

}  // namespace vtrain
