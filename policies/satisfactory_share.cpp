#include "policies/satisfactory_share.hpp"

#include <algorithm>
#include <cmath>

namespace vtrain {
namespace {

/// One fill. Names: the due slot is the deadline, rounded up to whole slots from now.
class Fill {
 public:
  Fill(const SlottedJob& job, const FillContext& context, const GpuTimeline& free)
      : job_(job),
        context_(context),
        given_(free),
        free_(free),
        gpus_(context.now, 0),
        from_(context.now),
        due_(align_to_slot(context.now, job.deadline, context.slot)),
        left_(job.iterations_left) {
    if (due_ >= context.now) free_.split(due_);
  }

  SharePlan run(std::optional<std::int64_t> forced) {
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
    book_late(below, forced);
    return take_plan();
  }

 private:
  /// GPUs of at most `level` that are free at a step.
  std::int64_t fitting(std::int64_t level, std::int64_t free) const {
    return std::min(level, job_.level_within(free));
  }

  /// Work done from `begin` to the step at `end` on so many GPUs: the last slot counts up to the deadline
  /// only.
  double work(WholeSeconds begin, WholeSeconds end, std::int64_t gpus) const {
    return static_cast<double>((end == due_ ? job_.deadline : end) - begin) * job_.speed(gpus);
  }

  WholeSeconds seconds_for(double iterations, std::int64_t gpus) const {
    return static_cast<WholeSeconds>(std::ceil(iterations / job_.speed(gpus)));
  }
  WholeSeconds second_after(WholeSeconds begin, std::int64_t gpus) const {
    return static_cast<WholeSeconds>(std::ceil(static_cast<double>(begin) + left_ / job_.speed(gpus)));
  }

  SharePlan take_plan() {
    gpus_.merge();
    free_.merge();
    return {std::move(gpus_), end_, finished_, std::move(free_)};
  }

  /// What was free at `time` before this plan.
  std::int64_t given_before(WholeSeconds time) const { return given_.at(time - 1); }

  /// Holds the forced GPUs in the first step; true if the work is done in it.
  bool hold_first(std::int64_t gpus) {
    const auto steps = given_.steps();
    const WholeSeconds next = steps.size() > 1 ? steps[1].time : due_;
    gpus_.set(from_, gpus);
    finished_ = second_after(from_, gpus);
    end_ = align_to_slot(from_, finished_, context_.slot);
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

  /// The step from which on `level`, on every step up to the deadline, gets the work done.
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

  /// Books `level` from `full_from` on and the level below it before.
  void book_until_done(std::int64_t level, std::int64_t below, WholeSeconds full_from) {
    const std::vector<GpuTimeline::Step> steps(free_.steps().begin(), free_.steps().end());
    for (std::size_t i = 0; i < steps.size() && steps[i].time <= due_; ++i) {
      const WholeSeconds begin = steps[i].time;
      if (begin < from_) continue;
      const std::int64_t gpus = fitting(begin >= full_from ? level : below, steps[i].gpus);
      gpus_.set(begin, gpus);
      free_.add(begin, begin + 1, -gpus);
      if (gpus == 0) continue;
      const bool is_last = i + 1 == steps.size() || steps[i + 1].time > due_;
      const double done = is_last ? left_ : work(begin, steps[i + 1].time, gpus);
      if (begin < full_from || done < left_) {
        left_ -= done;
        continue;
      }
      const WholeSeconds seconds = seconds_for(left_, gpus);
      finished_ = begin + seconds;
      end_ = begin + align_to_slot(0, seconds, context_.slot);
      break;
    }
    if (!given_.has(end_)) free_.set(end_, given_before(end_));
  }

  /// Books a job that cannot be in time: `level` up to the deadline, then whatever it can hold.
  void book_late(std::int64_t level, std::optional<std::int64_t> forced) {
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
    end_ = align_to_slot(context_.now, finished_, context_.slot);
  }

  const SlottedJob& job_;
  const FillContext& context_;
  const GpuTimeline& given_;
  GpuTimeline free_;
  GpuTimeline gpus_;
  WholeSeconds from_;  ///< nothing is booked before
  WholeSeconds due_;
  double left_;  ///< iterations
  WholeSeconds end_ = 0;
  WholeSeconds finished_ = 0;
};

}  // namespace

double SharePlan::gpu_seconds() const {
  const auto steps = gpus.steps();
  double sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const WholeSeconds next = i + 1 < steps.size() ? steps[i + 1].time : end;
    sum += static_cast<double>(steps[i].gpus) * static_cast<double>(next - steps[i].time);
  }
  return sum;
}

SharePlan fill_share(const SlottedJob& job, const FillContext& context, const GpuTimeline& free,
                     std::optional<std::int64_t> forced) {
  return Fill(job, context, free).run(forced);
}

}  // namespace vtrain
