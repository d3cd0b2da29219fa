/// `vtrain size`: the smallest cluster that meets a goal under each policy.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/io/staged_folder.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/replay_runs.hpp"
#include "tools/experiment/seeds.hpp"
#include "tools/experiment/sizing.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/format/progress.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/options/options.hpp"
#include "tools/report/size_tables.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

/// Default range: up to four times the cluster of the generated day.
constexpr const char* kDefaultRange = "1-64x8:a100";

/// A spec with its defaults, and what was read from it.
struct SizeQuestion {
  ScenarioSpec spec;  ///< spec of the question; `cluster` is a range
  ClusterRange range;
  SizeGoal goal;
  std::vector<std::uint64_t> seeds;
};

Result<SizeQuestion> read_question(ScenarioSpec spec) {
  const bool is_generated = spec.trace.files.empty();
  if (spec.cluster.empty() && !is_generated)
    return fail({.field = "--cluster", .message = "missing: say for instance --cluster 4-64x8:a100"});
  if (spec.cluster.empty()) spec.cluster = kDefaultRange;
  if (spec.reference.empty() && is_generated) spec.reference = kDefaultCluster;
  if (spec.reference.empty() && spec.transformations.load > 0)
    return fail({.field = "--load", .message = "needs --reference, the cluster that it is stated for"});
  if (spec.goal.empty())
    return fail({.field = "--goal", .message = "missing: say for instance --goal deadlines=95%"});
  auto goal = SizeGoal::parse(spec.goal);
  if (!goal) return fail(std::move(goal.error()));
  auto range = ClusterRange::parse(spec.cluster);
  if (!range) return fail(std::move(range.error()));
  auto seeds = complete_comparison(spec);
  if (!seeds) return fail(std::move(seeds.error()));
  if (seeds->empty()) seeds->push_back(spec.transformations.seed);
  return SizeQuestion{std::move(spec), *std::move(range), *std::move(goal), *std::move(seeds)};
}

/// Prepares the scenario of the largest cluster, which the output describes.
Result<Scenario> prepare_largest(const SizeQuestion& question) {
  ScenarioSpec spec = question.spec;
  spec.cluster = question.range.at(question.range.num_mixes() - 1, question.range.high());
  return prepare_spec(std::move(spec), NumPolicies::Several);
}

/// The lines below the answer: jobs, clusters, seeds and assumptions.
std::string describe_question(const SizeQuestion& question, const Scenario& largest, const SizeStudy& study) {
  const bool is_generated = largest.spec().trace.files.empty();
  std::string seeds = is_generated ? "jobs generated anew for each"
                      : study.resampled != "none"
                          ? fmt::format("{} of the trace drawn anew for each", study.resampled)
                          : "the same jobs; rules and failures differ";
  return labelled_lines("jobs", {largest.trace_name(), jobs_of_sizes(largest)}) +
         labelled_lines("clusters", {question.spec.cluster,
                                     fmt::format("placement {}", info_of(largest.placement()).name)}) +
         labelled_lines("seeds", {question.spec.seeds.empty() ? std::to_string(question.seeds.front())
                                                              : question.spec.seeds,
                                  question.seeds.size() > 1 ? seeds : "one seed gives no interval"}) +
         assumed_lines(texts_of(largest.notes()));
}

Result<void> find_and_print(const ReplayArguments& arguments, ScenarioSpec named) {
  const auto question = read_question(std::move(named));
  if (!question) return fail(question.error());
  const auto largest = prepare_largest(*question);
  if (!largest) return fail(largest.error());
  if (!arguments.out.empty()) {
    if (auto checked = check_run_folder(arguments.out, {}, largest->input_paths()); !checked) return checked;
  }
  const auto start = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> replays_done = 0;
  std::optional<Result<SizeStudy>> found;
  {
    // About as many sizes as a bisection needs, with the neighbours of its answer.
    std::int64_t sizes = 6;
    for (std::int64_t rest = question->range.high() - question->range.low(); rest > 0; rest /= 2)
      ++sizes;
    const auto curves =
        static_cast<std::int64_t>(largest->spec().policies.size() * question->range.num_mixes());
    const ProgressBar progress("replaying", "replays", sizes * curves * std::ssize(question->seeds),
                               replays_done);
    found = find_sizes(*largest, question->range, question->goal, question->seeds,
                       {.threads = arguments.threads, .replays_done = &replays_done});
  }
  if (!*found) return fail(found->error());
  const SizeStudy& study = **found;
  const double took_s = Seconds(std::chrono::steady_clock::now() - start).count();
  if (!arguments.out.empty()) {
    auto folder = begin_folder(arguments.out);
    if (!folder) return fail(std::move(folder.error()));
    auto written =
        write_sizes(*folder, {arguments.out, {}, arguments.command}, question->spec, *largest, study);
    if (!written) return written;
  }
  if (arguments.json) {
    nlohmann::ordered_json document = size_to_json(study);
    document["reference"] = largest->reference() ? nlohmann::ordered_json(largest->reference()->describe())
                                                 : nlohmann::ordered_json();
    document["trace"] = largest->trace_name();
    document.update(reading_to_json(*largest));
    print_json(document);
    return {};
  }
  print_text(stdout, "{}\n\n{}replayed  {} in {}\n\n{}{}", wrap_text(size_answer(study), text_columns()),
             describe_question(*question, *largest, study), count_of(study.num_replays, "schedule"),
             as_duration(took_s), size_table_text(study),
             arguments.out.empty() ? "" : written_lines(arguments.out, {}));
  return {};
}

Result<void> size(const ReplayArguments& arguments) {
  const auto read = read_spec(arguments);
  if (!read) return fail(read.error());
  auto done = find_and_print(arguments, read->spec);
  if (!done) return fail(locate_error(*read, std::move(done.error())));
  return done;
}

}  // namespace

void add_size_command(CLI::App& app, Action& action, const std::string& command_line) {
  CLI::App* command =
      app.add_subcommand("size",
                         "Find the smallest cluster that meets a goal under each policy.\n\n"
                         "  vtrain size --goal deadlines=95% --cluster 4-64x8:h100 --policies easy,deadline\n"
                         "  vtrain size --goal p95-wait=1h --trace jobs.csv --cluster 2-32x8:a100");
  const auto arguments = std::make_shared<ReplayArguments>();
  arguments->command = command_line;
  const auto policies = std::make_shared<std::string>();
  command
      ->add_option(
          "--goal", arguments->spec.goal,
          "Goal, such as deadlines=95% (share of the deadlines met), deadlines-by-gpu-hours=95% or "
          "p95-wait=1h; waits and JCTs have p50, p95 and p99, over all jobs: those that never end wait "
          "forever")
      ->type_name("MEASURE=BOUND");
  add_scenario_options(*command, arguments->spec);
  CLI::Option* const cluster = command->get_option("--cluster");
  cluster->description(
      "Clusters to choose from, LOW-HIGHxGPUS:TYPE, for instance 4-64x8:h100; other types beside it as in "
      "4-64x8:h100+0,8,16x8:a100: every combination is searched; default for generated jobs: 1-64x8:a100");
  command->get_option("--reference")
      ->description(
          "Cluster that jobs are generated for and --load is stated for, whatever the size; default for "
          "generated jobs: 16x8:a100");
  for (const char* const of_one_replay : {"--timeline", "--by"})
    command->remove_option(command->get_option(of_one_replay));
  command
      ->add_option("--policies", *policies,
                   "Policies, separated by commas; for generated jobs the default is " +
                       std::string(kGeneratedPolicies))
      ->default_str(std::string(kTracePolicies));
  command
      ->add_option(
          "--seeds", arguments->spec.seeds,
          "Seeds to replay, such as 1-20 or 1,4,9; the answer is the smallest size whose 95 % interval "
          "meets the goal; default: 1-20 for generated jobs, the one of --seed for a trace")
      ->excludes("--seed");
  add_spec_option(*command, *arguments);
  command
      ->add_option("--threads", arguments->threads, "Replays to do at the same time; 0 = one per processor")
      ->transform(whole_number(0, 1024))
      ->capture_default_str();
  command->callback([=, &action] {
    const bool is_given = command->count("--policies") > 0;
    const bool is_generated = arguments->spec.trace.files.empty();
    arguments->spec.policies = split_policies(is_given       ? *policies
                                              : is_generated ? kGeneratedPolicies
                                                             : kTracePolicies);
    const bool names_seeds = command->count("--seeds") + command->count("--seed") > 0;
    if (is_generated && !names_seeds) arguments->spec.seeds = kDefaultSeeds;
    action = [arguments] { return size(*arguments); };
  });
}

}  // namespace vtrain
