#include "tools/serve/job_setting.hpp"

#include <utility>

#include <fmt/format.h>

#include "policies/registry.hpp"
#include "sched/cluster/node_table.hpp"
#include "tools/experiment/disruption_rules.hpp"
#include "tools/experiment/option_error.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain::serve {
namespace {

/// The costs of interruptions, for every model.
Result<std::optional<Disruptions>> read_costs(const std::string& rule, PlacementKind placement,
                                              const ClusterSpec& cluster, Workload workload) {
  DisruptionArguments arguments;
  arguments.interruption_cost = rule;
  std::vector<std::string> ignored;
  const auto rules = read_disruption_rules(arguments, placement, ignored);
  if (!rules) return fail(rules.error());
  for (std::uint32_t model = 0; model < workload.models.size(); ++model) {
    Job job;
    job.model = ModelId(model);
    workload.jobs.push_back(job);
  }
  return read_disruptions(arguments, *rules, workload, cluster, 1);
}

}  // namespace

Result<std::shared_ptr<const JobSetting>> JobSetting::read(JobsSetup setup,
                                                           const PricingArguments& arguments) {
  auto setting = std::make_shared<JobSetting>();
  setting->cluster_.groups = setup.cluster;
  const auto placement = parse_placement(setup.placement);
  if (!placement) return fail(in_option("--placement", placement.error()));
  setting->placement_ = *placement;
  std::vector<std::string> warnings;
  auto pricing = ClusterPricing::open(arguments, setting->cluster_, warnings);
  if (!pricing) return fail(std::move(pricing.error()));
  if (!pricing->missing_profile().empty())
    return fail({.field = "--profile", .message = pricing->missing_profile()});
  setting->pricing_ = std::make_shared<ClusterPricing>(*std::move(pricing));
  auto costs = read_costs(setup.interruption_cost, *placement, setting->cluster_, setting->no_jobs());
  if (!costs) return fail(in_option("--interruption-cost", std::move(costs.error())));
  setting->disruptions_ = *std::move(costs);
  setting->setup_ = std::move(setup);
  const NodeTable table(setting->cluster_, setting->no_jobs());
  for (std::size_t i = 0; i < table.nodes().size(); ++i)
    setting->nodes_.push_back({.name = fmt::format("node-{}", i + 1),
                               .gpu_type = table.types().names()[table.nodes()[i].type],
                               .gpus = table.nodes()[i].num_gpus});
  const auto begun = setting->begin({.workload = setting->no_jobs()});
  if (!begun) return fail(in_option("--policy", begun.error()));
  if (!begun->admission->gives_promises())
    return fail({.field = "--policy", .message = "it promises no deadlines: name deadline or elasticflow"});
  if (!begun->admission->decides_at_once()) {
    return fail({.field = "--policy",
                 .message = "it decides once in a slot on all jobs that came, so a request would have no "
                            "answer: name deadline, or give interruptions a cost"});
  }
  return setting;
}

Workload JobSetting::no_jobs() const {
  Workload workload;
  for (const ZooModel& model : model_zoo())
    workload.model(model.name());
  for (const NodeGroup& group : cluster_.groups) {
    if (!group.gpu_type.empty()) workload.gpu_type(group.gpu_type);
  }
  return workload;
}

Result<std::unique_ptr<Policy>> JobSetting::make_policy() const {
  const auto arguments = PolicyRegistry::built_in().parse(setup_.policy);
  if (!arguments) return fail(arguments.error());
  return arguments->policy().make(*arguments);
}

Result<SpeedyAdmission> JobSetting::begin(ClusterToday today) const {
  SpeedyAdmission begun;
  begun.speeds = std::make_unique<PredictedSpeeds>(today.workload, pricing_->on(cluster_, today.workload));
  AdmissionSetup setup;
  setup.cluster = cluster_;
  setup.policy = setup_.policy;
  setup.promises_at_once = true;
  setup.options.placement = placement_;
  setup.options.disruptions = disruptions_ ? &*disruptions_ : nullptr;
  setup.options.gang_speed_model = begun.speeds.get();
  setup.workload = std::move(today.workload);
  setup.state = std::move(today.state);
  auto admission = Admission::begin(std::move(setup), PolicyRegistry::built_in());
  if (!admission) return fail(std::move(admission.error()));
  begun.admission.emplace(*std::move(admission));
  return begun;
}

}  // namespace vtrain::serve
