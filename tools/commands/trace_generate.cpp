/// `vtrain trace generate`: a seeded trace with the shape of a published one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/numbers.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/trace_output.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/pricing.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/experiment/transformations.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/options/options.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/formats/formats.hpp"
#include "traces/rules/estimates.hpp"
#include "traces/rules/status_mix.hpp"
#include "traces/rules/tenants.hpp"
#include "traces/synthesis/generator.hpp"
#include "traces/synthesis/shape_json.hpp"
#include "traces/trace_format.hpp"
#include "workloads/pricing/curves_by_type.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The arguments as given. Defaults differ between a shape from a file, which represents its trace, and a
/// published one.
struct GenerateArguments {
  std::optional<std::int64_t> num_jobs;
  double days = 0;
  std::optional<std::string> cluster;
  std::optional<double> load;
  std::uint64_t seed = 1;
  OutputArguments output;
  std::string shape = "itp";
  std::string from;
  std::optional<std::string> arrivals;
  std::optional<std::string> assign;
  std::optional<std::string> deadlines;
  std::string estimates = "exact";
  std::string statuses;
  PricingArguments pricing{};
  std::optional<std::int32_t> num_tenants;
  std::int32_t max_gpus = 0;
  double max_hours = 0;
};

/// Work to do, after all arguments are read.
struct GeneratePlan {
  GeneratorOptions options;
  EstimateRule estimates;
  std::optional<ClusterSpec> cluster;
};

/// Reads rate, limits and tenants, and the cluster they refer to.
Result<void> read_amounts(const GenerateArguments& arguments, GeneratePlan& plan) {
  const bool fitted = !arguments.from.empty();
  const auto hours = [](double count) {
    constexpr double kMostHours = 24 * 365 * 100;
    return to_sim_duration(Nanoseconds(std::clamp(count, 0.0, kMostHours) * 3600e9));
  };
  GeneratorOptions& options = plan.options;
  if (!fitted || arguments.cluster) {
    auto cluster = ClusterSpec::parse(arguments.cluster.value_or(kDefaultCluster));
    if (!cluster) return fail(in_option("--cluster", cluster.error()));
    plan.cluster = *std::move(cluster);
  } else if (arguments.load) {
    return fail({.field = "--load", .message = "needs --cluster, which the load refers to"});
  }
  if (plan.cluster) options.cluster = plan.cluster->total_gpus();
  options.load = arguments.load.value_or(options.load);
  options.num_jobs = arguments.days > 0 ? 0 : arguments.num_jobs.value_or(options.num_jobs);
  options.span = hours(arguments.days * 24);
  options.num_tenants = arguments.num_tenants.value_or(options.num_tenants);
  options.max_gpus = GpuCount(arguments.max_gpus);
  options.max_duration = hours(arguments.max_hours);
  options.seed = arguments.seed;
  return {};
}

Result<GeneratePlan> read_plan(const GenerateArguments& arguments) {
  const bool fitted = !arguments.from.empty();
  GeneratePlan plan;
  GeneratorOptions& options = plan.options;
  const auto shape = fitted ? read_shape(arguments.from) : find_workload_shape(arguments.shape);
  if (!shape) return fail(shape.error());
  if (fitted) options = options_like(*shape);
  options.shape = *shape;
  options.arrivals = shape->arrivals;
  if (auto read = read_amounts(arguments, plan); !read) return fail(std::move(read.error()));
  if (arguments.arrivals) {
    const auto arrivals = in_option("--arrivals", parse_arrivals(*arguments.arrivals));
    if (!arrivals) return fail(arrivals.error());
    options.arrivals = *arrivals;
  }
  if (arguments.assign) {
    const auto models = in_option("--assign", ModelMix::parse(*arguments.assign, find_trainable_model));
    if (!models) return fail(models.error());
    options.models = *models;
  }
  if (arguments.deadlines == "none") {
    options.deadlines.reset();
  } else if (arguments.deadlines) {
    const auto rule = in_option("--deadlines", DeadlineRule::parse(*arguments.deadlines));
    if (!rule) return fail(rule.error());
    options.deadlines = *rule;
  }
  const auto estimates = in_option("--estimates", EstimateRule::parse(arguments.estimates));
  if (!estimates) return fail(estimates.error());
  plan.estimates = *estimates;
  if (!arguments.statuses.empty()) {
    const auto mix = in_option("--statuses", parse_status_mix(arguments.statuses, options.shape.statuses));
    if (!mix) return fail(mix.error());
    options.statuses = *mix;
  }
  return plan;
}

/// Sentences on everything that is made up.
std::vector<std::string> describe_plan(const GeneratePlan& plan) {
  const GeneratorOptions& options = plan.options;
  std::vector<std::string> sentences = {fmt::format(
      "jobs generated with the shape of {}, seed {} (synthetic)", options.shape.name, options.seed)};
  if (options.models.kind != ModelMix::Kind::None)
    sentences.push_back(options.models.describe() + " (synthetic)");
  const auto& statuses = options.statuses.empty() ? options.shape.statuses : options.statuses;
  if (!statuses.empty())
    sentences.push_back(fmt::format("statuses drawn: {} (synthetic)", describe_status_mix(statuses)));
  if (options.deadlines)
    sentences.push_back(fmt::format("{}, seed {} (synthetic)", options.deadlines->describe(), options.seed));
  return sentences;
}

/// Writes the trace. Our own CSV keeps everything, so it need not be read back.
Result<WrittenTrace> write(const Trace& trace, const OutputArguments& output) {
  if (output.format != "vtrain") return write_trace(trace, output);
  if (auto written = write_vtrain_csv(trace, output.path); !written) return fail(written.error());
  return WrittenTrace{trace_statistics(trace.workload), std::vector<FieldDifference>()};
}

void print_generated(const GenerateArguments& arguments, const GeneratorOptions& options, const Trace& trace,
                     const TraceStatistics& statistics) {
  ordered_json json = {
      {"trace", arguments.output.path},
      {"format", arguments.output.format},
      {"shape", options.shape.name},
      {"assign", options.models.kind == ModelMix::Kind::None ? "none" : options.models.describe()},
      {"arrivals", arrivals_names()[static_cast<std::size_t>(options.arrivals)]},
      {"seed", options.seed},
      {"deadline_rule", options.deadlines ? options.deadlines->describe() : "none"},
      {"assumptions", trace.assumptions}};
  json.update(statistics_to_json(statistics,
                                 options.cluster.value > 0 ? std::optional(options.cluster) : std::nullopt));
  print_json(json, summary_stream(arguments.output.path));
}

/// Leaves out job sizes on which the model of all jobs has no plan, and returns a sentence on them. If no
/// size has a plan, all stay, and the generator reports the reason.
std::string leave_out_sizes_without_plan(GeneratorOptions& options, const ModelCatalog& models) {
  if (options.models.kind != ModelMix::Kind::One) return {};
  ModelAssigner assigner(options.models, options.seed, models);
  Workload scratch;
  std::vector<GangWeight> with_plan;
  std::vector<std::string> without_plan;
  for (const GangWeight& gang : options.shape.gangs) {
    if (options.cluster.value > 0 && gang.num_gpus > options.cluster) continue;
    Job job;
    job.duration = std::chrono::hours(1);
    job.num_gpus = gang.num_gpus;
    if (assigner.assign(scratch, job)) {
      with_plan.push_back(gang);
    } else {
      without_plan.push_back(with_thousands(gang.num_gpus.value));
    }
  }
  if (with_plan.empty() || without_plan.empty()) return {};
  options.shape.gangs = std::move(with_plan);
  return fmt::format("no jobs of {} GPUs, on which {} has no plan", fmt::join(without_plan, ", "),
                     options.models.model);
}

Result<void> generate(const GenerateArguments& arguments) {
  auto plan = read_plan(arguments);
  if (!plan) return fail(plan.error());
  GeneratorOptions& options = plan->options;
  std::vector<std::string> warnings;
  auto pricing = ClusterPricing::open(arguments.pricing, plan->cluster, warnings);
  log_warnings(warnings);
  if (!pricing) return fail(pricing.error());
  const ModelCatalog models = model_catalog(pricing->curves());
  std::string left_out = leave_out_sizes_without_plan(options, models);
  auto workload = generate_trace(options, models);
  if (!workload) return fail(workload.error());
  Trace trace{.workload = *std::move(workload), .assumptions = describe_plan(*plan)};
  if (!left_out.empty()) trace.assumptions.push_back(std::move(left_out));
  if (options.models.kind != ModelMix::Kind::None) {
    const std::vector<std::string>& assumed = pricing->assumptions();
    trace.assumptions.insert(trace.assumptions.end(), assumed.begin(), assumed.end());
  }
  std::string estimated = set_estimates(trace.workload, plan->estimates, options.seed);
  if (plan->estimates.kind != EstimateRule::Kind::Exact && !estimated.empty())
    trace.assumptions.push_back(std::move(estimated));
  log_warnings(pricing->cache_warnings());
  const auto written = write(trace, arguments.output);
  if (!written) return fail(written.error());
  const TraceStatistics& statistics = written->statistics;
  const std::string& out = arguments.output.path;
  if (arguments.output.json) {
    print_generated(arguments, options, trace, statistics);
    return {};
  }
  const std::string cluster = arguments.cluster.value_or(kDefaultCluster);
  print_text(summary_stream(out),
             "{}{}{}\n{}\nnext\n  vtrain trace info {}\n  vtrain compare --trace {} --cluster {}\n",
             describe_jobs(out, statistics, plan->cluster), assumed_lines(trace.assumptions),
             lost_line(*written), distribution_table(statistics), out, out, cluster);
  return {};
}

/// Adds the options for the number, rate and size of jobs.
void add_amount_options(CLI::App& command, GenerateArguments& to) {
  CLI::Option* const jobs =
      command
          .add_option("--jobs", to.num_jobs,
                      "Number of jobs; default: 1000, with --from the number in its trace")
          ->transform(whole_number(1));
  command.add_option("--days", to.days, "Number of days to fill at the offered load, in place of --jobs")
      ->transform(number_above_zero())
      ->excludes(jobs);
  command.add_option("--cluster", to.cluster,
                     "Cluster that --load refers to; no job is larger; default: 16x8:a100, with --from none");
  command
      .add_option("--load", to.load,
                  "Offered load: work submitted / work that the cluster can do from the first to the last "
                  "submission; default: 0.9, with --from the rate of its trace")
      ->transform(number_between(kLeastLoad, kMostLoad));
  command
      .add_option("--tenants", to.num_tenants,
                  "Number of tenants, with unequal shares; default: 8, with --from those of its trace")
      ->transform(whole_number(1, kMostTenants));
  command.add_option("--max-gpus", to.max_gpus, "Largest number of GPUs of a job")->transform(gpu_count());
  command.add_option("--max-hours", to.max_hours, "Longest duration of a job, rounded to a whole iteration")
      ->transform(number_above_zero());
  command
      .add_option("--seed", to.seed, "Random seed (models, deadlines, requested times, tenants, failures)")
      ->transform(whole_number(0))
      ->capture_default_str();
}

/// Adds the options for the kind of jobs and for made-up values.
void add_content_options(CLI::App& command, GenerateArguments& to) {
  std::string shapes = "Published trace whose sizes, durations and daily rhythm are followed: ";
  for (const WorkloadShape& shape : workload_shapes()) {
    shapes +=
        fmt::format("{}{} ({})", &shape == workload_shapes().data() ? "" : ", ", shape.name, shape.summary);
  }
  CLI::Option* const shape = command.add_option("--shape", to.shape, shapes)->capture_default_str();
  command.add_option("--from", to.from, "File of `vtrain trace fit` to follow, in place of --shape")
      ->excludes(shape);
  command.add_option("--arrivals", to.arrivals,
                     "Arrival process: stationary (Poisson), diurnal (with the shape's daily rhythm), bursty "
                     "(diurnal with log-normal gaps); default: diurnal, with --from as in its trace");
  command.add_option(
      "--assign", to.assign,
      "Models of the jobs: zoo (GPT models, evenly; the default), lingjun (Alibaba Lingjun's mix of 2023), "
      "model=NAME[,global-batch=SEQUENCES], none (durations only; the default with --from)");
  command.add_option("--deadlines", to.deadlines,
                     "Deadlines, submit + factor x duration: elasticflow (factor drawn from 0.5 to 1.5; the "
                     "default), LOW:HIGH (other bounds), FACTOR (one for all jobs), none (the default with "
                     "--from); ,best-effort=SHARE leaves that share of jobs without one");
  command
      .add_option(
          "--estimates", to.estimates,
          "Requested times (walltimes): exact (policies know durations), or made from the duration and never "
          "below it: lognormal:SIGMA, factor:F, rounded (up to 1h, 4h, 12h, 1d, ...), rounded:1h/4h/1d")
      ->capture_default_str();
  command.add_option("--statuses", to.statuses,
                     "End states of the jobs: some of the shape's, for instance completed,failed, or shares "
                     "such as completed=0.7,failed=0.3; default: as in the shape's trace");
}

}  // namespace

void add_trace_generate(CLI::App& trace, Action& action) {
  CLI::App* command = trace.add_subcommand(
      "generate",
      "Generate a trace with the shape of a published one, or of one that `trace fit` measured.\n\n  vtrain "
      "trace generate --jobs 1000 --cluster 16x8:a100 --load 0.9 --seed 1 --out jobs.csv\n  vtrain trace "
      "generate --days 30 --cluster 64x8:a100 --assign none --shape philly --out month.csv\n  vtrain trace "
      "generate --from generator.json --seed 1 --out jobs.csv");
  const auto arguments = std::make_shared<GenerateArguments>();
  add_amount_options(*command, *arguments);
  add_content_options(*command, *arguments);
  add_pricing_options(*command, arguments->pricing);
  add_output_options(*command, arguments->output);
  command->callback([=, &action] { action = [=] { return generate(*arguments); }; });
}

}  // namespace vtrain
