#include "tests/unit/policies/elasticflow_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "policies/base/gpu_timeline.hpp"
#include "policies/elasticflow/satisfactory_share.hpp"
#include "policies/elasticflow/slotted_policy.hpp"

namespace vtrain::testing {
namespace {

constexpr double kHighest = std::numeric_limits<double>::infinity();

/// A share plan, and the GPUs that it leaves free.
struct ReferencePlan {
  GpuTimeline gpus;
  WholeSeconds end = 0;
  WholeSeconds finished = 0;
  GpuTimeline free;

  double gpu_seconds() const {
    const auto steps = gpus.steps();
    double sum = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const WholeSeconds next = i + 1 < steps.size() ? steps[i + 1].time : end;
      sum += static_cast<double>(steps[i].gpus) * static_cast<double>(next - steps[i].time);
    }
    return sum;
  }
};

/// One fill of a job's share plan. The due time is the deadline, rounded up to whole slots from now.
class Fill {
 public:
  Fill(const SlottedJob& job, const FillContext& context, const GpuTimeline& free)
      : job_(job),
        context_(context),
        given_(free),
        free_(free),
        gpus_(context.now, 0),
        from_(context.now),
        due_(context.slot_from(job.deadline)),
        left_(job.iterations_left) {
    if (due_ >= context.now) free_.split(due_);
  }

  ReferencePlan run(std::optional<std::int64_t> forced) {
    if (forced && hold_first(*forced)) return take_plan();
    std::int64_t below = 0;
    for (std::int64_t level = job_.level_above(0); level <= job_.max_gpus; level = job_.level_above(level)) {
      if (level == below) break;
      for (const GpuTimeline::Step& step : free_.steps()) {
        if (step.time < due_ && !gpus_.has(step.time)) gpus_.set(step.time, 0);
      }
      if (const auto full_from = enough_from(level)) {
        book_until_done(level, below, *full_from);
        return take_plan();
      }
      below = level;
    }
    book_past_deadline(below, forced);
    return take_plan();
  }

 private:
  /// Largest level up to `level` that fits into the free GPUs of a step.
  std::int64_t fitting(std::int64_t level, std::int64_t free) const {
    return std::min(level, job_.level_within(free));
  }

  /// Work done from `begin` to the step at `end` on `gpus` GPUs; the last slot counts only up to the
  /// deadline.
  double work(WholeSeconds begin, WholeSeconds end, std::int64_t gpus) const {
    return static_cast<double>((end == due_ ? job_.deadline : end) - begin) * job_.speed(gpus);
  }

  WholeSeconds second_after(WholeSeconds begin, std::int64_t gpus) const {
    const double seconds = left_ / job_.speed(gpus);
    if (context_.keeps_plans) return begin + kept_seconds(seconds);
    return static_cast<WholeSeconds>(std::ceil(static_cast<double>(begin) + seconds));
  }

  ReferencePlan take_plan() {
    gpus_.merge();
    free_.merge();
    return {std::move(gpus_), end_, finished_, std::move(free_)};
  }

  /// GPUs that were free in the second before `time`, without this plan.
  std::int64_t given_before(WholeSeconds time) const { return given_.at(time - 1); }

  /// Holds the forced GPUs in the first step; true if the work is done in it.
  bool hold_first(std::int64_t gpus) {
    const auto steps = given_.steps();
    const WholeSeconds next = steps.size() > 1 ? steps[1].time : due_;
    gpus_.set(from_, gpus);
    finished_ = second_after(from_, gpus);
    end_ = context_.slot_from(finished_);
    free_.add(from_, from_ + 1, -gpus);
    if (next >= end_ && job_.deadline >= finished_) {
      if (!given_.has(end_)) free_.set(end_, given_before(end_));
      return true;
    }
    left_ -= work(from_, next, gpus);
    from_ = next;
    gpus_.set(from_, 0);
    return false;
  }

  /// The step from which `level`, on every step up to the deadline, completes the work.
  std::optional<WholeSeconds> enough_from(std::int64_t level) const {
    double done = 0;
    WholeSeconds next = due_;
    const auto steps = free_.steps();
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (step->time >= due_) continue;
      if (step->time < from_) break;
      if (const std::int64_t gpus = fitting(level, step->gpus); gpus > 0) {
        done += work(step->time, next, gpus);
        if (done >= left_) return step->time;
      }
      next = step->time;
    }
    return std::nullopt;
  }

  /// Books `level` from `full_from`, and the level below it before that.
  void book_until_done(std::int64_t level, std::int64_t below, WholeSeconds full_from) {
    const std::vector<GpuTimeline::Step> steps(free_.steps().begin(), free_.steps().end());
    // If rounding leaves no step to finish in.
    finished_ = job_.deadline;
    end_ = due_;
    for (std::size_t i = 0; i < steps.size() && steps[i].time <= due_; ++i) {
      const WholeSeconds begin = steps[i].time;
      if (begin < from_) continue;
      const std::int64_t gpus = fitting(begin >= full_from ? level : below, steps[i].gpus);
      gpus_.set(begin, gpus);
      free_.add(begin, begin + 1, -gpus);
      if (gpus == 0) continue;
      const bool is_last = i + 1 == steps.size() || steps[i + 1].time > due_;
      const double done = is_last ? left_ : work(begin, steps[i + 1].time, gpus);
      if (begin < full_from || done + context_.rounding_time() * job_.speed(gpus) < left_) {
        left_ -= done;
        continue;
      }
      finished_ = begin + context_.whole_seconds(left_ / job_.speed(gpus));
      end_ = context_.slot_from(finished_);
      break;
    }
    if (!given_.has(end_)) free_.set(end_, given_before(end_));
  }

  /// Books a job that cannot meet its deadline: `level` up to the deadline, then as many GPUs as it can use.
  void book_past_deadline(std::int64_t level, std::optional<std::int64_t> forced) {
    const std::vector<GpuTimeline::Step> steps(free_.steps().begin(), free_.steps().end());
    for (std::size_t i = 0; i + 1 < steps.size() && steps[i + 1].time <= due_; ++i) {
      const WholeSeconds begin = steps[i].time;
      if (begin < from_) continue;
      const std::int64_t gpus = fitting(level, steps[i].gpus);
      gpus_.set(begin, gpus);
      free_.add(begin, begin + 1, -gpus);
      if (gpus > 0) left_ -= work(begin, steps[i + 1].time, gpus);
    }
    WholeSeconds begin = std::max(due_, from_);
    for (const GpuTimeline::Step& step : steps) {
      if (step.time <= due_ || step.time <= begin) continue;
      const std::int64_t given = free_.at(begin);
      const std::int64_t gpus = job_.level_within(given);
      gpus_.set(begin, gpus);
      if (gpus > 0) {
        const double done = static_cast<double>(step.time - begin) * job_.speed(gpus);
        if (done >= left_) {
          finish_late(begin, gpus);
          free_.set(begin, given - gpus);
          if (!given_.has(end_)) free_.set(end_, given);
          return;
        }
        left_ -= done;
        free_.add(begin, step.time, -gpus);
      }
      begin = step.time;
    }
    const std::int64_t gpus = forced.value_or(job_.max_gpus);
    gpus_.set(begin, gpus);
    finish_late(begin, gpus);
    free_.set(begin, context_.cluster_gpus - gpus);
    free_.set(end_, context_.cluster_gpus);
  }

  void finish_late(WholeSeconds begin, std::int64_t gpus) {
    finished_ = second_after(begin, gpus);
    end_ = context_.slot_from(finished_);
  }

  const SlottedJob& job_;
  const FillContext& context_;
  const GpuTimeline& given_;
  GpuTimeline free_;
  GpuTimeline gpus_;
  WholeSeconds from_;  ///< first second that may be booked
  WholeSeconds due_;
  double left_;  ///< remaining iterations
  WholeSeconds end_ = 0;
  WholeSeconds finished_ = 0;
};

ReferencePlan fill_share(const SlottedJob& job, const FillContext& context, const GpuTimeline& free,
                         std::optional<std::int64_t> forced = std::nullopt) {
  return Fill(job, context, free).run(forced);
}

class ReferenceElasticFlow final : public SlottedPolicy {
 public:
  explicit ReferenceElasticFlow(const ElasticFlowOptions& options)
      : SlottedPolicy(options.slot, options.keeps_plans()), options_(options) {}

 private:
  /// A live job's plan, and its plan with the next level now.
  struct Planned {
    ReferencePlan plan;
    ReferencePlan larger;
    std::int64_t larger_gpus = 0;
    double gain = 0;  ///< additional GPU-seconds of `larger` over `plan`, per GPU
  };

  void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) override {
    plans_.resize(pass.jobs().size());
    context_ = {.now = now, .slot = slot(), .cluster_gpus = cluster_gpus(), .keeps_plans = keeps_plans(pass)};
    keep_plans();
    find_lost();
    admit(pass, arrived);
    plan_all();
    give_spare_gpus();

    std::ranges::stable_sort(live_, std::ranges::greater{},
                             [this](std::uint32_t id) { return live_job(id).gpus; });
    next_change_.reset();
    std::optional<WholeSeconds> first_end;
    for (const std::uint32_t id : live_) {
      if (!first_end || live_job(id).end < *first_end) first_end = live_job(id).end;
      for (const GpuTimeline::Step& step : plans_[id].plan.gpus.steps()) {
        if (step.time <= now) continue;
        if (!next_change_ || step.time < *next_change_) next_change_ = step.time;
        break;
      }
    }
    // A change is an event of its own only before all planned ends, wherever overhead moves these.
    if (next_change_ && *next_change_ >= *first_end) next_change_.reset();
  }

  /// Keeps the last decision's plans of jobs whose new plans would be late, one job after the other.
  void keep_plans() {
    kept_.clear();
    lost_.clear();
    context_.past_slot = 0;
    if (!context_.keeps_plans) return;
    for (auto late = first_late(live_); late; late = first_late(live_)) {
      kept_.push_back(*late);
      context_.past_slot = (context_.now - slots_from_) % slot();
    }
    if (kept_.empty()) slots_from_ = context_.now;
  }

  /// Finds the jobs that are late because nodes went out of service, independent of other admissions.
  void find_lost() {
    lost_.clear();
    GpuTimeline free(context_.now, context_.cluster_gpus);
    for (const std::uint32_t id : in_order(live_)) {
      ReferencePlan plan = next_plan(id, free);
      free = std::move(plan.free);
      if (live_job(id).disrupted && plan.finished > live_job(id).deadline) lost_.insert(id);
    }
  }

  /// Jobs in the order of planning: first jobs that keep their plans, then by deadline.
  std::vector<std::uint32_t> in_order(std::vector<std::uint32_t> jobs) const {
    std::ranges::stable_sort(jobs, {}, [this](std::uint32_t id) {
      return std::pair(std::ranges::find(kept_, id) - kept_.begin(), live_job(id).deadline);
    });
    return jobs;
  }

  /// The remaining plan of the last decision for a job that keeps it, otherwise a new plan.
  ReferencePlan next_plan(std::uint32_t id, const GpuTimeline& free) const {
    if (std::ranges::find(kept_, id) == kept_.end()) return fill_share(live_job(id), context_, free);
    const ReferencePlan& old = plans_[id].plan;
    ReferencePlan plan{GpuTimeline(context_.now, old.gpus.at(context_.now)), old.end, old.finished, free};
    for (const GpuTimeline::Step& step : old.gpus.steps()) {
      if (step.time > context_.now) plan.gpus.append(step.time, step.gpus);
    }
    plan.free.split(plan.end);
    for (const GpuTimeline::Step& step : plan.gpus.steps())
      plan.free.split(step.time);
    const auto steps = plan.free.steps();
    for (const GpuTimeline::Step& step : std::vector<GpuTimeline::Step>(steps.begin(), steps.end())) {
      if (step.time < plan.end) plan.free.add(step.time, step.time + 1, -plan.gpus.at(step.time));
    }
    plan.free.merge();
    return plan;
  }

  std::optional<std::uint32_t> first_late(const std::vector<std::uint32_t>& jobs) const {
    GpuTimeline free(context_.now, context_.cluster_gpus);
    for (const std::uint32_t id : in_order(jobs)) {
      ReferencePlan plan = next_plan(id, free);
      free = std::move(plan.free);
      if (plan.finished > live_job(id).deadline && !lost_.contains(id)) return id;
    }
    return std::nullopt;
  }

  void admit(SchedulingPass& pass, const std::vector<std::uint32_t>& arrived) {
    if (arrived.empty()) return;
    const auto live_with = [this](const std::vector<std::uint32_t>& others) {
      std::vector<std::uint32_t> jobs = live_;
      jobs.insert(jobs.end(), others.begin(), others.end());
      return jobs;
    };
    const bool all_admitted = options_.admission == AdmissionTest::Batch && !first_late(live_with(arrived));
    for (const std::uint32_t id : arrived) {
      const bool admitted = all_admitted || live_job(id).best_effort ||
                            (options_.admission == AdmissionTest::Job && !first_late(live_with({id})));
      if (admitted) {
        live_.push_back(id);
      } else {
        pass.reject(live_job(id).job);
      }
    }
  }

  void plan_all() {
    live_ = in_order(live_);
    free_ = GpuTimeline(context_.now, context_.cluster_gpus);
    for (const std::uint32_t id : live_) {
      SlottedJob& job = live_job(id);
      Planned& planned = plans_[id];
      planned.plan = next_plan(id, free_);
      free_ = planned.plan.free;
      job.gpus = planned.plan.gpus.at(context_.now);
      job.end = planned.plan.end;
      job.finished = planned.plan.finished;
      job.planned = true;
    }
  }

  void try_larger(std::uint32_t id, std::int64_t spare) {
    const SlottedJob& job = live_job(id);
    Planned& planned = plans_[id];
    const std::int64_t more = planned.larger_gpus - job.gpus;
    planned.gain = -kHighest;
    if (more == 0 || more > spare) return;
    // Give back what the job has booked, then plan it again.
    GpuTimeline free = free_;
    free.split(planned.plan.end);
    std::int64_t booked = 0;
    for (const GpuTimeline::Step& step : planned.plan.gpus.steps()) {
      free.split(step.time);
      free.add(step.time, planned.plan.end, step.gpus - booked);
      booked = step.gpus;
    }
    free.merge();
    planned.larger = fill_share(job, context_, free, planned.larger_gpus);
    planned.gain = job.gpus == 0 ? kHighest
                                 : (planned.larger.gpu_seconds() - planned.plan.gpu_seconds()) /
                                       static_cast<double>(more);
  }

  void sort_by_gain() {
    // A job without GPUs goes first and one that cannot grow goes last, whatever the order of the others.
    const auto rank = [this](std::uint32_t id) {
      const double gain = plans_[id].gain;
      return options_.greedy == SpareGpus::Smallest && gain != kHighest && gain != -kHighest ? -gain : gain;
    };
    std::ranges::stable_sort(live_, std::ranges::greater{}, rank);
  }

  void give_spare_gpus() {
    std::int64_t spare = context_.cluster_gpus;
    for (const std::uint32_t id : live_) {
      spare -= live_job(id).gpus;
      plans_[id].larger_gpus = live_job(id).level_above(live_job(id).gpus);
    }
    if (spare == 0) return;
    for (const std::uint32_t id : live_)
      try_larger(id, spare);
    sort_by_gain();
    for (bool grew = true; grew && spare > 0;) {
      grew = false;
      for (const std::uint32_t id : live_) {
        SlottedJob& job = live_job(id);
        Planned& planned = plans_[id];
        const std::int64_t more = planned.larger_gpus - job.gpus;
        if (more == 0 || more > spare) continue;
        if (context_.keeps_plans && planned.larger.finished > job.deadline &&
            planned.plan.finished <= job.deadline) {
          // A job that is in time does not grow into being late.
          planned.larger_gpus = job.gpus;
          continue;
        }
        planned.plan = planned.larger;
        free_ = planned.plan.free;
        job.gpus = planned.larger_gpus;
        job.end = planned.plan.end;
        job.finished = planned.plan.finished;
        spare -= more;
        planned.larger_gpus = job.level_above(job.gpus);
        grew = true;
        break;
      }
      for (const std::uint32_t id : live_) {
        if (plans_[id].larger_gpus > live_job(id).gpus) try_larger(id, spare);
      }
      sort_by_gain();
    }
  }

  std::optional<WholeSeconds> next_change() const override { return next_change_; }

  ElasticFlowOptions options_;
  FillContext context_;
  GpuTimeline free_;
  std::vector<Planned> plans_;  ///< plans by `JobId`
  std::set<std::uint32_t> lost_;
  std::vector<std::uint32_t> kept_;  ///< jobs that keep their plans of the last decision
  WholeSeconds slots_from_ = 0;
  std::optional<WholeSeconds> next_change_;
};

}  // namespace

std::unique_ptr<Policy> reference_elasticflow(const ElasticFlowOptions& options) {
  return std::make_unique<ReferenceElasticFlow>(options);
}

}  // namespace vtrain::testing
