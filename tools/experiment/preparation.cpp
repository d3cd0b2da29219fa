#include "tools/experiment/preparation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

#include "core/base/names.hpp"
#include "core/io/input.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "tools/experiment/disruption_rules.hpp"
#include "tools/experiment/file_hash.hpp"
#include "tools/experiment/notes.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/prediction_error.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/experiment/transformations.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "traces/editing/slice.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/synthesis/generator.hpp"
#include "workloads/pricing/curves_by_type.hpp"
#include "workloads/pricing/job_pricing.hpp"
#include "workloads/pricing/predicted_speeds.hpp"

namespace vtrain {
namespace {

/// The offered load of the embedded default: enough for a queue, so that policies differ.
constexpr double kDefaultLoad = 1.1;
/// Longest job of the embedded default. A few of the week-long jobs of published traces would fill a whole
/// day.
constexpr SimDuration kDefaultMaxDuration = std::chrono::hours(8);

/// Adds a note.
void note(ScenarioParts& parts, NoteKind kind, std::int64_t count, std::string text) {
  parts.notes.push_back({kind, count, std::move(text)});
}

/// Adds a note for each sentence of a reader or a rule.
void note_all(ScenarioParts& parts, NoteKind kind, const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences)
    note(parts, kind, 0, sentence);
}

void take_notes(ScenarioParts& parts, std::vector<Note> notes) {
  parts.notes.insert(parts.notes.end(), std::make_move_iterator(notes.begin()),
                     std::make_move_iterator(notes.end()));
}

/// The default cluster.
Result<ClusterSpec> default_cluster(const ScenarioSpec& spec, const std::optional<std::int32_t>& named_gpus) {
  if (spec.trace.files.empty()) return ClusterSpec::parse(kDefaultCluster);
  if (named_gpus) return cluster_of_trace(*named_gpus);
  return fail({.field = "--cluster", .message = "missing: say for instance --cluster 16x8:a100"});
}

/// Keeps a file that is read, with its description for provenance.
void keep_file(const std::string& label, SpecFile file, ScenarioParts& parts) {
  file.name = parts.spec.files.with_names(std::move(file.name));
  parts.provenance.emplace_back(label, describe_file(file.path, file.sha256));
  parts.files.push_back(std::move(file));
}

/// Keeps the name and the hash of a file that is read.
Result<void> take_file(const std::string& label, const std::string& path, ScenarioParts& parts) {
  auto hash = hash_of_input(path);
  if (!hash) return fail(std::move(hash.error()));
  keep_file(label, {path, path, *std::move(hash)}, parts);
  return {};
}

/// Keeps the cluster, with assumptions on its table and the hash of its file.
Result<void> take_cluster(ClusterSpec cluster, ScenarioParts& parts) {
  note_all(parts, NoteKind::Cluster, cluster.notes);
  if (!cluster.file.empty()) {
    if (auto taken = take_file("cluster", cluster.file, parts); !taken) return taken;
  }
  parts.cluster = std::move(cluster);
  return {};
}

/// Keeps the hashes of the files that policies have read: samples of service (`gittins:distribution=FILE`).
void take_policy_files(ScenarioParts& parts) {
  for (const PreparedPolicy& policy : parts.policies) {
    for (const SpecFile& file : policy.files)
      keep_file("sample of " + policy.spec, file, parts);
  }
}

/// True if some job's run time is not known yet.
bool needs_prices(const Workload& workload) {
  return std::any_of(workload.jobs.begin(), workload.jobs.end(),
                     [](const Job& job) { return job.duration.count() == 0; });
}

/// Cluster that a load is stated for.
const ClusterSpec& load_cluster(const ScenarioParts& parts) {
  return parts.reference ? *parts.reference : parts.cluster;
}

/// The embedded default: a day of LLM jobs with more work than the cluster's capacity.
Result<void> generate_default_day(const ModelMix& models, const TransformationArguments& arguments,
                                  const CurvesByType& curves, ScenarioParts& parts) {
  GeneratorOptions options;
  options.num_jobs = 0;
  options.span = std::chrono::hours(24);
  options.cluster = load_cluster(parts).total_gpus();
  options.load = arguments.load > 0 ? arguments.load : kDefaultLoad;
  options.max_duration = kDefaultMaxDuration;
  options.seed = arguments.seed;
  options.deadlines.reset();  // set by --deadlines, as for every other trace
  if (models.kind != ModelMix::Kind::None) {
    options.models = models;
    note(parts, NoteKind::Generated, 0, models.describe() + " (synthetic)");
  }
  auto workload = generate_trace(options, model_catalog(curves));
  if (!workload) return fail(workload.error());
  parts.workload = *std::move(workload);
  parts.trace_name = "a generated day of LLM jobs";
  note(parts, NoteKind::Generated, std::ssize(parts.workload.jobs),
       fmt::format("synthetic jobs: shape of {}, offered load {}{}, seed {}", options.shape.name,
                   as_load(options.load),
                   parts.reference ? fmt::format(" of {} (--reference)", parts.reference->describe()) : "",
                   options.seed));
  return {};
}

/// Reads the trace; returns the cluster size that the trace itself names.
Result<std::optional<std::int32_t>> take_trace(const ScenarioSpec& spec, ScenarioParts& parts) {
  TraceArguments named = spec.trace;
  for (std::string& file : named.files)
    file = spec.files.locate(file);
  named.throughputs = spec.files.locate(named.throughputs);
  auto read = read_traces(named, files_as_tenants(spec.transformations));
  if (!read) return fail(in_option("--format", read.error()));
  const std::vector<std::string>& files = read->trace.files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto hash = read->hash_of(files[i]);
    if (!hash) return fail(std::move(hash.error()));
    const bool is_named = std::ranges::find(named.files, files[i]) != named.files.end();
    keep_file(files.size() == 1 ? "trace"
              : is_named        ? fmt::format("trace file {}", i + 1)
                                : fmt::format("read with the trace {}", i + 1),
              {files[i], files[i], *std::move(hash)}, parts);
  }
  if (!named.throughputs.empty()) parts.also_read.push_back(named.throughputs);
  if (const std::string skipped = skipped_rows_text(read->trace.skipped); !skipped.empty())
    parts.provenance.emplace_back("skipped", skipped);
  parts.trace_name = read->name();
  parts.trace_format = read->trace.format;
  parts.skipped = read->trace.skipped;
  note_all(parts, NoteKind::Trace, read->trace.assumptions);
  parts.workload = std::move(read->trace.workload);
  return read->trace.num_gpus;
}

/// Adds a note if run times of the trace differ from predictions.
void note_run_times(const RunTimeRatios& ratios, bool any_elastic, ScenarioParts& parts) {
  constexpr double kNoticeable = 0.01;
  if (ratios.least > 1 - kNoticeable && ratios.most < 1 + kNoticeable) return;
  const std::string least = fmt::format("{:.2g}", ratios.least);
  const std::string most = fmt::format("{:.2g}", ratios.most);
  note(parts, NoteKind::RunTimes, ratios.jobs,
       fmt::format(
           "run times of {0} with a model as in the trace; predicted with {2} they would be {1} times "
           "as long ({3}--run-times predicted)",
           count_of(ratios.jobs, "job"), least == most ? least : least + " to " + most,
           parts.pricing->made_with(), any_elastic ? "elastic policies use that; for all policies: " : ""));
}

/// Gives jobs predicted speeds by the sites of their gangs, if sites make a difference.
void take_gang_speeds(const CurvesByType& curves, ScenarioParts& parts) {
  auto speeds = std::make_unique<PredictedSpeeds>(parts.workload, curves);
  if (speeds->num_jobs() == 0) return;
  take_notes(parts, gang_speed_notes(*speeds, curves, parts.workload, parts.cluster, parts.placement,
                                     parts.policies));
  parts.gang_speed_model = std::move(speeds);
}

/// Describes the cost of preemption and resizing, if anything preempts or resizes jobs.
void note_interruption_cost(const DisruptionRules& rules, const std::optional<Disruptions>& disruptions,
                            const DisruptionArguments& arguments, ScenarioParts& parts) {
  const bool any = std::ranges::any_of(parts.policies, [](const PreparedPolicy& policy) {
    return !policy.arguments.policy().never_interrupts;
  });
  if (!any && !(disruptions && disruptions->takes_nodes_out())) return;
  InterruptionCostText cost = describe_interruption_cost(rules, disruptions, arguments, parts.workload);
  parts.interruption_cost = cost.text;
  note(parts, NoteKind::Disruptions, cost.jobs, std::move(cost.text));
  if (!disruptions || !rules.is_default_cost) return;
  std::vector<std::string_view> others;
  for (const PreparedPolicy& policy : parts.policies) {
    if (!policy.policy->supports_disruptions()) others.push_back(policy.spec);
  }
  if (!others.empty())
    note(parts, NoteKind::Disruptions, 0,
         fmt::format("under {} the cost is that of the reproduced simulator", fmt::join(others, ", ")));
}

/// Reads disruptions, once jobs and cluster are known.
Result<void> take_disruptions(const ScenarioSpec& spec, const DisruptionRules& rules, ScenarioParts& parts,
                              std::vector<std::string>& warnings) {
  DisruptionArguments named = spec.disruptions;
  if (!named.outages.empty()) named.outages = spec.files.locate(named.outages);
  auto disruptions = read_disruptions(named, rules, parts.workload, parts.cluster, spec.transformations.seed);
  if (!disruptions) return fail(disruptions.error());
  note_interruption_cost(rules, *disruptions, named, parts);
  const bool pays_for_checkpoints =
      *disruptions && (*disruptions)->interruption_cost.rule().kind == InterruptionRule::Kind::Checkpoint;
  if (rules.is_default_cost && !rules.needs_models() && !pays_for_checkpoints)
    warn_of_bandwidth(named, warnings);
  if (!*disruptions) return {};
  if (!named.outages.empty()) {
    if (auto taken = take_file("outages", named.outages, parts); !taken) return taken;
  }
  note_all(parts, NoteKind::Disruptions, describe_disruptions(**disruptions, named));
  if ((*disruptions)->spread_factor < 1)
    note(parts, NoteKind::Disruptions, 0,
         spread_factor_note((*disruptions)->spread_factor, parts.workload, parts.gang_speed_model.get()));
  parts.disruptions = **std::move(disruptions);
  Disruptions without_cost = *parts.disruptions;
  without_cost.interruption_cost = {};
  parts.only_default_cost = rules.is_default_cost && !without_cost.any();
  return {};
}

Result<std::vector<PreparedPolicy>> prepare_policies(const ScenarioSpec& spec,
                                                     const PolicyRegistry& registry) {
  std::vector<PreparedPolicy> policies;
  for (const std::string& name : spec.policies) {
    auto policy = prepare_policy(name, spec.files, registry);
    if (!policy) return fail(std::move(policy.error()));
    policies.push_back(*std::move(policy));
  }
  return policies;
}

/// The placement that a spec names. Traces rarely record the placement of gangs, so `auto` assumes nothing
/// for them. Jobs of the embedded default are slower when spread over more nodes.
Result<PlacementKind> placement_of(const ScenarioSpec& spec) {
  static constexpr std::array<std::string_view, 1> kAuto = {"auto"};
  if (spec.placement == kAuto[0])
    return spec.trace.files.empty() ? PlacementKind::Consolidate : PlacementKind::Count;
  auto placement = parse_placement(spec.placement, kAuto);
  if (!placement) return fail(in_option("--placement", std::move(placement.error())));
  return placement;
}

/// Rules of a spec that need no file.
struct ScenarioRules {
  std::vector<PreparedPolicy> policies;
  PlacementKind placement;
  Transformations transformations;
  PredictionErrorRule errors;
  DisruptionRules disruptions;
};

/// Reads the rules before any file, so that a misspelt policy fails at once.
Result<ScenarioRules> read_rules(const ScenarioSpec& spec, const PolicyRegistry& registry,
                                 std::vector<std::string>& warnings) {
  if (auto checked = check_spec(spec); !checked) return fail(std::move(checked.error()));
  auto policies = prepare_policies(spec, registry);
  if (!policies) return fail(std::move(policies.error()));
  for (const PreparedPolicy& policy : *policies) {
    if (!policy.arguments.hint().empty()) warnings.push_back(policy.arguments.hint());
  }
  const auto placement = placement_of(spec);
  if (!placement) return fail(placement.error());
  if (spec.trace.files.empty()) {
    const TraceArguments defaults;
    if (!spec.trace.throughputs.empty())
      return fail({.field = "--throughputs", .message = "needs --trace, which the tables are of"});
    if (spec.trace.throughputs_gpu != defaults.throughputs_gpu)
      return fail({.field = "--throughputs-gpu", .message = "needs --trace, which the tables are of"});
    if (spec.transformations.run_times != TransformationArguments().run_times)
      return fail({.field = "--run-times", .message = "needs --trace, whose jobs have others"});
    if (spec.trace.format != defaults.format)
      return fail({.field = "--format", .message = "needs --trace, which has it"});
  }
  if (spec.trace.throughputs.empty() && !spec.trace.files.empty() &&
      spec.trace.throughputs_gpu != TraceArguments().throughputs_gpu)
    warnings.emplace_back("--throughputs-gpu: without effect; no tables are given (--throughputs)");
  auto transformations = read_transformations(spec.transformations);
  if (!transformations) return fail(std::move(transformations.error()));
  auto disruptions = read_disruption_rules(spec.disruptions, *placement, warnings);
  if (!disruptions) return fail(std::move(disruptions.error()));
  const auto errors =
      in_option("--prediction-error", PredictionErrorRule::parse(spec.pricing.prediction_error));
  if (!errors) return fail(errors.error());
  return ScenarioRules{*std::move(policies), *placement, *std::move(transformations), *errors,
                       *std::move(disruptions)};
}

/// Reads the cluster that jobs are generated for and that a load is stated for, if one is named.
Result<void> take_reference(const ScenarioSpec& spec, const PricingArguments& located, ScenarioParts& parts,
                            std::vector<std::string>& warnings, PricingPool& pool) {
  if (spec.reference.empty()) return {};
  const bool is_generated = spec.trace.files.empty();
  if (!is_generated && spec.transformations.load == 0)
    warnings.emplace_back("--reference: without effect; it matters for generated jobs and for --load");
  auto reference = ClusterSpec::parse(spec.files.locate(spec.reference));
  if (!reference) return fail(in_option("--reference", reference.error()));
  parts.reference = *std::move(reference);
  note_all(parts, NoteKind::Cluster, parts.reference->notes);
  if (!parts.reference->file.empty()) {
    if (auto taken = take_file("reference", parts.reference->file, parts); !taken) return taken;
  }
  if (!is_generated) return {};
  std::vector<std::string> more;
  auto pricing = pool.take(located, parts.reference, more);
  if (!pricing) return fail(pricing.error());
  parts.reference_pricing = *std::move(pricing);
  for (std::string& warning : more) {
    if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(std::move(warning));
  }
  return {};
}

/// Reads the cluster, the predictor of run times, and the trace (if any).
Result<void> read_inputs(const ScenarioSpec& spec, ScenarioParts& parts, std::vector<std::string>& warnings,
                         PricingPool& pool) {
  std::optional<ClusterSpec> cluster;
  if (!spec.cluster.empty()) {
    auto given = ClusterSpec::parse(spec.files.locate(spec.cluster));
    if (!given) return fail(in_option("--cluster", given.error()));
    cluster = *std::move(given);
  }
  PricingArguments located = spec.pricing;
  located.profile = spec.files.locate(located.profile);
  located.calibration = spec.files.locate(located.calibration);
  auto pricing = pool.take(located, cluster, warnings);
  if (!pricing) return fail(pricing.error());
  parts.pricing = *std::move(pricing);
  if (auto taken = take_reference(spec, located, parts, warnings, pool); !taken) return taken;
  for (const auto& [label, path] : parts.pricing->files()) {
    if (auto taken = take_file(label, path, parts); !taken) return taken;
  }
  std::optional<std::int32_t> named_gpus;
  if (!spec.trace.files.empty()) {
    auto trace = take_trace(spec, parts);
    if (!trace) return fail(trace.error());
    named_gpus = *trace;
  }
  if (!cluster) {
    auto named = default_cluster(spec, named_gpus);
    if (!named) return fail(named.error());
    cluster = *std::move(named);
  }
  return take_cluster(*std::move(cluster), parts);
}

/// Reads the tenants of the cluster, or makes them from its virtual clusters.
Result<void> take_tenants(const ScenarioSpec& spec, ScenarioParts& parts,
                          std::vector<std::string>& warnings) {
  if (spec.tenant_tree.empty()) {
    parts.tenants = tenants_of_virtual_clusters(parts.cluster);
    return {};
  }
  const std::string path = spec.files.locate(spec.tenant_tree);
  auto text = read_file(path, InputKind::Tenants);
  if (!text) return fail(in_option("--tenant-tree", text.error()));
  auto tree = parse_tenant_tree(*std::move(text), path, parts.cluster);
  if (!tree) return fail(in_option("--tenant-tree", tree.error()));
  parts.tenants = *std::move(tree);
  for (const std::string& sentence : quotas_beyond(parts.tenants, parts.cluster))
    warnings.push_back(fmt::format("{}: {}", path, sentence));
  return take_file("tenants", path, parts);
}

/// Checks that a tree that the user gave can be kept to, where a policy does: it has the tenants of all jobs,
/// and quotas for no more GPUs than there are.
Result<void> check_shares(const ScenarioSpec& spec, const ScenarioParts& parts) {
  const bool shares = std::ranges::any_of(
      parts.policies, [](const PreparedPolicy& policy) { return policy.arguments.policy().needs.tenants; });
  if (!shares || spec.tenant_tree.empty() || parts.tenants.tenants.empty()) return {};
  const std::string path = spec.files.locate(spec.tenant_tree);
  if (const auto sentences = quotas_beyond(parts.tenants, parts.cluster); !sentences.empty())
    return fail(in_option("--tenant-tree", {.file = path, .field = "quotas", .message = sentences.front()}));
  const NameTable& names = parts.workload.tenants;
  std::vector<bool> is_known;
  for (const std::string& name : names.names())
    is_known.push_back(parts.tenants.find(name).has_value());
  for (const Job& job : parts.workload.jobs) {
    if (job.tenant && is_known[job.tenant.value]) continue;
    std::vector<std::string_view> known;
    for (const Tenant& tenant : parts.tenants.tenants)
      known.emplace_back(tenant.name);
    const std::string expected = fmt::format("a tenant of {}", path);
    if (!job.tenant)
      return fail(job_error(parts.workload, job, "tenant", fmt::format("expected {}, found none", expected)));
    const std::string& name = names[job.tenant.value];
    return fail(
        job_error(parts.workload, job, "tenant", with_guess(expected_found(expected, name), name, known)));
  }
  return {};
}

/// Reads the prices of the cluster's GPUs.
Result<void> take_prices(const ScenarioSpec& spec, ScenarioParts& parts) {
  auto prices = GpuPrices::parse(spec.price, parts.cluster);
  if (!prices) return fail(std::move(prices.error()));
  parts.prices = *std::move(prices);
  if (parts.prices.empty()) return {};
  const std::vector<std::string> without = parts.prices.types_without_price();
  if (!without.empty())
    note(parts, NoteKind::Cluster, 0,
         fmt::format("no price of GPUs of {}: the cost of jobs on them is unknown (--price)",
                     fmt::join(without, ", ")));
  return {};
}

/// Gives jobs that may have other numbers of GPUs their throughput curves.
Result<void> take_curves(bool strict, ScenarioParts& parts) {
  const auto added = add_curves(parts.workload, parts.cluster, *parts.pricing, strict);
  if (!added) return fail(added.error());
  note_all(parts, NoteKind::Speeds, *added);
  return {};
}

/// Warns of options that have no effect if no job has a model.
void warn_of_predictor_options(const PricingArguments& arguments, std::vector<std::string>& warnings) {
  for (const auto& [option, value] :
       {std::pair("--profile", arguments.profile), std::pair("--stack", arguments.stack),
        std::pair("--calibrate", arguments.calibration)}) {
    if (!value.empty())
      warnings.push_back(
          fmt::format("{}: without effect; no job has a model (--assign gives them one)", option));
  }
}

/// Note on the number of run times extrapolated beyond measurements; none without any.
/// Keeps the list of extrapolated kernels.
std::optional<Note> fallbacks_of_prices(ScenarioParts& parts) {
  JobsWithFallbacks found =
      find_jobs_with_fallbacks(parts.workload, parts.pricing->on(parts.cluster, parts.workload));
  if (found.jobs == 0) return std::nullopt;
  parts.extrapolated = std::move(found.kernels);
  const std::string where = parts.extrapolated.empty()
                                ? " (`vtrain plan` says which data are missing)"
                                : fmt::format(", up to {} times (`extrapolated.csv` lists them)",
                                              short_number(parts.extrapolated.furthest()));
  return Note{NoteKind::Extrapolated, found.jobs,
              fmt::format("run times of {} are extrapolated beyond measured kernel sizes{}",
                          count_of(found.jobs, "job"), where)};
}

/// Adds notes on the sources of predicted run times. Under `--strict`, GPUs without a profile and
/// extrapolated run times are errors.
Result<void> note_prices(const ScenarioSpec& spec, bool predicted, bool keeps_durations, ScenarioParts& parts,
                         std::vector<std::string>& warnings) {
  const bool strict = spec.trace.strict;
  if (predicted) {
    note(parts, NoteKind::RunTimes, 0,
         fmt::format("{} {} (--stack sets one)",
                     parts.pricing->stacks_differ() ? "software differs:" : "run times predicted with",
                     parts.pricing->made_with()));
    note_all(parts, NoteKind::RunTimes, parts.pricing->intervals(parts.workload));
  }
  if (parts.workload.models.size() == 0) {
    warn_of_predictor_options(spec.pricing, warnings);
    return {};
  }
  if (parts.gang_speed_model) {
    std::string order =
        order_of_types(parts.workload, parts.cluster, parts.placement, keeps_durations, parts.policies);
    if (!order.empty()) note(parts, NoteKind::RunTimes, 0, std::move(order));
  }
  const std::vector<std::string>& assumed = parts.pricing->assumptions();
  // A misspelt type would else answer for other GPUs.
  if (const std::string& missing = parts.pricing->missing_profile(); predicted && !missing.empty())
    return fail({.field = "--cluster", .message = missing});
  if (strict && predicted && !assumed.empty())
    return fail({.field = "--cluster", .message = assumed.front()});
  note_all(parts, NoteKind::RunTimes, assumed);
  if (!predicted) return {};
  std::optional<Note> beyond = fallbacks_of_prices(parts);
  if (strict && beyond) return fail({.field = "--strict", .message = std::move(beyond->text)});
  if (beyond) parts.notes.push_back(*std::move(beyond));
  return {};
}

/// Keeps jobs from types of GPUs on which their models have no plan, and adds a note.
void keep_to_types_with_plan(ScenarioParts& parts) {
  const GpuTypes types(parts.cluster, parts.workload.gpu_types);
  const std::int64_t jobs = keep_to_types_with_plan(
      parts.workload, parts.pricing->on(parts.cluster, parts.workload), types.names());
  if (jobs == 0) return;
  note(parts, NoteKind::RunTimes, jobs,
       fmt::format("{} {} to the types of GPUs on which the model has a plan", count_of(jobs, "job"),
                   jobs == 1 ? "keeps" : "keep"));
}

/// Predicts run times of generated jobs on the cluster, after they were made for another one.
void price_on_cluster(const CurvesByType& curves, ScenarioParts& parts) {
  const PredictedRunTimes done = predict_run_times(parts.workload, curves);
  if (done.without_plan > 0)
    note(parts, NoteKind::RunTimes, done.without_plan,
         fmt::format("run times of {} are those on {}: no plan on the GPUs requested here",
                     count_of(done.without_plan, "job"), parts.reference->describe()));
}

/// Draws errors of predicted run times.
void take_run_time_errors(const PredictionErrorRule& rule, const CurvesByType& curves,
                          const ScenarioSpec& spec, ScenarioParts& parts) {
  if (rule.kind == PredictionErrorRule::Kind::None) return;
  auto errors = std::make_unique<DrawnRunTimeErrors>(rule, parts.workload, curves, spec.transformations.seed);
  parts.time_factors = errors->factors_on_request(parts.workload);
  parts.run_time_errors = std::move(errors);
  take_notes(parts, run_time_error_notes(spec.pricing.prediction_error, parts));
}

/// Generates jobs if no trace is given, and transforms them. Gives each job a duration, its speed by site
/// and, under elastic policies, its throughput curve.
Result<void> complete_jobs(const ScenarioSpec& spec, Transformations transformations,
                           const PredictionErrorRule& errors, ScenarioParts& parts,
                           std::vector<std::string>& warnings) {
  keep_to_types_with_plan(parts);
  CurvesByType curves = parts.pricing->on(parts.cluster, parts.workload);
  // Generated jobs are those of the reference: their work and deadlines stay the same on every cluster.
  if (parts.reference_pricing) curves = parts.reference_pricing->on(*parts.reference, parts.workload);
  bool predicted = transformations.models.kind != ModelMix::Kind::None;
  if (spec.trace.files.empty()) {
    auto day = generate_default_day(transformations.models, spec.transformations, curves, parts);
    if (!day) return day;
    transformations.models = {};  // the jobs have theirs
    predicted = true;
  } else if (transformations.deadlines_only_if_none) {
    transformations.deadlines.reset();  // a recorded trace has its own, or none
  }
  const auto num_deadlines = [&parts] {
    return std::ranges::count_if(parts.workload.jobs, &Job::has_deadline);
  };
  const auto deadlines_of_trace = num_deadlines();
  const bool keeps_durations = !needs_prices(parts.workload) && !transformations.predicts_run_times;
  predicted |= !keeps_durations;
  const auto changes = transform(parts.workload, transformations, curves, true, warnings);
  if (!changes) return fail(changes.error());
  note_all(parts, NoteKind::Changed, *changes);
  if (!spec.trace.files.empty() && spec.transformations.load > 0) {
    auto scaled = slice_trace(
        parts.workload, {.load = spec.transformations.load, .cluster = load_cluster(parts).total_gpus()});
    if (!scaled) return fail(in_option("--load", std::move(scaled.error())));
    note_all(parts, NoteKind::Changed, *scaled);
  }
  if (parts.reference)
    parts.reference_load =
        trace_totals(parts.workload)
            .offered_load(parts.reference->total_gpus(), info_of(parts.placement).shares_gpus);
  parts.deadlines_are_made = transformations.deadlines && num_deadlines() > 0 && deadlines_of_trace == 0;
  keep_to_types_with_plan(parts);  // with the models that they were given
  curves = parts.pricing->on(parts.cluster, parts.workload);
  if (parts.reference_pricing) price_on_cluster(curves, parts);
  if (auto tight = tight_deadlines(parts.workload)) parts.notes.push_back(*std::move(tight));
  if (predicted) parts.provenance.emplace_back("run times", parts.pricing->describe());
  const bool any_elastic = std::ranges::any_of(parts.policies, &PreparedPolicy::is_elastic);
  note_run_times(compare_run_times(parts.workload, curves), any_elastic, parts);
  take_gang_speeds(curves, parts);
  if (any_elastic) {
    if (auto taken = take_curves(spec.trace.strict, parts); !taken) return taken;
    parts.has_curves = true;
  }
  take_run_time_errors(errors, curves, spec, parts);
  return note_prices(spec, predicted, keeps_durations, parts, warnings);
}

/// Replaces paths in texts by the names in the spec.
void name_files(ScenarioParts& parts) {
  const SpecFiles& files = parts.spec.files;
  parts.trace_name = files.with_names(std::move(parts.trace_name));
  for (Note& each : parts.notes)
    each.text = files.with_names(std::move(each.text));
  for (auto& [label, value] : parts.provenance)
    value = files.with_names(std::move(value));
}

/// Lets policies check whether they can decide on the jobs, and notes what they say.
Result<void> check_policies(ScenarioParts& parts) {
  for (const PreparedPolicy& policy : parts.policies) {
    auto sentences = policy.policy->check(parts.workload, parts.cluster, parts.tenants);
    if (!sentences) return fail(in_option("--policy", sentences.error()));
    for (const std::string& sentence : *sentences)
      note(parts, NoteKind::Policies, 0, fmt::format("{}: {}", policy.spec, sentence));
  }
  return {};
}

}  // namespace

Result<PreparedPolicy> prepare_policy(const std::string& spec, const SpecFiles& files,
                                      const PolicyRegistry& registry) {
  auto arguments = registry.parse(spec);
  if (!arguments) return fail(std::move(arguments.error()));
  std::string to_read = spec;
  std::vector<SpecFile> read;
  for (const PolicyParameter& parameter : arguments->policy().parameters) {
    if (!parameter.is_file || (*arguments)[parameter.name].empty()) continue;
    const std::string name((*arguments)[parameter.name]);
    if (name.empty()) continue;  // a file that may be left out
    read.push_back({name, files.locate(name)});
    const std::size_t value = to_read.find(name, to_read.find(std::string(parameter.name) + "="));
    if (value != std::string::npos) to_read.replace(value, name.size(), read.back().path);
  }
  if (to_read != spec) arguments = registry.parse(to_read);
  if (!arguments) return fail(std::move(arguments.error()));
  auto policy = arguments->policy().make(*arguments);
  if (!policy) return fail(std::move(policy.error()));
  PreparedPolicy prepared{spec, *std::move(arguments), *std::move(policy)};
  for (const std::string& path : prepared.policy->files())
    read.push_back({path, files.locate(path)});
  for (SpecFile& file : read) {
    auto hash = hash_of_input(file.path);  // at once: it is to be that of what was read
    if (!hash) return fail(std::move(hash.error()));
    file.sha256 = *std::move(hash);
  }
  prepared.files = std::move(read);
  return prepared;
}

bool has_run_time_errors(const PreparedPolicy& policy, const ScenarioParts& parts) {
  return parts.run_time_errors && policy.policy->supports_disruptions() && !policy.policy->repeats_log();
}

Result<ScenarioParts> prepare_parts(ScenarioSpec given, const PolicyRegistry& registry,
                                    std::vector<std::string>& warnings, PricingPool& pool) {
  const auto start = std::chrono::steady_clock::now();
  ScenarioParts parts;
  parts.spec = std::move(given);
  const ScenarioSpec& spec = parts.spec;
  auto rules = read_rules(spec, registry, warnings);
  if (!rules) return fail(rules.error());
  parts.policies = std::move(rules->policies);
  parts.placement = rules->placement;
  if (auto read = read_inputs(spec, parts, warnings, pool); !read) return fail(read.error());
  if (auto taken = take_prices(spec, parts); !taken) return fail(taken.error());
  if (auto taken = take_tenants(spec, parts, warnings); !taken) return fail(taken.error());
  take_policy_files(parts);
  if (auto done = complete_jobs(spec, rules->transformations, rules->errors, parts, warnings); !done)
    return fail(done.error());
  const bool types_differ = parts.gang_speed_model && info_of(parts.placement).knows_nodes;
  auto about_policies = policy_notes(parts.workload, parts.cluster, types_differ,
                                     parts.run_time_errors != nullptr, parts.policies);
  if (!about_policies) return fail(about_policies.error());
  take_notes(parts, *std::move(about_policies));
  if (auto checked = check_policies(parts); !checked) return fail(checked.error());
  if (auto checked = check_shares(spec, parts); !checked) return fail(checked.error());
  take_notes(parts, tenant_notes(parts.workload, parts.tenants, parts.policies));
  take_notes(parts, placement_notes(parts.workload, parts.cluster, parts.placement));
  if (auto taken = take_disruptions(spec, rules->disruptions, parts, warnings); !taken)
    return fail(taken.error());
  parts.provenance.emplace_back("seed", std::to_string(spec.transformations.seed));
  name_files(parts);
  parts.read_s = Seconds(std::chrono::steady_clock::now() - start).count();
  return parts;
}

}  // namespace vtrain
