#include "policies/elasticflow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sched/cluster.hpp"
#include "sched/elasticflow_overhead.hpp"

namespace vtrain {
namespace {

constexpr double kHighest = std::numeric_limits<double>::infinity();

}  // namespace

void ElasticFlow::decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) {
  if (plans_.empty()) plans_.resize(pass.jobs().size());
  context_ = {.now = now, .slot = slot(), .cluster_gpus = cluster_gpus()};
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
  if (options_.overhead == DecisionOverhead::Table) charge_overhead(pass);
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

bool ElasticFlow::feasible(std::vector<std::uint32_t> jobs) const {
  std::ranges::stable_sort(jobs, {}, [this](std::uint32_t id) { return live_job(id).deadline; });
  GpuTimeline free(context_.now, context_.cluster_gpus);
  return std::ranges::all_of(jobs, [&](std::uint32_t id) {
    SharePlan plan = fill_share(live_job(id), context_, free);
    free = std::move(plan.free);
    return plan.finished <= live_job(id).deadline;
  });
}

void ElasticFlow::admit(SchedulingPass& pass, const std::vector<std::uint32_t>& arrived) {
  if (arrived.empty()) return;
  const auto live_with = [this](const std::vector<std::uint32_t>& others) {
    std::vector<std::uint32_t> jobs = live_;
    jobs.insert(jobs.end(), others.begin(), others.end());
    return jobs;
  };
  const bool all_admitted = options_.admission == AdmissionTest::Batch && feasible(live_with(arrived));
  for (const std::uint32_t id : arrived) {
    const bool admitted = all_admitted || live_job(id).best_effort ||
                          (options_.admission == AdmissionTest::Job && feasible(live_with({id})));
    if (admitted) {
      live_.push_back(id);
    } else {
      pass.reject(live_job(id).job);
    }
  }
}

void ElasticFlow::plan_all() {
  std::ranges::stable_sort(live_, {}, [this](std::uint32_t id) { return live_job(id).deadline; });
  free_ = GpuTimeline(context_.now, context_.cluster_gpus);
  for (const std::uint32_t id : live_) {
    SlottedJob& job = live_job(id);
    Planned& planned = plans_[id];
    planned.plan = fill_share(job, context_, free_);
    free_ = planned.plan.free;
    job.gpus = planned.plan.gpus.at(context_.now);
    job.end = planned.plan.end;
    job.finished = planned.plan.finished;
    job.planned = true;
  }
}

void ElasticFlow::try_larger(std::uint32_t id, std::int64_t spare) {
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
  planned.gain =
      job.gpus == 0 ? kHighest
                    : (planned.larger.gpu_seconds() - planned.plan.gpu_seconds()) / static_cast<double>(more);
}

void ElasticFlow::sort_by_gain() {
  // A job without GPUs goes first and one that cannot grow goes last, whatever the order of the others.
  const auto rank = [this](std::uint32_t id) {
    const double gain = plans_[id].gain;
    return options_.greedy == SpareGpus::Smallest && gain != kHighest && gain != -kHighest ? -gain : gain;
  };
  std::ranges::stable_sort(live_, std::ranges::greater{}, rank);
}

void ElasticFlow::give_spare_gpus() {
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

Result<std::unique_ptr<Policy>> make_elasticflow(const PolicyArguments& arguments) {
  ElasticFlowOptions options;
  const std::string_view admission = arguments["admission"];
  if (admission != "job" && admission != "batch")
    return fail(arguments.bad_value("admission", "job or batch"));
  options.admission = admission == "job" ? AdmissionTest::Job : AdmissionTest::Batch;
  const std::string_view greedy = arguments["greedy"];
  if (greedy != "smallest" && greedy != "largest")
    return fail(arguments.bad_value("greedy", "smallest or largest"));
  options.greedy = greedy == "smallest" ? SpareGpus::Smallest : SpareGpus::Largest;
  const std::string_view overhead = arguments["overhead"];
  if (overhead != "none" && overhead != "table")
    return fail(arguments.bad_value("overhead", "none or table"));
  options.overhead = overhead == "none" ? DecisionOverhead::None : DecisionOverhead::Table;
  const auto slot = parse_slot(arguments);
  if (!slot) return fail(slot.error());
  options.slot = *slot;
  return std::make_unique<ElasticFlow>(options);
}

}  // namespace vtrain
