#include "traces/trace_format.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/csv.hpp"
#include "core/io/input.hpp"
#include "core/io/line_reader.hpp"
#include "traces/formats/auxiliary_file.hpp"
#include "traces/formats/formats.hpp"

namespace vtrain {
namespace {

constexpr std::array kFormats = {
    TraceFormat{"vtrain", "vtrain's CSV: job_id, submit_s, num_gpus and a duration, or a model with its work",
                recognise_vtrain_csv, read_vtrain_csv, write_vtrain_csv},
    TraceFormat{"tiresias", "CSV of the Tiresias simulator (60_job.csv)", recognise_tiresias, read_tiresias},
    TraceFormat{"jsonl", "vtrain's JSON lines: one job a line, the columns of its CSV as keys",
                recognise_json_lines, read_json_lines, write_json_lines},
    TraceFormat{"batsim", "JSON workload of Batsim with delay profiles", recognise_batsim, read_batsim,
                write_batsim},
    TraceFormat{"swf", "Standard Workload Format of the Parallel Workloads Archive; processors are GPUs",
                recognise_swf, read_swf, write_swf},
    TraceFormat{"sacct", "accounting records of Slurm (sacct --parsable2)", recognise_sacct, read_sacct},
    TraceFormat{"slurm-batch", "CSV of sbatch commands for a cluster under Slurm", recognise_slurm_batch,
                read_slurm_batch},
    TraceFormat{"itp", "CSV of Microsoft's ITP clusters (ElasticFlow's raw traces)", recognise_itp, read_itp},
    TraceFormat{"philly",
                "CSV of Microsoft's Philly cluster, rebuilt from derived lists; virtual clusters are tenants",
                recognise_philly, read_philly},
    TraceFormat{"philly-log", "JSON log of Microsoft's Philly cluster (cluster_job_log)",
                recognise_philly_log, read_philly_log},
    TraceFormat{"pollux", "CSV of Philly jobs derived by Pollux (philly.csv)", recognise_pollux, read_pollux},
    TraceFormat{"pcs", "CSV of one Philly virtual cluster derived by PCS (trace_<vc>.csv)", recognise_pcs,
                read_pcs},
    TraceFormat{"helios", "CSV log of SenseTime's Helios clusters (cluster_log.csv)", recognise_helios,
                read_helios},
    TraceFormat{"acme", "CSV log of Shanghai AI Lab's Acme clusters (trace_seren.csv, trace_kalos.csv)",
                recognise_acme, read_acme},
    TraceFormat{
        .name = "pai",
        .summary = "tables of Alibaba's PAI trace of 2020, joined (pai_job_table.csv and those beside it)",
        .recognise = recognise_pai,
        .read = read_pai,
        .main_file = kPaiJobTable},
    TraceFormat{"pai-simulator", "CSV of the simulator of Alibaba's PAI trace (pai_job_*_100K.csv)",
                recognise_pai_simulator, read_pai_simulator},
    TraceFormat{"spot-gpu", "CSV of Alibaba's spot-GPU jobs of 2026 (job_info_df.csv)", recognise_spot_gpu,
                read_spot_gpu},
    TraceFormat{"openb", "CSV of the pods of Alibaba's openb cluster of 2023 (openb_pod_list_*.csv)",
                recognise_openb, read_openb},
    TraceFormat{.name = "lingjun",
                .summary = "tables of Alibaba's Lingjun trace of 2023, joined (job.csv and worker.csv)",
                .recognise = recognise_lingjun,
                .read = read_lingjun,
                .main_file = kLingjunJobTable},
    TraceFormat{.name = "elasticflow",
                .summary = "CSV of the ElasticFlow simulator: models, iterations, deadlines",
                .recognise = recognise_elasticflow,
                .read = read_elasticflow,
                .takes_throughputs = true},
    TraceFormat{.name = "gavel",
                .summary = "tab-separated traces of Gavel and Shockwave; run times from throughputs",
                .recognise = recognise_gavel,
                .read = read_gavel,
                .takes_throughputs = true},
    TraceFormat{"muri", "CSV of the Muri simulator, in milliseconds", recognise_muri, read_muri},
    TraceFormat{"chronus", "CSV of the Chronus simulator, in minutes, with deadlines", recognise_chronus,
                read_chronus},
    TraceFormat{"sia", "workload CSV of Pollux and Sia: applications without run times", recognise_sia,
                read_sia},
};

Error unknown_format(std::string_view name, const std::vector<std::string_view>& known) {
  return {.field = "format",
          .message = fmt::format("unknown trace format '{}'; {}", name, suggest_name(name, known))};
}

/// The beginning of a text, by which formats are recognised: the comments before our own CSV, and the next
/// 8192 bytes.
std::string_view head_of(std::string_view text) {
  constexpr std::size_t kHeadBytes = 8192;
  LineReader lines(text, {});
  std::size_t comments_end = 0;
  for (std::size_t i = 0; i < CsvReader::kMaxComments; ++i) {
    const auto more = lines.next();
    if (!more || !*more || !lines.line().starts_with('#')) break;
    comments_end = static_cast<std::size_t>(lines.line().data() + lines.line().size() - text.data());
  }
  return text.substr(0, comments_end + kHeadBytes);
}

Result<const TraceFormat*> find_format(std::string_view text, const std::string& file,
                                       std::string_view name) {
  const std::string_view head = head_of(text);
  if (name == "auto") {
    if (std::string other = describe_other_file(head); !other.empty())
      return fail({.file = file, .message = std::move(other)});
  }
  std::vector<std::string_view> names;
  for (const TraceFormat& format : kFormats) {
    if (name == "auto" ? format.recognise(head) : format.name == name) return &format;
    names.push_back(format.name);
  }
  if (name == "auto") {
    if (head.starts_with('#')) {
      if (const auto header = CsvReader::open(head, file); !header) return fail(header.error());
    }
    const std::string_view first_line = head.substr(0, head.find('\n'));
    return fail({.file = file,
                 .line = 1,
                 .message = expected_found(fmt::format("a trace in one of the formats {}", list_names(names)),
                                           first_line)});
  }
  return fail(unknown_format(name, names));
}

std::string no_jobs_message(const SkippedRows& skipped) {
  std::string text = "no jobs in the trace";
  for (const SkippedRows::Reason& reason : skipped.reasons()) {
    text += &reason == skipped.reasons().data() ? "; rows skipped: " : ", ";
    text += fmt::format("{} ({})", reason.text, with_thousands(reason.count));
  }
  return text;
}

/// The file to read: `path` itself, or the main file of a format if `path` is a folder.
Result<std::string> main_file_of(const std::string& path, std::string_view format) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  std::vector<std::string_view> names;
  for (const TraceFormat& each : kFormats) {
    if (each.main_file.empty() || (format != "auto" && format != each.name)) continue;
    if (const auto file = find_table(path, each.main_file); !file.empty()) return file.string();
    names.push_back(each.main_file);
  }
  if (names.empty()) {
    return fail({.file = path,
                 .message = fmt::format("expected a file: the format {} is not one of folders", format)});
  }
  return fail({.kind = ErrorKind::NotFound,
               .file = path,
               .message = fmt::format("expected a file, or a folder with one of {}", list_names(names))});
}

/// Adds an assumption with the number of names in which invalid UTF-8 was replaced, if there are any.
void note_replaced_bytes(Trace& trace) {
  const auto is_replaced = [](std::string_view name) {
    return name.find(kReplacementCharacter) != std::string_view::npos;
  };
  const Workload& workload = trace.workload;
  auto count = std::ranges::count_if(workload.jobs, [&](const Job& job) { return is_replaced(job.name); });
  std::set<std::string_view> replaced;  // an account may be the tenant, too
  for (const NameTable* names : {&workload.tenants, &workload.models, &workload.users, &workload.gpu_types,
                                 &workload.accounts, &workload.queues, &workload.qos_names})
    std::ranges::copy_if(names->names(), std::inserter(replaced, replaced.end()), is_replaced);
  count += std::ssize(replaced);
  if (count > 0) {
    trace.assumptions.push_back(
        fmt::format("names with bytes that are not UTF-8, read as U+FFFD: {}", with_thousands(count)));
  }
}

/// Reads UTF-8 text, in which invalid bytes may have been replaced.
Result<Trace> parse_utf8_trace(std::string_view text, const std::string& file, std::string_view format,
                               const ReadOptions& options, bool has_replaced_bytes) {
  const auto found = find_format(text, file, format);
  if (!found) return fail(found.error());
  auto trace = (*found)->read({.text = text, .file = file, .options = options});
  if (!trace) return trace;
  trace->format = (*found)->name;
  std::vector<Job>& jobs = trace->workload.jobs;
  if (jobs.empty()) {
    return fail({.file = file, .message = no_jobs_message(trace->skipped)});
  }
  const auto by_line = [](const Job& a, const Job& b) { return a.line < b.line; };
  trace->workload.sources = {{file, std::max_element(jobs.begin(), jobs.end(), by_line)->line}};
  const auto by_submission = [](const Job& a, const Job& b) { return a.submit < b.submit; };
  if (!std::is_sorted(jobs.begin(), jobs.end(), by_submission)) trace->workload.sort_by_submission();
  trace->has_replaced_bytes |= has_replaced_bytes;
  if (trace->has_replaced_bytes) note_replaced_bytes(*trace);
  return trace;
}

}  // namespace

std::span<const TraceFormat> trace_formats() {
  return kFormats;
}

Result<const TraceFormat*> find_written_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const TraceFormat& format : kFormats) {
    if (format.write == nullptr) continue;
    if (format.name == name) return &format;
    names.push_back(format.name);
  }
  return fail(unknown_format(name, names));
}

Result<Trace> parse_trace(std::string_view text, const std::string& file, std::string_view format,
                          const ReadOptions& options) {
  return is_utf8(text) ? parse_utf8_trace(text, file, format, options, false)
                       : parse_utf8_trace(replace_non_utf8(text), file, format, options, true);
}

Result<Trace> read_trace(const std::string& path, std::string_view format, const ReadOptions& options) {
  const auto file = main_file_of(path, format);
  if (!file) return fail(file.error());
  // A file must look like a trace before it is read to its end, because it may not fit in memory.
  const auto text = read_file(*file, InputKind::Trace, {.check_beginning = [&](std::string_view beginning) {
    return find_format(beginning, *file, format).map([](const TraceFormat*) {});
  }});
  if (!text) return fail(text.error());
  auto trace = parse_trace(*text, *file, format, options);
  if (trace) trace->files.insert(trace->files.begin(), *file);
  return trace;
}

}  // namespace vtrain
