#include "tools/options/disruption_arguments.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/io/file.hpp"
#include "core/text/time_span.hpp"
#include "core/text/written_quantity.hpp"
#include "tools/cli/usage_error.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

/// Slower than that a job hardly trains.
constexpr double kLeastSpreadFactor = 0.01;

/// Of the storage, in bytes a second.
constexpr double kLeastBandwidth = 1e6;
constexpr double kMostBandwidth = 1e18;

/// Reads `10GB/s` or `80Gbit/s`. The unit is needed, as the text stands in what is printed.
Result<BytesPerSecond> parse_bandwidth(std::string_view text) {
  const auto bandwidth = parse_quantity(text, "B/s");
  if (bandwidth && text.ends_with("/s") && *bandwidth >= kLeastBandwidth && *bandwidth <= kMostBandwidth)
    return BytesPerSecond(*bandwidth);
  return fail(
      {.message = expected_found("a bandwidth from 1MB/s to 1000PB/s such as 10GB/s or 80Gbit/s", text)});
}

/// The time that a checkpoint takes; none: it follows from the size of the model (`bytes`).
Result<std::optional<SimDuration>> parse_checkpoint_cost(std::string_view text) {
  if (text == "bytes") return std::nullopt;
  const auto span = parse_time_span(text);
  if (!span) return fail({.message = expected_found("bytes, 0 or a duration such as 30s", text)});
  return *span;
}

/// What saving and loading takes.
Result<CheckpointTimes> checkpoint_times(const DisruptionRules& rules, const Workload& workload) {
  if (!rules.needs_models()) return CheckpointTimes(rules.checkpoint_cost.value_or(SimDuration(0)));
  auto times = CheckpointTimes::from_models(workload, rules.checkpoint_bandwidth, rules.checkpoint_cost);
  if (!times)
    return fail(in_option(rules.checkpoint_cost ? "--interruption-cost" : "--checkpoint-cost",
                          std::move(times.error())));
  return times;
}

Result<std::vector<Outage>> read_outages(const std::filesystem::path& path, const ClusterSpec& cluster) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  const auto text = read_file(path, kMostBytes);
  if (!text) return fail(text.error());
  return parse_outages(*text, path.string(), cluster.total_nodes());
}

std::string describe_cost(const InterruptionRule& rule, const DisruptionArguments& arguments) {
  switch (rule.kind) {
    case InterruptionRule::Kind::None:
      return {};
    case InterruptionRule::Kind::Fixed:
      return fmt::format("a job that is resized or starts again does nothing for {} s",
                         to_seconds(rule.fixed));
    case InterruptionRule::Kind::ElasticFlow:
      return "a job that is resized or starts again does nothing for as long as in ElasticFlow's simulator";
    case InterruptionRule::Kind::Checkpoint:
      return fmt::format(
          "a job that is resized or starts again saves and loads weights and optimizer state, {} bytes a "
          "parameter at {}",
          kCheckpointBytesPerParameter, arguments.checkpoint_bandwidth);
  }
  return {};
}

std::string describe_checkpoints(const CheckpointRule& rule, const DisruptionArguments& arguments) {
  if (rule.kind == CheckpointRule::Kind::None) return {};
  const auto fixed = parse_checkpoint_cost(arguments.checkpoint_cost).value();
  const std::string cost = fixed ? as_duration(to_seconds(*fixed))
                                 : fmt::format("{} bytes a parameter at {}", kCheckpointBytesPerParameter,
                                               arguments.checkpoint_bandwidth);
  const std::string when =
      rule.kind == CheckpointRule::Kind::Interval
          ? fmt::format("after every {} of work", as_duration(to_seconds(rule.interval)))
          : fmt::format("by {}'s interval", rule.kind == CheckpointRule::Kind::Young ? "Young" : "Daly");
  return fmt::format("a checkpoint {}, which takes {}", when, cost);
}

/// Says which options nothing reads.
void warn_of_options_without_effect(const DisruptionArguments& arguments, const DisruptionRules& rules) {
  const DisruptionArguments absent;
  if (rules.checkpoints.kind == CheckpointRule::Kind::None &&
      arguments.checkpoint_cost != absent.checkpoint_cost)
    spdlog::warn("--checkpoint-cost: without effect; no --checkpoints are taken");
  if (!rules.needs_models() && arguments.checkpoint_bandwidth != absent.checkpoint_bandwidth)
    spdlog::warn("--checkpoint-bandwidth: without effect; nothing costs as much as the size of a model");
}

}  // namespace

void add_disruption_options(CLI::App& command, DisruptionArguments& arguments) {
  command
      .add_option("--interruption-cost", arguments.interruption_cost,
                  "Time without work when a job is resized or starts again: none, a duration such as 30s, "
                  "elasticflow (its "
                  "table by number of GPUs), checkpoint (saving and loading the model's state)")
      ->capture_default_str();
  command
      .add_option("--failures", arguments.failures,
                  "Random failures: none, or mtbf=6300h (of a node) and gpu-mtbf=50000h (of a GPU), one or "
                  "both, with :TYPE behind the key for one GPU type, and any of repair=4h, repair-sigma=1, "
                  "shape=1 (Weibull), detect=60s; joined by commas")
      ->capture_default_str();
  command.add_option(
      "--outages", arguments.outages,
      "Outages as CSV or JSON lines: node (0, 1, ... or a range 8-15), begin_s, end_s, and kind: failure "
      "or drain (jobs may end, none may start)");
  command
      .add_option(
          "--checkpoints", arguments.checkpoints,
          "What a failure leaves of a job's work: none (it starts anew from its last start), INTERVAL "
          "of work such as 30m, young or daly (the best interval for --failures)")
      ->capture_default_str();
  command
      .add_option("--checkpoint-cost", arguments.checkpoint_cost,
                  "Time that a periodic checkpoint takes: a duration, or bytes (from the model's size)")
      ->capture_default_str();
  command
      .add_option("--checkpoint-bandwidth", arguments.checkpoint_bandwidth,
                  "What the storage gives one job that saves or loads its model's state: 10GB/s, 80Gbit/s")
      ->capture_default_str();
  command
      .add_option(
          "--spread-factor", arguments.spread_factor,
          "What the speed of a job is multiplied by for each level that its gang crosses, between nodes and "
          "between racks (0.8 is common; jobs that the predictor prices pay for their links instead)")
      ->transform(number_between(kLeastSpreadFactor, 1))
      ->capture_default_str();
}

bool DisruptionRules::needs_models() const {
  return interruption.kind == InterruptionRule::Kind::Checkpoint ||
         (checkpoints.kind != CheckpointRule::Kind::None && !checkpoint_cost);
}

Result<DisruptionRules> read_disruption_rules(const DisruptionArguments& arguments, PlacementKind placement) {
  const bool nodes_fail = arguments.failures != "none" || !arguments.outages.empty();
  const PlacementInfo& info = info_of(placement);
  if (nodes_fail && !info.knows_nodes)
    return fail(
        {.field = arguments.outages.empty() ? "--failures" : "--outages",
         .message = fmt::format("placement '{}' knows no nodes that could fail: choose one that does, for "
                                "instance --placement yarn",
                                info.name)});
  if (arguments.spread_factor < 1 && !info.knows_nodes)
    return fail({.field = "--spread-factor",
                 .message = fmt::format(
                     "placement '{}' knows no nodes over which gangs could be spread: choose one that "
                     "does, for instance --placement consolidate",
                     info.name)});
  const auto interruption = InterruptionRule::parse(arguments.interruption_cost);
  if (!interruption) return fail(in_option("--interruption-cost", interruption.error()));
  const auto checkpoints = CheckpointRule::parse(arguments.checkpoints);
  if (!checkpoints) return fail(in_option("--checkpoints", checkpoints.error()));
  const auto checkpoint_cost = parse_checkpoint_cost(arguments.checkpoint_cost);
  if (!checkpoint_cost) return fail(in_option("--checkpoint-cost", checkpoint_cost.error()));
  const auto bandwidth = parse_bandwidth(arguments.checkpoint_bandwidth);
  if (!bandwidth) return fail(in_option("--checkpoint-bandwidth", bandwidth.error()));
  if (checkpoints->needs_mtbf() && arguments.failures == "none")
    return fail({.field = "--checkpoints",
                 .message = fmt::format("'{}' computes the interval from how often nodes fail: say so with "
                                        "--failures, for instance --failures mtbf=6300h",
                                        arguments.checkpoints)});
  const DisruptionRules rules{*interruption, *checkpoints, *checkpoint_cost, *bandwidth};
  warn_of_options_without_effect(arguments, rules);
  return rules;
}

Result<std::optional<Disruptions>> read_disruptions(const DisruptionArguments& arguments,
                                                    const DisruptionRules& rules, const Workload& workload,
                                                    const ClusterSpec& cluster, std::uint64_t seed) {
  Disruptions disruptions;
  disruptions.interruption_cost = InterruptionCost(rules.interruption, cluster.total_gpus());
  disruptions.checkpoints = rules.checkpoints;
  disruptions.seed = seed;
  disruptions.spread_factor = arguments.spread_factor;
  auto times = checkpoint_times(rules, workload);
  if (!times) return fail(std::move(times.error()));
  disruptions.checkpoint_times = *std::move(times);
  if (arguments.failures != "none") {
    auto failures = FailureRates::parse(arguments.failures, cluster);
    if (!failures) return fail(in_option("--failures", failures.error()));
    disruptions.failures = *std::move(failures);
  }
  if (!arguments.outages.empty()) {
    auto outages = read_outages(arguments.outages, cluster);
    if (!outages) return fail(in_option("--outages", outages.error()));
    disruptions.outages = *std::move(outages);
  }
  return disruptions.any() ? std::optional(std::move(disruptions)) : std::nullopt;
}

std::vector<std::string> describe_disruptions(const Disruptions& disruptions,
                                              const DisruptionArguments& arguments) {
  std::vector<std::string> sentences;
  if (disruptions.failures)
    sentences.push_back(
        fmt::format("{}, seed {} (synthetic)", disruptions.failures->describe(), disruptions.seed));
  if (!disruptions.outages.empty())
    sentences.push_back(fmt::format("{} from {}{}", count_of(std::ssize(disruptions.outages), "outage"),
                                    arguments.outages.string(),
                                    disruptions.failures ? "" : ", noticed at once"));
  for (std::string sentence : {describe_checkpoints(disruptions.checkpoints, arguments),
                               describe_cost(disruptions.interruption_cost.rule(), arguments)}) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

nlohmann::ordered_json disruptions_to_json(const DisruptionArguments& arguments) {
  return {{"interruption_cost", arguments.interruption_cost},
          {"failures", arguments.failures},
          {"outages", arguments.outages.string()},
          {"checkpoints", arguments.checkpoints},
          {"checkpoint_cost", arguments.checkpoint_cost},
          {"checkpoint_bandwidth", arguments.checkpoint_bandwidth},
          {"spread_factor", arguments.spread_factor}};
}

}  // namespace vtrain
