#include "tools/live/suggestions.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "tools/format/plan_table.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/calibration/prediction_interval.hpp"

namespace vtrain {
namespace {

/// One thing to try.
struct Trial {
  std::string change{};
  std::string price{};
  std::function<void(EtaQuestion&, Job&)> apply{};
  bool is_shorter = false;  ///< helps even if the job starts no earlier
};

/// A copy whose texts are those of the original.
EtaQuestion copy_of(const EtaQuestion& question) {
  return {.cluster = question.cluster,
          .placement = question.placement,
          .workload = question.workload.copy_with_texts_of_this(),
          .state = question.state,
          .run_times = question.run_times,
          .calendar = question.calendar,
          .policy = question.policy,
          .make_policy = question.make_policy,
          .samples = question.samples,
          .seed = question.seed,
          .threads = question.threads};
}

class Search {
 public:
  Search(const ClusterNow& cluster, const JobEta& as_it_is, const PolicyRegistry& registry)
      : cluster_(cluster),
        question_(cluster.question),
        id_(as_it_is.job),
        job_(question_.workload.jobs[as_it_is.job.value]),
        registry_(registry),
        work_(cluster.works[as_it_is.job.value]),
        as_it_is_(as_it_is.start) {}

  Result<std::vector<Suggestion>> run() {
    for (const std::vector<Trial>& kind :
         {other_plans(), shorter_limits(), other_types(), other_partitions(), fewer_gpus()}) {
      for (const Trial& trial : kind) {
        auto start = start_after(trial);
        if (!start) return fail(std::move(start.error()));
        if (!helps(*start) && !trial.is_shorter) continue;
        found_.push_back({trial.change, trial.price, *start});
        break;
      }
    }
    return std::move(found_);
  }

 private:
  Result<LikelyTime> start_after(const Trial& trial) {
    EtaQuestion changed = copy_of(question_);
    changed.only = id_;
    trial.apply(changed, changed.workload.jobs[id_.value]);
    auto answer = estimate_starts(changed, registry_);
    if (!answer) return fail(std::move(answer.error()));
    return answer->jobs.front().start;
  }

  bool helps(const LikelyTime& start) const {
    if (!start.p50) return false;
    if (!as_it_is_.p50) return true;
    const SimDuration wait = *as_it_is_.p50 - question_.state.now;
    return *as_it_is_.p50 - *start.p50 >= std::max<SimDuration>(std::chrono::minutes(5), wait / 10);
  }

  /// The predicted time with the best plan on other GPUs; none where the job names no model, or nothing
  /// predicts it there.
  std::optional<TrainingTime> predicted(GpuCount gpus, std::string_view type) const {
    if (!work_) return std::nullopt;
    TrainingWork work = *work_;
    work.plan.clear();
    auto time = cluster_.training->predict(work, gpus, type);
    if (!time) return std::nullopt;
    return *std::move(time);
  }
  std::string own_type() const {
    return job_.gpu_type ? question_.workload.gpu_types[job_.gpu_type.value] : std::string();
  }
  /// `takes 3 h 10 m in place of 2 h 00 m`, by medians.
  std::string price_of(const TrainingTime& time) const {
    const std::vector<SimDuration>& own = question_.run_times[id_.value].values;
    return fmt::format("takes {} in place of {}",
                       as_duration(to_seconds(time.times.values[time.times.values.size() / 2])),
                       as_duration(to_seconds(own[own.size() / 2])));
  }
  /// Gives the job other run times, and a limit above all of them if it has one.
  void set_times(EtaQuestion& question, Job& job, const TrainingTime& time) const {
    std::vector<SimDuration>& values = question.run_times[id_.value].values;
    if (job.requested_time.count() > 0)
      job.requested_time = std::chrono::ceil<std::chrono::minutes>(time.times.values.back());
    job.duration = time.times.values.back();
    values = time.times.values;
  }

  /// The best plan, for a job that names another.
  std::vector<Trial> other_plans() const {
    if (!work_ || work_->plan.empty()) return {};
    const auto now = cluster_.training->predict(*work_, job_.num_gpus, own_type());
    const auto best = predicted(job_.num_gpus, own_type());
    if (!now || !best || best->iteration > now->iteration * (1 - kPlanDifference)) return {};
    return {{fmt::format("the plan {}", describe_plan(best->plan)), price_of(*best),
             [best, this](EtaQuestion& question, Job& job) { set_times(question, job, *best); }, true}};
  }

  std::vector<Trial> shorter_limits() const {
    const SimDuration longest = question_.run_times[id_.value].values.back();
    const SimDuration limit = std::chrono::ceil<std::chrono::minutes>(longest + longest / 20);
    if (limit >= job_.requested_time) return {};
    return {{fmt::format("a time limit of {}", as_duration(to_seconds(limit))), "past runs were shorter",
             [limit](EtaQuestion&, Job& job) { job.requested_time = limit; }}};
  }

  std::vector<Trial> other_types() const {
    std::vector<Trial> trials;
    if (!job_.gpu_type) return trials;
    const NameTable& names = question_.workload.gpu_types;
    trials.push_back({"GPUs of any type", "another type may be slower",
                      [](EtaQuestion&, Job& job) { job.gpu_type = {}; }});
    std::vector<std::string> seen = {names[job_.gpu_type.value]};
    for (const NodeGroup& group : question_.cluster.groups) {
      const std::string type = lower_case(group.gpu_type);
      if (type.empty() || std::ranges::find(seen, type) != seen.end()) continue;
      seen.push_back(type);
      const auto time = predicted(job_.num_gpus, type);
      trials.push_back({fmt::format("GPUs of type {}", type), time ? price_of(*time) : "they may be slower",
                        [type, time, this](EtaQuestion& question, Job& job) {
                          job.gpu_type = question.workload.gpu_type(type);
                          if (time) set_times(question, job, *time);
                        }});
    }
    return trials;
  }

  std::vector<Trial> other_partitions() const {
    std::vector<Trial> trials;
    const std::string own = job_.queue ? question_.workload.queues[job_.queue.value] : "";
    for (const std::string& name : cluster_.partitions) {
      if (name == own) continue;
      trials.push_back({fmt::format("partition {}", name), "", [name](EtaQuestion& question, Job& job) {
                          job.queue = question.workload.queue(name);
                        }});
    }
    return trials;
  }

  std::vector<Trial> fewer_gpus() const {
    std::vector<Trial> trials;
    for (std::int32_t gpus = job_.num_gpus.value / 2, times = 2; gpus >= 1; gpus /= 2, times *= 2) {
      const auto time = predicted(GpuCount(gpus), own_type());
      // A model whose time is not known on so few GPUs does not fit there.
      if (work_ && !time) continue;
      trials.push_back({count_of(gpus, "GPU"),
                        time ? price_of(*time) : fmt::format("takes {} times as long", times),
                        [gpus, times, time, this](EtaQuestion& question, Job& job) {
                          job.num_gpus = GpuCount(gpus);
                          if (time) {
                            set_times(question, job, *time);
                          } else {
                            job.requested_time *= times;
                            for (SimDuration& value : question.run_times[id_.value].values)
                              value *= times;
                          }
                          if (!job.requirements) return;
                          JobRequirements& needs = question.workload.requirements[job.requirements.value];
                          const std::int32_t per_node = std::max(needs.gpus_per_node.value, 1);
                          needs.num_nodes = std::max((gpus + per_node - 1) / per_node, 1);
                          needs.gpus_per_node = GpuCount(std::min(per_node, gpus));
                        }});
    }
    return trials;
  }

  const ClusterNow& cluster_;
  const EtaQuestion& question_;
  JobId id_;
  const Job& job_;
  const PolicyRegistry& registry_;
  const std::optional<TrainingWork>& work_;  ///< none: nothing predicts its run time
  const LikelyTime& as_it_is_;               ///< start without a change
  std::vector<Suggestion> found_;
};

}  // namespace

Result<std::vector<Suggestion>> suggest_changes(const ClusterNow& cluster, const JobEta& as_it_is,
                                                const PolicyRegistry& registry) {
  return Search(cluster, as_it_is, registry).run();
}

}  // namespace vtrain
