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

/// Bandwidth of the storage, bytes a second.
constexpr double kLeastBandwidth = 1e6;
constexpr double kMostBandwidth = 1e18;

/// Default interruption cost.
constexpr std::string_view kDefaultCost = "auto";

/// Reads `10GB/s` or `80Gbit/s`. The unit is required, as the text is printed as given.
Result<BytesPerSecond> parse_bandwidth(std::string_view text) {
  const auto bandwidth = parse_quantity(text, "B/s");
  if (bandwidth && text.ends_with("/s") && *bandwidth >= kLeastBandwidth && *bandwidth <= kMostBandwidth)
    return BytesPerSecond(*bandwidth);
  return fail(
      {.message = expected_found("a bandwidth from 1MB/s to 1000PB/s such as 10GB/s or 80Gbit/s", text)});
}

/// Time that a checkpoint takes; none: derived from the size of the model (`bytes`).
Result<std::optional<SimDuration>> parse_checkpoint_cost(std::string_view text) {
  if (text == "bytes") return std::nullopt;
  const auto span = parse_time_span(text);
  if (!span) return fail({.message = expected_found("bytes, 0 or a duration such as 30s", text)});
  return *span;
}

/// Times for saving and loading a checkpoint.
Result<CheckpointTimes> checkpoint_times(const DisruptionRules& rules, const Workload& workload) {
  if (!rules.needs_models() && !rules.is_default_cost)
    return CheckpointTimes(rules.checkpoint_cost.value_or(SimDuration(0)));
  const auto parameters_of = [](std::string_view name) -> Result<std::int64_t> {
    const auto model = find_model(name);
    if (!model) return fail(model.error());
    return model->model().num_parameters();
  };
  auto times =
      CheckpointTimes::from_models(workload, parameters_of, rules.checkpoint_bandwidth, rules.checkpoint_cost,
                                   rules.needs_models() ? UnknownModel::Error : UnknownModel::NoTime);
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

/// Number of jobs whose state takes time to save, and the median times of saving and loading.
struct StateTimes {
  std::int64_t jobs = 0;
  SimDuration median{0};
};
StateTimes state_times(const CheckpointTimes& times, const Workload& workload) {
  std::vector<SimDuration> charged;
  for (const Job& job : workload.jobs) {
    if (times.state_transfer_time(job).count() > 0) charged.push_back(2 * times.state_transfer_time(job));
  }
  if (charged.empty()) return {};
  const auto middle = charged.begin() + std::ssize(charged) / 2;
  std::ranges::nth_element(charged, middle);
  return {std::ssize(charged), *middle};
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

/// Warns of options that nothing reads.
void warn_of_unread_options(const DisruptionArguments& arguments, const DisruptionRules& rules,
                            std::vector<std::string>& warnings) {
  const DisruptionArguments absent;
  if (rules.checkpoints.kind == CheckpointRule::Kind::None &&
      arguments.checkpoint_cost != absent.checkpoint_cost)
    warnings.emplace_back("--checkpoint-cost: without effect; no --checkpoints are taken");
  if (!rules.needs_models() && !rules.is_default_cost) warn_of_bandwidth(arguments, warnings);
}

}  // namespace

bool DisruptionRules::needs_models() const {
  return (interruption.kind == InterruptionRule::Kind::Checkpoint && !is_default_cost) ||
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
  const bool is_default_cost = arguments.interruption_cost == kDefaultCost;
  const auto interruption =
      InterruptionRule::parse(is_default_cost ? "checkpoint" : arguments.interruption_cost);
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
  const DisruptionRules rules{*interruption, is_default_cost, *checkpoints, *checkpoint_cost, *bandwidth};
  warn_of_unread_options(arguments, rules, warnings);
  return rules;
}

void warn_of_bandwidth(const DisruptionArguments& arguments, std::vector<std::string>& warnings) {
  if (arguments.checkpoint_bandwidth != DisruptionArguments().checkpoint_bandwidth)
    warnings.emplace_back(
        "--checkpoint-bandwidth: without effect; nothing costs as much as the size of a model");
}

Result<std::optional<Disruptions>> read_disruptions(const DisruptionArguments& arguments,
                                                    const DisruptionRules& rules, const Workload& workload,
                                                    const ClusterSpec& cluster, std::uint64_t seed) {
  Disruptions disruptions;
  disruptions.checkpoints = rules.checkpoints;
  disruptions.seed = seed;
  disruptions.spread_factor = arguments.spread_factor;
  auto times = checkpoint_times(rules, workload);
  if (!times) return fail(std::move(times.error()));
  disruptions.checkpoint_times = *std::move(times);
  const bool is_free = rules.is_default_cost && state_times(disruptions.checkpoint_times, workload).jobs == 0;
  if (!is_free) disruptions.interruption_cost = InterruptionCost(rules.interruption, cluster.total_gpus());
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
  if (std::string sentence = describe_checkpoints(disruptions.checkpoints, arguments); !sentence.empty())
    sentences.push_back(std::move(sentence));
  return sentences;
}

InterruptionCostText describe_interruption_cost(const DisruptionRules& rules,
                                                const std::optional<Disruptions>& disruptions,
                                                const DisruptionArguments& arguments,
                                                const Workload& workload) {
  const InterruptionRule rule = disruptions ? disruptions->interruption_cost.rule() : InterruptionRule();
  switch (rule.kind) {
    case InterruptionRule::Kind::None:
      return {
          rules.is_default_cost
              ? "preemption and resizing are free: no job has a known model (--interruption-cost sets a cost)"
              : "preemption and resizing are free (--interruption-cost none)"};
    case InterruptionRule::Kind::Fixed:
      return {fmt::format("preemption and resizing cost a job {}", as_duration(to_seconds(rule.fixed)))};
    case InterruptionRule::Kind::ElasticFlow:
      return {"preemption and resizing cost a job what they cost in ElasticFlow's simulator"};
    case InterruptionRule::Kind::Checkpoint:
      break;
  }
  const StateTimes times = state_times(disruptions->checkpoint_times, workload);
  const std::int64_t free = std::ssize(workload.jobs) - times.jobs;
  std::string text = fmt::format(
      "preemption and resizing cost a job saving and loading a checkpoint, {} bytes a parameter at {}: {} in "
      "the median",
      kCheckpointBytesPerParameter, arguments.checkpoint_bandwidth, as_duration(to_seconds(times.median)));
  if (free == 0) return {std::move(text)};
  return {text + fmt::format("; nothing for {} without a known model", count_of(free, "job")), times.jobs};
}

}  // namespace vtrain
