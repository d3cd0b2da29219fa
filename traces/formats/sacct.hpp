/// The accounting records of Slurm as `sacct --parsable2` prints them: fields separated by `|`, columns as
/// the caller asked for.
///
/// Kept: submission (or when the job became eligible), run time (elapsed), GPUs and GPU type (TRES), account
/// (or partition) as tenant, user, requested time (the time limit), status, original start. Slurm knows no
/// model, iterations or deadline.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// A command that exports what is read.
inline constexpr std::string_view kSacctExport =
    "sacct -a -X -P -S now-30days -E now -o "
    "JobIDRaw,User,Account,Partition,State,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,NNodes,ReqTRES,"
    "AllocTRES";

/// Whether the first line has several columns separated by `|`, among them `JobID` or `JobIDRaw`, or is what
/// sacct prints first without `-P`, without a header or with a warning, of which `read_sacct` says how to
/// export.
bool recognise_sacct(std::string_view head);

/// Columns are found by name, whatever its case. There must be `JobID` or `JobIDRaw`, `Submit`; `ElapsedRaw`,
/// `Elapsed`, or `Start` and `End`; and `AllocTRES`, `ReqTRES`, `AllocGRES` or `ReqGRES`. A `|` at the end of
/// every line (`--parsable`) and bars inside `JobName` are understood.
///
/// * GPUs are `gres/gpu=N` of `AllocTRES`, or of `ReqTRES` where that is empty; entries with a type
///   (`gres/gpu:a100=N`) say the type, and the number where the plain entry is missing. The older
///   `gpu:a100:2` of `AllocGRES` and `ReqGRES` is of each of `NNodes` nodes.
/// * Times are local without offset, or seconds since 1970 (`SLURM_TIME_FORMAT=%s`). Local ones are taken as
///   those of one clock, so a wait across a change of clocks is off by its hour, and so is a run time where
///   there is no column of elapsed times. Time 0 is the first submission.
/// * A job whose `Eligible` lies after `Submit` (it waited for other jobs, for a time of its own or for a
///   release) is taken for submitted then, which is said: no scheduler could have started it before.
/// * A time limit of `UNLIMITED`, `Partition_Limit` or 0 is none. Slurm ends jobs some time after their
/// limit:
///   a job that ran for longer has its run time for a limit.
/// * Where `Cluster` has several values, the names of jobs are `cluster/id`.
/// * Rows of job steps (`123.batch`) say nothing more and are passed over. The tasks of an array and the
///   components of a heterogeneous job (`123+0`), which is said, are jobs. Of a requeued job (`--duplicates`)
///   the last run is kept, with the submission that it had.
///
/// Skipped and counted: jobs that never started, have not ended, used no GPU or took no time, earlier runs of
/// requeued jobs, and damaged rows.
Result<Trace> read_sacct(const TraceInput& input);

}  // namespace vtrain
