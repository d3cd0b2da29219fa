/// `vtrain trace info`: contents of a trace.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "core/io/input.hpp"
#include "tools/commands/commands.hpp"
#include "tools/experiment/file_hash.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/options/options.hpp"
#include "tools/report/trace_report.hpp"
#include "traces/formats/auxiliary_file.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The arguments as given.
struct InfoArguments {
  TraceArguments trace;
  std::string cluster;
  std::string report;
  bool json = false;
};

/// The cluster that the load refers to: as given, or as the trace names it.
Result<std::optional<ClusterSpec>> find_cluster(const InfoArguments& arguments, const Trace& trace) {
  if (!arguments.cluster.empty()) {
    auto parsed = ClusterSpec::parse(arguments.cluster);
    if (!parsed) return fail(in_option("--cluster", std::move(parsed.error())));
    return *std::move(parsed);
  }
  if (!trace.num_gpus) return std::nullopt;
  auto named = cluster_of_trace(*trace.num_gpus);
  if (!named) return fail(std::move(named.error()));
  return *std::move(named);
}

/// Number of rows of the files, jobs and skipped ones; 0 for formats of several tables, whose rows are no
/// jobs.
std::int64_t count_rows(const TraceFiles& read, const TraceStatistics& statistics) {
  for (const TraceFile& file : read.files) {
    for (const TraceFormat& format : trace_formats()) {
      if (format.name == file.format && !format.main_file.empty()) return 0;
    }
  }
  return statistics.jobs + read.trace.skipped.total();
}

/// Table with a row for each file, if there are several.
std::string file_table(const std::vector<TraceFile>& files) {
  if (files.size() == 1) return {};
  TextTable table({"file", "format", "jobs", "GPU-hours", "skipped rows"});
  for (const TraceFile& file : files) {
    table.add_row({file.path, file.format, with_thousands(file.jobs),
                   with_thousands(std::llround(file.gpu_hours)), with_thousands(file.skipped.total())});
  }
  return "\n" + table.to_string();
}

/// Quotas of virtual clusters, largest first; empty without any.
std::string virtual_cluster_table(const ClusterSpec& cluster) {
  if (cluster.virtual_clusters.empty()) return {};
  std::vector<VirtualCluster> sorted = cluster.virtual_clusters;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const VirtualCluster& a, const VirtualCluster& b) { return a.num_gpus > b.num_gpus; });
  TextTable table({"virtual cluster", "GPUs", "of GPUs"});
  for (const VirtualCluster& each : sorted) {
    table.add_row({each.name, with_thousands(each.num_gpus),
                   as_percent(static_cast<double>(each.num_gpus) / cluster.total_gpus().value)});
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

/// The picture of the trace, as a page.
Result<void> write_report(const InfoArguments& arguments, const TraceFiles& read,
                          const TraceStatistics& statistics, const std::optional<ClusterSpec>& cluster) {
  TraceReportInput input{.workload = &read.trace.workload,
                         .statistics = &statistics,
                         .cluster = cluster,
                         .trace_name = fmt::format("{} ({})", read.name(), read.trace.format),
                         .assumptions = read.trace.assumptions};
  for (const std::string& path : read.trace.files) {
    const auto hash = read.hash_of(path);
    if (!hash) return fail(hash.error());
    input.provenance.emplace_back("file", describe_file(path, *hash));
  }
  if (const std::string skipped = skipped_rows_text(read.trace.skipped); !skipped.empty())
    input.provenance.emplace_back("skipped", skipped);
  input.provenance.emplace_back("version", "vtrain " VTRAIN_VERSION);
  return write_file(arguments.report, render_trace_report(input));
}

void show_cluster(const std::string& file, const ClusterSpec& spec, bool json_only) {
  const ClusterSpec* const cluster = &spec;
  if (json_only) {
    ordered_json groups = ordered_json::array();
    for (const NodeGroup& group : cluster->groups) {
      groups.push_back({{"num_nodes", group.num_nodes},
                        {"gpus_per_node", group.gpus_per_node.value},
                        {"gpu_type", group.gpu_type}});
    }
    ordered_json virtual_clusters = ordered_json::array();
    for (const VirtualCluster& each : cluster->virtual_clusters)
      virtual_clusters.push_back({{"name", each.name}, {"gpus", each.num_gpus}});
    const ordered_json json = {
        {"cluster", file},  {"nodes", cluster->total_nodes()},      {"gpus", cluster->total_gpus().value},
        {"groups", groups}, {"virtual_clusters", virtual_clusters}, {"assumptions", cluster->notes}};
    print_json(json);
    return;
  }
  const std::int32_t nodes = cluster->total_nodes();
  print_text(stdout, "cluster   {}   no trace: a table of nodes for --cluster\nnodes     {} node{}: {}\n{}{}",
             printable(file), with_thousands(nodes), nodes == 1 ? "" : "s", cluster->describe(),
             assumed_lines(cluster->notes), virtual_cluster_table(*cluster));
}

void show_auxiliary(const std::string& path, const AuxiliaryFile& file, bool json_only) {
  if (json_only) {
    const ordered_json json = {{"file", path},
                               {"what", file.what},
                               {"unit", file.unit},
                               {"count", file.count},
                               {"jobs", file.num_jobs}};
    print_json(json);
    return;
  }
  const std::string_view unit =
      std::string_view(file.unit).substr(0, file.unit.size() - (file.count == 1 ? 1 : 0));
  print_text(stdout, "file      {}   no trace: {}\nholds     {} {}{}\n", printable(path), file.what,
             with_thousands(file.count), unit,
             file.num_jobs > 0 ? fmt::format(", {} jobs", with_thousands(file.num_jobs)) : "");
}

/// Describes a file that often comes with traces: a table of nodes, or one that cannot be replayed. Returns
/// the error for any other file.
Result<void> show_other_file(const InfoArguments& arguments, Error error) {
  if (arguments.trace.files.size() != 1 || arguments.trace.format != "auto") return fail(std::move(error));
  const std::string& file = arguments.trace.files.front();
  if (error.kind == ErrorKind::Io || is_read_once(file)) return fail(std::move(error));
  if (const auto cluster = ClusterSpec::parse(file); cluster && !cluster->file.empty()) {
    show_cluster(file, *cluster, arguments.json);
    return {};
  }
  const auto check_beginning = [&error](std::string_view beginning) -> Result<void> {
    const std::size_t last_line = beginning.rfind('\n') + 1;
    if (recognise_auxiliary_file(beginning.substr(0, last_line))) return {};
    return fail(error);
  };
  const auto text = read_file(file, InputKind::Trace, {.check_beginning = check_beginning});
  const auto auxiliary = text ? recognise_auxiliary_file(*text) : std::nullopt;
  if (!auxiliary) return fail(std::move(error));
  show_auxiliary(file, *auxiliary, arguments.json);
  return {};
}

Result<void> show_info(const InfoArguments& arguments) {
  auto read = read_traces(arguments.trace);
  if (!read) return show_other_file(arguments, std::move(read.error()));
  const auto cluster = find_cluster(arguments, read->trace);
  if (!cluster) return fail(cluster.error());
  if (*cluster) {
    const auto& notes = (*cluster)->notes;
    read->trace.assumptions.insert(read->trace.assumptions.end(), notes.begin(), notes.end());
  }
  const TraceStatistics statistics = trace_statistics(read->trace.workload);
  if (!arguments.report.empty()) {
    if (auto written = write_report(arguments, *read, statistics, *cluster); !written) return written;
  }
  std::FILE* const stream = summary_stream(arguments.report);
  if (arguments.json) {
    print_json(to_json(*read, statistics, *cluster), stream);
    return {};
  }
  std::string text =
      describe_jobs(fmt::format("{} ({})", read->name(), read->trace.format), statistics, *cluster) +
      skipped_line(read->trace.skipped, count_rows(*read, statistics)) +
      assumed_lines(read->trace.assumptions) + "\n" + distribution_table(statistics) + "\n" +
      size_table(statistics);
  for (const auto& [title, shares] : {std::pair{"status", &statistics.statuses},
                                      {"GPU type", &statistics.gpu_types},
                                      {"tenant", &statistics.tenants},
                                      {"user", &statistics.users},
                                      {"model", &statistics.models}}) {
    text += share_table(title, *shares, statistics);
  }
  text += file_table(read->files);
  if (!arguments.report.empty()) text += fmt::format("\n{}\n", printable(arguments.report));
  print_text(stream, "{}", text);
  return {};
}

}  // namespace

void add_trace_info(CLI::App& trace, Action& action) {
  CLI::App* command = trace.add_subcommand(
      "info",
      "Show what a trace holds: jobs, GPU-hours, sizes, durations, tenants, models, and what was skipped.\n\n"
      "  vtrain trace info jobs.csv\n"
      "  vtrain trace info jobs.csv.gz --cluster 64x8 --report jobs.html");
  const auto arguments = std::make_shared<InfoArguments>();
  add_trace_arguments(*command, arguments->trace);
  command->add_option("--cluster", arguments->cluster,
                      "Cluster that the offered load refers to: NODESxGPUS, for instance 64x8, or a file "
                      "with a table of nodes");
  command->add_option("--report", arguments->report,
                      "Write an HTML page with charts of sizes, run times, submissions and GPUs requested");
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([=, &action] { action = [=] { return show_info(*arguments); }; });
}

}  // namespace vtrain
