/// Checks of a job's fields that every trace reader makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/text/quantities.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// The longest time that a trace may contain.
inline constexpr SimDuration kMaxTraceTime = kHundredYears;

/// The longest name of a job, tenant or model in bytes.
inline constexpr std::size_t kMaxNameBytes = 1000;

// The errors of these functions carry only the message; the caller adds file, line and field.

/// A name: 1 to `kMaxNameBytes` bytes of UTF-8 without control characters.
Result<void> check_name(std::string_view text);
/// Decimal seconds from the trace's origin: 0 to `kMaxTraceTime`.
Result<SimTime> parse_instant(std::string_view text);
Result<SimTime> parse_instant(std::string_view text, const TimeUnit& unit);
/// Decimal seconds above 0, up to `kMaxTraceTime`.
Result<SimDuration> parse_duration(std::string_view text);
Result<SimDuration> parse_duration(std::string_view text, const TimeUnit& unit);
/// The instant `delay` after `from`; an error beyond `kMaxTraceTime`.
Result<SimTime> instant_after(SimTime from, SimDuration delay);
/// A whole number of GPUs of at least 1.
Result<GpuCount> parse_num_gpus(std::string_view text);
/// The part of a GPU, above 0 and at most 1 with up to three digits after the point, in thousandths.
Result<std::int16_t> parse_gpu_share(std::string_view text);
/// A whole number of nodes of at least 1.
Result<std::int32_t> parse_num_nodes(std::string_view text);
/// A whole number within `Job::kMaxPriority` of 0.
Result<std::int64_t> parse_priority(std::string_view text);
/// Sequences per iteration, at least 1.
Result<std::int32_t> parse_global_batch(std::string_view text);
/// Iterations to do, at least 1.
Result<std::int64_t> parse_iterations(std::string_view text);
/// A job's status, by its `status_name`.
Result<JobStatus> parse_status(std::string_view text);

/// `COMPLETED`, `FAILED`, `CANCELLED` (also `CANCELLED by 1001`), `TIMEOUT` and the other names of sacct(1),
/// section "JOB STATE CODES". A job that a node failure, the kernel or a preemption ended has failed. A job
/// that has not ended (`PENDING`, `RUNNING`, `SUSPENDED` and others) is running. Any other word is unknown.
JobStatus slurm_job_status(std::string_view state);

/// Number of occurrences of a word in a text. The count of a key that each job has is an upper bound on the
/// jobs.
std::size_t count_words(std::string_view text, std::string_view word);

/// Positions of two jobs with the same name.
struct SameName {
  std::size_t first = 0;
  std::size_t second = 0;
};

/// The first job, in the given order, that has the name of an earlier job. O(n). Needs no memory when names
/// ascend by length and then by letter, as whole numbers do; otherwise 5 bytes a job.
std::optional<SameName> find_same_name(const std::vector<Job>& jobs);
/// Every job that has the name of an earlier job, in the given order, each with the first job of that name.
/// Costs as much as `find_same_name`.
std::vector<SameName> find_same_names(const std::vector<Job>& jobs);

}  // namespace vtrain
