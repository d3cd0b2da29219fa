/// `vtrain trace fit`: a generator that can be published instead of a trace.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/io/file.hpp"
#include "tools/cli/output_files.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/options/options.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/synthesis/generator.hpp"
#include "traces/synthesis/shape_fit.hpp"
#include "traces/synthesis/shape_json.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The arguments as given.
struct FitArguments {
  TraceArguments trace;
  std::string out;
  std::string name;
  bool json = false;
};

/// Generates as many jobs as the trace has, at its rate, for comparison with the trace.
Result<TraceStatistics> generate_as_many(const WorkloadShape& shape) {
  return generate_trace(options_like(shape), {}).map([](const Workload& workload) {
    return trace_statistics(workload);
  });
}

/// Information of the trace that the generator does not keep.
std::string not_kept(const TraceStatistics& statistics) {
  std::string text;
  const auto add = [&](std::string_view what, std::int64_t jobs) {
    if (jobs > 0) text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", what, with_thousands(jobs));
  };
  const auto named = [](const std::vector<NamedShare>& shares) {
    std::int64_t jobs = 0;
    for (const NamedShare& entry : shares)
      jobs += entry.share.jobs;
    return jobs;
  };
  add("users", named(statistics.users));
  add("models", named(statistics.models));
  add("GPU types", named(statistics.gpu_types));
  add("parts of GPUs", statistics.on_shared_gpus);
  add("deadlines", statistics.with_deadline);
  add("requested times", statistics.with_requested_time);
  add("recorded starts", statistics.with_original_start);
  add("most GPUs", statistics.elastic);
  add("jobs without a duration, all", statistics.unpriced);
  return text.empty() ? "" : fmt::format("not kept  {} jobs\n", text);
}

/// Jobs of the largest share, as a fraction of all jobs.
double largest_share(const std::vector<NamedShare>& shares, const TraceStatistics& statistics) {
  std::int64_t most = 0;
  for (const NamedShare& entry : shares)
    most = std::max(most, entry.share.jobs);
  return static_cast<double>(most) / static_cast<double>(statistics.jobs);
}

/// The trace and generated jobs, compared in the figures of `trace info`.
std::string comparison_table(const TraceStatistics& trace, const TraceStatistics& generated) {
  TextTable table({"", "trace", "generated"});
  const auto add = [&](std::string label, auto show) {
    table.add_row({std::move(label), show(trace), show(generated)});
  };
  const auto add_percentiles = [&](const std::string& label, auto member) {
    for (const std::size_t i : {std::size_t{2}, std::size_t{4}, std::size_t{6}}) {
      add(fmt::format("{} p{}", label, Distribution::kPercents[i]), [&](const TraceStatistics& statistics) {
        return as_duration(to_seconds((statistics.*member).percentiles[i]));
      });
    }
    add(label + " mean",
        [&](const TraceStatistics& statistics) { return as_duration((statistics.*member).mean.count()); });
  };
  add("jobs", [](const TraceStatistics& statistics) { return with_thousands(statistics.jobs); });
  add("span", [](const TraceStatistics& statistics) { return as_days(to_seconds(statistics.span())); });
  add("GPU-hours",
      [](const TraceStatistics& statistics) { return with_thousands(std::llround(statistics.gpu_hours)); });
  add("jobs of 1 GPU", [](const TraceStatistics& statistics) {
    const auto one = statistics.by_num_gpus.find(1);
    const std::int64_t jobs = one == statistics.by_num_gpus.end() ? 0 : one->second.jobs;
    return as_percent(static_cast<double>(jobs) / static_cast<double>(statistics.jobs));
  });
  add_percentiles("duration", &TraceStatistics::duration);
  add_percentiles("inter-arrival", &TraceStatistics::inter_arrival);
  if (!trace.tenants.empty()) {
    add("largest tenant", [](const TraceStatistics& statistics) {
      return as_percent(largest_share(statistics.tenants, statistics));
    });
  }
  for (const NamedShare& status : trace.statuses) {
    add(status.name, [&](const TraceStatistics& statistics) {
      for (const NamedShare& entry : statistics.statuses) {
        if (entry.name == status.name)
          return as_percent(static_cast<double>(entry.share.jobs) / static_cast<double>(statistics.jobs));
      }
      return as_percent(0);
    });
  }
  return table.to_string();
}

/// GPU-hours of the trace and of generated traces over all seeds, as those of one seed may be far off.
std::string compare_gpu_hours(const TraceStatistics& trace, const GeneratedGpuHours& generated) {
  return fmt::format("{} of the trace, {} \u00b1 {} of generated ones by the seed",
                     with_thousands(std::llround(trace.gpu_hours)),
                     with_thousands(std::llround(generated.mean)),
                     with_thousands(std::llround(generated.deviation)));
}

std::string describe_arrivals(const WorkloadShape& shape) {
  std::string text =
      fmt::format("{}, a job every {}", arrivals_names()[static_cast<std::size_t>(shape.arrivals)],
                  as_duration(shape.mean_gap.count()));
  if (shape.arrivals != Arrivals::Stationary && shape.day_amplitude > 0) {
    text += fmt::format(
        "; rate \u00b1 {:.0f} % over the day, highest {} into each day from the first submission on",
        100 * shape.day_amplitude, as_duration(shape.day_peak.count()));
  }
  if (shape.arrivals == Arrivals::Bursty)
    text += shape.gap_seconds.empty() ? fmt::format("; log-normal gaps, sigma {:.2f}", shape.gap_sigma)
                                      : fmt::format("; {} quantiles of the gaps", shape.gap_seconds.size());
  return text;
}

/// Checks, before anything is written, that `generate` accepts the shape. Errors are of the trace, or of the
/// name.
Result<void> check_shape(const std::string& json_text, const std::string& trace) {
  auto again = parse_shape(json_text, trace);
  if (again) return {};
  Error error = std::move(again.error());
  error.line = 0;  // that of the shape, not of the trace
  if (error.field == "name") error = {.field = "--name", .message = std::move(error.message)};
  return fail(std::move(error));
}

Result<void> fit(const FitArguments& arguments) {
  const auto read = read_traces(arguments.trace);
  if (!read) return fail(read.error());
  const Workload& workload = read->trace.workload;
  auto shape = fit_shape(workload, arguments.name);
  if (!shape) {
    shape.error().file = read->name();
    return fail(std::move(shape.error()));
  }
  const std::string json_text = shape_to_json(*shape);
  if (auto checked = check_shape(json_text, read->name()); !checked) return checked;
  const auto generated = generate_as_many(*shape);
  if (!generated) return fail(generated.error());
  if (auto written = write_file(arguments.out, json_text); !written) return written;
  const TraceStatistics statistics = trace_statistics(workload);
  const GeneratedGpuHours gpu_hours = generated_gpu_hours(*shape);
  std::FILE* const stream = summary_stream(arguments.out);
  if (arguments.json) {
    const ordered_json json = {
        {"generator", arguments.out},
        {"name", shape->name},
        {"skipped_rows", read->trace.skipped.total()},
        {"trace", statistics_to_json(statistics, std::nullopt)},
        {"generated", statistics_to_json(*generated, std::nullopt)},
        {"generated_gpu_hours", {{"mean", gpu_hours.mean}, {"standard_deviation", gpu_hours.deviation}}}};
    print_json(json, stream);
    return {};
  }
  print_text(
      stream,
      "{}{}{}arrivals  {}\nfitted    {}, durations of {} of sizes, {}, {}\nGPU-hours {}\n"
      "{}\n{}\nnext\n"
      "  vtrain trace generate --from {} --seed 1 --out {}\n",
      describe_jobs(fmt::format("{} ({})", read->name(), read->trace.format), statistics, std::nullopt),
      skipped_line(read->trace.skipped), not_kept(statistics), describe_arrivals(*shape),
      count_of(std::ssize(shape->gangs), "size"), count_of(std::ssize(shape->durations), "group"),
      count_of(std::ssize(shape->tenants), "tenant"),
      shape->statuses.size() == 1 ? "1 status" : fmt::format("{} statuses", shape->statuses.size()),
      compare_gpu_hours(statistics, gpu_hours), fmt::format("written   {}\n", arguments.out),
      comparison_table(statistics, *generated), arguments.out, unused_file_name("jobs", ".csv"));
  return {};
}

}  // namespace

void add_trace_fit(CLI::App& trace, Action& action) {
  CLI::App* command = trace.add_subcommand(
      "fit",
      "Fit a generator to a trace, to publish instead of it: tables of sizes, durations, tenants, statuses "
      "and arrivals, without names or times of the trace.\n\n  vtrain trace fit jobs.csv --out "
      "generator.json\n  vtrain trace fit cluster_log.csv --name earth --out earth.json");
  const auto arguments = std::make_shared<FitArguments>();
  arguments->name = "fitted";
  add_trace_arguments(*command, arguments->trace);
  command->add_option("--out", arguments->out, "File to write, as JSON")->check(plain_file())->required();
  command->add_option("--name", arguments->name, "Name of the shape; generated traces mention it")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [=] { return fit(*arguments); }; });
}

}  // namespace vtrain
