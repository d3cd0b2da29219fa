/// Jobs as the scheduler sees them: the contents of a trace in any format.
#pragma once

#include <cstdint>
#include <deque>
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

/// End of a job as its trace records it.
enum class JobStatus : std::uint8_t {
  Unknown,    ///< no recorded end
  Completed,  ///< ended by itself
  Failed,     ///< ended with an error
  Cancelled,  ///< withdrawn by its user or an administrator
  TimedOut,   ///< ended at its time limit
  Running     ///< running when the trace ended
};

/// Names of all statuses, in the order of `JobStatus`: `unknown`, `completed`, `failed`, `cancelled`,
/// `timeout` and `running`.
std::span<const std::string_view> status_names();
/// Name of a status.
std::string_view status_name(JobStatus status);

/// One whole GPU in thousandths, the unit for parts of GPUs.
inline constexpr std::int16_t kWholeGpu = 1000;

/// One training job: a gang of GPUs that is held as a whole from its start to its end or preemption.
struct Job {
  std::string_view name;        ///< the trace's own job id; the text lives in the `Workload`
  TenantId tenant;              ///< tenant whose share of the cluster it uses
  ModelId model;                ///< model that it trains, if the trace names it
  UserId user;                  ///< person who submitted it, if the trace distinguishes users from tenants
  AccountId account;            ///< account that pays for it, if the trace has accounts
  QueueId queue;                ///< queue or Slurm partition of its submission
  QosId qos;                    ///< quality of service, if the trace has any
  GpuTypeId gpu_type;           ///< type of the GPUs that it requests; none: any
  CurveId curve;                ///< its speeds on other numbers of GPUs; none: the job is rigid
  RequirementsId requirements;  ///< its other requirements, if any
  /// Line of the `Workload`'s files that holds the job, counted from 1 through all files; 0 if no file holds
  /// it.
  std::uint32_t line = 0;
  SimTime submit{};  ///< instant of submission
  /// Priority that the scheduler or user gave, as the trace has it. Larger ones go first; `kNoPriority`
  /// without one.
  std::int64_t priority = kNoPriority;
  /// Run time on `num_gpus` GPUs, at least 1 ns. 0 for a job given by model and iterations, until the
  /// predictor has priced it.
  SimDuration duration{};
  /// Time limit that the user requested; the job is ended there, and backfilling knows no other time. 0: none
  /// was given, and `duration` is taken as known.
  SimDuration requested_time{};
  /// Deadline for the job's end; `kNoDeadline` for a best-effort job.
  SimTime deadline = kNoDeadline;
  GpuCount num_gpus{1};           ///< GPUs that it requests, at least 1
  std::int32_t global_batch = 0;  ///< sequences an iteration, 0 when unknown
  std::int64_t iterations = 0;    ///< work to do, 0 when the trace gives a duration instead
  /// Start on the cluster where the trace was recorded; `kNoStart` if the trace has none.
  SimTime original_start = kNoStart;
  GpuCount max_gpus{0};  ///< most GPUs that an elastic policy may give it, 0 if not given
  /// Used part of each of its GPUs, in thousandths; below `kWholeGpu` only for jobs on a shared GPU.
  std::int16_t gpu_share = kWholeGpu;
  JobStatus status = JobStatus::Unknown;  ///< status that the trace recorded

  /// `deadline` of a job without one.
  static constexpr SimTime kNoDeadline = SimTime::max();
  /// `original_start` of a job without a known start.
  static constexpr SimTime kNoStart = SimTime::max();

  /// `priority` of a job that has none.
  static constexpr std::int64_t kNoPriority = std::numeric_limits<std::int64_t>::min();
  /// The largest priority, and the least with its sign changed.
  static constexpr std::int64_t kMaxPriority = std::int64_t{1} << 53;

  /// True if the job has a priority.
  bool has_priority() const { return priority != kNoPriority; }
  /// True if the job has a deadline.
  bool has_deadline() const { return deadline != kNoDeadline; }
  /// True if the job leaves a part of its GPUs to other jobs.
  bool shares_gpus() const { return gpu_share < kWholeGpu; }
  /// Run time that a scheduler may assume if it trusts the user.
  SimDuration time_limit() const { return requested_time.count() > 0 ? requested_time : duration; }
};

/// Names that repeat in a trace (tenants, models), each stored once. They are numbered from 0 in the order in
/// which they are first seen. Expected O(1) a look-up.
class NameTable {
 public:
  /// The number of `name`, added when new.
  std::uint32_t add(std::string_view name);
  /// The name with a number that `add` returned.
  const std::string& operator[](std::uint32_t number) const { return names_[number]; }
  /// Number of names.
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

/// A file that jobs were read from. Lines are counted through all files of a workload, so one number locates
/// a job.
struct SourceFile {
  std::string name;             ///< name that the user gave
  std::uint32_t last_line = 0;  ///< last line with a job, counted from the first line of the first file
};

/// The jobs of one trace, ordered by submission (ties in the order of the file), with the names they refer
/// to.
struct Workload {
  std::vector<Job> jobs;            ///< jobs in the order of submission
  NameTable tenants;                ///< names of tenants, by `TenantId`
  NameTable models;                 ///< names of models, by `ModelId`
  NameTable users;                  ///< names of users, by `UserId`
  NameTable accounts;               ///< names of accounts, by `AccountId`
  NameTable queues;                 ///< names of queues, by `QueueId`
  NameTable qos_names;              ///< names of qualities of service, by `QosId`
  NameTable gpu_types;              ///< names of GPU types, by `GpuTypeId`
  std::deque<SpeedByGpus> curves;   ///< curves of elastic jobs, by `CurveId`; they never move
  /// Requirements of jobs that need more than GPUs and time, by `RequirementsId`; each job has its own.
  std::vector<JobRequirements> requirements;
  std::vector<SourceFile> sources;  ///< files with jobs, in the order in which their lines are counted

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
  /// The id of an account, added when new.
  AccountId account(std::string_view name) { return AccountId(accounts.add(name)); }
  /// The id of a queue, added when new.
  QueueId queue(std::string_view name) { return QueueId(queues.add(name)); }
  /// The id of a quality of service, added when new.
  QosId qos(std::string_view name) { return QosId(qos_names.add(name)); }
  /// Requirements of a job apart from GPUs and time; null: none.
  const JobRequirements* requirements_of(const Job& job) const {
    return job.requirements ? &requirements[job.requirements.value] : nullptr;
  }
  /// Requirements of a job, for the caller to fill in; added when the job has none.
  JobRequirements& add_requirements(Job& job);
  /// A copy whose texts are this workload's, which must outlive it.
  Workload copy_with_texts_of_this() const;
  /// A copy of all but the jobs and their texts.
  Workload copy_without_jobs() const;
  /// The job of another workload as one of this workload. Its names, its requirements and its curve are added
  /// when new. The caller adds the job itself.
  Job adopt(const Workload& from, const Job& job);
  /// Sorts `jobs` by submission; jobs of equal time keep their order. O(n log n). Needs 4 bytes a job
  /// meanwhile, up to 20 where most jobs come at nearly the same time.
  void sort_by_submission();

 private:
  /// Texts one after the other, in chunks that never move.
  struct TextChunks {
    std::vector<std::unique_ptr<char[]>> chunks;
    char* free = nullptr;
    std::size_t room = 0;  ///< bytes at `free`
  };
  std::unique_ptr<TextChunks> text_;
};

/// Adds the job's name to the message of an error and, if the job was read from a file, its file and line.
Error job_error(const Workload& workload, const Job& job, Error error);

/// Makes an error about bad input in one field of a job.
Error job_error(const Workload& workload, const Job& job, std::string field, std::string message);

}  // namespace vtrain
