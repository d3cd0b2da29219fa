/// `vtrain trace`: what a trace holds, and new ones.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/gpu_profile.hpp"
#include "sched/cluster.hpp"
#include "tools/command.hpp"
#include "tools/output_format.hpp"
#include "traces/trace_format.hpp"
#include "traces/trace_generator.hpp"
#include "traces/trace_statistics.hpp"
#include "traces/vtrain_csv.hpp"
#include "workloads/throughput_curve.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The arguments of `trace info` as given.
struct InfoArguments {
  std::string trace;
  std::string format = "auto";
  std::string cluster;
  bool json = false;
};

/// The arguments of `trace generate` as given.
struct GenerateArguments {
  std::int64_t num_jobs = 1000;
  double days = 0;
  std::string cluster = "16x8:a100";
  double load = 0.9;
  std::uint64_t seed = 1;
  std::string out;
  std::string shape = "itp";
  std::string kind = "llm";
  std::string deadlines = "elasticflow";
  std::string profile = "a100";
  std::int32_t num_tenants = 8;
  std::int32_t max_gpus = 0;
  double max_hours = 0;
  bool json = false;
};

double seconds(SimTime time) {
  return to_seconds(time);
}
double seconds(SimDuration duration) {
  return to_seconds(duration);
}

ordered_json to_json(const Distribution& distribution) {
  ordered_json json = {{"count", distribution.count},
                       {"min", seconds(distribution.minimum)},
                       {"mean", distribution.mean.count()}};
  for (std::size_t i = 0; i < Distribution::kPercents.size(); ++i) {
    json[fmt::format("p{}", Distribution::kPercents[i])] = seconds(distribution.percentiles[i]);
  }
  json["max"] = seconds(distribution.maximum);
  return json;
}

ordered_json to_json(const std::vector<NamedShare>& shares) {
  ordered_json list = ordered_json::array();
  for (const NamedShare& entry : shares) {
    list.push_back({{"name", entry.name}, {"jobs", entry.share.jobs}, {"gpu_hours", entry.share.gpu_hours}});
  }
  return list;
}

ordered_json to_json(const TraceStatistics& statistics, const std::optional<GpuCount>& cluster) {
  ordered_json json = {{"jobs", statistics.jobs},
                       {"first_submit_s", seconds(statistics.first_submit)},
                       {"last_submit_s", seconds(statistics.last_submit)},
                       {"span_s", seconds(statistics.span())},
                       {"gpu_hours", statistics.gpu_hours},
                       {"jobs_without_duration", statistics.unpriced},
                       {"jobs_with_deadline", statistics.with_deadline},
                       {"jobs_with_requested_time", statistics.with_requested_time}};
  if (cluster) {
    json["cluster_gpus"] = cluster->value;
    // NaN, where all jobs come at once, becomes null.
    json["offered_load"] = statistics.offered_load(*cluster);
  }
  json["duration_s"] = to_json(statistics.duration);
  json["inter_arrival_s"] = to_json(statistics.inter_arrival);
  ordered_json sizes = ordered_json::array();
  for (const auto& [num_gpus, share] : statistics.by_num_gpus) {
    sizes.push_back({{"num_gpus", num_gpus}, {"jobs", share.jobs}, {"gpu_hours", share.gpu_hours}});
  }
  json["num_gpus"] = std::move(sizes);
  json["tenants"] = to_json(statistics.tenants);
  json["models"] = to_json(statistics.models);
  return json;
}

/// The first lines for people: what there is, and the load that it offers.
std::string headline(const std::string& name, const TraceStatistics& statistics,
                     const std::optional<ClusterSpec>& cluster) {
  std::string text =
      fmt::format("trace     {}   {} jobs   {}   {} GPU-hours\n", name, with_thousands(statistics.jobs),
                  as_days(seconds(statistics.span())), with_thousands(std::llround(statistics.gpu_hours)));
  if (cluster) {
    text += fmt::format("cluster   {}   offered load {:.2f}\n", cluster->describe(),
                        statistics.offered_load(cluster->total_gpus()));
  }
  const auto count = [&](std::string_view what, std::int64_t jobs) {
    if (jobs > 0)
      text +=
          fmt::format("{:<9} {} of {} jobs\n", what, with_thousands(jobs), with_thousands(statistics.jobs));
  };
  count("deadlines", statistics.with_deadline);
  count("requested", statistics.with_requested_time);
  if (statistics.unpriced > 0) {
    text += fmt::format(
        "unpriced  {} jobs are given by model and iterations; the predictor gives their duration\n",
        with_thousands(statistics.unpriced));
  }
  return text;
}

std::string distribution_table(const TraceStatistics& statistics) {
  std::vector<std::string> header = {"", "min"};
  for (const int percent : Distribution::kPercents)
    header.push_back(fmt::format("p{}", percent));
  header.insert(header.end(), {"max", "mean"});
  TextTable table(std::move(header));
  for (const auto& [label, distribution] :
       {std::pair{"duration", &statistics.duration}, std::pair{"inter-arrival", &statistics.inter_arrival}}) {
    std::vector<std::string> row = {label, as_duration(seconds(distribution->minimum))};
    for (const SimDuration value : distribution->percentiles)
      row.push_back(as_duration(seconds(value)));
    row.push_back(as_duration(seconds(distribution->maximum)));
    row.push_back(as_duration(distribution->mean.count()));
    table.add_row(std::move(row));
  }
  return table.to_string();
}

std::vector<std::string> share_row(std::string label, const JobShare& share,
                                   const TraceStatistics& statistics) {
  return {std::move(label), with_thousands(share.jobs),
          as_percent(static_cast<double>(share.jobs) / static_cast<double>(statistics.jobs)),
          with_thousands(std::llround(share.gpu_hours)), as_percent(share.gpu_hours / statistics.gpu_hours)};
}

/// A table of tenants or models, the largest first; the small ones are added up in one row.
std::string share_table(const std::string& title, const std::vector<NamedShare>& shares,
                        const TraceStatistics& statistics) {
  if (shares.empty()) return {};
  constexpr std::size_t kShown = 20;
  TextTable table({title, "jobs", "of jobs", "GPU-hours", "of GPU-hours"});
  JobShare others;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i < kShown) {
      table.add_row(share_row(shares[i].name, shares[i].share, statistics));
    } else {
      others.jobs += shares[i].share.jobs;
      others.gpu_hours += shares[i].share.gpu_hours;
    }
  }
  if (shares.size() > kShown) {
    table.add_row(share_row(fmt::format("{} others", shares.size() - kShown), others, statistics));
  }
  return "\n" + table.to_string();
}

std::string size_table(const TraceStatistics& statistics) {
  TextTable table({"GPUs", "jobs", "of jobs", "GPU-hours", "of GPU-hours"});
  for (const auto& [num_gpus, share] : statistics.by_num_gpus) {
    table.add_row(share_row(with_thousands(num_gpus), share, statistics));
  }
  return "\n" + table.to_string();
}

Result<void> show_info(const InfoArguments& arguments) {
  const auto trace = read_trace(arguments.trace, arguments.format);
  if (!trace) return fail(trace.error());
  std::optional<ClusterSpec> cluster;
  if (!arguments.cluster.empty()) {
    auto parsed = ClusterSpec::parse(arguments.cluster);
    if (!parsed) return fail(std::move(parsed.error()));
    cluster = *std::move(parsed);
  } else if (trace->num_gpus) {
    cluster = ClusterSpec{
        .groups = {{.num_nodes = *trace->num_gpus, .gpus_per_node = GpuCount(1), .gpu_type = {}}}};
  }
  const TraceStatistics statistics = trace_statistics(trace->workload);
  if (arguments.json) {
    const std::optional<GpuCount> gpus = cluster ? std::optional(cluster->total_gpus()) : std::nullopt;
    ordered_json json = {{"trace", arguments.trace}, {"format", trace->format}};
    json.update(to_json(statistics, gpus));
    fmt::print("{}\n", json.dump(2));
    return {};
  }
  fmt::print("{}\n{}{}{}{}",
             headline(fmt::format("{} ({})", arguments.trace, trace->format), statistics, cluster),
             distribution_table(statistics), size_table(statistics),
             share_table("tenant", statistics.tenants, statistics),
             share_table("model", statistics.models, statistics));
  return {};
}

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
  IterationTime iteration_time;
  std::optional<ThroughputCurves> curves;
  if (arguments.kind == "llm") {
    auto profile = load_gpu_profile(arguments.profile);
    if (!profile) return fail(std::move(profile.error()));
    curves.emplace(*std::move(profile));
    iteration_time = [&curves](std::string_view model, std::int32_t global_batch, GpuCount num_gpus) {
      return curves->iteration_time(std::string(model), global_batch, num_gpus);
    };
  }
  auto workload = generate_trace(*options, iteration_time);
  if (!workload) return fail(workload.error());
  const TraceStatistics statistics = trace_statistics(*workload);
  const std::string rule = options->deadlines ? options->deadlines->describe() : "none";
  Trace trace{.workload = *std::move(workload)};
  trace.assumptions.push_back(fmt::format("jobs generated with the shape of {}, seed {} (synthetic)",
                                          options->shape.name, options->seed));
  if (options->deadlines) {
    trace.assumptions.push_back(fmt::format("{}, seed {} (synthetic)", rule, options->seed));
  }
  if (auto written = write_vtrain_csv(trace, arguments.out); !written) return written;

  if (arguments.json) {
    ordered_json json = {{"trace", arguments.out}, {"format", "vtrain"},    {"shape", options->shape.name},
                         {"kind", arguments.kind}, {"seed", options->seed}, {"deadline_rule", rule}};
    json.update(to_json(statistics, options->cluster));
    fmt::print("{}\n", json.dump(2));
    return {};
  }
  fmt::print(
      "{}shape     {}, seed {}; {}\n\n{}\nnext\n  vtrain trace info {}\n  vtrain compare --trace {} "
      "--cluster {}\n",
      headline(arguments.out, statistics, *cluster), options->shape.name, options->seed,
      options->deadlines ? rule : "no deadlines", distribution_table(statistics), arguments.out,
      arguments.out, arguments.cluster);
  return {};
}

void add_info(CLI::App& trace, Action& action) {
  CLI::App* command =
      trace.add_subcommand("info",
                           "Show what a trace holds: jobs, GPU-hours, sizes, durations, tenants, models.\n\n"
                           "  vtrain trace info jobs.csv\n"
                           "  vtrain trace info jobs.csv.gz --cluster 64x8 --json");
  const auto arguments = std::make_shared<InfoArguments>();
  std::string formats = "Format of the trace: auto";
  for (const TraceFormat& format : trace_formats())
    formats += fmt::format(", {}", format.name);
  command->add_option("trace", arguments->trace, "Trace file, plain, gzip or zstd; - is standard input")
      ->required();
  command->add_option("--format", arguments->format, formats)->capture_default_str();
  command->add_option(
      "--cluster", arguments->cluster,
      "The cluster that the offered load refers to: nodes x GPUs per node, for instance 64x8");
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [=] { return show_info(*arguments); }; });
}

void add_generate(CLI::App& trace, Action& action) {
  CLI::App* command = trace.add_subcommand(
      "generate",
      "Generate a seeded trace with the shape of a published one.\n\n"
      "  vtrain trace generate --jobs 1000 --cluster 16x8:a100 --load 0.9 --seed 1 --out jobs.csv\n"
      "  vtrain trace generate --days 30 --cluster 64x8:a100 --kind rigid --shape philly --out month.csv");
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
      ->add_option("--kind", to.kind,
                   "llm: each job trains a GPT model for a number of iterations; rigid: durations only")
      ->check(CLI::IsMember({"llm", "rigid"}))
      ->capture_default_str();
  command
      ->add_option("--deadlines", to.deadlines,
                   "none, elasticflow (submit + U(0.5, 1.5) x duration), or LOW:HIGH for other bounds")
      ->capture_default_str();
  command->add_option("--profile", to.profile, "GPU profile that gives the iteration times")
      ->capture_default_str();
  command->add_option("--tenants", to.num_tenants, "Number of tenants")->capture_default_str();
  command->add_option("--max-gpus", to.max_gpus, "No job with more GPUs than this")
      ->check(CLI::PositiveNumber);
  command->add_option("--max-hours", to.max_hours, "Durations up to this only")->check(CLI::PositiveNumber);
  command->add_flag("--json", to.json, "Print one JSON document");
  command->callback([=, &action] { action = [=] { return generate(*arguments); }; });
}

}  // namespace

void add_trace_command(CLI::App& app, Action& action) {
  CLI::App* trace =
      app.add_subcommand("trace",
                         "Look at traces of GPU jobs and make new ones.\n\n"
                         "  vtrain trace info jobs.csv\n"
                         "  vtrain trace generate --jobs 1000 --cluster 16x8:a100 --out jobs.csv");
  trace->require_subcommand(1);
  add_info(*trace, action);
  add_generate(*trace, action);
}

}  // namespace vtrain
