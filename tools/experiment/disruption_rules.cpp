#include "tools/experiment/disruption_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/io/input.hpp"
#include "core/text/quantities.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

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
  const auto parameters_of = [](std::string_view name) -> Result<std::int64_t> {
    const auto model = find_model(name);
    if (!model) return fail(model.error());
    return model->model().num_parameters();
  };
  auto times = CheckpointTimes::from_models(workload, parameters_of, rules.checkpoint_bandwidth,
                                            rules.checkpoint_cost);
  if (!times)
    return fail(in_option(rules.checkpoint_cost ? "--interruption-cost" : "--checkpoint-cost",
                          std::move(times.error())));
  return times;
}

Result<std::vector<Outage>> read_outages(const std::filesystem::path& path, const ClusterSpec& cluster) {
  const auto text = read_file(path, InputKind::Outages);
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
void warn_of_unread_options(const DisruptionArguments& arguments, const DisruptionRules& rules,
                            std::vector<std::string>& warnings) {
  const DisruptionArguments absent;
  if (rules.checkpoints.kind == CheckpointRule::Kind::None &&
      arguments.checkpoint_cost != absent.checkpoint_cost)
    warnings.emplace_back("--checkpoint-cost: without effect; no --checkpoints are taken");
  if (!rules.needs_models() && arguments.checkpoint_bandwidth != absent.checkpoint_bandwidth)
    warnings.emplace_back(
        "--checkpoint-bandwidth: without effect; nothing costs as much as the size of a model");
}

}  // namespace

bool DisruptionRules::needs_models() const {
  return interruption.kind == InterruptionRule::Kind::Checkpoint ||
         (checkpoints.kind != CheckpointRule::Kind::None && !checkpoint_cost);
}

Result<DisruptionRules> read_disruption_rules(const DisruptionArguments& arguments, PlacementKind placement,
                                              std::vector<std::string>& warnings) {
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
  warn_of_unread_options(arguments, rules, warnings);
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
                                    arguments.outages, disruptions.failures ? "" : ", noticed at once"));
  for (std::string sentence : {describe_checkpoints(disruptions.checkpoints, arguments),
                               describe_cost(disruptions.interruption_cost.rule(), arguments)}) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace vtrain
