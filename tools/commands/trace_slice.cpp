/// `vtrain trace slice`: part of a trace, or its jobs at another load.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/text/calendar.hpp"
#include "core/text/quantities.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/trace_output.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/options/options.hpp"
#include "traces/editing/slice.hpp"

namespace vtrain {
namespace {

/// The arguments as given.
struct SliceArguments {
  TraceArguments trace;
  OutputArguments output;
  std::string from, until, statuses, max_duration, clip, cluster;
  SliceOptions options;
  std::int32_t min_gpus = 0;
  std::int32_t max_gpus = 0;
};

/// Reads the duration of an option, above 0, if given.
Result<void> take_duration(const std::string& option, const std::string& text, SimDuration& to) {
  if (text.empty()) return {};
  const auto span = parse_time_span(text);
  if (!span || span->count() == 0)
    return fail(
        {.field = option, .message = expected_found("a time above 0 such as 90s, 15m, 1.5h or 7d", text)});
  to = *span;
  return {};
}

/// True if a text is meant as a date: it begins with a year.
bool is_date(std::string_view text) {
  constexpr std::size_t kYearDigits = 4;
  return text.find_first_not_of("0123456789") == kYearDigits &&
         (text[kYearDigits] == '-' || text[kYearDigits] == '/');
}

/// Reads the instant of an option: a time from the trace's origin, or a date on its clock.
Result<SimTime> read_instant(const std::string& option, const std::string& text,
                             const std::optional<TraceOrigin>& origin) {
  if (!is_date(text)) {
    const auto span = parse_time_span(text);
    if (span) return SimTime(*span);
    return fail(
        {.field = option,
         .message = expected_found("a time such as 90s, 15m, 1.5h or 7d, or a date as 2026-11-01", text)});
  }
  // A day begins at midnight.
  const auto civil = parse_date(text) ? parse_civil_time(text + " 00:00") : parse_civil_time(text);
  if (!civil)
    return fail(
        {.field = option, .message = expected_found("a date such as 2026-11-01 or 2026-11-01T08:00", text)});
  if (!origin)
    return fail({.field = option,
                 .message = "the times of this trace have no date; name a time from its start, such as 30d"});
  const SimDuration since = civil->utc(kUtc).time_since_epoch() - origin->time.time_since_epoch();
  // What is before the first submission is its instant.
  return SimTime(std::max(since, SimDuration(0)));
}

/// All options but `--from` and `--until`.
Result<SliceOptions> slice_options(const SliceArguments& arguments,
                                   const std::optional<ClusterSpec>& cluster) {
  SliceOptions options = arguments.options;
  if (cluster) options.cluster = cluster->total_gpus();
  options.min_gpus = GpuCount(arguments.min_gpus);
  options.max_gpus = GpuCount(arguments.max_gpus);
  for (const auto& read : {take_duration("--max-duration", arguments.max_duration, options.max_duration),
                           take_duration("--clip", arguments.clip, options.clip)}) {
    if (!read) return fail(read.error());
  }
  if (!arguments.statuses.empty()) {
    auto statuses = in_option("--statuses", parse_statuses(arguments.statuses));
    if (!statuses) return fail(std::move(statuses.error()));
    options.statuses = *std::move(statuses);
  }
  return options;
}

/// Reads `--from` and `--until`, if they were given.
Result<void> take_window(const SliceArguments& arguments, const std::optional<TraceOrigin>& origin,
                         SliceOptions& options) {
  for (const auto& [option, text, to] : {std::tuple("--from", &arguments.from, &options.from),
                                         std::tuple("--until", &arguments.until, &options.until)}) {
    if (text->empty()) continue;
    const auto instant = read_instant(option, *text, origin);
    if (!instant) return fail(instant.error());
    *to = *instant;
  }
  if (!options.until || *options.until > options.from.value_or(SimTime{})) return {};
  return fail(
      {.field = "--until",
       .message = expected_found(options.from ? "a time after --from" : "a time above 0", arguments.until)});
}

Result<void> slice(const SliceArguments& arguments) {
  std::optional<ClusterSpec> cluster;
  if (!arguments.cluster.empty()) {
    auto given = ClusterSpec::parse(arguments.cluster);
    if (!given) return fail(in_option("--cluster", given.error()));
    cluster = *std::move(given);
  }
  auto options = slice_options(arguments, cluster);
  if (!options) return fail(options.error());
  if (options->sample == 0 && options->seed != SliceOptions().seed)
    log_warning("--seed: without effect; it is for --sample");
  auto read = read_traces(arguments.trace);
  if (!read) return fail(read.error());
  Trace& trace = read->trace;
  if (auto window = take_window(arguments, trace.origin, *options); !window) return window;
  const auto sentences = slice_trace(trace.workload, *options);
  if (!sentences) {
    const Error& error = sentences.error();
    return fail(error.field.empty() ? error : in_option("--" + error.field, error));
  }
  trace.assumptions.insert(trace.assumptions.end(), sentences->begin(), sentences->end());
  const auto written = write_trace(trace, arguments.output);
  if (!written) return fail(written.error());
  print_written_trace(fmt::format("{} ({})", read->name(), trace.format), trace, cluster, *written,
                      arguments.output);
  return {};
}

void add_slice_options(CLI::App& command, SliceArguments& to) {
  command.add_option("--from", to.from,
                     "Keep jobs submitted at this time or later: 90m, 12h, 30d from the trace's start, or a "
                     "date if the trace has dates: 2026-11-01, 2026-11-01T08:00");
  command.add_option("--until", to.until, "Keep jobs submitted before this time");
  command.add_option("--tenant", to.options.tenants, "Keep jobs of these tenants, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--statuses", to.statuses,
                     "Keep jobs with these recorded end states, for instance completed,failed");
  command.add_option("--min-gpus", to.min_gpus, "Keep jobs with at least this many GPUs")
      ->transform(gpu_count());
  command.add_option("--max-gpus", to.max_gpus, "Keep jobs with at most this many GPUs")
      ->transform(gpu_count());
  command.add_option("--max-duration", to.max_duration, "Keep jobs that run at most this long");
  command.add_option("--sample", to.options.sample, "Number of jobs to draw at random")
      ->transform(whole_number(1));
  command.add_option("--seed", to.options.seed, "Seed of the sample")
      ->transform(whole_number(0))
      ->capture_default_str();
  command.add_option("--max-jobs", to.options.max_jobs, "Number of jobs to keep, from the first")
      ->transform(whole_number(1));
  command.add_option(
      "--clip", to.clip,
      "Shorten longer durations to this; iterations, requested times and times to deadlines in proportion");
  command.add_flag("--shift-origin", to.options.shift_origin, "Count time from the first submission");
  CLI::Option* const factor = command
                                  .add_option("--scale-load", to.options.load_factor,
                                              "Factor on the rate of submissions, and so on the offered load")
                                  ->transform(number_between(1e-6, 1e6));
  CLI::Option* const cluster =
      command.add_option("--cluster", to.cluster, "Cluster that --load and the printed load refer to: 16x8");
  command
      .add_option("--load", to.options.load, "Offered load to reach on --cluster, in place of --scale-load")
      ->transform(number_between(1e-6, 1e6))
      ->excludes(factor)
      ->needs(cluster);
}

}  // namespace

void add_trace_slice(CLI::App& trace, Action& action) {
  CLI::App* command = trace.add_subcommand(
      "slice",
      "Write a part of a trace, or the same jobs at another load.\n\n"
      "  vtrain trace slice jobs.csv --from 1d --until 2d --shift-origin --out day.csv\n"
      "  vtrain trace slice jobs.csv --clip 14d --load 0.9 --cluster 16x8 --out busy.csv");
  const auto arguments = std::make_shared<SliceArguments>();
  add_trace_arguments(*command, arguments->trace);
  add_slice_options(*command, *arguments);
  add_output_options(*command, arguments->output);
  command->callback([=, &action] { action = [=] { return slice(*arguments); }; });
}

}  // namespace vtrain
