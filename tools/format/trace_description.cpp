#include "tools/format/trace_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// A distribution as JSON; null without values.
ordered_json to_json(const Distribution& distribution) {
  if (distribution.count == 0) return nullptr;
  ordered_json json = {{"count", distribution.count},
                       {"min", to_seconds(distribution.minimum)},
                       {"mean", distribution.mean.count()}};
  for (std::size_t i = 0; i < Distribution::kPercents.size(); ++i) {
    json[fmt::format("p{}", Distribution::kPercents[i])] = to_seconds(distribution.percentiles[i]);
  }
  json["max"] = to_seconds(distribution.maximum);
  return json;
}

ordered_json to_json(const std::vector<NamedShare>& shares) {
  ordered_json list = ordered_json::array();
  for (const NamedShare& entry : shares) {
    list.push_back({{"name", entry.name}, {"jobs", entry.share.jobs}, {"gpu_hours", entry.share.gpu_hours}});
  }
  return list;
}

std::vector<std::string> share_row(std::string label, const JobShare& share,
                                   const TraceStatistics& statistics) {
  // Whole hours line up; of a trace of few they would say nothing.
  const std::string gpu_hours = statistics.gpu_hours < 100 ? short_number(share.gpu_hours)
                                                           : with_thousands(std::llround(share.gpu_hours));
  return {std::move(label), with_thousands(share.jobs),
          as_percent(static_cast<double>(share.jobs) / static_cast<double>(statistics.jobs)), gpu_hours,
          as_percent(share.gpu_hours / statistics.gpu_hours)};
}

}  // namespace

std::string describe_jobs(const std::string& name, const TraceStatistics& statistics,
                          const std::optional<ClusterSpec>& cluster) {
  std::string text =
      fmt::format("trace     {}   {}   {}   {}\n", printable(name), count_of(statistics.jobs, "job"),
                  as_days(to_seconds(statistics.span())), as_gpu_hours(statistics.gpu_hours));
  if (cluster) {
    text += fmt::format("cluster   {}   offered load {}\n", cluster->describe(),
                        as_load(statistics.offered_load(cluster->total_gpus())));
  }
  const auto count = [&](std::string_view label, std::int64_t jobs, std::string_view one_does,
                         std::string_view several_do, std::string_view what) {
    if (jobs == 0) return;
    text += fmt::format("{:<9} {} of {} {} {}\n", label, with_thousands(jobs),
                        count_of(statistics.jobs, "job"), jobs == 1 ? one_does : several_do, what);
  };
  count("deadlines", statistics.with_deadline, "has", "have", "a deadline");
  count("requested", statistics.with_requested_time, "says", "say", "the time that the user asked for");
  count("elastic", statistics.elastic, "says", "say", "the most GPUs to get");
  count("shared", statistics.on_shared_gpus, "uses", "use",
        fmt::format("a part of each GPU; {} with these parts, whole GPUs elsewhere",
                    as_gpu_hours(statistics.used_gpu_hours)));
  count("unpriced", statistics.unpriced, "is", "are",
        "given by model and iterations, not in the GPU-hours; the predictor gives the duration");
  return text;
}

std::string skipped_rows_text(const SkippedRows& skipped, std::int64_t num_rows) {
  if (skipped.total() == 0) return {};
  std::string reasons;
  for (const SkippedRows::Reason& reason : skipped.reasons()) {
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", with_thousands(reason.count), reason.text);
    if (reason.first_lines.empty()) continue;
    reasons += fmt::format(" (first at line{} {})", reason.first_lines.size() > 1 ? "s" : "",
                           fmt::join(reason.first_lines, ", "));
  }
  const std::string of = num_rows > 0 ? fmt::format(" of {}", with_thousands(num_rows)) : "";
  return fmt::format("{}{} row{}: {}", with_thousands(skipped.total()), of,
                     skipped.total() == 1 && num_rows == 0 ? "" : "s", reasons);
}

std::string labelled_lines(std::string_view label, const std::vector<std::string>& parts,
                           std::string_view separator) {
  constexpr std::size_t kIndent = 10;
  const std::size_t columns = text_columns() - kIndent;
  std::string text;
  std::string line;
  const auto end_line = [&] {
    if (line.empty()) return;
    text += fmt::format("{:<{}}{}\n", text.empty() ? label : "", kIndent, wrap_text(line, columns, kIndent));
  };
  for (const std::string& part : parts) {
    if (!line.empty() && display_width(line) + separator.size() + display_width(part) <= columns) {
      line += std::string(separator) + part;
      continue;
    }
    end_line();
    line = part;
  }
  end_line();
  return text;
}

std::string skipped_line(const SkippedRows& skipped, std::int64_t num_rows) {
  return skipped.total() == 0 ? "" : labelled_lines("skipped", {skipped_rows_text(skipped, num_rows)});
}

std::string assumed_lines(const std::vector<std::string>& assumptions) {
  return labelled_lines("assumed", assumptions, ";  ");
}

std::string distribution_table(const TraceStatistics& statistics) {
  std::vector<std::string> header = {"", "min"};
  for (const int percent : Distribution::kPercents)
    header.push_back(fmt::format("p{}", percent));
  header.insert(header.end(), {"max", "mean"});
  TextTable table(std::move(header));
  for (const auto& [label, distribution] : {std::pair{"duration", &statistics.duration},
                                            {"inter-arrival", &statistics.inter_arrival},
                                            {"recorded wait", &statistics.recorded_wait}}) {
    if (distribution->count == 0) continue;
    std::vector<std::string> row = {label, as_duration(to_seconds(distribution->minimum))};
    for (const SimDuration value : distribution->percentiles)
      row.push_back(as_duration(to_seconds(value)));
    row.push_back(as_duration(to_seconds(distribution->maximum)));
    row.push_back(as_duration(distribution->mean.count()));
    table.add_row(std::move(row));
  }
  return table.to_string();
}

std::string size_table(const TraceStatistics& statistics) {
  TextTable table({"GPUs", "jobs", "of jobs", "GPU-hours", "of GPU-hours"});
  for (const auto& [num_gpus, share] : statistics.by_num_gpus) {
    table.add_row(share_row(with_thousands(num_gpus), share, statistics));
  }
  return table.to_string();
}

std::string share_table(const std::string& title, const std::vector<NamedShare>& shares,
                        const TraceStatistics& statistics) {
  if (shares.empty()) return {};
  constexpr std::size_t kShown = 20;
  TextTable table({title, "jobs", "of jobs", "GPU-hours", "of GPU-hours"});
  const auto [shown, others, num_others] = first_shares(shares, kShown);
  for (const NamedShare& share : shown)
    table.add_row(share_row(share.name, share.share, statistics));
  if (num_others > 0) table.add_row(share_row(count_of(num_others, "other"), others, statistics));
  return "\n" + table.to_string();
}

ordered_json statistics_to_json(const TraceStatistics& statistics, const std::optional<GpuCount>& cluster) {
  ordered_json json = {{"jobs", statistics.jobs},
                       {"first_submit_s", to_seconds(statistics.first_submit)},
                       {"last_submit_s", to_seconds(statistics.last_submit)},
                       {"span_s", to_seconds(statistics.span())},
                       {"gpu_hours", statistics.gpu_hours},
                       {"used_gpu_hours", statistics.used_gpu_hours},
                       {"jobs_without_duration", statistics.unpriced},
                       {"jobs_with_iterations", statistics.with_work},
                       {"jobs_with_deadline", statistics.with_deadline},
                       {"jobs_with_requested_time", statistics.with_requested_time},
                       {"jobs_with_original_start", statistics.with_original_start},
                       {"jobs_on_shared_gpus", statistics.on_shared_gpus},
                       {"jobs_with_max_gpus", statistics.elastic}};
  if (cluster) {
    json["cluster_gpus"] = cluster->value;
    // NaN, where all jobs come at once or some have no duration yet, becomes null.
    json["offered_load"] = statistics.offered_load(*cluster);
  }
  json["duration_s"] = to_json(statistics.duration);
  json["inter_arrival_s"] = to_json(statistics.inter_arrival);
  json["recorded_wait_s"] = to_json(statistics.recorded_wait);
  ordered_json sizes = ordered_json::array();
  for (const auto& [num_gpus, share] : statistics.by_num_gpus) {
    sizes.push_back({{"num_gpus", num_gpus}, {"jobs", share.jobs}, {"gpu_hours", share.gpu_hours}});
  }
  json["num_gpus"] = std::move(sizes);
  json["statuses"] = to_json(statistics.statuses);
  json["gpu_types"] = to_json(statistics.gpu_types);
  json["tenants"] = to_json(statistics.tenants);
  json["users"] = to_json(statistics.users);
  json["models"] = to_json(statistics.models);
  return json;
}

ordered_json skipped_to_json(const SkippedRows& skipped) {
  ordered_json list = ordered_json::array();
  for (const SkippedRows::Reason& reason : skipped.reasons()) {
    list.push_back({{"reason", reason.text}, {"rows", reason.count}, {"first_lines", reason.first_lines}});
  }
  return list;
}

}  // namespace vtrain
