/// `vtrain replay`: one policy, and `vtrain compare`: several on the same jobs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "tools/cli/command.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/experiment/experiment.hpp"
#include "tools/experiment/policy_runs.hpp"
#include "tools/format/json_output.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/format/wall_time.hpp"
#include "tools/report/metric.hpp"
#include "tools/report/report.hpp"
#include "tools/results/run_files.hpp"
#include "tools/results/run_folder.hpp"
#include "tools/results/summary_json.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The default of `compare`: one of each kind (in order, backfilling, shortest first, deadline first), all of
/// which give jobs the GPUs that they ask for.
constexpr std::string_view kDefaultPolicies = "fifo,easy,srtf,edf:resize=no";

/// A row for each policy; a star marks the best value of a column.
struct Comparison {
  std::string table{};
  std::string_view stars{};  ///< what they mean; empty without any
};

Comparison comparison_of(const std::vector<ExperimentRun>& runs) {
  std::vector<const Summary*> replays;
  for (const ExperimentRun& run : runs)
    replays.push_back(&run.summary);
  Comparison comparison;
  std::vector<std::string> header = {"policy"};
  std::vector<std::vector<bool>> best;
  std::vector<const Metric*> columns;
  for (const Metric& metric : replay_metrics()) {
    if (metric.short_title.empty()) continue;
    columns.push_back(&metric);
    header.push_back(std::string(metric.short_title) + "  ");
    best.push_back(best_replays(metric, replays));
  }
  TextTable table(std::move(header));
  bool has_stars = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string> row = {runs[i].summary.policy};
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const Metric& metric = *columns[column];
      has_stars |= best[column][i];
      row.push_back(metric.show(metric.value(runs[i].summary)) + (best[column][i] ? " *" : "  "));
    }
    table.add_row(std::move(row));
  }
  comparison.table = table.to_string();
  if (has_stars) comparison.stars = meaning_of_stars(replays);
  return comparison;
}

/// A sentence for the reader who wonders why the rows are the same.
std::string nobody_waited(const std::vector<ExperimentRun>& runs) {
  const Summary& first = runs.front().summary;
  const bool nobody = std::all_of(runs.begin(), runs.end(), [&first](const ExperimentRun& run) {
    const Summary& summary = run.summary;
    return summary.avg_waiting_time_s == 0 && summary.preemptions == 0 &&
           summary.completed == first.completed && summary.avg_jct_s == first.avg_jct_s &&
           summary.makespan_s == first.makespan_s;
  });
  return nobody && runs.size() > 1
             ? "No job ever waited: with this load on this cluster the policies cannot differ.\n"
             : "";
}

/// Jobs that did not complete, a line for each policy that has any.
std::string incomplete_jobs(const std::vector<ExperimentRun>& runs) {
  std::string text;
  for (const ExperimentRun& run : runs) {
    const Summary& summary = run.summary;
    if (summary.completed == summary.jobs) continue;
    std::vector<std::string> others;
    const auto add = [&others](std::int64_t count, std::string_view what) {
      if (count > 0) others.push_back(fmt::format("{} {}", with_thousands(count), what));
    };
    add(summary.rejected - summary.turned_away - summary.lacking_type,
        "rejected as too large for the cluster");
    add(summary.lacking_type, "rejected for a GPU type that the cluster lacks");
    add(summary.turned_away, "rejected by the policy");
    add(summary.failed,
        summary.failed == 1 ? "ended at its requested time" : "ended at their requested times");
    add(summary.unfinished, "never finished");
    text += fmt::format("{}: {} of {} completed; {}", summary.policy, with_thousands(summary.completed),
                        count_of(summary.jobs, "job"), fmt::join(others, ", "));
    if (summary.stopped_early) text += ", as the replay was ended ten years after the last submission";
    text += "\n";
  }
  return text;
}

/// What jobs held GPUs for without lasting work, a row for each policy under which anything could cost them
/// any; empty if there is none. Causes that cost nothing under any policy are left out.
std::string lost_gpu_hours(const std::vector<ExperimentRun>& runs) {
  std::vector<std::pair<std::string, const DisruptionSummary*>> disrupted;
  for (const ExperimentRun& run : runs) {
    if (run.summary.disruptions) disrupted.emplace_back(run.summary.policy, &*run.summary.disruptions);
  }
  if (disrupted.empty()) return {};
  std::vector<std::string> header = {"GPU-hours lost to"};
  std::vector<std::size_t> causes;
  for (std::size_t cause = 0; cause < kNumLossCauses; ++cause) {
    if (std::all_of(disrupted.begin(), disrupted.end(),
                    [cause](const auto& row) { return row.second->lost_gpu_hours[cause] == 0; }))
      continue;
    causes.push_back(cause);
    header.push_back(lower_case(kLossCauses[cause].title));
  }
  header.insert(header.end(), {"of those held", "out of service", "jobs stopped", "goodput"});
  TextTable table(std::move(header));
  for (const auto& [policy, summary] : disrupted) {
    std::vector<std::string> row = {policy};
    for (const std::size_t cause : causes)
      row.push_back(short_number(summary->lost_gpu_hours[cause]));
    const double lost = summary->total_lost_gpu_hours();
    const double held = lost + summary->useful_gpu_hours;
    row.push_back(as_percent(held > 0 ? lost / held : 0));
    row.push_back(short_number(summary->out_of_service_gpu_hours));
    row.push_back(with_thousands(summary->interruptions));
    row.push_back(as_percent(summary->goodput));
    table.add_row(std::move(row));
  }
  return "\n" + table.to_string() + "goodput: work that lasts, of what all GPUs could have done\n";
}

/// What the policies tell of their own work, a line for each that has anything to tell: figures that are 0
/// are left out.
std::string policy_figures(const std::vector<ExperimentRun>& runs) {
  constexpr std::string_view kPercent = "_percent";
  std::string text;
  for (const ExperimentRun& run : runs) {
    std::string line;
    for (const PolicyFigure& figure : run.summary.figures) {
      if (figure.value == 0) continue;
      const bool percent = figure.name.ends_with(kPercent);
      std::string name(figure.name.substr(0, figure.name.size() - (percent ? kPercent.size() : 0)));
      std::replace(name.begin(), name.end(), '_', ' ');
      const std::string value = figure.value == std::trunc(figure.value)
                                    ? with_thousands(static_cast<std::int64_t>(figure.value))
                                    : fmt::format("{:.3g}", figure.value);
      line += fmt::format("{} {} {}{}", line.empty() ? "" : ",", name, value, percent ? " %" : "");
    }
    if (!line.empty()) text += fmt::format("{}:{}\n", run.summary.policy, line);
  }
  return text;
}

/// Says so where jobs were preempted or resized and it was taken to cost nothing; policies with costs of
/// their own (ElasticFlow's table, presets) are left out.
std::string free_interruptions(const Experiment& experiment, const std::vector<ExperimentRun>& runs) {
  if (experiment.disruptions &&
      experiment.disruptions->interruption_cost.rule().kind != InterruptionRule::Kind::None)
    return {};
  const bool any = std::any_of(runs.begin(), runs.end(), [](const ExperimentRun& run) {
    return run.takes_interruption_cost &&
           (run.summary.preemptions > 0 ||
            std::ranges::any_of(run.result.outcomes, [](const JobOutcome& job) { return job.resizes > 0; }));
  });
  return any ? "being preempted or resized costs jobs nothing (--interruption-cost)\n" : "";
}

/// How much of what was free was of no use, a line for each policy whose placement tells.
std::string fragmentation_rates(const std::vector<ExperimentRun>& runs) {
  std::string text;
  for (const ExperimentRun& run : runs) {
    if (!run.summary.fragmentation) continue;
    text += fmt::format(
        "{}: {} of the free GPUs were too fragmented to be of use, in the mean over time; at most {}\n",
        run.summary.policy, as_percent(run.summary.fragmentation->mean_rate),
        as_percent(run.summary.fragmentation->max_rate));
  }
  return text;
}

/// One report page for all runs.
std::string render(const Experiment& experiment, const std::vector<ExperimentRun>& runs,
                   const ExperimentArguments& arguments) {
  ReportInput input;
  input.workload = &experiment.workload;
  input.cluster = experiment.cluster;
  input.gpus_are_shared = info_of(experiment.placement).shares_gpus;
  input.trace_name = experiment.trace_name;
  input.assumptions = experiment.assumptions;
  input.provenance = experiment.provenance;
  input.provenance.emplace_back("version", "vtrain " VTRAIN_VERSION);
  input.provenance.emplace_back("repeat with", arguments.command_line);
  for (const ExperimentRun& run : runs)
    input.runs.push_back({run.summary, &run.result});
  return render_report(input);
}

ordered_json to_json(const Experiment& experiment, const ExperimentRun& run, double write_s) {
  ordered_json json = summary_to_json(run.summary);
  json["wall_s"] = run.wall_s;
  json["read_s"] = experiment.read_s;
  json["write_s"] = write_s;
  return json;
}

/// Removes a folder that is new, with its `places`, as far as nothing is in them.
void remove_empty_folders(const std::filesystem::path& folder, const std::vector<std::string>& places) {
  std::error_code ignored;  // of what is not there, or not empty
  for (const std::string& place : places)
    std::filesystem::remove(folder / place, ignored);
  std::filesystem::remove(folder, ignored);
}

/// Which rows of the trace are no jobs, and what was assumed.
ordered_json reading_to_json(const Experiment& experiment) {
  return {{"skipped_rows", experiment.skipped.total()},
          {"skipped", skipped_to_json(experiment.skipped)},
          {"assumptions", experiment.assumptions}};
}

/// Writes the files of every run, to the `places` of their policies within the folder, and of all of them.
/// What is there before, of another run, is replaced as a whole.
Result<void> write_results(const std::vector<std::string>& places, const ExperimentArguments& arguments,
                           const Experiment& experiment, const std::vector<ExperimentRun>& runs) {
  FileGroup files;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::filesystem::path place = places[i];
    auto written = write_run(files, arguments.out / place, experiment, runs[i]);
    if (!written) return fail(std::move(written.error()));
    for (const std::string& name : *written)
      names.push_back((place / name).string());
  }
  auto written =
      write_run_provenance(files, arguments, experiment, runs, names, render(experiment, runs, arguments));
  if (!written) return written;
  return replace_previous_run(files, arguments.out, names);
}

/// What `run_and_write` leaves.
struct FinishedRuns {
  std::vector<ExperimentRun> runs;
  double replay_s = 0;  ///< time limit of all of them
  double write_s = 0;
};

/// Replays the jobs under every policy and writes the results, if there is a folder for them, of which some
/// go to `places` within it: one that cannot be written is found out before the work, not after it. A folder
/// that is new goes again if anything fails.
Result<FinishedRuns> run_and_write(const ExperimentArguments& arguments, Experiment& experiment,
                                   const std::vector<std::string>& places, bool is_new_folder) {
  const bool writes = !arguments.out.empty();
  if (writes) {
    auto checked = check_inputs_stay(arguments.out, places, experiment.input_files);
    if (!checked) return fail(std::move(checked.error()));
    if (auto made = create_output_folder(arguments.out); !made) return fail(std::move(made.error()));
  }
  const auto start = std::chrono::steady_clock::now();
  auto runs = run_policies(experiment, arguments, wants_timeline(arguments, experiment));
  const auto write_start = std::chrono::steady_clock::now();
  Result<void> written;
  if (runs && writes) written = write_results(places, arguments, experiment, *runs);
  if (is_new_folder && !(runs && written)) remove_empty_folders(arguments.out, places);
  if (!runs) return fail(std::move(runs.error()));
  if (!written) return fail(std::move(written.error()));
  return FinishedRuns{*std::move(runs), Seconds(write_start - start).count(), seconds_since(write_start)};
}

/// Whether there is to be a folder for the results that is not there yet.
bool is_new(const std::filesystem::path& folder) {
  return !folder.empty() && !std::filesystem::exists(folder);
}

Result<void> replay(const ExperimentArguments& arguments) {
  auto experiment = prepare_experiment(arguments);
  if (!experiment) return fail(experiment.error());
  const auto finished = run_and_write(arguments, *experiment, {""}, is_new(arguments.out));
  if (!finished) return fail(finished.error());
  const std::vector<ExperimentRun>& runs = finished->runs;
  const ExperimentRun& run = runs.front();
  if (arguments.json) {
    ordered_json document = to_json(*experiment, run, finished->write_s);
    document.update(reading_to_json(*experiment));
    print_json(document);
    return {};
  }
  fmt::print("{}replayed  {} in {}\n\n{}{}{}", describe_experiment(*experiment),
             count_of(run.summary.events, "event"), as_duration(run.wall_s), comparison_of(runs).table,
             lost_gpu_hours(runs),
             free_interruptions(*experiment, runs) + fragmentation_rates(runs) + incomplete_jobs(runs) +
                 policy_figures(runs));
  if (!arguments.out.empty()) fmt::print("{}\n", (arguments.out / "report.html").string());
  return {};
}

/// Makes the first of runs/compare-1, runs/compare-2, ... that does not exist; nobody else made it.
Result<std::filesystem::path> make_next_run_folder() {
  if (auto made = create_output_folder("runs"); !made) return fail(std::move(made.error()));
  for (int number = 1;; ++number) {
    std::filesystem::path folder = fmt::format("runs/compare-{}", number);
    std::error_code code;
    if (std::filesystem::create_directory(folder, code)) return folder;
    if (code && code != std::errc::file_exists) {
      return fail({.kind = ErrorKind::Io,
                   .file = folder.string(),
                   .message = "cannot create the folder: " + code.message()});
    }
  }
}

/// What a newcomer who has just run the embedded default may try.
constexpr std::string_view kNextCommands = R"(
next, for instance
  vtrain compare --policies srsf,las,conservative --placement yarn
  vtrain trace generate --jobs 1000 --cluster 16x8:a100 --load 0.9 --seed 7 --out jobs.csv
  vtrain policies
)";

/// Splits `fifo,las:timer=peer,queues=3250;7200,edf` into specs: a part with `=` but no `:` before it goes on
/// with the parameters of the policy before. Blanks around specs are left out.
std::vector<std::string> split_policies(std::string_view list) {
  std::vector<std::string> specs;
  for (const std::string_view part : split(list, ',')) {
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.find(':') > equals && !specs.empty()) {
      specs.back() += "," + std::string(part);
    } else {
      specs.emplace_back(part);
    }
  }
  return specs;
}

/// What a list of policies may not be.
Result<void> check_policies(const std::vector<std::string>& specs) {
  std::set<std::string> seen;
  for (const std::string& spec : specs) {
    if (spec.empty())
      return fail(
          {.field = "--policies", .message = "expected names separated by commas, found an empty one"});
    if (!seen.insert(spec).second)
      return fail({.field = "--policies", .message = fmt::format("'{}' is named twice", printable(spec))});
  }
  return {};
}

Result<void> compare(ExperimentArguments arguments) {
  if (auto checked = check_policies(arguments.policies); !checked) return checked;
  auto experiment = prepare_experiment(arguments);
  if (!experiment) return fail(experiment.error());
  bool is_new_folder = is_new(arguments.out);
  if (arguments.out.empty() && !arguments.json) {
    is_new_folder = true;
    auto folder = make_next_run_folder();
    if (!folder) return fail(std::move(folder.error()));
    arguments.out = *std::move(folder);
  }
  const auto finished =
      run_and_write(arguments, *experiment, policy_folders(arguments.policies), is_new_folder);
  if (!finished) return fail(finished.error());
  const std::vector<ExperimentRun>& runs = finished->runs;
  if (arguments.json) {
    ordered_json list = ordered_json::array();
    for (const ExperimentRun& run : runs)
      list.push_back(to_json(*experiment, run, finished->write_s));
    ordered_json document = {{"trace", experiment->trace_name}, {"cluster", experiment->cluster.describe()}};
    document.update(reading_to_json(*experiment));
    document["runs"] = list;
    print_json(document);
    return {};
  }
  const Comparison comparison = comparison_of(runs);
  fmt::print("{}replayed  {} in {}\n\n{}{}{}{}\n{}{}", describe_experiment(*experiment),
             runs.size() == 1 ? "1 policy" : fmt::format("{} policies", runs.size()),
             as_duration(finished->replay_s), comparison.table, comparison.stars,
             comparison.stars.empty() ? "" : "        ", (arguments.out / "report.html").string(),
             lost_gpu_hours(runs),
             nobody_waited(runs) + free_interruptions(*experiment, runs) + fragmentation_rates(runs) +
                 incomplete_jobs(runs) + policy_figures(runs));
  const bool is_default = arguments.policies == split_policies(kDefaultPolicies);
  if (arguments.trace.files.empty() && is_default) fmt::print("{}", kNextCommands);
  return {};
}

}  // namespace

void add_replay_command(CLI::App& app, Action& action, const std::string& command_line) {
  CLI::App* command =
      app.add_subcommand("replay",
                         "Replay the jobs of a trace under one scheduling policy.\n\n"
                         "  vtrain replay --policy easy\n"
                         "  vtrain replay --trace jobs.csv --cluster 16x8:a100 --policy edf --out runs/edf");
  const auto arguments = std::make_shared<ExperimentArguments>();
  arguments->command_line = command_line;
  const auto policy = std::make_shared<std::string>("fifo");
  add_experiment_options(*command, *arguments);
  command
      ->add_option("--policy", *policy,
                   "Policy, with parameters as NAME:key=value,...; see `vtrain policies`")
      ->capture_default_str();
  command->callback([=, &action] {
    arguments->policies = {*policy};
    action = [arguments] { return replay(*arguments); };
  });
}

void add_compare_command(CLI::App& app, Action& action, const std::string& command_line) {
  CLI::App* command = app.add_subcommand(
      "compare",
      "Replay the same jobs under several policies: one table, one report.\n\n"
      "  vtrain compare\n"
      "  vtrain compare --trace jobs.csv --cluster 64x8:a100 --policies fifo,easy,las,edf");
  const auto arguments = std::make_shared<ExperimentArguments>();
  arguments->command_line = command_line;
  const auto policies = std::make_shared<std::string>(kDefaultPolicies);
  add_experiment_options(*command, *arguments);
  command->add_option("--policies", *policies, "Policies, separated by commas")->capture_default_str();
  command->add_option("--threads", arguments->threads, "Policies replayed at once; 0 is one per processor")
      ->transform(whole_number(0, 1024))
      ->capture_default_str();
  command->callback([=, &action] {
    arguments->policies = split_policies(*policies);
    action = [arguments] { return compare(*arguments); };
  });
}

}  // namespace vtrain
