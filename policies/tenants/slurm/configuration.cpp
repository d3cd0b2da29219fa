#include "policies/tenants/slurm/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/text/slurm_conf_lines.hpp"
#include "core/text/slurm_lists.hpp"

namespace vtrain::slurm {
namespace {

constexpr std::size_t kMostNodes = 100'000;
constexpr std::int64_t kMostCount = std::numeric_limits<std::int32_t>::max();
constexpr double kMostWeight = 4294967295.0;

/// Keys that change when jobs start and that nothing here follows, with the values that change nothing.
struct RefusedKey {
  std::string_view key;
  std::array<std::string_view, 3> harmless;  ///< values in lower case that are ignored
};
constexpr auto kRefused = std::to_array<RefusedKey>({
    {"BurstBufferType", {}},
    {"CompleteWait", {"0"}},
    {"FederationParameters", {}},
    {"JobSubmitPlugins", {}},
    {"Licenses", {}},
    {"OverTimeLimit", {"0"}},
    {"PreemptExemptTime", {"0", "-1", "00:00:00"}},
    {"PrioritySiteFactorPlugin", {"(null)", "none"}},
    {"PriorityUsageResetPeriod", {"none"}},
    {"SuspendTime", {"-1", "infinite", "none"}},
});
/// The same of a partition.
constexpr auto kRefusedOfPartition = std::to_array<RefusedKey>({
    {"AllowGroups", {"all"}},
    {"ExclusiveUser", {"no"}},
    {"GraceTime", {"0"}},
    {"LLN", {"no"}},
    {"MaxMemPerNode", {"unlimited", "0"}},
    {"MaxMemPerCPU", {"unlimited", "0"}},
    {"OverSubscribe", {"no", "exclusive_user"}},
    {"OverTimeLimit", {"0", "none"}},
    {"ReqResv", {"no"}},
    {"RootOnly", {"no"}},
    {"SelectTypeParameters", {"none"}},
});
/// The same of a node.
constexpr auto kRefusedOfNode = std::to_array<RefusedKey>({
    {"CoreSpecCount", {"0"}},
    {"CPUSpecList", {}},
    {"Weight", {"1"}},
});
/// Options of SchedulerParameters that change when jobs start and that nothing here follows.
constexpr std::string_view kRefusedOptions[] = {"assoc_limit_stop",
                                                "bf_busy_nodes",
                                                "bf_hetjob_immediate",
                                                "bf_licenses",
                                                "bf_one_resv_per_job",
                                                "bf_running_job_reserve",
                                                "bf_topopt_enable",
                                                "defer",
                                                "defer_batch",
                                                "max_sched_time",
                                                "nohold_on_prolog_fail",
                                                "pack_serial_at_end",
                                                "partition_job_depth",
                                                "preempt_youngest_first",
                                                "preempt_strict_order",
                                                "sched_max_job_start",
                                                "bf_allow_magnetic_slot",
                                                "time_min_as_soft_limit",
                                                "reduce_completing_frag"};

bool is_listed(std::span<const std::string_view> names, std::string_view key) {
  return std::ranges::any_of(names, [key](std::string_view name) {
    return equal_in_any_case(name, key) || equal_in_any_case(name, "all");
  });
}

/// A time in seconds: `90` (minutes), `12:30` (minutes and seconds), `1:12:30`, `1-0`, `1-12:30:00`.
std::optional<std::int64_t> seconds_of(std::string_view text) {
  const auto [before, after] = split_once(text, '-');
  const auto number = [](std::string_view word) -> std::optional<std::int64_t> {
    const auto value = parse_integer(word, 0, 1'000'000'000);
    return value ? std::optional(*value) : std::nullopt;
  };
  std::array<std::int64_t, 3> parts{};
  const std::vector<std::string_view> words = split(after ? *after : before, ':');
  if (words.size() > parts.size()) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = number(words[i]);
    if (!value) return std::nullopt;
    parts[i] = *value;
  }
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 3600;
  constexpr std::int64_t kDay = 86400;
  if (after) {
    const auto days = number(before);
    if (!days) return std::nullopt;
    return *days * kDay + parts[0] * kHour + parts[1] * kMinute + parts[2];
  }
  if (words.size() == 3) return parts[0] * kHour + parts[1] * kMinute + parts[2];
  return parts[0] * kMinute + parts[1];
}

/// Reads slurm.conf line by line. Functions return false after the first error, which `error_` then has.
class ConfigurationReader {
 public:
  ConfigurationReader(const std::string& file, TresNames& names, std::span<const std::string_view> ignore)
      : file_(file), names_(names), ignore_(ignore) {
    result_.file = file;
  }

  Result<Configuration> read(std::string_view text) {
    const auto lines = read_slurm_conf_lines(text, file_);
    if (!lines) return fail(lines.error());
    for (const SlurmConfLine& line : *lines) {
      line_ = line.line;
      if (!read_line(line)) return fail(std::move(error_));
    }
    for (const auto& [number, partition] : partition_lines_) {
      line_ = number;
      if (!read_partition(partition)) return fail(std::move(error_));
    }
    if (result_.nodes.empty()) return fail({.file = file_, .field = "NodeName", .message = "missing"});
    return std::move(result_);
  }

 private:
  bool complain(std::string_view key, std::string message) {
    error_ = {.file = file_, .line = line_, .field = std::string(key), .message = std::move(message)};
    return false;
  }

  bool read_line(const SlurmConfLine& line) {
    const std::string& first = line.entries.front().key;
    if (equal_in_any_case(first, "NodeName")) return read_nodes(line);
    if (equal_in_any_case(first, "PartitionName")) {
      partition_lines_.emplace_back(line.line, line);
      return true;
    }
    if (equal_in_any_case(first, "DownNodes") || equal_in_any_case(first, "FrontendName")) {
      ++result_.ignored[first];
      return true;
    }
    for (const SlurmConfEntry& entry : line.entries) {
      if (!read_global(entry.key, entry.value)) return false;
    }
    return true;
  }

  bool integer(std::string_view key, std::string_view text, std::int64_t low, std::int64_t high,
               std::int64_t& to) {
    const auto value = parse_integer(text, low, high);
    if (!value) return complain(key, value.error().message);
    to = *value;
    return true;
  }
  bool weight(std::string_view key, std::string_view text, double& to) {
    const auto value = parse_number(text, 0, kMostWeight);
    if (!value) return complain(key, value.error().message);
    to = *value;
    return true;
  }
  bool seconds(std::string_view key, std::string_view text, std::int64_t& to) {
    const auto value = parse_slurm_seconds(text);
    if (!value) return complain(key, value.error().message);
    to = value->value_or(0);
    return true;
  }
  bool yes(std::string_view key, std::string_view text, bool& to) {
    const std::string value = lower_case(text);
    if (value != "yes" && value != "no" && value != "1" && value != "0" && value != "true" &&
        value != "false")
      return complain(key, expected_found("YES or NO", text));
    to = value == "yes" || value == "1" || value == "true";
    return true;
  }

  /// Ignores a key that changes nothing here, or refuses it.
  bool ignore_or_refuse(std::string_view key, std::string_view value, std::span<const RefusedKey> refused,
                        std::string_view line_of = {}) {
    const auto found = std::ranges::find_if(
        refused, [key](const RefusedKey& each) { return equal_in_any_case(each.key, key); });
    if (found != refused.end() && !is_listed(ignore_, key)) {
      const std::string lower = lower_case(value);
      const bool is_harmless = std::ranges::any_of(found->harmless, [&](std::string_view harmless) {
        return !harmless.empty() && (lower == harmless || lower.starts_with(std::string(harmless) + ":"));
      });
      if (!is_harmless) {
        return complain(key, fmt::format("changes when jobs start and is not followed; found '{}' (ignore={} "
                                         "goes on without it)",
                                         value, found->key));
      }
    }
    ++result_.ignored[line_of.empty() ? std::string(key) : fmt::format("{}.{}", line_of, key)];
    return true;
  }

  bool read_global(std::string_view key, std::string_view value) {
    PriorityConf& priority = result_.priority;
    const std::string name = lower_case(key);
    if (name == "priorityweightage") return weight(key, value, priority.weight_age);
    if (name == "priorityweightassoc") return weight(key, value, priority.weight_assoc);
    if (name == "priorityweightfairshare") return weight(key, value, priority.weight_fair_share);
    if (name == "priorityweightjobsize") return weight(key, value, priority.weight_job_size);
    if (name == "priorityweightpartition") return weight(key, value, priority.weight_partition);
    if (name == "priorityweightqos") return weight(key, value, priority.weight_qos);
    if (name == "priorityweighttres") return tres_weights(key, value, priority.weight_tres, false);
    if (name == "prioritymaxage") return seconds(key, value, priority.max_age_s);
    if (name == "prioritydecayhalflife") return seconds(key, value, priority.half_life_s);
    if (name == "prioritycalcperiod") return seconds(key, value, priority.calc_period_s);
    if (name == "priorityfavorsmall") return yes(key, value, priority.favor_small);
    if (name == "fairsharedampeningfactor") return weight(key, value, priority.dampening);
    if (name == "priorityflags") return priority_flags(key, value);
    if (name == "prioritytype") return priority_type(key, value);
    if (name == "schedulertype") return scheduler_type(key, value);
    if (name == "schedulerparameters") return scheduler_parameters(key, value);
    if (name == "selecttype") return select_type(key, value);
    if (name == "preempttype") return preempt_type(key, value);
    if (name == "preemptmode") return preempt_mode_of(key, value, result_.preempt_mode);
    if (name == "preemptparameters") return ignore_or_refuse(key, value, kAnyPreemptParameter);
    if (name == "killwait") return integer(key, value, 0, kMostCount, result_.kill_wait_s);
    if (name == "accountingstorageenforce") return enforce(value);
    if (name == "enforcepartlimits") return enforce_partitions(value);
    if (name == "jobrequeue") return yes(key, value, result_.requeues);
    return ignore_or_refuse(key, value, kRefused);
  }

  bool tres_weights(std::string_view key, std::string_view value, TresList& to, bool per_megabyte) {
    auto list = per_megabyte ? parse_tres_weights(value, names_) : parse_tres_list(value, names_);
    if (!list) return complain(key, list.error().message);
    if (value.find("=-") != std::string_view::npos)
      return complain(key, expected_found("weights from 0", value));
    to = *std::move(list);
    return true;
  }

  bool priority_flags(std::string_view key, std::string_view value) {
    PriorityConf& priority = result_.priority;
    const std::pair<std::string_view, bool*> flags[] = {
        {"accrue_always", &priority.accrue_always},
        {"small_relative_to_time", &priority.small_relative_to_time},
        {"max_tres", &priority.max_tres},
        {"calculate_running", &priority.calculate_running},
        {"incr_only", &priority.incr_only},
        {"no_normal_assoc", &priority.no_normal_assoc},
        {"no_normal_part", &priority.no_normal_part},
        {"no_normal_qos", &priority.no_normal_qos},
        {"no_normal_tres", &priority.no_normal_tres},
    };
    bool no_fair_tree = false;
    bool depth_oblivious = false;
    for (const std::string_view word : split(value, ',')) {
      const std::string flag = lower_case(word);
      const auto* const found = std::ranges::find(flags, flag, &std::pair<std::string_view, bool*>::first);
      if (found != std::end(flags))
        *found->second = true;
      else if (flag == "no_normal_all")
        priority.no_normal_assoc = priority.no_normal_part = priority.no_normal_qos =
            priority.no_normal_tres = true;
      else if (flag == "no_fair_tree")
        no_fair_tree = true;
      else if (flag == "depth_oblivious")
        depth_oblivious = true;
      else if (flag != "fair_tree" && flag != "none" && !flag.empty())
        return complain(key, expected_found("a flag of slurm.conf(5)", word));
    }
    if (depth_oblivious)
      priority.fair_share = FairShareKind::DepthOblivious;
    else if (no_fair_tree)
      priority.fair_share = FairShareKind::Classic;
    return true;
  }

  bool priority_type(std::string_view key, std::string_view value) {
    const std::string type = lower_case(value);
    if (type != "priority/basic" && type != "priority/multifactor")
      return complain(key, expected_found("priority/basic or priority/multifactor", value));
    result_.priority.multifactor = type == "priority/multifactor";
    return true;
  }

  bool scheduler_type(std::string_view key, std::string_view value) {
    const std::string type = lower_case(value);
    if (type != "sched/backfill" && type != "sched/builtin")
      return complain(key, expected_found("sched/backfill or sched/builtin", value));
    result_.scheduler.backfill = type == "sched/backfill";
    return true;
  }

  bool select_type(std::string_view key, std::string_view value) {
    const std::string type = lower_case(value);
    if (type != "select/cons_tres" && type != "select/cons_res" && !is_listed(ignore_, key))
      return complain(key, expected_found("select/cons_tres (ignore=SelectType goes on with it)", value));
    return true;
  }

  bool preempt_type(std::string_view key, std::string_view value) {
    const std::string type = lower_case(value);
    if (type == "preempt/none")
      result_.preempt_type = PreemptType::None;
    else if (type == "preempt/qos")
      result_.preempt_type = PreemptType::Qos;
    else if (type == "preempt/partition_prio")
      result_.preempt_type = PreemptType::PartitionPrio;
    else
      return complain(key, expected_found("preempt/none, preempt/qos or preempt/partition_prio", value));
    return true;
  }

  bool preempt_mode_of(std::string_view key, std::string_view value, PreemptMode& to) {
    const std::string mode = lower_case(value);
    if (mode == "off")
      to = PreemptMode::Off;
    else if (mode == "cancel")
      to = PreemptMode::Cancel;
    else if (mode == "requeue")
      to = PreemptMode::Requeue;
    else
      return complain(key,
                      expected_found("OFF, CANCEL or REQUEUE (GANG and SUSPEND are not followed)", value));
    return true;
  }

  bool enforce(std::string_view value) {
    for (const std::string_view word : split(value, ',')) {
      const std::string rule = lower_case(word);
      const bool all = rule == "all";
      const bool limits = rule == "limits" || rule == "safe" || all;
      const bool qos = rule == "qos" || all;
      result_.enforces_limits |= limits;
      result_.enforces_qos |= qos;
      result_.enforces_associations |= limits || qos || rule == "associations" || rule == "wckeys";
    }
    return true;
  }

  bool enforce_partitions(std::string_view value) {
    const std::string rule = lower_case(value);
    result_.refuses_beyond_limits = rule == "all" || rule == "any" || rule == "yes";
    return true;
  }

  bool scheduler_parameters(std::string_view key, std::string_view value) {
    SchedulerConf& scheduler = result_.scheduler;
    const std::pair<std::string_view, std::int64_t*> numbers[] = {
        {"default_queue_depth", &scheduler.default_queue_depth},
        {"sched_interval", &scheduler.sched_interval_s},
        {"bf_interval", &scheduler.bf_interval_s},
        {"bf_resolution", &scheduler.bf_resolution_s},
        {"bf_window", &scheduler.bf_window_minutes},
        {"bf_max_job_test", &scheduler.bf_max_job_test},
        {"max_job_bf", &scheduler.bf_max_job_test},
        {"bf_node_space_size", &scheduler.bf_node_space_size},
        {"bf_max_job_start", &scheduler.bf_max_job_start},
        {"bf_max_job_user", &scheduler.bf_max_job_user},
        {"bf_max_job_part", &scheduler.bf_max_job_part},
        {"bf_max_job_assoc", &scheduler.bf_max_job_assoc},
        {"bf_job_part_count_reserve", &scheduler.bf_job_part_count_reserve},
        {"bf_min_age_reserve", &scheduler.bf_min_age_reserve_s},
        {"bf_window_linear", &scheduler.bf_window_linear_s},
    };
    scheduler.bf_node_space_size = 0;
    for (const std::string_view word : split(value, ',')) {
      const auto [name, number] = split_once(word, '=');
      const std::string option = lower_case(name);
      const auto* const found =
          std::ranges::find(numbers, option, &std::pair<std::string_view, std::int64_t*>::first);
      if (found != std::end(numbers)) {
        constexpr std::string_view kAtLeastOne[] = {"bf_interval", "bf_resolution", "bf_max_job_test",
                                                    "max_job_bf", "bf_node_space_size"};
        const std::int64_t low = std::ranges::find(kAtLeastOne, option) == std::end(kAtLeastOne) ? 0 : 1;
        if (!integer(fmt::format("{}.{}", key, option), number.value_or(""), low, kMostCount, *found->second))
          return false;
      } else if (option == "bf_continue") {
        scheduler.bf_continue = true;
      } else if (is_listed(kRefusedOptions, option) && !is_listed(ignore_, option)) {
        return complain(fmt::format("{}.{}", key, option),
                        fmt::format("changes when jobs start and is not followed (ignore={} goes on without "
                                    "it)",
                                    option));
      } else if (!option.empty()) {
        ++result_.ignored[fmt::format("{}.{}", key, option)];
      }
    }
    if (scheduler.bf_node_space_size == 0) scheduler.bf_node_space_size = scheduler.bf_max_job_test;
    return true;
  }

  bool read_nodes(const SlurmConfLine& line);
  bool read_partition(const SlurmConfLine& line);
  bool read_partition_key(PartitionConf& partition, std::string_view key, std::string_view value);
  bool node_list(PartitionConf& partition, std::string_view key, std::string_view value);

  static constexpr auto kAnyPreemptParameter = std::to_array<RefusedKey>({{"PreemptParameters", {"none"}}});

  const std::string& file_;
  TresNames& names_;
  std::span<const std::string_view> ignore_;
  Configuration result_;
  NodeConf node_defaults_;
  PartitionConf partition_defaults_;
  std::vector<std::pair<std::int64_t, SlurmConfLine>> partition_lines_;
  std::map<std::string, std::uint32_t, std::less<>> node_numbers_;
  std::int64_t line_ = 0;
  Error error_;
};

bool ConfigurationReader::read_nodes(const SlurmConfLine& line) {
  NodeConf node = node_defaults_;
  std::int64_t sockets = 1;
  std::int64_t cores = 1;
  std::int64_t threads = 1;
  bool has_cpus = false;
  bool has_parts = false;
  for (std::size_t i = 1; i < line.entries.size(); ++i) {
    const auto& [key, value] = line.entries[i];
    const std::string name = lower_case(key);
    const std::pair<std::string_view, std::int64_t*> parts[] = {
        {"sockets", &sockets}, {"corespersocket", &cores}, {"threadspercore", &threads}};
    const auto* const part =
        std::ranges::find(parts, name, &std::pair<std::string_view, std::int64_t*>::first);
    if (name == "cpus") {
      has_cpus = true;
      if (!integer(key, value, 1, kMostCount, node.cpus)) return false;
    } else if (part != std::end(parts)) {
      has_parts = true;
      if (!integer(key, value, 1, 1'000'000, *part->second)) return false;
    } else if (name == "realmemory") {
      const auto memory = parse_number(value, 1, 1e15);
      if (!memory) return complain(key, memory.error().message);
      node.memory_mb = *memory;
    } else if (name == "gres") {
      const auto gpus = parse_gres(value);
      if (!gpus) return complain(key, gpus.error().message);
      node.gpus = 0;
      node.gpus_by_type.clear();
      for (const SlurmGpus& part_of : *gpus) {
        node.gpus += part_of.count;
        if (!part_of.type.empty()) node.gpus_by_type.emplace_back(lower_case(part_of.type), part_of.count);
      }
    } else if (!ignore_or_refuse(key, value, kRefusedOfNode, "NodeName")) {
      return false;
    }
  }
  if (!has_cpus && has_parts) node.cpus = sockets * cores * threads;
  const std::string& list = line.entries.front().value;
  if (equal_in_any_case(list, "DEFAULT")) {
    node_defaults_ = std::move(node);
    return true;
  }
  const auto names = expand_host_list(list, kMostNodes);
  if (!names) return complain("NodeName", names.error().message);
  for (const std::string& name : *names) {
    if (result_.nodes.size() >= kMostNodes)
      return complain("NodeName", fmt::format("expected at most {} nodes, found more", kMostNodes));
    if (!node_numbers_.emplace(name, static_cast<std::uint32_t>(result_.nodes.size())).second)
      return complain("NodeName", fmt::format("node '{}' comes twice", name));
    node.name = name;
    result_.nodes.push_back(node);
  }
  return true;
}

bool ConfigurationReader::node_list(PartitionConf& partition, std::string_view key, std::string_view value) {
  partition.nodes.clear();
  if (equal_in_any_case(value, "ALL")) {
    for (std::uint32_t i = 0; i < result_.nodes.size(); ++i)
      partition.nodes.push_back(i);
    return true;
  }
  const auto names = expand_host_list(value, kMostNodes);
  if (!names) return complain(key, names.error().message);
  for (const std::string& name : *names) {
    const auto found = node_numbers_.find(name);
    if (found == node_numbers_.end()) return complain(key, expected_found("a node of NodeName", name));
    partition.nodes.push_back(found->second);
  }
  std::ranges::sort(partition.nodes);
  const auto repeated = std::unique(partition.nodes.begin(), partition.nodes.end());
  partition.nodes.erase(repeated, partition.nodes.end());
  return true;
}

bool ConfigurationReader::read_partition_key(PartitionConf& partition, std::string_view key,
                                             std::string_view value) {
  const std::string name = lower_case(key);
  const auto words = [&](std::vector<std::string>& to) {
    to.clear();
    if (equal_in_any_case(value, "ALL")) return true;
    for (const std::string_view word : split(value, ','))
      to.push_back(lower_case(word));
    return true;
  };
  const auto minutes = [&](std::optional<std::int64_t>& to) {
    const auto limit =
        equal_in_any_case(value, "NONE") ? std::optional<std::int64_t>() : parse_slurm_minutes(value);
    if (!limit) return complain(key, limit.error().message);
    to = *limit;
    return true;
  };
  const auto count = [&](std::optional<std::int64_t>& to) {
    to.reset();
    if (equal_in_any_case(value, "UNLIMITED")) return true;
    std::int64_t number = 0;
    if (!integer(key, value, 0, kMostCount, number)) return false;
    to = number;
    return true;
  };
  if (name == "nodes") return node_list(partition, key, value);
  if (name == "default") return yes(key, value, partition.is_default);
  if (name == "priorityjobfactor") return integer(key, value, 0, 65533, partition.priority_job_factor);
  if (name == "prioritytier") return integer(key, value, 0, 65533, partition.priority_tier);
  if (name == "priority") {
    return integer(key, value, 0, 65533, partition.priority_tier) &&
           integer(key, value, 0, 65533, partition.priority_job_factor);
  }
  if (name == "maxtime") return minutes(partition.max_minutes);
  if (name == "defaulttime") return minutes(partition.default_minutes);
  if (name == "minnodes") return integer(key, value, 0, kMostCount, partition.min_nodes);
  if (name == "maxnodes") return count(partition.max_nodes);
  if (name == "maxcpuspernode") return count(partition.max_cpus_per_node);
  if (name == "allowaccounts") return words(partition.allow_accounts);
  if (name == "denyaccounts") return words(partition.deny_accounts);
  if (name == "allowqos") return words(partition.allow_qos);
  if (name == "denyqos") return words(partition.deny_qos);
  if (name == "tresbillingweights") return tres_weights(key, value, partition.billing_weights, true);
  if (name == "qos") {
    partition.qos = equal_in_any_case(value, "N/A") ? "" : lower_case(value);
    return true;
  }
  if (name == "preemptmode") {
    PreemptMode mode{};
    if (!preempt_mode_of(key, value, mode)) return false;
    partition.preempt_mode = mode;
    return true;
  }
  if (name == "state") {
    partition.is_up = equal_in_any_case(value, "UP");
    return true;
  }
  return ignore_or_refuse(key, value, kRefusedOfPartition, "PartitionName");
}

bool ConfigurationReader::read_partition(const SlurmConfLine& line) {
  PartitionConf partition = partition_defaults_;
  for (std::size_t i = 1; i < line.entries.size(); ++i) {
    if (!read_partition_key(partition, line.entries[i].key, line.entries[i].value)) return false;
  }
  const std::string& name = line.entries.front().value;
  if (equal_in_any_case(name, "DEFAULT")) {
    partition_defaults_ = std::move(partition);
    return true;
  }
  for (const std::string_view each : split(name, ',')) {
    partition.name = each;
    if (result_.find_partition(partition.name))
      return complain("PartitionName", fmt::format("partition '{}' comes twice", each));
    result_.partitions.push_back(partition);
  }
  return true;
}

}  // namespace

std::optional<std::uint32_t> Configuration::find_partition(std::string_view name) const {
  const auto found = std::ranges::find_if(
      partitions, [name](const PartitionConf& each) { return equal_in_any_case(each.name, name); });
  if (found == partitions.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - partitions.begin());
}

std::optional<std::uint32_t> Configuration::default_partition() const {
  const auto found = std::ranges::find(partitions, true, &PartitionConf::is_default);
  if (found == partitions.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - partitions.begin());
}

std::int64_t Configuration::total_cpus() const {
  std::int64_t sum = 0;
  for (const NodeConf& node : nodes)
    sum += node.cpus;
  return sum;
}

Result<Configuration> parse_configuration(std::string_view text, const std::string& file, TresNames& names,
                                          std::span<const std::string_view> ignore) {
  return ConfigurationReader(file, names, ignore).read(text);
}

Result<std::optional<std::int64_t>> parse_slurm_seconds(std::string_view text) {
  const std::string lower = lower_case(trim(text));
  if (lower == "unlimited" || lower == "infinite" || lower == "-1" || lower == "none") return std::nullopt;
  const auto seconds = seconds_of(lower);
  if (!seconds) return fail({.message = expected_found("a time as 90, 12:30:00 or 1-0", text)});
  return std::optional(*seconds);
}

Result<std::optional<std::int64_t>> parse_slurm_minutes(std::string_view text) {
  const auto seconds = parse_slurm_seconds(text);
  if (!seconds || !*seconds) return seconds;
  constexpr std::int64_t kMinute = 60;
  return std::optional((**seconds + kMinute - 1) / kMinute);
}

}  // namespace vtrain::slurm
