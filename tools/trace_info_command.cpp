/// `vtrain trace info`: what a trace holds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/output_format.hpp"
#include "tools/trace_arguments.hpp"
#include "tools/trace_commands.hpp"
#include "tools/trace_description.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The arguments as given.
struct InfoArguments {
  TraceArguments trace;
  std::string cluster;
  bool json = false;
};

/// The cluster that the load refers to: as said, or as the trace itself names it.
Result<std::optional<ClusterSpec>> find_cluster(const InfoArguments& arguments, const Trace& trace) {
  if (!arguments.cluster.empty()) {
    auto parsed = ClusterSpec::parse(arguments.cluster);
    if (!parsed) return fail(std::move(parsed.error()));
    return *std::move(parsed);
  }
  if (!trace.num_gpus) return std::nullopt;
  return ClusterSpec{
      .groups = {{.num_nodes = *trace.num_gpus, .gpus_per_node = GpuCount(1), .gpu_type = {}}}};
}

/// One row a file, when there are several.
std::string file_table(const std::vector<TraceFile>& files) {
  if (files.size() == 1) return {};
  TextTable table({"file", "format", "jobs", "GPU-hours", "skipped rows"});
  for (const TraceFile& file : files) {
    table.add_row({file.path, file.format, with_thousands(file.jobs),
                   with_thousands(std::llround(file.gpu_hours)), with_thousands(file.skipped.total())});
  }
  return "\n" + table.to_string();
}

ordered_json to_json(const TraceFiles& read, const TraceStatistics& statistics,
                     const std::optional<ClusterSpec>& cluster) {
  ordered_json files = ordered_json::array();
  for (const TraceFile& file : read.files) {
    files.push_back({{"file", file.path},
                     {"format", file.format},
                     {"jobs", file.jobs},
                     {"gpu_hours", file.gpu_hours},
                     {"skipped_rows", file.skipped.total()},
                     {"skipped", skipped_to_json(file.skipped)}});
  }
  ordered_json json = {{"trace", read.files.front().path}, {"format", read.trace.format}};
  json.update(statistics_to_json(statistics, cluster ? std::optional(cluster->total_gpus()) : std::nullopt));
  json["skipped_rows"] = read.trace.skipped.total();
  json["skipped"] = skipped_to_json(read.trace.skipped);
  json["assumptions"] = read.trace.assumptions;
  json["files"] = std::move(files);
  return json;
}

/// What was given may be a table of nodes, which lie beside many traces. Otherwise the error stands.
Result<void> show_cluster_instead(const InfoArguments& arguments, Error error) {
  if (arguments.trace.files.size() != 1 || arguments.trace.format != "auto") return fail(std::move(error));
  const std::string& file = arguments.trace.files.front();
  const auto cluster = ClusterSpec::parse(file);
  if (!cluster || cluster->file.empty()) return fail(std::move(error));
  if (arguments.json) {
    ordered_json groups = ordered_json::array();
    for (const NodeGroup& group : cluster->groups) {
      groups.push_back({{"num_nodes", group.num_nodes},
                        {"gpus_per_node", group.gpus_per_node.value},
                        {"gpu_type", group.gpu_type}});
    }
    const ordered_json json = {{"cluster", file},
                               {"nodes", cluster->total_nodes()},
                               {"gpus", cluster->total_gpus().value},
                               {"groups", groups},
                               {"assumptions", cluster->notes}};
    fmt::print("{}\n", json.dump(2));
    return {};
  }
  fmt::print("cluster   {}   no trace: a table of nodes for --cluster\nnodes     {} nodes: {}\n{}", file,
             with_thousands(cluster->total_nodes()), cluster->describe(), assumed_lines(cluster->notes));
  return {};
}

Result<void> show_info(const InfoArguments& arguments) {
  auto read = read_traces(arguments.trace);
  if (!read) return show_cluster_instead(arguments, std::move(read.error()));
  const auto cluster = find_cluster(arguments, read->trace);
  if (!cluster) return fail(cluster.error());
  if (*cluster) {
    const auto& notes = (*cluster)->notes;
    read->trace.assumptions.insert(read->trace.assumptions.end(), notes.begin(), notes.end());
  }
  const TraceStatistics statistics = trace_statistics(read->trace.workload);
  if (arguments.json) {
    fmt::print("{}\n", to_json(*read, statistics, *cluster).dump(2));
    return {};
  }
  std::string text =
      describe_jobs(fmt::format("{} ({})", read->name(), read->trace.format), statistics, *cluster) +
      skipped_line(read->trace.skipped) + assumed_lines(read->trace.assumptions) + "\n" +
      distribution_table(statistics) + "\n" + size_table(statistics);
  for (const auto& [title, shares] : {std::pair{"status", &statistics.statuses},
                                      {"GPU type", &statistics.gpu_types},
                                      {"tenant", &statistics.tenants},
                                      {"user", &statistics.users},
                                      {"model", &statistics.models}}) {
    text += share_table(title, *shares, statistics);
  }
  fmt::print("{}{}", text, file_table(read->files));
  return {};
}

}  // namespace

void add_trace_info(CLI::App& trace, Action& action) {
  CLI::App* command = trace.add_subcommand(
      "info",
      "Show what a trace holds: jobs, GPU-hours, sizes, durations, tenants, models, and what was skipped.\n\n"
      "  vtrain trace info jobs.csv\n"
      "  vtrain trace info jobs.csv.gz --cluster 64x8 --json");
  const auto arguments = std::make_shared<InfoArguments>();
  add_trace_arguments(*command, arguments->trace);
  command->add_option("--cluster", arguments->cluster,
                      "The cluster that the offered load refers to: nodes x GPUs per node, for instance "
                      "64x8, or a file with a "
                      "table of nodes");
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [=] { return show_info(*arguments); }; });
}

}  // namespace vtrain
