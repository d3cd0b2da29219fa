/// `vtrain sweep`: a grid of replays, with its results in one SQLite file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/sweep_template.hpp"
#include "tools/experiment/in_parallel.hpp"
#include "tools/format/progress.hpp"
#include "tools/format/text_format.hpp"
#include "tools/sweep/hand_out.hpp"
#include "tools/sweep/merge.hpp"
#include "tools/sweep/ranks.hpp"
#include "tools/sweep/sweep.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

/// Arguments of `sweep`.
struct SweepArguments {
  fs::path spec;
  fs::path out;       ///< empty: named after the spec
  std::string shard;  ///< `i/n`, empty for the whole sweep
  unsigned threads = 0;
  bool dry_run = false;
  bool retry_errors = false;
  bool force = false;
  bool json = false;
  bool slurm_template = false;
};

/// Arguments of `sweep merge`.
struct MergeArguments {
  fs::path out;
  std::vector<fs::path> parts;
  bool force = false;
  bool json = false;
};

std::string runs_text(std::int64_t runs) {
  return fmt::format("{} run{}", with_thousands(runs), runs == 1 ? "" : "s");
}

/// The sweep that the arguments name, before anything is written.
struct NamedSweep {
  SweepSpec spec;
  Shard shard{};
  StoredSweep stored{};
  fs::path file;

  /// Runs of this part of the grid.
  std::int64_t num_runs(const std::vector<bool>& finished) const {
    return HandOut(spec.grid, finished, shard, 1).num_runs();
  }
};

Result<NamedSweep> read_sweep(const SweepArguments& arguments) {
  auto spec = read_sweep_spec(arguments.spec);
  if (!spec) return fail(std::move(spec.error()));
  NamedSweep sweep{.spec = *std::move(spec), .file = arguments.out};
  if (!arguments.shard.empty()) {
    const auto shard = Shard::parse(arguments.shard);
    if (!shard) return fail(shard.error());
    sweep.shard = *shard;
  }
  if (sweep.file.empty()) {
    sweep.file = arguments.spec.stem();
    if (sweep.shard.count > 1) sweep.file += fmt::format("-{}-of-{}", sweep.shard.index, sweep.shard.count);
    sweep.file += ".sqlite";
  }
  sweep.stored = {.spec = sweep.spec.grid.text(), .program = VTRAIN_VERSION, .shard = sweep.shard};
  return sweep;
}

/// Lists the runs that are left and estimates their time.
Result<void> list_runs(const SweepArguments& arguments, const NamedSweep& sweep) {
  const Grid& grid = sweep.spec.grid;
  std::vector<bool> finished(static_cast<std::size_t>(grid.num_runs()) + 1);
  std::error_code ignored;
  const std::int64_t all = sweep.num_runs(finished);
  if (!arguments.force && fs::exists(sweep.file, ignored)) {
    const auto results = open_results(sweep.file);
    if (!results) return fail(results.error());
    if (auto checked = check_stored_sweep(*results, sweep.stored); !checked) return checked;
    auto runs = finished_runs(*results, grid);
    if (!runs) return fail(std::move(runs.error()));
    finished = *std::move(runs);
  }
  const std::int64_t left = sweep.num_runs(finished);
  SweepEstimate estimate;
  if (left > 0) {
    auto estimated = estimate_sweep(grid, sweep.shard, finished);
    if (!estimated) return fail(std::move(estimated.error()));
    estimate = *estimated;
  }
  const unsigned threads = num_threads(arguments.threads);
  const double wall_s = estimate.total_s / threads;
  nlohmann::ordered_json listed = nlohmann::ordered_json::array();
  if (!arguments.json) {
    std::string header = fmt::format("{:>9}  {:>9}  {:<24}", "run", "seed", "policy");
    for (const Variation& variation : grid.variations())
      header += fmt::format("  {}", variation.option);
    print_text(stdout, "{}\n", header);
  }
  for (std::int64_t run = 1; run <= grid.num_runs(); ++run) {
    const GridPlace place = grid.place(run);
    if (finished[static_cast<std::size_t>(run)] || !sweep.shard.holds(place.scenario)) continue;
    const std::vector<std::string> values = grid.values(place.variant);
    if (arguments.json) {
      nlohmann::ordered_json row = {
          {"run", run}, {"seed", grid.seeds()[place.seed]}, {"policy", grid.policies()[place.policy]}};
      for (std::size_t i = 0; i < values.size(); ++i)
        row[grid.variations()[i].option] = values[i];
      listed.push_back(std::move(row));
      continue;
    }
    std::string line =
        fmt::format("{:>9}  {:>9}  {:<24}", run, grid.seeds()[place.seed], grid.policies()[place.policy]);
    for (const std::string& value : values)
      line += fmt::format("  {}", value);
    print_text(stdout, "{}\n", line);
  }
  if (arguments.json) {
    print_json({{"results", sweep.file.string()},
                {"runs", all},
                {"left", left},
                {"estimated_cpu_s", estimate.total_s},
                {"estimated_wall_s", wall_s},
                {"threads", threads},
                {"list", std::move(listed)}});
    return {};
  }
  print_text(stdout, "\n{} of {} to do for {}: about {} on {} threads, judged by the first scenario\n",
             runs_text(left), with_thousands(all), sweep.file.string(), as_duration(wall_s), threads);
  return {};
}

/// Prints what a sweep did. Runs that failed make it an error.
Result<void> report_outcome(const SweepArguments& arguments, const NamedSweep& sweep, std::int64_t all,
                            std::int64_t before, std::int64_t failed, const SweepOutcome& outcome,
                            std::string_view workers) {
  log_warnings(outcome.warnings);
  if (arguments.json) {
    print_json({{"results", sweep.file.string()},
                {"runs", all},
                {"before", before},
                {"done", outcome.done},
                {"failed", failed},
                {"workers", outcome.workers},
                {"replay_s", outcome.replay_s},
                {"wall_s", outcome.wall_s}});
  } else {
    std::error_code ignored;
    const std::string now = outcome.done == 0
                                ? "none left"
                                : fmt::format("{} now in {} on {} {}", with_thousands(outcome.done),
                                              as_duration(outcome.wall_s), outcome.workers, workers);
    print_text(stdout, "{} of {}: {} before, {}\nresults   {}, {}\n", runs_text(before + outcome.done),
               with_thousands(all), with_thousands(before), now, printable(sweep.file.string()),
               as_file_size(fs::file_size(sweep.file, ignored)));
  }
  if (failed == 0) return {};
  return fail({.kind = ErrorKind::Failed,
               .file = sweep.file.string(),
               .message = fmt::format("{} failed; the table `errors` says why (--retry-errors replays them)",
                                      runs_text(failed))});
}

/// `ranks` is null for a sweep on threads.
Result<void> run_sweep(const SweepArguments& arguments, const NamedSweep& sweep, Ranks* ranks) {
  const Grid& grid = sweep.spec.grid;
  if (ranks != nullptr && arguments.threads != 0)
    log_warning("--threads: without effect; each rank replays on one thread");
  auto store = ResultStore::open(sweep.file, grid, sweep.stored, arguments.force);
  if (!store) return fail(std::move(store.error()));
  if (arguments.retry_errors) {
    if (auto dropped = store->drop_errors(); !dropped) return dropped;
  }
  const auto finished = store->finished();
  if (!finished) return fail(finished.error());
  const std::int64_t all = sweep.num_runs(std::vector<bool>(finished->size()));
  const std::int64_t left = sweep.num_runs(*finished);
  std::atomic<std::int64_t> runs_done = 0;
  std::optional<Result<SweepOutcome>> outcome;
  {
    const ProgressBar progress("sweeping", "runs", left, runs_done);
    const SweepOptions options{.threads = arguments.threads, .runs_done = &runs_done};
    outcome = ranks == nullptr ? run_on_threads(grid, sweep.shard, *finished, *store, options)
                               : run_on_ranks(grid, sweep.shard, *finished, *store, *ranks, options);
  }
  if (!*outcome) return fail(std::move(outcome->error()));
  if (auto closed = store->close(); !closed) return closed;
  const auto failed = store->num_errors();
  if (!failed) return fail(failed.error());
  return report_outcome(arguments, sweep, all, all - left, *failed, **outcome,
                        ranks == nullptr ? "threads" : "ranks");
}

Result<void> sweep_grid(const SweepArguments& arguments) {
  if (arguments.slurm_template) {
    print_text(stdout, "{}", kSlurmTemplate);
    return {};
  }
  if (arguments.spec.empty())
    return fail({.field = "SPEC", .message = "missing: name the JSON file of the sweep (docs/sweep.md)"});
  const auto ranks = open_ranks();
  if (!ranks) return fail(ranks.error());
  const bool is_worker = *ranks != nullptr && (*ranks)->rank() > 0;
  const auto sweep = read_sweep(arguments);
  if (is_worker) {
    // Rank 0 says what is wrong.
    work_for_rank_0(sweep ? Result<const Grid*>(&sweep->spec.grid) : fail(sweep.error()), **ranks);
    return {};
  }
  Result<void> done;
  if (!sweep) {
    done = fail(sweep.error());
  } else if (arguments.dry_run) {
    done = list_runs(arguments, *sweep);
  } else {
    done = run_sweep(arguments, *sweep, ranks->get());
  }
  if (*ranks != nullptr) dismiss_ranks(**ranks);
  if (!done && sweep) return fail(sweep->spec.document.in_file(std::move(done.error())));
  return done;
}

Result<void> merge(const MergeArguments& arguments) {
  const auto merged = merge_results(arguments.out, arguments.parts, arguments.force);
  if (!merged) return fail(merged.error());
  const std::int64_t missing = merged->grid_runs - merged->runs - merged->failed;
  if (arguments.json) {
    print_json({{"results", arguments.out.string()},
                {"runs", merged->grid_runs},
                {"done", merged->runs + merged->failed},
                {"failed", merged->failed}});
    return {};
  }
  print_text(stdout, "{} of {} from {} in {}; {} failed, {} missing\n",
             runs_text(merged->runs + merged->failed), with_thousands(merged->grid_runs),
             count_of(std::ssize(arguments.parts), "file"), printable(arguments.out.string()),
             with_thousands(merged->failed), with_thousands(missing));
  if (missing > 0)
    print_text(stdout, "vtrain sweep SPEC --out {} replays what is missing\n",
               printable(arguments.out.string()));
  return {};
}

void add_merge_command(CLI::App& sweep, Action& action) {
  CLI::App* command =
      sweep.add_subcommand("merge",
                           "Join the results of the parts of a sweep.\n\n"
                           "  vtrain sweep merge all.sqlite grid-1-of-2.sqlite grid-2-of-2.sqlite\n"
                           "  vtrain sweep merge --force all.sqlite grid-*-of-*.sqlite");
  const auto arguments = std::make_shared<MergeArguments>();
  command->add_option("OUT", arguments->out, "SQLite file for all results")->required();
  command->add_option("IN", arguments->parts, "Results of parts, or of the whole sweep")->required();
  command->add_flag("--force", arguments->force, "Replace a file that exists");
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [arguments] { return merge(*arguments); }; });
}

}  // namespace

void add_sweep_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("sweep",
                         "Replay a grid of options, seeds and policies; the results are one SQLite file.\n\n"
                         "  vtrain sweep grid.json --out results.sqlite\n"
                         "  vtrain sweep grid.json --dry-run");
  const auto arguments = std::make_shared<SweepArguments>();
  command->add_option(
      "SPEC", arguments->spec,
      "JSON file: the spec of a run with a grid of `policies`, `seeds` and `vary` (docs/sweep.md)");
  command->add_option("--out", arguments->out,
                      "SQLite file for the results; a file of the same sweep is continued; default: the "
                      "spec's name with the ending .sqlite, in this folder");
  command
      ->add_option("--threads", arguments->threads, "Runs to replay at the same time; 0 = one per processor")
      ->transform(whole_number(0, 1024))
      ->capture_default_str();
  command
      ->add_option("--shard", arguments->shard,
                   "Part of the grid to do here, such as 2/8; `vtrain sweep merge` joins the results")
      ->type_name("I/N");
  command->add_flag("--dry-run", arguments->dry_run, "List the runs that are left and estimate their time");
  command->add_flag("--retry-errors", arguments->retry_errors, "Replay runs that failed before");
  command->add_flag("--force", arguments->force, "Replace a file of results that exists");
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->add_flag("--slurm-template", arguments->slurm_template,
                    "Print a batch script for Slurm: vtrain sweep --slurm-template > sweep.sh");
  add_merge_command(*command, action);
  command->callback([=, &action] {
    if (command->get_subcommands().empty()) action = [arguments] { return sweep_grid(*arguments); };
  });
}

}  // namespace vtrain
