#include "traces/formats/auxiliary_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "core/io/json_line.hpp"
#include "traces/formats/formats.hpp"
#include "workloads/jobs/throughput_table.hpp"

namespace vtrain {
namespace {

/// A table that is recognised by its columns in this order.
struct AuxiliaryTable {
  std::string_view columns;  ///< separated by commas; one that ends in `,...` may have more
  std::string_view what;
  std::string_view jobs_column{};  ///< column whose sum is a number of jobs
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

/// JSON that is recognised by one of its keys.
struct OtherJson {
  std::string_view key;
  std::string_view what;
};

constexpr std::array kOtherJson = std::to_array<OtherJson>({
    {"vtrain_generator", "no trace, but a generator: `vtrain trace generate --from` makes traces of it"},
    {"finish_time_fairness_max", "no trace, but the summary of a replay"},
    {"transformations", "no trace, but what a replay came from; its inputs name the trace"},
    {"traceEvents", "no trace of jobs, but a timeline for Perfetto"},
});

/// True for the JSON of sacct: its list of jobs has `job_id`, and no `subtime` as in Batsim.
bool is_json_of_sacct(std::string_view head) {
  const std::size_t jobs = find_json_key(head, "jobs");
  return jobs != std::string_view::npos &&
         find_json_key(head.substr(jobs), "job_id") != std::string_view::npos &&
         find_json_key(head, "subtime") == std::string_view::npos;
}

constexpr std::size_t kTarBlock = 512;

/// A number in octal digits, with blanks before it and blanks or NULs after it.
std::optional<std::uint64_t> read_octal(std::string_view field) {
  constexpr std::string_view kFill(" \0", 2);
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), number, 8);
  const std::string_view rest = field.substr(static_cast<std::size_t>(end - field.data()));
  if (code != std::errc() || rest.find_first_not_of(kFill) != std::string_view::npos) return std::nullopt;
  return number;
}

/// The size of a member of a tar archive: octal digits or, for files above 8 GiB, GNU's big-endian bytes.
std::optional<std::uint64_t> read_tar_size(std::string_view field) {
  constexpr unsigned char kBinary = 0x80;
  if (static_cast<unsigned char>(field.front()) != kBinary) return read_octal(field);
  std::uint64_t size = 0;
  for (const char byte : field.substr(field.size() - sizeof(size)))
    size = size << 8 | static_cast<unsigned char>(byte);
  return size;
}

/// The header of a member of a tar archive.
struct TarHeader {
  std::uint64_t size = 0;
  bool is_file = false;
};

/// The header at the beginning of `text`, if there is one. POSIX.1-1988: a block of 512 bytes with the size
/// at 124, the checksum at 148, the type at 156 and the word `ustar` at 257. The checksum is the sum of all
/// bytes, with blanks in place of the checksum. Other text may have the word there, but hardly a valid
/// checksum.
std::optional<TarHeader> read_tar_header(std::string_view text) {
  if (text.size() < kTarBlock || text.substr(257, 5) != "ustar") return std::nullopt;
  const std::string_view block = text.substr(0, kTarBlock);
  constexpr std::size_t kChecksum = 148;
  constexpr std::size_t kChecksumBytes = 8;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i)
    sum += i - kChecksum < kChecksumBytes ? ' ' : static_cast<unsigned char>(block[i]);
  const auto size = read_tar_size(block.substr(124, 12));
  const char type = block[156];
  const bool known_type = type == '\0' || (type >= '0' && type <= '7') || (type >= 'A' && type <= 'Z') ||
                          type == 'g' || type == 'x';
  if (!size || !known_type || read_octal(block.substr(kChecksum, kChecksumBytes)) != sum) return std::nullopt;
  return TarHeader{.size = *size, .is_file = type == '0' || type == '\0'};
}

/// True if a text is HTML. No trace format begins with `<!doctype html`.
bool is_web_page(std::string_view text) {
  constexpr std::string_view kBeginning = "<!doctype html";
  return equal_in_any_case(text.substr(0, kBeginning.size()), kBeginning);
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

/// Counts the regular files of a tar archive.
std::optional<AuxiliaryFile> recognise_archive(std::string_view text) {
  AuxiliaryFile file{.what = std::string(kUnpack), .unit = "files"};
  while (const auto header = read_tar_header(text)) {
    if (header->is_file) ++file.count;
    const std::uint64_t blocks = header->size / kTarBlock + (header->size % kTarBlock > 0 ? 1 : 0);
    text.remove_prefix(kTarBlock);
    if (blocks > text.size() / kTarBlock) break;
    text.remove_prefix(static_cast<std::size_t>(blocks) * kTarBlock);
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
  if (read_tar_header(head)) return std::string(kUnpack);
  if (is_web_page(text)) return "no trace, but a web page";
  if (text.starts_with("job_id,tenant,") && text.substr(0, text.find('\n')).find(",end_s,") != text.npos)
    return "no trace, but how the jobs of a replay ended";
  if (!text.starts_with('{')) return {};
  for (const auto& [key, what] : kOtherJson) {
    if (find_json_key(text, key) != std::string_view::npos) return std::string(what);
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
