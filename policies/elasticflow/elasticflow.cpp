#include "policies/elasticflow/elasticflow.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "policies/base/earliest_deadline.hpp"
#include "policies/base/policies.hpp"
#include "policies/elasticflow/plans_memory.hpp"
#include "policies/promises/promise_policy.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/interruption_cost.hpp"
#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {
namespace {

/// `elasticflow` that knows costs: its own plans where there are none and any free GPUs will do, otherwise
/// plans that count them.
class CostedElasticFlow final : public Policy {
 public:
  explicit CostedElasticFlow(const ElasticFlowOptions& options) : free_(options) {}

  void begin(const SchedulingPass& view) override {
    if (view.has_costs() || !view.takes_any_gpus()) chosen_ = &costed_;
    chosen_->begin(view);
  }
  bool can_begin_with_jobs() const override { return true; }
  std::shared_ptr<const PolicyMemory> memory(const SchedulingPass& view,
                                             std::span<const JobId> live) const override {
    return chosen_->memory(view, live);
  }
  Result<std::shared_ptr<const PolicyMemory>> read_memory(const nlohmann::json& memory,
                                                          const SimulationState& state) const override {
    auto read = free_.read_memory(memory, state);
    return read || read.error().field != "kind" ? read : costed_.read_memory(memory, state);
  }
  bool gives_promises() const override { return true; }
  bool decides_at_once() const override { return chosen_->decides_at_once(); }
  void schedule(SchedulingPass& pass) override { chosen_->schedule(pass); }
  ProgressRule progress_rule() const override { return ProgressRule::Policy; }
  bool supports_disruptions() const override { return true; }
  bool chooses_types() const override { return true; }
  std::vector<PolicyFigure> figures() const override { return chosen_->figures(); }
  std::optional<SimTime> considers_at(const SchedulingPass& pass, JobId job) const override {
    return chosen_->considers_at(pass, job);
  }
  WaitCause holds_back(const SchedulingPass& pass, JobId job) const override {
    return chosen_->holds_back(pass, job);
  }

 private:
  ElasticFlow free_;
  PromisePolicy costed_{{.only_promised = true}};
  Policy* chosen_ = &free_;
};

}  // namespace

std::shared_ptr<const PolicyMemory> ElasticFlow::memory(const SchedulingPass& view,
                                                        std::span<const JobId> live) const {
  auto memory = std::make_shared<PlansMemory>(slot());
  if (!options_.keeps_plans() || !remember(view, live, *memory)) return {};
  for (const SharePlanner& planner : planners_) {
    memory->plans.push_back(planner.plans());
    std::vector<std::pair<std::uint32_t, SharePlan>>& jobs = memory->plans.back().jobs;
    // Jobs that have ended by themselves since need no plan.
    std::erase_if(jobs, [&](auto& plan) { return !std::ranges::binary_search(live, JobId(plan.first)); });
    for (auto& [id, plan] : jobs)
      id = static_cast<std::uint32_t>(std::ranges::lower_bound(live, JobId(id)) - live.begin());
  }
  memory->next_change = next_change_;
  return memory;
}

void ElasticFlow::begin(const SchedulingPass& view) {
  SlottedPolicy::begin(view);
  const auto* const memory = dynamic_cast<const PlansMemory*>(memory_of(view));
  if (memory == nullptr) return;
  planners_.resize(memory->plans.size());
  for (std::size_t type = 0; type < planners_.size(); ++type) {
    planners_[type].take_over(memory->plans[type], [this](std::uint32_t id) {
      return PlannerJob{id, &live_job(id)};
    });
  }
  next_change_ = memory->next_change;
}

void ElasticFlow::decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) {
  plan_live(pass, now);
  admit(pass, arrived);
  scale(now);
  if (options_.overhead == DecisionOverhead::Table) charge_overhead(pass);
}

void ElasticFlow::plan_live(const SchedulingPass& pass, WholeSeconds now) {
  const GpusByType* const by_type = types(pass);
  planners_.resize(by_type == nullptr ? 1 : by_type->total().size());
  std::vector<std::vector<PlannerJob>> live(planners_.size());
  for (const std::uint32_t id : live_)
    live[live_job(id).type.value_or(0)].push_back({id, &live_job(id)});
  for (std::size_t type = 0; type < planners_.size(); ++type) {
    const std::int64_t gpus = by_type == nullptr ? cluster_gpus() : by_type->total()[type];
    planners_[type].plan_live({.now = now,
                               .slot = slot(),
                               .cluster_gpus = gpus,
                               .drops_hopeless = pass.run_times_differ(),
                               .keeps_plans = keeps_plans(pass)},
                              std::move(live[type]));
  }
}

bool ElasticFlow::try_admit(const std::vector<std::uint32_t>& arrived, bool always) {
  std::vector<PlannerJob> newcomers;
  for (const std::uint32_t id : arrived)
    newcomers.push_back({id, &live_job(id)});
  if (!planners_.front().test(std::move(newcomers), always)) return false;
  planners_.front().admit();
  return true;
}

bool ElasticFlow::try_admit_on_types(const SchedulingPass& pass, std::uint32_t id) {
  SlottedJob& job = live_job(id);
  std::optional<std::uint32_t> best;
  double least_load = 0;
  for (const std::uint32_t type : types(pass)->allowed(pass.job(job.job).gpu_type)) {
    if (!use_type(pass, job, type) || !planners_[type].test({{id, &job}}, job.best_effort)) continue;
    const double load = planners_[type].tested_load();
    if (best && load >= least_load) continue;
    best = type;
    least_load = load;
  }
  if (!best) return false;
  // Each planner has made one test, and the job must be as it was then.
  use_type(pass, job, *best);
  planners_[*best].admit();
  return true;
}

void ElasticFlow::admit(SchedulingPass& pass, const std::vector<std::uint32_t>& arrived) {
  if (arrived.empty()) return;
  if (options_.admission == AdmissionTest::Batch && try_admit(arrived, false)) {
    for (const std::uint32_t id : arrived)
      pass.promise(live_job(id).job);
    return;
  }
  for (const std::uint32_t id : arrived) {
    const bool best_effort = live_job(id).best_effort;
    const bool tested = best_effort || options_.admission == AdmissionTest::Job;
    const bool admitted =
        tested && (types(pass) == nullptr ? try_admit({id}, best_effort) : try_admit_on_types(pass, id));
    const JobId job = live_job(id).job;
    if (admitted)
      pass.promise(job);
    else
      pass.reject(job, pass.explains(job) && tested ? admitting_deadline(pass, id) : std::nullopt);
  }
}

std::optional<SimTime> ElasticFlow::admitting_deadline(const SchedulingPass& pass, std::uint32_t id) {
  SlottedJob& job = live_job(id);
  const auto is_admitted = [&](SimTime deadline) {
    job.deadline = whole_seconds_passed(deadline);
    if (types(pass) == nullptr) return planners_.front().test({{id, &job}}, false);
    return std::ranges::any_of(types(pass)->allowed(pass.job(job.job).gpu_type), [&](std::uint32_t type) {
      return use_type(pass, job, type) && planners_[type].test({{id, &job}}, false);
    });
  };
  return earliest_deadline(pass.now(), pass.job(job.job).deadline, std::chrono::seconds(slot()), is_admitted);
}

void ElasticFlow::scale(WholeSeconds now) {
  live_.clear();
  next_change_.reset();
  std::optional<WholeSeconds> first_end;
  for (SharePlanner& planner : planners_) {
    const auto order = planner.scale(options_.greedy);
    for (const std::uint32_t index : order) {
      const PlannedJob& planned = std::as_const(planner).planned()[index];
      live_.push_back(planned.id);
      if (!first_end || planned.plan.end < *first_end) first_end = planned.plan.end;
      for (const GpuTimeline::Step& step : planned.plan.gpus.steps()) {
        if (step.time <= now) continue;
        if (!next_change_ || step.time < *next_change_) next_change_ = step.time;
        break;
      }
    }
  }
  std::ranges::stable_sort(live_, std::ranges::greater{},
                           [this](std::uint32_t id) { return live_job(id).gpus; });
  // A change is an event of its own only before all planned ends, also if overhead moves these.
  if (next_change_ && *next_change_ >= *first_end) next_change_.reset();
}

void ElasticFlow::charge_overhead(const SchedulingPass& pass) {
  if (!node_sets_)
    node_sets_.emplace(pass.cluster().total_nodes(), cluster_gpus() / pass.cluster().total_nodes());
  std::vector<NodeSets::Gang> gangs;
  for (const std::uint32_t id : live_) {
    if (live_job(id).gpus > 0) gangs.push_back({id, live_job(id).gpus});
  }
  node_sets_->place(gangs);
  const bool restart = num_decisions_ > 0 && num_decisions_ % slot() == 0;
  ++num_decisions_;
  if (restart) node_sets_->forget();
  for (const NodeSets::Gang& gang : gangs) {
    SlottedJob& job = live_job(gang.id);
    job.overhead = node_sets_->is_warm(gang.id)
                       ? elasticflow_base_overhead(cluster_gpus())
                       : elasticflow_start_overhead(gang.gpus, cluster_gpus(), restart);
    job.end += static_cast<WholeSeconds>(std::ceil(job.overhead));
  }
}

MadePolicy make_elasticflow(const PolicyArguments& arguments) {
  ElasticFlowOptions options;
  options.admission = arguments["admission"] == "job" ? AdmissionTest::Job : AdmissionTest::Batch;
  options.greedy = arguments["greedy"] == "smallest" ? SpareGpus::Smallest : SpareGpus::Largest;
  options.overhead = arguments["overhead"] == "none" ? DecisionOverhead::None : DecisionOverhead::Table;
  const auto slot = parse_slot(arguments);
  if (!slot) return fail(slot.error());
  options.slot = *slot;
  if (options.keeps_plans() && arguments["costs"] == "known")
    return std::make_unique<CostedElasticFlow>(options);
  return std::make_unique<ElasticFlow>(options);
}

}  // namespace vtrain
