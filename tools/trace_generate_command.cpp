/// `vtrain trace generate`: a seeded trace with the shape of a published one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "sched/cluster.hpp"
#include "tools/curve_arguments.hpp"
#include "tools/trace_commands.hpp"
#include "tools/trace_description.hpp"
#include "tools/transformations.hpp"
#include "traces/trace_format.hpp"
#include "traces/trace_generator.hpp"
#include "traces/trace_statistics.hpp"
#include "traces/vtrain_csv.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The arguments as given.
struct GenerateArguments {
  std::int64_t num_jobs = 1000;
  double days = 0;
  std::string cluster = "16x8:a100";
  double load = 0.9;
  std::uint64_t seed = 1;
  std::string out;
  std::string shape = "itp";
  std::string arrivals = "diurnal";
  std::string assign = "zoo";
  std::string deadlines = "elasticflow";
  CurveArguments curves{};
  std::int32_t num_tenants = 8;
  std::int32_t max_gpus = 0;
  double max_hours = 0;
  bool json = false;
};

Result<GeneratorOptions> generator_options(const GenerateArguments& arguments, const ClusterSpec& cluster) {
  const auto hours = [](double count) {
    constexpr double kMostHours = 24 * 365 * 100;
    return to_sim_duration(Nanoseconds(std::clamp(count, 0.0, kMostHours) * 3600e9));
  };
  GeneratorOptions options;
  options.num_jobs = arguments.days > 0 ? 0 : arguments.num_jobs;
  options.span = hours(arguments.days * 24);
  options.cluster = cluster.total_gpus();
  options.load = arguments.load;
  options.seed = arguments.seed;
  options.num_tenants = arguments.num_tenants;
  options.max_gpus = GpuCount(arguments.max_gpus);
  options.max_duration = hours(arguments.max_hours);
  const auto shape = find_workload_shape(arguments.shape);
  if (!shape) return fail(shape.error());
  options.shape = *shape;
  const auto arrivals = parse_arrivals(arguments.arrivals);
  if (!arrivals) return fail(arrivals.error());
  options.arrivals = *arrivals;
  const auto models = ModelMix::parse(arguments.assign);
  if (!models) return fail(models.error());
  options.models = *models;
  options.deadlines.reset();
  if (arguments.deadlines != "none") {
    const auto rule = DeadlineRule::parse(arguments.deadlines);
    if (!rule) return fail(rule.error());
    options.deadlines = *rule;
  }
  return options;
}

Result<void> generate(const GenerateArguments& arguments) {
  const auto cluster = ClusterSpec::parse(arguments.cluster);
  if (!cluster) return fail(cluster.error());
  const auto options = generator_options(arguments, *cluster);
  if (!options) return fail(options.error());
  auto curves = CachedCurves::open(arguments.curves, *cluster);
  if (!curves) return fail(curves.error());
  auto workload = generate_trace(*options, iteration_times(curves->curves()));
  if (!workload) return fail(workload.error());
  const TraceStatistics statistics = trace_statistics(*workload);
  const std::string rule = options->deadlines ? options->deadlines->describe() : "none";
  Trace trace{.workload = *std::move(workload)};
  trace.assumptions.push_back(fmt::format("jobs generated with the shape of {}, seed {} (synthetic)",
                                          options->shape.name, options->seed));
  if (options->models.kind != ModelMix::Kind::None)
    trace.assumptions.push_back(options->models.describe() + " (synthetic)");
  if (options->deadlines) {
    trace.assumptions.push_back(fmt::format("{}, seed {} (synthetic)", rule, options->seed));
  }
  if (auto written = write_vtrain_csv(trace, arguments.out); !written) return written;

  if (arguments.json) {
    ordered_json json = {{"trace", arguments.out},       {"format", "vtrain"},
                         {"shape", options->shape.name}, {"assign", arguments.assign},
                         {"seed", options->seed},        {"deadline_rule", rule}};
    json.update(statistics_to_json(statistics, options->cluster));
    fmt::print("{}\n", json.dump(2));
    return {};
  }
  fmt::print(
      "{}shape     {}, seed {}; {}\n\n{}\nnext\n  vtrain trace info {}\n  vtrain compare --trace {} "
      "--cluster {}\n",
      describe_jobs(arguments.out, statistics, *cluster), options->shape.name, options->seed,
      options->deadlines ? rule : "no deadlines", distribution_table(statistics), arguments.out,
      arguments.out, arguments.cluster);
  return {};
}

}  // namespace

void add_trace_generate(CLI::App& trace, Action& action) {
  CLI::App* command = trace.add_subcommand(
      "generate",
      "Generate a seeded trace with the shape of a published one.\n\n"
      "  vtrain trace generate --jobs 1000 --cluster 16x8:a100 --load 0.9 --seed 1 --out jobs.csv\n"
      "  vtrain trace generate --days 30 --cluster 64x8:a100 --assign none --shape philly --out month.csv");
  const auto arguments = std::make_shared<GenerateArguments>();
  GenerateArguments& to = *arguments;
  CLI::Option* const jobs = command->add_option("--jobs", to.num_jobs, "Number of jobs")
                                ->check(CLI::PositiveNumber)
                                ->capture_default_str();
  command
      ->add_option("--days", to.days, "Instead of --jobs: as many jobs as offer the load for this many days")
      ->check(CLI::PositiveNumber)
      ->excludes(jobs);
  command->add_option("--cluster", to.cluster, "The cluster that the load refers to; no job is larger")
      ->capture_default_str();
  command
      ->add_option("--load", to.load,
                   "Work submitted over work that the cluster could do from the first submission to the last")
      ->capture_default_str();
  command->add_option("--seed", to.seed, "Seed of everything random")->capture_default_str();
  command->add_option("--out", to.out, "File to write, as CSV")->required();
  std::string shapes = "Where sizes, durations and the day's rhythm come from: ";
  for (const WorkloadShape& shape : workload_shapes()) {
    shapes +=
        fmt::format("{}{} ({})", &shape == workload_shapes().data() ? "" : ", ", shape.name, shape.summary);
  }
  command->add_option("--shape", to.shape, shapes)->capture_default_str();
  command
      ->add_option(
          "--arrivals", to.arrivals,
          "How submissions come: stationary (a Poisson process), diurnal (with the day's rhythm of the "
          "shape), bursty (log-normal gaps besides)")
      ->capture_default_str();
  command
      ->add_option("--assign", to.assign,
                   "What jobs train: zoo (GPT models, evenly), lingjun (the mix of Alibaba Lingjun 2023), "
                   "model=NAME[,global-batch=SEQUENCES], none (durations only)")
      ->capture_default_str();
  command
      ->add_option(
          "--deadlines", to.deadlines,
          "none, elasticflow (submit + U(0.5, 1.5) x duration), LOW:HIGH for other bounds, FACTOR for "
          "the same of all, each with or without ,best-effort=SHARE")
      ->capture_default_str();
  add_curve_options(*command, to.curves);
  command->add_option("--tenants", to.num_tenants, "Number of tenants")->capture_default_str();
  command->add_option("--max-gpus", to.max_gpus, "No job with more GPUs than this")
      ->check(CLI::PositiveNumber);
  command->add_option("--max-hours", to.max_hours, "Durations up to this only")->check(CLI::PositiveNumber);
  command->add_flag("--json", to.json, "Print one JSON document");
  command->callback([=, &action] { action = [=] { return generate(*arguments); }; });
}

}  // namespace vtrain
