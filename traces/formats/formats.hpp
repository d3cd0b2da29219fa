/// Readers and writers of all trace formats, for the table of formats. The file that defines the functions of
/// a format opens with its description: the columns, and what is kept of a job.
///
/// For each format X there are two functions. `recognise_X(head)` is true if a text that begins with `head`
/// has the format; no text has two formats. `read_X(input)` reads the whole text, with jobs in the order of
/// the file.
///
/// Formats that can be written have a third function, `write_X(trace, path)`. It writes jobs in their order;
/// `read_X` returns them again, without the fields that the format lacks. A job that the format cannot
/// describe is an error. The file appears when it is complete.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "traces/reading/trace.hpp"

namespace vtrain {

// Our own formats: vtrain_csv.cpp, json_lines.cpp

bool recognise_vtrain_csv(std::string_view head);
Result<Trace> read_vtrain_csv(const TraceInput& input);
Result<void> write_vtrain_csv(const Trace& trace, const std::filesystem::path& path);
/// The CSV of the jobs alone, in memory.
std::string to_vtrain_csv(const Workload& workload);

bool recognise_json_lines(std::string_view head);
Result<Trace> read_json_lines(const TraceInput& input);
Result<void> write_json_lines(const Trace& trace, const std::filesystem::path& path);

// Formats of many clusters and simulators: batsim.cpp, swf.cpp, sacct.cpp

bool recognise_batsim(std::string_view head);
Result<Trace> read_batsim(const TraceInput& input);
Result<void> write_batsim(const Trace& trace, const std::filesystem::path& path);

bool recognise_swf(std::string_view head);
Result<Trace> read_swf(const TraceInput& input);
Result<void> write_swf(const Trace& trace, const std::filesystem::path& path);

/// A command that exports all that `read_sacct` uses.
inline constexpr std::string_view kSacctExport =
    "sacct -a -X -P -S now-30days -E now -o "
    "JobIDRaw,User,Account,Partition,QOS,Priority,State,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,"
    "NNodes,ReqTRES,AllocTRES";
bool recognise_sacct(std::string_view head);
Result<Trace> read_sacct(const TraceInput& input);
bool recognise_slurm_batch(std::string_view head);
Result<Trace> read_slurm_batch(const TraceInput& input);

// CSV files whose columns each hold one field of a job: column_formats.cpp

bool recognise_itp(std::string_view head);
Result<Trace> read_itp(const TraceInput& input);

bool recognise_philly(std::string_view head);
Result<Trace> read_philly(const TraceInput& input);

bool recognise_tiresias(std::string_view head);
Result<Trace> read_tiresias(const TraceInput& input);

bool recognise_muri(std::string_view head);
Result<Trace> read_muri(const TraceInput& input);

bool recognise_sia(std::string_view head);
Result<Trace> read_sia(const TraceInput& input);

// Traces of other schedulers' simulators: chronus.cpp, elasticflow.cpp, gavel.cpp

bool recognise_chronus(std::string_view head);
Result<Trace> read_chronus(const TraceInput& input);

bool recognise_elasticflow(std::string_view head);
Result<Trace> read_elasticflow(const TraceInput& input);

bool recognise_gavel(std::string_view head);
Result<Trace> read_gavel(const TraceInput& input);

// Microsoft's Philly: philly_log.cpp, and the lists derived from it, philly_lists.cpp

/// The time zone of Philly's clocks.
inline constexpr const char* kPhillyTimeZone = "America/Los_Angeles";

bool recognise_philly_log(std::string_view head);
Result<Trace> read_philly_log(const TraceInput& input);

bool recognise_pollux(std::string_view head);
Result<Trace> read_pollux(const TraceInput& input);

bool recognise_pcs(std::string_view head);
Result<Trace> read_pcs(const TraceInput& input);

// Logs drawn from Slurm: slurm_logs.cpp

bool recognise_helios(std::string_view head);
Result<Trace> read_helios(const TraceInput& input);

bool recognise_acme(std::string_view head);
Result<Trace> read_acme(const TraceInput& input);

// Alibaba's lists of one table: pai_simulator.cpp, spot_gpu.cpp, openb.cpp

bool recognise_pai_simulator(std::string_view head);
Result<Trace> read_pai_simulator(const TraceInput& input);

bool recognise_spot_gpu(std::string_view head);
Result<Trace> read_spot_gpu(const TraceInput& input);

bool recognise_openb(std::string_view head);
Result<Trace> read_openb(const TraceInput& input);

// Alibaba's logs of several tables: pai.cpp, lingjun.cpp. The input is the table with the jobs; the others
// are read from its folder.

/// Published file names of the tables with the jobs.
inline constexpr std::string_view kPaiJobTable = "pai_job_table.csv";
inline constexpr std::string_view kLingjunJobTable = "job.csv";

bool recognise_pai(std::string_view head);
Result<Trace> read_pai(const TraceInput& input);

/// A table that is joined with the table of jobs.
struct PaiTable {
  std::string_view text;
  std::string file;  ///< path, for errors
};

/// Joins PAI tables that are in memory. `tags` may have empty text.
Result<Trace> join_pai_tables(const TraceInput& jobs, const PaiTable& tasks, const PaiTable& tags);

bool recognise_lingjun(std::string_view head);
Result<Trace> read_lingjun(const TraceInput& input);

/// Joins Lingjun tables that are in memory; `worker_file` is used in errors.
Result<Trace> join_lingjun_tables(const TraceInput& jobs, std::string_view workers,
                                  const std::string& worker_file);

}  // namespace vtrain
