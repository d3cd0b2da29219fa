#include "traces/formats/auxiliary_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "traces/formats/formats.hpp"
#include "workloads/jobs/throughput_table.hpp"

namespace vtrain {
namespace {

/// A table, told by its columns; it has no others, and they come in this order.
struct AuxiliaryTable {
  std::string_view columns;  ///< separated by commas; one that ends in `,...` may have more
  std::string_view what;
  std::string_view jobs_column{};  ///< the column that adds up to a number of jobs
};

constexpr std::array kTables = std::to_array<AuxiliaryTable>({
    {"time,total_job_num,running_job_num,pending_job_num,...",
     "load of a virtual cluster over time (Helios)"},
    {"time,active,total", "nodes in use over time (Philly)"},
    {"id,job_num,cpu_job_num,gpu_job_num,...", "summary of clusters (Acme)"},
    {"id,gpu_num,job_num,cpu_job_num,gpu_job_num,...", "summary of clusters (Helios)"},
    {"ip,DSW,PSW,ASW", "places of hosts in the network (Lingjun)"},
    {"model,total_gpu,jobs", "jobs by model and number of GPUs (Lingjun)", "jobs"},
    {"name,cpu_milli,memory_mib,num_gpu,gpu_milli",
     "sizes of pods without times (openb, resampled), which cannot be replayed"},
    {"job_name,inst_id,user,status,start_time,end_time", "columns of PAI's pai_job_table.csv"},
    {"job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type",
     "columns of PAI's pai_task_table.csv"},
    {"job_name,task_name,inst_name,worker_name,inst_id,status,start_time,end_time,machine",
     "columns of PAI's pai_instance_table.csv"},
    {"inst_id,user,gpu_type_spec,group,workload", "columns of PAI's pai_group_tag_table.csv"},
    {"machine,gpu_type,cap_cpu,cap_mem,cap_gpu", "columns of PAI's pai_machine_spec.csv"},
    {"worker_name,machine,start_time,end_time,machine_cpu_iowait,...",
     "columns of PAI's pai_machine_metric.csv"},
    {"job_name,task_name,worker_name,inst_id,machine,gpu_name,...", "columns of PAI's pai_sensor_table.csv"},
});

/// JSON, told by some of its keys.
struct OtherJson {
  std::string_view key;  ///< in quotes
  std::string_view what;
};

constexpr std::array kOtherJson = std::to_array<OtherJson>({
    {"\"vtrain_generator\"", "no trace, but a generator: `vtrain trace generate --from` makes traces of it"},
    {"\"finish_time_fairness_max\"", "no trace, but the summary of a replay"},
    {"\"transformations\"", "no trace, but what a replay came from; its inputs name the trace"},
    {"\"traceEvents\"", "no trace of jobs, but a timeline for Perfetto"},
});

/// Whether JSON is what sacct prints: a list of jobs with ids, which Batsim calls otherwise.
bool is_json_of_sacct(std::string_view head) {
  const std::size_t jobs = head.find("\"jobs\"");
  return jobs != std::string_view::npos && head.find("\"job_id\"", jobs) != std::string_view::npos &&
         head.find("\"subtime\"") == std::string_view::npos;
}

/// POSIX.1-1988: the word stands at byte 257 of the first header.
bool is_tar(std::string_view text) {
  return text.size() > 262 && text.substr(257, 5) == "ustar";
}

constexpr std::string_view kUnpack = "a tar archive: unpack it and name the files in it";

bool has_columns(const std::vector<std::string>& columns, std::string_view wanted) {
  std::vector<std::string_view> names = split(wanted, ',');
  const bool may_go_on = names.back() == "...";
  if (may_go_on) names.pop_back();
  return (may_go_on ? columns.size() >= names.size() : columns.size() == names.size()) &&
         std::equal(names.begin(), names.end(), columns.begin());
}

std::optional<AuxiliaryFile> recognise_table(std::string_view text) {
  auto rows = CsvReader::open_any_header(text, {});
  if (!rows) return std::nullopt;
  const auto table = std::find_if(kTables.begin(), kTables.end(), [&](const AuxiliaryTable& each) {
    return has_columns(rows->columns(), each.columns);
  });
  if (table == kTables.end()) return std::nullopt;
  AuxiliaryFile file{.what = std::string(table->what), .unit = "rows"};
  const int jobs = table->jobs_column.empty() ? -1 : rows->find_column(table->jobs_column);
  for (;;) {
    const auto more = rows->next();
    if (!more) return std::nullopt;
    if (!*more) return file;
    ++file.count;
    if (jobs < 0) continue;
    constexpr std::int64_t kMostJobs = 1'000'000'000;
    const auto count = rows->integer(jobs, 0, kMostJobs);
    if (!count || file.num_jobs > std::numeric_limits<std::int64_t>::max() - kMostJobs) return std::nullopt;
    file.num_jobs += *count;
  }
}

/// Counts the regular files of a tar archive. POSIX.1-1988: blocks of 512 bytes; a header has the size in
/// octal digits at byte 124 and the type at 156 (`0`, or none in older archives).
std::optional<AuxiliaryFile> recognise_archive(std::string_view text) {
  constexpr std::size_t kBlock = 512;
  AuxiliaryFile file{.what = std::string(kUnpack), .unit = "files"};
  while (text.size() >= kBlock && is_tar(text)) {
    std::string_view digits = text.substr(124, 11);
    digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
    std::uint64_t size = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), size, 8).ec != std::errc()) break;
    if (text[156] == '0' || text[156] == '\0') ++file.count;
    const std::uint64_t blocks = 1 + (size + kBlock - 1) / kBlock;
    text.remove_prefix(static_cast<std::size_t>(std::min<std::uint64_t>(blocks * kBlock, text.size())));
  }
  return file.count > 0 ? std::optional(file) : std::nullopt;
}

std::optional<AuxiliaryFile> recognise_throughputs(std::string_view text) {
  if (trim(text.substr(0, 4096)).starts_with('{')) {
    const auto gavel = parse_gavel_throughputs(std::string(text), {});
    if (!gavel || gavel->empty()) return std::nullopt;
    return AuxiliaryFile{.what = "throughputs of job types by GPU type (Gavel), for --throughputs",
                         .unit = "GPU types",
                         .count = static_cast<std::int64_t>(gavel->size())};
  }
  const auto table = parse_throughput_table(text, {});
  if (!table || table->rows().empty()) return std::nullopt;
  return AuxiliaryFile{.what = "throughputs of a model by number of GPUs (ElasticFlow), for --throughputs",
                       .unit = "rows",
                       .count = static_cast<std::int64_t>(table->rows().size())};
}

}  // namespace

std::string describe_other_file(std::string_view head) {
  const std::string_view text = trim(head);
  if (text.empty()) return "empty: expected a trace";
  if (is_tar(head)) return std::string(kUnpack);
  if (text.starts_with("<!DOCTYPE")) return "no trace, but a web page";
  if (text.starts_with("job_id,tenant,model,submit_s,start_s,end_s,state,"))
    return "no trace, but how the jobs of a replay ended";
  if (!text.starts_with('{')) return {};
  for (const auto& [key, what] : kOtherJson) {
    if (text.find(key) != std::string_view::npos) return std::string(what);
  }
  if (is_json_of_sacct(text))
    return fmt::format("JSON of sacct, which is not read; export with {}", kSacctExport);
  return {};
}

std::optional<AuxiliaryFile> recognise_auxiliary_file(std::string_view text) {
  if (auto archive = recognise_archive(text)) return archive;
  if (auto table = recognise_table(text)) return table;
  return recognise_throughputs(text);
}

}  // namespace vtrain
