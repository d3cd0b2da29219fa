/// `vtrain compare`: several policies on the same jobs, over seeds and while options vary.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/strings.hpp"
#include "core/io/staged_folder.hpp"
#include "tools/cli/output_files.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/replay_runs.hpp"
#include "tools/commands/run_text.hpp"
#include "tools/experiment/seeds.hpp"
#include "tools/experiment/variation.hpp"
#include "tools/format/progress.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/options/options.hpp"
#include "tools/report/seed_tables.hpp"
#include "tools/report/varied_tables.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// A folder that is begun, and its name.
struct NamedFolder {
  std::filesystem::path name;
  StagedFolder folder;
};

/// Begins the first of runs/compare-1, runs/compare-2, ... that does not exist and that nobody else has
/// begun.
Result<NamedFolder> begin_next_run_folder() {
  for (int number = 1;; ++number) {
    std::filesystem::path name = fmt::format("runs/compare-{}", number);
    auto begun = StagedFolder::try_create_new(name, previous_files);
    if (!begun) return fail(std::move(begun.error()));
    if (*begun) return NamedFolder{std::move(name), **std::move(begun)};
  }
}

/// Commands to try after the embedded default: for the value that decides its answer, for its other half, and
/// for a trace to edit.
std::string next_commands() {
  return fmt::format(R"(
next, for instance
  vtrain compare --interruption-cost 1m
      the same day where each preemption and each resize costs a job a minute
  vtrain size --goal deadlines=95% --cluster 4-64x8:a100
      the fewest nodes with which each policy meets 95 % of the deadlines
  vtrain plan llama3-8b --gpus 64 --profile h100 --global-batch 512
      the fastest parallel plans of a model, and how long an iteration takes
  vtrain trace generate --jobs 1000 --cluster 16x8:a100 --load 0.9 --out {}
      jobs as a table, to edit and to replay
)",
                     unused_file_name("jobs", ".csv"));
}

/// The line on the seeds below the scenario, which describes the runs that are written; empty without seeds.
std::string seeds_line(const Scenario& scenario, const std::optional<SeedComparison>& seeds) {
  if (!seeds) return {};
  const ScenarioSpec& spec = scenario.spec();
  const std::string& resampled = seeds->study->resampled;
  const bool is_generated = spec.trace.files.empty();
  const bool is_trace = resampled != "none" && spec.transformations.resample == "auto";
  return labelled_lines(
      "seeds", {spec.seeds,
                is_generated          ? "jobs generated anew for each"
                : resampled == "none" ? "the same jobs; rules and failures differ"
                                      : fmt::format("{} of the trace drawn anew for each", resampled),
                is_trace ? "described above: the trace itself"
                         : fmt::format("described above: seed {}", spec.transformations.seed)});
}

/// The text of a comparison of one seed, below the scenario.
std::string comparison_text(const Scenario& scenario, const FinishedRuns& finished,
                            const std::string& written) {
  const std::vector<RunResult>& runs = finished.runs;
  const Comparison comparison = comparison_of(runs);
  std::string beside;
  if (finished.study) beside = "\n" + seed_differences_text({&*finished.study, finished.baseline});
  return fmt::format("{}{}{}{}{}{}{}{}", comparison.table, comparison.marks, comparison.left_out, beside,
                     written, lost_gpu_hours(runs), figures_by_group(runs), notes_on_runs(scenario, runs));
}

/// Begins a folder for the results where the user names none. Without one the table is printed all the same.
Result<void> begin_unnamed_folder(ReplayArguments& arguments, std::optional<StagedFolder>& folder) {
  if (!arguments.out.empty() || arguments.json) return {};
  auto next = begin_next_run_folder();
  if (!next) return fail(std::move(next.error()));
  arguments.out = std::move(next->name);
  folder.emplace(std::move(next->folder));
  return {};
}

/// Compares policies on the jobs of a spec.
Result<void> compare_policies(ReplayArguments arguments, ScenarioSpec named) {
  const auto seeds = complete_comparison(named);
  if (!seeds) return fail(seeds.error());
  const auto scenario = prepare_spec(std::move(named), NumPolicies::Several);
  if (!scenario) return fail(scenario.error());
  const ScenarioSpec& spec = scenario->spec();
  std::optional<StagedFolder> folder;
  const Result<void> written = begin_unnamed_folder(arguments, folder);
  const std::vector<std::string> places = policy_folders(spec.policies);
  const auto finished = run_and_write(arguments, *scenario, places, std::move(folder), {}, *seeds);
  if (!finished) return fail(finished.error());
  const std::vector<RunResult>& runs = finished->runs;
  const std::optional<SeedComparison> over_seeds = finished->seeds();
  if (arguments.json) {
    ordered_json list = ordered_json::array();
    for (const RunResult& run : runs)
      list.push_back(summary_to_json(run.summary));
    ordered_json document = {{"trace", scenario->trace_name()}, {"cluster", scenario->cluster().describe()}};
    document["scenario"] = scenario_to_json(*scenario);
    document.update(reading_to_json(*scenario));
    document["runs"] = list;
    if (finished->study) document["seeds"] = seeds_to_json({&*finished->study, finished->baseline});
    print_json(document);
    return {};
  }
  const std::string places_text = written ? written_lines(arguments.out, places) : "";
  print_text(stdout, "{}\n\n{}{}replayed  {}{} in {}\n\n{}",
             over_seeds ? wrap_text(seed_answer(*over_seeds), text_columns()) : answer_lines(*scenario, runs),
             describe_scenario(*scenario), seeds_line(*scenario, over_seeds),
             runs.size() == 1 ? "1 policy" : fmt::format("{} policies", runs.size()),
             over_seeds ? fmt::format(" × {} seeds", seeds->size()) : "", as_duration(finished->replay_s),
             over_seeds ? seed_tables_text(*over_seeds) + "\n" + places_text
                        : comparison_text(*scenario, *finished, places_text));
  if (!written) return written;
  const bool is_default = spec.policies == split_policies(kGeneratedPolicies);
  if (spec.trace.files.empty() && is_default) print_text(stdout, "{}", next_commands());
  return {};
}

/// The combinations of a comparison before their replays, in the order of the values.
struct PreparedVariants {
  std::vector<Variation> variations;
  std::vector<Variant> variants;
  std::vector<std::vector<std::uint64_t>> seeds;
  std::vector<Scenario> scenarios;
};

/// Prepares every combination of the options that vary.
Result<PreparedVariants> prepare_variants(const ScenarioSpec& named) {
  auto variations = parse_variations(named.vary);
  if (!variations) return fail(std::move(variations.error()));
  auto variants = variants_of(named, *variations);
  if (!variants) return fail(std::move(variants.error()));
  PreparedVariants prepared{*std::move(variations), *std::move(variants), {}, {}};
  for (Variant& variant : prepared.variants) {
    auto seeds = complete_comparison(variant.spec);
    if (!seeds) return fail(std::move(seeds.error()));
    if (seeds->empty()) seeds->push_back(variant.spec.transformations.seed);
    prepared.seeds.push_back(*std::move(seeds));
    auto scenario = prepare_spec(variant.spec, NumPolicies::Several);
    if (!scenario) return fail(std::move(scenario.error()));
    prepared.scenarios.push_back(*std::move(scenario));
  }
  return prepared;
}

/// Replays every combination under its seeds.
Result<VariedComparison> replay_variants(const PreparedVariants& prepared, const ScenarioSpec& named,
                                         unsigned threads) {
  VariedComparison comparison;
  for (const Variation& variation : prepared.variations)
    comparison.options.push_back(variation.option);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < prepared.variants.size(); ++i)
    total +=
        static_cast<std::int64_t>(prepared.seeds[i].size() * prepared.scenarios[i].spec().policies.size());
  std::atomic<std::int64_t> replays_done = 0;
  const ProgressBar progress("replaying", "replays", total, replays_done);
  for (std::size_t i = 0; i < prepared.variants.size(); ++i) {
    auto study = replay_seeds(prepared.scenarios[i], prepared.seeds[i],
                              {.threads = threads, .replays_done = &replays_done});
    if (!study) return fail(std::move(study.error()));
    comparison.studies.push_back({prepared.variants[i].values, *std::move(study)});
  }
  comparison.baseline = position_of(prepared.scenarios.front().spec().policies, named.baseline);
  return comparison;
}

/// Compares policies while options vary.
Result<void> compare_varied(ReplayArguments arguments, const ScenarioSpec& named) {
  const auto prepared = prepare_variants(named);
  if (!prepared) return fail(prepared.error());
  std::optional<StagedFolder> folder;
  if (auto begun = begin_unnamed_folder(arguments, folder); !begun) return begun;
  for (const Scenario& scenario : prepared->scenarios) {
    if (arguments.out.empty()) break;
    if (auto checked = check_run_folder(arguments.out, {}, scenario.input_paths()); !checked) return checked;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto comparison = replay_variants(*prepared, named, arguments.threads);
  if (!comparison) return fail(comparison.error());
  const double replay_s = Seconds(std::chrono::steady_clock::now() - start).count();
  if (!arguments.out.empty() && !folder) {
    auto begun = begin_folder(arguments.out);
    if (!begun) return fail(std::move(begun.error()));
    folder.emplace(*std::move(begun));
  }
  if (folder) {
    auto written = write_varied(*folder, {arguments.out, {}, arguments.command}, named, prepared->scenarios,
                                *comparison);
    if (!written) return written;
  }
  if (arguments.json) {
    print_json({{"vary", comparison->options}, {"combinations", varied_to_json(*comparison)}});
    return {};
  }
  print_text(stdout, "{}\n\n{}{}replayed  {} in {}\n\n{}\n{}{}",
             wrap_text(varied_summary(*comparison), text_columns()),
             describe_scenario(prepared->scenarios.front()),
             labelled_lines("varied", {fmt::format("{}", fmt::join(named.vary, "   ")),
                                       "described above: the first combination"}),
             count_of(std::ssize(comparison->studies), "combination"), as_duration(replay_s),
             varied_table_text(*comparison), varied_answers(*comparison), written_lines(arguments.out, {}));
  return {};
}

Result<void> compare(const ReplayArguments& arguments) {
  const auto read = read_spec(arguments);
  if (!read) return fail(read.error());
  auto done = read->spec.vary.empty() ? compare_policies(arguments, read->spec)
                                      : compare_varied(arguments, read->spec);
  if (!done) return fail(locate_error(*read, std::move(done.error())));
  return done;
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action, const std::string& command_line) {
  CLI::App* command = app.add_subcommand(
      "compare",
      "Replay the same jobs under several policies: one table, one report.\n\n"
      "  vtrain compare\n"
      "  vtrain compare --trace jobs.csv --cluster 64x8:a100 --policies fifo,easy,las,edf");
  const auto arguments = std::make_shared<ReplayArguments>();
  arguments->command = command_line;
  const auto policies = std::make_shared<std::string>();
  add_scenario_options(*command, arguments->spec);
  command
      ->add_option("--policies", *policies,
                   "Policies, separated by commas; for generated jobs the default is " +
                       std::string(kGeneratedPolicies))
      ->default_str(std::string(kTracePolicies));
  command
      ->add_option("--seeds", arguments->spec.seeds,
                   "Seeds to replay, such as 1-20 or 1,4,9: means with their 95 % intervals; default: 1-20 "
                   "for generated jobs, the one of --seed for a trace")
      ->excludes("--seed");
  command
      ->add_option("--vary", arguments->spec.vary,
                   "Option and its values, OPTION=V1,V2,... or OPTION=V1;V2 where values have commas; may be "
                   "repeated: every combination is replayed")
      ->type_name("OPTION=VALUES")
      ->take_all();
  command->add_option("--baseline", arguments->spec.baseline,
                      "Policy that the others are compared with; default: the best one");
  add_spec_option(*command, *arguments);
  command
      ->add_option("--threads", arguments->threads,
                   "Policies or seeds to replay at the same time; 0 = one per processor")
      ->transform(whole_number(0, 1024))
      ->capture_default_str();
  command->callback([=, &action] {
    const bool is_given = command->count("--policies") > 0;
    const std::string_view defaults =
        arguments->spec.trace.files.empty() ? kGeneratedPolicies : kTracePolicies;
    arguments->spec.policies = split_policies(is_given ? *policies : defaults);
    const bool names_seeds = command->count("--seeds") + command->count("--seed") > 0;
    if (arguments->spec.trace.files.empty() && !names_seeds) arguments->spec.seeds = kDefaultSeeds;
    action = [arguments] { return compare(*arguments); };
  });
}

}  // namespace vtrain
