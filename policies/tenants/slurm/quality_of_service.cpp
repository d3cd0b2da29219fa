#include "policies/tenants/slurm/quality_of_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "policies/tenants/slurm/limit_columns.hpp"

namespace vtrain::slurm {
namespace {

constexpr std::int64_t kMostLimit = 4'294'967'294;

Result<void> read_flags(const TableText& row, Qos& qos) {
  const std::pair<std::string_view, bool*> flags[] = {{"denyonlimit", &qos.denies_on_limit},
                                                      {"noreserve", &qos.no_reserve},
                                                      {"partitionmaxnodes", &qos.partition_max_nodes},
                                                      {"partitionminnodes", &qos.partition_min_nodes},
                                                      {"partitiontimelimit", &qos.partition_time_limit},
                                                      {"overpartqos", &qos.overrides_partition_qos}};
  constexpr std::string_view kOthers[] = {"enforceusagethreshold", "nodecay", "requiresreservation",
                                          "usagefactorsafe"};
  for (const std::string_view word : split(row["Flags"], ',')) {
    const std::string flag = lower_case(word);
    const auto* const found = std::ranges::find(flags, flag, &std::pair<std::string_view, bool*>::first);
    if (found != std::end(flags))
      *found->second = true;
    else if (!flag.empty() && std::ranges::find(kOthers, flag) == std::end(kOthers))
      return fail(row.error_at("Flags", expected_found("a flag of sacctmgr(1)", word)));
    else if (!flag.empty())
      return fail(
          row.error_at("Flags", fmt::format("'{}' changes when jobs start and is not followed", word)));
  }
  return {};
}

Result<void> read_preemption(const TableText& row, Qos& qos) {
  for (const std::string_view word : split(row["Preempt"], ',')) {
    if (!word.empty()) qos.preempts.push_back(lower_case(word));
  }
  const std::string mode = lower_case(row["PreemptMode"]);
  if (mode == "off")
    qos.preempt_mode = PreemptMode::Off;
  else if (mode == "cancel")
    qos.preempt_mode = PreemptMode::Cancel;
  else if (mode == "requeue")
    qos.preempt_mode = PreemptMode::Requeue;
  else if (!mode.empty() && mode != "cluster")
    return fail(row.error_at("PreemptMode", expected_found("cluster, off, cancel or requeue", mode)));
  const auto grace = parse_slurm_seconds(row["GraceTime"].empty() ? "0" : row["GraceTime"]);
  if (!grace) return fail(row.error_at("GraceTime", grace.error().message));
  if (grace->value_or(0) > 0)
    return fail(row.error_at("GraceTime", "changes when jobs start and is not followed"));
  return {};
}

Result<Qos> read_qos(const TableText& row, TresNames& names) {
  Qos qos{.name = lower_case(row["Name"])};
  if (qos.name.empty()) return fail(row.error_at("Name", "missing: the name of the QOS"));
  const auto priority = parse_integer(row["Priority"].empty() ? "0" : row["Priority"], 0, kMostLimit);
  if (!priority) return fail(row.error_at("Priority", priority.error().message));
  qos.priority = *priority;
  if (!row["UsageFactor"].empty()) {
    const auto factor = parse_number(row["UsageFactor"], 0, 1e9);
    if (!factor) return fail(row.error_at("UsageFactor", factor.error().message));
    qos.usage_factor = *factor;
  }
  if (auto read = read_preemption(row, qos); !read) return fail(std::move(read.error()));
  if (auto read = read_flags(row, qos); !read) return fail(std::move(read.error()));
  LimitColumns columns(row, names);
  Limits& limits = qos.limits;
  columns.shared_limits(limits);
  columns.tres("MaxTRESPU", qos.max_tres_per_user);
  columns.count("MaxJobsPU", limits.max_jobs);
  columns.count("MaxSubmitPU", limits.max_submit);
  columns.tres("MaxTRESPA", qos.max_tres_per_account);
  columns.count("MaxJobsPA", qos.max_jobs_per_account);
  columns.count("MaxSubmitPA", qos.max_submit_per_account);
  columns.tres("MinTRES", qos.min_tres);
  if (columns.error()) return fail(*columns.error());
  return qos;
}

}  // namespace

bool Limits::empty() const {
  return group_tres.empty() && group_tres_minutes.empty() && group_tres_run_minutes.empty() && !group_jobs &&
         !group_submit && !group_wall_minutes && !max_jobs && !max_submit && max_tres.empty() &&
         max_tres_per_node.empty() && max_tres_minutes.empty() && !max_wall_minutes;
}

Result<std::optional<std::int64_t>> parse_limit(std::string_view text) {
  if (trim(text).empty() || trim(text).starts_with('-')) return std::nullopt;
  const auto number = parse_integer(trim(text), 0, kMostLimit);
  if (!number) return fail(number.error());
  return std::optional(*number);
}

Result<std::vector<Qos>> parse_qos(std::string_view text, const std::string& file, TresNames& names) {
  auto table = TableText::open(text, file);
  if (!table) return fail(std::move(table.error()));
  if (!table->has("Name"))
    return fail({.file = file, .line = 1, .message = "expected a header with the column Name"});
  std::vector<Qos> list;
  for (;;) {
    const auto more = table->next();
    if (!more) return fail(more.error());
    if (!*more) break;
    auto qos = read_qos(*table, names);
    if (!qos) return fail(std::move(qos.error()));
    if (std::ranges::find(list, qos->name, &Qos::name) != list.end())
      return fail(table->error_at("Name", fmt::format("QOS '{}' comes twice", qos->name)));
    list.push_back(*std::move(qos));
  }
  for (const Qos& qos : list) {
    for (const std::string& other : qos.preempts) {
      if (std::ranges::find(list, other, &Qos::name) == list.end()) {
        return fail({.file = file,
                     .field = "Preempt",
                     .message = fmt::format("QOS '{}' preempts '{}', which is unknown", qos.name, other)});
      }
    }
  }
  return list;
}

}  // namespace vtrain::slurm
