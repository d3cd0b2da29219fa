/// Jobs as the scheduler sees them: what a trace says of each, whichever trace it was.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/jobs/requirements.hpp"
#include "workloads/jobs/speed_by_gpus.hpp"

namespace vtrain {

/// How a job of a recorded trace ended, as the trace says.
enum class JobStatus : std::uint8_t { Unknown, Completed, Failed, Cancelled, TimedOut, Running };

/// Their names, in the order of the enumeration: `unknown`, `completed`, `failed`, `cancelled`, `timeout` and
/// `running`.
std::span<const std::string_view> status_names();
/// The name of one of them.
std::string_view status_name(JobStatus status);

/// All of one GPU, in the thousandths in which parts of GPUs are counted.
inline constexpr std::int16_t kWholeGpu = 1000;

/// One training job: a gang of GPUs that is held as a whole from start to end (or to a preemption).
struct Job {
  std::string_view name;        ///< the trace's own job id; the text lives in the `Workload`
  TenantId tenant;              ///< whose share of the cluster it uses
  ModelId model;                ///< what it trains, if the trace says so
  UserId user;                  ///< who submitted it, if the trace tells users from tenants
  AccountId account;            ///< who pays for it, if the trace has accounts
  QueueId queue;                ///< where it was submitted: a partition of Slurm, a queue
  QosId qos;                    ///< its quality of service, if the trace has any
  GpuTypeId gpu_type;           ///< the GPUs it asks for; none: any
  CurveId curve;                ///< how fast it is on other numbers of GPUs; none: the job is rigid
  RequirementsId requirements;  ///< what else it asks for; none: nothing
  /// Where it was read: a line of the `Workload`'s files, counted from 1 through all of them; 0 for a job
  /// that no file holds.
  std::uint32_t line = 0;
  SimTime submit{};
  /// The scheduler's or user's priority, as the trace has it: more goes first. `kNoPriority` without one.
  std::int64_t priority = kNoPriority;
  /// Run time on `num_gpus` GPUs, at least 1 ns. 0 in a workload whose jobs are given by model and iterations
  /// and that has not been priced by the predictor yet.
  SimDuration duration{};
  /// The time limit that the user asked for, which is what backfilling may know; a job is ended there. 0:
  /// none was given, and `duration` is taken as known.
  SimDuration requested_time{};
  /// The instant by which the job should end; `kNoDeadline` for a best-effort job.
  SimTime deadline = kNoDeadline;
  GpuCount num_gpus{1};
  std::int32_t global_batch = 0;  ///< sequences an iteration, 0 when unknown
  std::int64_t iterations = 0;    ///< work to do, 0 when the trace gives a duration instead
  /// When it started on the cluster where it was recorded; `kNoStart` when the trace does not say.
  SimTime original_start = kNoStart;
  GpuCount max_gpus{0};  ///< the most GPUs that an elastic policy may give it, 0 when not given
  /// The part of each of its GPUs that it uses, in thousandths: below `kWholeGpu` only for jobs on a shared
  /// GPU.
  std::int16_t gpu_share = kWholeGpu;
  JobStatus status = JobStatus::Unknown;

  /// `deadline` of a job without one.
  static constexpr SimTime kNoDeadline = SimTime::max();
  /// `original_start` of a job of which no start is known.
  static constexpr SimTime kNoStart = SimTime::max();

  /// `priority` of a job that has none.
  static constexpr std::int64_t kNoPriority = std::numeric_limits<std::int64_t>::min();
  /// The largest priority, and the least with its sign changed.
  static constexpr std::int64_t kMaxPriority = std::int64_t{1} << 53;

  /// Whether it has one.
  bool has_priority() const { return priority != kNoPriority; }
  bool has_deadline() const { return deadline != kNoDeadline; }
  /// Whether it leaves a part of its GPUs to other jobs.
  bool shares_gpus() const { return gpu_share < kWholeGpu; }
  /// What a scheduler that trusts the user may assume of the run time.
  SimDuration time_limit() const { return requested_time.count() > 0 ? requested_time : duration; }
};

/// Names that repeat in a trace (tenants, models), each stored once. They are numbered from 0 in the order in
/// which they are first seen. Expected O(1) a look-up.
class NameTable {
 public:
  /// The number of `name`, added when new.
  std::uint32_t add(std::string_view name);
  /// The name of a number that `add` returned.
  const std::string& operator[](std::uint32_t number) const { return names_[number]; }
  /// How many names there are.
  std::size_t size() const { return names_.size(); }
  /// All names, by number.
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

/// A file that jobs were read from. Lines are counted through the files of a workload, so that one number
/// says where a job stands.
struct SourceFile {
  std::string name;             ///< as the user named it
  std::uint32_t last_line = 0;  ///< on which a job stands, counted from the first line of the first file
};

/// The jobs of one trace, ordered by submission (ties in the order of the file), with the names they refer
/// to.
struct Workload {
  std::vector<Job> jobs;
  NameTable tenants;                ///< by `TenantId`
  NameTable models;                 ///< by `ModelId`
  NameTable users;                  ///< by `UserId`
  NameTable accounts;               ///< by `AccountId`
  NameTable queues;                 ///< by `QueueId`
  NameTable qos_names;              ///< by `QosId`
  NameTable gpu_types;              ///< by `GpuTypeId`
  std::vector<SpeedByGpus> curves;  ///< of elastic jobs
  /// Of jobs that ask for more than GPUs and time, by `RequirementsId`; each job has its own.
  std::vector<JobRequirements> requirements;
  std::vector<SourceFile> sources;  ///< those with jobs, in the order in which their lines are counted

  /// Keeps a copy of `text` as long as the workload lives. It costs its own bytes and little more.
  std::string_view keep(std::string_view text);
  /// The id of a tenant, added when new.
  TenantId tenant(std::string_view name_of_tenant) { return TenantId(tenants.add(name_of_tenant)); }
  /// The id of a model, added when new.
  ModelId model(std::string_view name_of_model) { return ModelId(models.add(name_of_model)); }
  /// The id of a user, added when new.
  UserId user(std::string_view name_of_user) { return UserId(users.add(name_of_user)); }
  /// The id of a GPU type, added when new.
  GpuTypeId gpu_type(std::string_view name_of_type) { return GpuTypeId(gpu_types.add(name_of_type)); }
  /// The ids of an account, a queue and a quality of service, added when new.
  AccountId account(std::string_view name) { return AccountId(accounts.add(name)); }
  QueueId queue(std::string_view name) { return QueueId(queues.add(name)); }
  QosId qos(std::string_view name) { return QosId(qos_names.add(name)); }
  /// Requirements of a job apart from GPUs and time; null: none.
  const JobRequirements* requirements_of(const Job& job) const {
    return job.requirements ? &requirements[job.requirements.value] : nullptr;
  }
  /// Requirements of a job to be filled in, made when there are none.
  JobRequirements& add_requirements(Job& job);
  /// Orders `jobs` by submission, keeping the order of equal ones. O(n log n); needs 4 bytes a job
  /// meanwhile, up to 20 where most come at nearly the same time.
  void sort_by_submission();

 private:
  /// Texts one behind the other, in chunks that never move.
  struct TextChunks {
    std::vector<std::unique_ptr<char[]>> chunks;
    char* free = nullptr;
    std::size_t room = 0;  ///< bytes at `free`
  };
  std::unique_ptr<TextChunks> text_;
};

/// An error with the job named in its message, at the file and line where the job was read, if it was.
Error job_error(const Workload& workload, const Job& job, Error error);

/// Bad input in one field of a job.
Error job_error(const Workload& workload, const Job& job, std::string field, std::string message);

}  // namespace vtrain
