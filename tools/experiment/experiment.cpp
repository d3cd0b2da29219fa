#include "tools/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "sched/cluster/gpu_types.hpp"
#include "tools/experiment/disruption_rules.hpp"
#include "tools/experiment/file_hash.hpp"
#include "tools/experiment/notes.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/experiment/transformations.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "traces/synthesis/generator.hpp"
#include "workloads/pricing/curves_by_type.hpp"
#include "workloads/pricing/job_pricing.hpp"
#include "workloads/pricing/predicted_speeds.hpp"

namespace vtrain {
namespace {

/// The offered load of the embedded default: enough for a queue, so that policies differ.
constexpr double kDefaultLoad = 1.1;
/// Its longest job. The published traces have jobs of weeks, of which a few would be a day's whole work.
constexpr SimDuration kDefaultMaxDuration = std::chrono::hours(8);

/// Adds sentences on what is assumed.
void assume(Experiment& experiment, const std::vector<std::string>& sentences) {
  experiment.assumptions.insert(experiment.assumptions.end(), sentences.begin(), sentences.end());
}

/// The cluster where none was given.
Result<ClusterSpec> default_cluster(const ExperimentArguments& arguments,
                                    const std::optional<std::int32_t>& named_gpus) {
  if (arguments.trace.files.empty()) return ClusterSpec::parse(kDefaultCluster);
  if (named_gpus) return cluster_of_trace(*named_gpus);
  return fail({.field = "--cluster", .message = "missing: say for instance --cluster 16x8:a100"});
}

/// Keeps the name and the hash of a file that is read.
Result<void> take_file(const std::string& label, const std::string& path, Experiment& experiment) {
  auto file = path_and_hash(path);
  if (!file) return fail(std::move(file.error()));
  experiment.provenance.emplace_back(label, *std::move(file));
  experiment.input_files.push_back(path);
  return {};
}

/// Keeps the cluster, with what its table left open and the hash of its file.
Result<void> take_cluster(ClusterSpec cluster, Experiment& experiment) {
  assume(experiment, cluster.notes);
  if (!cluster.file.empty()) {
    if (auto taken = take_file("cluster", cluster.file, experiment); !taken) return taken;
  }
  experiment.cluster = std::move(cluster);
  return {};
}

/// Keeps the hashes of the files that policies have read: samples of service (`gittins:distribution=FILE`).
void take_policy_files(Experiment& experiment) {
  for (const PreparedPolicy& policy : experiment.policies) {
    for (const auto& [path, description] : policy.files) {
      experiment.provenance.emplace_back("sample of " + policy.spec, description);
      experiment.input_files.push_back(path);
    }
  }
}

/// Whether some job's run time is not known yet.
bool needs_prices(const Workload& workload) {
  return std::any_of(workload.jobs.begin(), workload.jobs.end(),
                     [](const Job& job) { return job.duration.count() == 0; });
}

/// The embedded default: a day of LLM jobs that offers the cluster more work than it can do.
Result<void> generate_default_day(const ModelMix& models, std::uint64_t seed, const CurvesByType& curves,
                                  Experiment& experiment) {
  GeneratorOptions options;
  options.num_jobs = 0;
  options.span = std::chrono::hours(24);
  options.cluster = experiment.cluster.total_gpus();
  options.load = kDefaultLoad;
  options.max_duration = kDefaultMaxDuration;
  options.seed = seed;
  options.deadlines.reset();  // set by --deadlines, as for every other trace
  if (models.kind != ModelMix::Kind::None) {
    options.models = models;
    experiment.assumptions.push_back(models.describe() + " (synthetic)");
  }
  auto workload = generate_trace(options, model_catalog(curves));
  if (!workload) return fail(workload.error());
  experiment.workload = *std::move(workload);
  experiment.trace_name = "a generated day of LLM jobs";
  experiment.assumptions.push_back(fmt::format(
      "jobs generated to offer this cluster a load of {}, with the shape of {}, seed {} (synthetic)",
      as_load(options.load), options.shape.name, options.seed));
  return {};
}

/// Reads the trace into the experiment; returns the cluster size that the trace itself names.
Result<std::optional<std::int32_t>> take_trace(const ExperimentArguments& arguments, Experiment& experiment) {
  auto read = read_traces(arguments.trace, files_as_tenants(arguments.transformations));
  if (!read) return fail(in_option("--format", read.error()));
  const std::vector<std::string>& files = read->trace.files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto file = read->path_and_hash(files[i]);
    if (!file) return fail(std::move(file.error()));
    const bool is_named = std::ranges::find(arguments.trace.files, files[i]) != arguments.trace.files.end();
    experiment.provenance.emplace_back(files.size() == 1 ? "trace"
                                       : is_named        ? fmt::format("trace file {}", i + 1)
                                                         : fmt::format("read with the trace {}", i + 1),
                                       *std::move(file));
    experiment.input_files.push_back(files[i]);
  }
  if (!arguments.trace.throughputs.empty()) experiment.input_files.push_back(arguments.trace.throughputs);
  if (const std::string skipped = skipped_rows_text(read->trace.skipped); !skipped.empty())
    experiment.provenance.emplace_back("skipped", skipped);
  experiment.trace_name = read->name();
  experiment.trace_format = read->trace.format;
  experiment.skipped = read->trace.skipped;
  experiment.assumptions = std::move(read->trace.assumptions);
  experiment.workload = std::move(read->trace.workload);
  return read->trace.num_gpus;
}

/// Says so where run times of the trace are not what the predictor expects.
void note_run_times(const RunTimeRatios& ratios, bool any_elastic, Experiment& experiment) {
  constexpr double kNoticeable = 0.01;
  if (ratios.least > 1 - kNoticeable && ratios.most < 1 + kNoticeable) return;
  const std::string least = fmt::format("{:.2g}", ratios.least);
  const std::string most = fmt::format("{:.2g}", ratios.most);
  experiment.assumptions.push_back(fmt::format(
      "run times of {} with a model as in the trace; {} times as long is predicted with {} ({}--run-times "
      "predicted)",
      count_of(ratios.jobs, "job"), least == most ? least : least + " to " + most,
      experiment.pricing->made_with(), any_elastic ? "elastic policies go by that; for all: " : ""));
}

/// Lets the predictor tell how fast jobs are where their gangs are, if that makes a difference.
void take_gang_speeds(const CurvesByType& curves, Experiment& experiment) {
  auto speeds = std::make_unique<PredictedSpeeds>(experiment.workload, curves);
  if (speeds->num_jobs() == 0) return;
  assume(experiment, gang_speed_notes(*speeds, curves, experiment.workload, experiment.cluster,
                                      experiment.placement, experiment.policies));
  experiment.gang_speed_model = std::move(speeds);
}

/// Reads what is to happen to the jobs, once they and the cluster are known.
Result<void> take_disruptions(const ExperimentArguments& arguments, const DisruptionRules& rules,
                              Experiment& experiment) {
  auto disruptions = read_disruptions(arguments.disruptions, rules, experiment.workload, experiment.cluster,
                                      arguments.transformations.seed);
  if (!disruptions) return fail(disruptions.error());
  if (!*disruptions) return {};
  if (!arguments.disruptions.outages.empty()) {
    auto taken = take_file("outages", arguments.disruptions.outages.string(), experiment);
    if (!taken) return taken;
  }
  assume(experiment, describe_disruptions(**disruptions, arguments.disruptions));
  if ((*disruptions)->spread_factor < 1)
    experiment.assumptions.push_back(spread_factor_note((*disruptions)->spread_factor, experiment.workload,
                                                        experiment.gang_speed_model.get()));
  experiment.disruptions = **std::move(disruptions);
  return {};
}

/// Makes the policy of a spec. Errors: those of its arguments, and a file that cannot be hashed.
Result<PreparedPolicy> prepare_policy(const std::string& spec) {
  auto arguments = parse_policy(spec);
  if (!arguments) return fail(std::move(arguments.error()));
  auto policy = arguments->policy().make(*arguments);
  if (!policy) return fail(std::move(policy.error()));
  PreparedPolicy prepared{spec, *std::move(arguments), *std::move(policy)};
  for (const PolicyParameter& parameter : prepared.arguments.policy().parameters) {
    if (!parameter.is_file) continue;
    std::string path(prepared.arguments[parameter.name]);
    auto file = path_and_hash(path);  // at once: it is to be that of what was read
    if (!file) return fail(std::move(file.error()));
    prepared.files.emplace_back(std::move(path), *std::move(file));
  }
  return prepared;
}

Result<std::vector<PreparedPolicy>> prepare_policies(const std::vector<std::string>& specs) {
  std::vector<PreparedPolicy> policies;
  for (const std::string& spec : specs) {
    auto policy = prepare_policy(spec);
    if (!policy) return fail(std::move(policy.error()));
    policies.push_back(*std::move(policy));
  }
  return policies;
}

/// What arguments say without any file.
struct ExperimentRules {
  std::vector<PreparedPolicy> policies;
  PlacementKind placement;
  Transformations transformations;
  DisruptionRules disruptions;
};

/// Reads what can be read before files are: a misspelt policy should not cost a long read.
Result<ExperimentRules> read_rules(const ExperimentArguments& arguments, std::vector<std::string>& warnings) {
  auto policies = prepare_policies(arguments.policies);
  if (!policies) return fail(std::move(policies.error()));
  const auto placement = parse_placement(arguments.placement);
  if (!placement) return fail(in_option("--placement", placement.error()));
  if (arguments.trace.files.empty()) {
    const TraceArguments defaults;
    if (!arguments.trace.throughputs.empty())
      return fail({.field = "--throughputs", .message = "needs --trace, which the tables are of"});
    if (arguments.trace.throughputs_gpu != defaults.throughputs_gpu)
      return fail({.field = "--throughputs-gpu", .message = "needs --trace, which the tables are of"});
    if (arguments.transformations.run_times != TransformationArguments().run_times)
      return fail({.field = "--run-times", .message = "needs --trace, whose jobs have others"});
    if (arguments.trace.format != defaults.format)
      return fail({.field = "--format", .message = "needs --trace, which has it"});
  }
  if (arguments.trace.throughputs.empty() && !arguments.trace.files.empty() &&
      arguments.trace.throughputs_gpu != TraceArguments().throughputs_gpu)
    warnings.emplace_back("--throughputs-gpu: without effect; no tables are given (--throughputs)");
  if (arguments.timeline == "always" && arguments.out.empty() && arguments.json)
    warnings.emplace_back("--timeline: without effect; nothing is written without --out");
  auto transformations = read_transformations(arguments.transformations);
  if (!transformations) return fail(std::move(transformations.error()));
  auto disruptions = read_disruption_rules(arguments.disruptions, *placement, warnings);
  if (!disruptions) return fail(std::move(disruptions.error()));
  return ExperimentRules{*std::move(policies), *placement, *std::move(transformations),
                         *std::move(disruptions)};
}

/// Reads the cluster, what prices jobs, and the trace if there is one.
Result<void> read_inputs(const ExperimentArguments& arguments, Experiment& experiment,
                         std::vector<std::string>& warnings) {
  std::optional<ClusterSpec> cluster;
  if (!arguments.cluster.empty()) {
    auto given = ClusterSpec::parse(arguments.cluster);
    if (!given) return fail(in_option("--cluster", given.error()));
    cluster = *std::move(given);
  }
  auto pricing = ClusterPricing::open(arguments.pricing, cluster, warnings);
  if (!pricing) return fail(pricing.error());
  experiment.pricing = std::make_unique<ClusterPricing>(*std::move(pricing));
  for (const auto& [label, path] : experiment.pricing->files()) {
    if (auto taken = take_file(label, path, experiment); !taken) return taken;
  }
  std::optional<std::int32_t> named_gpus;
  if (!arguments.trace.files.empty()) {
    auto trace = take_trace(arguments, experiment);
    if (!trace) return fail(trace.error());
    named_gpus = *trace;
  }
  if (!cluster) {
    auto named = default_cluster(arguments, named_gpus);
    if (!named) return fail(named.error());
    cluster = *std::move(named);
  }
  return take_cluster(*std::move(cluster), experiment);
}

/// Gives jobs that may have other numbers of GPUs their throughput curves.
Result<void> take_curves(bool strict, Experiment& experiment) {
  const auto added = add_curves(experiment.workload, experiment.cluster, *experiment.pricing, strict);
  if (!added) return fail(added.error());
  assume(experiment, *added);
  return {};
}

/// Says which options nothing reads where no job has a model.
void warn_of_predictor_options(const PricingArguments& arguments, std::vector<std::string>& warnings) {
  for (const auto& [option, value] :
       {std::pair("--profile", arguments.profile), std::pair("--stack", arguments.stack),
        std::pair("--calibrate", arguments.calibration)}) {
    if (!value.empty())
      warnings.push_back(
          fmt::format("{}: without effect; no job has a model (--assign gives them one)", option));
  }
}

/// How many run times are predicted from numbers that no measurement covers; empty for none.
std::string fallbacks_of_prices(const Experiment& experiment) {
  const std::int64_t jobs = count_jobs_with_fallbacks(
      experiment.workload, experiment.pricing->on(experiment.cluster, experiment.workload));
  if (jobs == 0) return {};
  return fmt::format("run times of {} rest on numbers beyond what was measured (`vtrain plan` names them)",
                     count_of(jobs, "job"));
}

/// Says what the prices of jobs rest on. Under `--strict` prices of GPUs without a profile, and such as rest
/// on numbers beyond what was measured, are an error.
Result<void> note_prices(const ExperimentArguments& arguments, bool predicted, bool keeps_durations,
                         Experiment& experiment, std::vector<std::string>& warnings) {
  const bool strict = arguments.trace.strict;
  if (predicted) {
    experiment.assumptions.push_back(
        fmt::format("{} {} (--stack sets one)",
                    experiment.pricing->stacks_differ() ? "software differs:" : "run times predicted with",
                    experiment.pricing->made_with()));
  }
  if (experiment.workload.models.size() == 0) {
    warn_of_predictor_options(arguments.pricing, warnings);
    return {};
  }
  if (experiment.gang_speed_model) {
    std::string note =
        order_of_types(experiment.workload, experiment.cluster, experiment.placement, keeps_durations);
    if (!note.empty()) experiment.assumptions.push_back(std::move(note));
  }
  const std::vector<std::string>& assumed = experiment.pricing->assumptions();
  if (strict && predicted && !assumed.empty())
    return fail({.field = "--cluster", .message = assumed.front()});
  assume(experiment, assumed);
  if (!predicted) return {};
  std::string beyond = fallbacks_of_prices(experiment);
  if (strict && !beyond.empty()) return fail({.field = "--strict", .message = std::move(beyond)});
  if (!beyond.empty()) experiment.assumptions.push_back(std::move(beyond));
  return {};
}

/// Keeps jobs from types of GPUs on which their models have no plan, and says so.
void keep_to_types_with_plan(Experiment& experiment) {
  const GpuTypes types(experiment.cluster, experiment.workload.gpu_types);
  const std::int64_t jobs = keep_to_types_with_plan(
      experiment.workload, experiment.pricing->on(experiment.cluster, experiment.workload), types.names());
  if (jobs == 0) return;
  experiment.assumptions.push_back(fmt::format("{} {} to the types of GPUs on which the model has a plan",
                                               count_of(jobs, "job"), jobs == 1 ? "keeps" : "keep"));
}

/// Generates jobs where no trace is given, changes them as asked, and gives each a duration, its speed where
/// its gang is and, under elastic policies, its throughput curve.
Result<void> complete_jobs(const ExperimentArguments& arguments, Transformations transformations,
                           Experiment& experiment, std::vector<std::string>& warnings) {
  keep_to_types_with_plan(experiment);
  CurvesByType curves = experiment.pricing->on(experiment.cluster, experiment.workload);
  bool predicted = transformations.models.kind != ModelMix::Kind::None;
  if (arguments.trace.files.empty()) {
    auto day = generate_default_day(transformations.models, transformations.seed, curves, experiment);
    if (!day) return day;
    transformations.models = {};  // the jobs have theirs
    predicted = true;
  }
  const bool keeps_durations = !needs_prices(experiment.workload) && !transformations.predicts_run_times;
  predicted |= !keeps_durations;
  const auto changes = transform(experiment.workload, transformations, curves, true, warnings);
  if (!changes) return fail(changes.error());
  assume(experiment, *changes);
  keep_to_types_with_plan(experiment);  // with the models that they were given
  curves = experiment.pricing->on(experiment.cluster, experiment.workload);
  if (std::string tight = tight_deadlines(experiment.workload); !tight.empty())
    experiment.assumptions.push_back(std::move(tight));
  if (predicted) experiment.provenance.emplace_back("run times", experiment.pricing->describe());
  const bool any_elastic = std::ranges::any_of(experiment.policies, &PreparedPolicy::is_elastic);
  note_run_times(compare_run_times(experiment.workload, curves), any_elastic, experiment);
  take_gang_speeds(curves, experiment);
  if (any_elastic) {
    if (auto taken = take_curves(arguments.trace.strict, experiment); !taken) return taken;
  }
  return note_prices(arguments, predicted, keeps_durations, experiment, warnings);
}

}  // namespace

Result<Experiment> prepare_experiment(const ExperimentArguments& arguments,
                                      std::vector<std::string>& warnings) {
  const auto start = std::chrono::steady_clock::now();
  auto rules = read_rules(arguments, warnings);
  if (!rules) return fail(rules.error());
  Experiment experiment;
  experiment.policies = std::move(rules->policies);
  experiment.placement = rules->placement;
  if (auto read = read_inputs(arguments, experiment, warnings); !read) return fail(read.error());
  take_policy_files(experiment);
  if (auto done = complete_jobs(arguments, rules->transformations, experiment, warnings); !done)
    return fail(done.error());
  const bool types_differ = experiment.gang_speed_model && info_of(experiment.placement).knows_nodes;
  const auto notes = policy_notes(experiment.workload, experiment.cluster, types_differ, experiment.policies);
  if (!notes) return fail(notes.error());
  assume(experiment, *notes);
  assume(experiment, placement_notes(experiment.workload, experiment.cluster, experiment.placement));
  if (auto taken = take_disruptions(arguments, rules->disruptions, experiment); !taken)
    return fail(taken.error());
  experiment.provenance.emplace_back("seed", std::to_string(arguments.transformations.seed));
  experiment.read_s = Seconds(std::chrono::steady_clock::now() - start).count();
  return experiment;
}

}  // namespace vtrain
