#include "policies/edf_admission.hpp"

#include <algorithm>
#include <limits>

namespace vtrain {
namespace {

/// So much before its deadline a job must end to be admitted: more than what rounding to nanoseconds, at
/// every event of its life, may add up to.
constexpr double kMarginSeconds = 1e-3;
/// Ends closer than this are the same.
constexpr double kSameSeconds = 1e-6;
constexpr double kNever = std::numeric_limits<double>::infinity();

double speed_on(const SchedulingPass& pass, JobId job, GpuCount num_gpus) {
  const ThroughputLevels* const curve = pass.curve(job);
  return curve == nullptr ? 1 : curve->iterations_per_s(num_gpus);
}

}  // namespace

EdfAdmission::Planned EdfAdmission::planned(const SchedulingPass& pass, JobId job) {
  const bool rigid = pass.curve(job) == nullptr;
  return {.job = job, .left = rigid ? to_seconds(pass.remaining(job)) : pass.remaining_iterations(job)};
}

void EdfAdmission::follow(const SchedulingPass& pass, std::vector<Planned>& jobs) {
  struct Run {
    Planned* planned;
    double speed;
  };
  std::vector<Planned*> live;
  for (Planned& planned : jobs) {
    planned.end = kNever;
    live.push_back(&planned);
  }
  std::vector<Run> running;
  double now = 0;
  while (!live.empty()) {
    running.clear();
    GpuCount left = pass.usable_gpus();
    double next = kNever;
    for (Planned* const planned : live) {
      if (left.value == 0) break;
      const GpuCount gpus = fastest_within(pass, planned->job, left);
      if (gpus.value == 0) continue;
      left -= gpus;
      running.push_back({planned, speed_on(pass, planned->job, gpus)});
      planned->end = now + std::max(planned->left, 0.0) / running.back().speed;
      next = std::min(next, planned->end);
    }
    // Nobody else can ever run on what is in service.
    if (running.empty()) return;
    for (const Run& run : running) {
      if (run.planned->end <= next) {
        std::erase(live, run.planned);
      } else {
        run.planned->left -= run.speed * (next - now);
        run.planned->end = kNever;
      }
    }
    now = next;
  }
}

bool EdfAdmission::admits(const SchedulingPass& pass, JobId id) {
  std::erase_if(admitted_, [&](JobId job) {
    return pass.state(job) != JobState::Running && pass.state(job) != JobState::Waiting;
  });
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
    return job.end > to_seconds(deadline(job.job) - pass.now()) - kMarginSeconds;
  };
  if (is_late(with[static_cast<std::size_t>(index)])) return false;
  if (std::ranges::any_of(with, is_late)) {
    follow(pass, without);
    // Who is late anyway does not count, unless he would be later.
    with.erase(with.begin() + index);
    for (std::size_t i = 0; i < with.size(); ++i) {
      if (is_late(with[i]) && with[i].end > without[i].end + kSameSeconds) return false;
    }
  }
  admitted_.insert(place, id);
  return true;
}

Result<std::unique_ptr<Policy>> make_edf_admission(const PolicyArguments&) {
  return std::make_unique<EdfAdmission>();
}

}  // namespace vtrain
