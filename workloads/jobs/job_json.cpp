#include "workloads/jobs/job_json.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/io/json_members.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kJobsVersion = 1;
/// Latest submission, and the earliest with the sign changed. 73 years.
constexpr SimTime kLatestSubmission{SimDuration(std::int64_t{1} << 61)};

/// A curve as its levels.
struct CurveDocument {
  SpeedByGpus::Source source{};
  std::vector<std::pair<std::int32_t, double>> levels{};

  template <class Archive>
  void members(Archive& archive) {
    using Level = std::pair<std::int32_t, double>;
    archive.choice("source", source, SpeedByGpus::Source::Predictor);
    archive("levels", levels);
    archive.check(!levels.empty() && levels.front().first >= 1 &&
                      std::ranges::is_sorted(levels, std::less_equal{}, &Level::first) &&
                      std::ranges::all_of(
                          levels, [](double speed) { return speed > 0; }, &Level::second),
                  "levels", "ascending numbers of GPUs from 1 on, with speeds above 0");
  }
};

/// A job with the texts and requirements that are its own.
struct JobDocument {
  Job job{};
  std::string name{};
  std::optional<JobRequirements> requirements{};

  template <class Archive>
  void members(Archive& archive);
};

/// A workload as lists.
struct WorkloadDocument {
  std::int64_t version = kJobsVersion;
  std::vector<std::string> tenants{}, models{}, users{}, accounts{}, queues{}, qos_names{}, gpu_types{};
  std::vector<CurveDocument> curves{};
  std::vector<JobDocument> jobs{};
  std::vector<std::pair<std::string, std::uint32_t>> sources{};

  template <class Archive>
  void members(Archive& archive) {
    archive("version", version);
    archive.check(version == kJobsVersion, "version", "1");
    archive("tenants", tenants, {});
    archive("models", models, {});
    archive("users", users, {});
    archive("accounts", accounts, {});
    archive("queues", queues, {});
    archive("qos_names", qos_names, {});
    archive("gpu_types", gpu_types, {});
    archive("curves", curves);
    archive("jobs", jobs);
    archive("sources", sources, {});
  }
};

}  // namespace

template <class Archive>
void members(Archive& archive, JobDependency& dependency) {
  archive.choice("kind", dependency.kind, DependencyKind::AfterNotOk);
  archive("job", dependency.job);
}

template <class Archive>
void members(Archive& archive, JobRequirements& of) {
  archive("dependencies", of.dependencies, {});
  archive("node_features", of.node_features, {});
  archive("num_nodes", of.num_nodes, 0);
  archive("gpus_per_node", of.gpus_per_node, GpuCount(0));
  archive("cpu_milli", of.cpu_milli, 0);
  archive("memory_mib", of.memory_mib, 0);
  archive("cpus_per_node", of.cpus_per_node, 0);
  archive("array", of.array, {});
  archive("array_limit", of.array_limit, 0);
  archive("begin_ns", of.begin, SimTime{});
  archive("held_nodes", of.held_nodes, {});
  archive("reservation", of.reservation, {});
  archive("nice", of.nice, 0);
  archive.check(of.num_nodes >= 0, "num_nodes", "0 or more");
  archive.check(of.cpu_milli >= 0, "cpu_milli", "0 or more");
  archive.check(of.memory_mib >= 0, "memory_mib", "0 or more");
  archive.check(of.cpus_per_node >= 0, "cpus_per_node", "0 or more");
  archive.check(of.array_limit >= 0, "array_limit", "0 or more");
  archive.check(-Job::kMaxPriority <= of.nice && of.nice <= Job::kMaxPriority, "nice", "-2^53 to 2^53");
}

template <class Archive>
void members(Archive& archive, Job& job) {
  archive("tenant", job.tenant, {});
  archive("model", job.model, {});
  archive("user", job.user, {});
  archive("account", job.account, {});
  archive("queue", job.queue, {});
  archive("qos", job.qos, {});
  archive("gpu_type", job.gpu_type, {});
  archive("curve", job.curve, {});
  archive("line", job.line, 0);
  archive("submit_ns", job.submit);
  archive("priority", job.priority, Job::kNoPriority);
  archive("duration_ns", job.duration);
  archive("requested_time_ns", job.requested_time, SimDuration(0));
  archive("deadline_ns", job.deadline, Job::kNoDeadline);
  archive("num_gpus", job.num_gpus);
  archive("global_batch", job.global_batch, 0);
  archive("iterations", job.iterations, 0);
  archive("original_start_ns", job.original_start, Job::kNoStart);
  archive("max_gpus", job.max_gpus, GpuCount(0));
  archive("gpu_share", job.gpu_share, kWholeGpu);
  archive.choice("status", job.status, JobStatus::Running);
  archive.check(std::chrono::abs(job.submit.time_since_epoch()) <= kLatestSubmission.time_since_epoch(),
                "submit_ns", "-2^61 to 2^61");
  archive.check(
      !job.has_priority() || (-Job::kMaxPriority <= job.priority && job.priority <= Job::kMaxPriority),
      "priority", "-2^53 to 2^53");
  archive.check(job.duration.count() > 0, "duration_ns", "more than 0");
  archive.check(job.requested_time.count() >= 0, "requested_time_ns", "0 or more");
  archive.check(job.num_gpus.value >= 1, "num_gpus", "at least 1");
  archive.check(job.global_batch >= 0, "global_batch", "0 or more");
  archive.check(job.iterations >= 0, "iterations", "0 or more");
  archive.check(1 <= job.gpu_share && job.gpu_share <= kWholeGpu, "gpu_share", "1 to 1000");
}

namespace {

template <class Archive>
void JobDocument::members(Archive& archive) {
  archive("name", name);
  vtrain::members(archive, job);
  archive("requirements", requirements);
}

/// Fills a table of names; an error where one comes twice.
void read_names(const std::vector<std::string>& names, NameTable& table, const char* key,
                std::optional<Error>& error) {
  for (const std::string& name : names)
    table.add(name);
  if (!error && table.size() != names.size())
    error = Error{.field = key, .message = "expected each name once"};
}

}  // namespace

nlohmann::json to_json(const Workload& workload, std::span<const JobId> jobs) {
  WorkloadDocument document{.tenants = workload.tenants.names(),
                            .models = workload.models.names(),
                            .users = workload.users.names(),
                            .accounts = workload.accounts.names(),
                            .queues = workload.queues.names(),
                            .qos_names = workload.qos_names.names(),
                            .gpu_types = workload.gpu_types.names()};
  std::map<CurveId, CurveId> numbers;
  for (const JobId id : jobs) {
    JobDocument& written = document.jobs.emplace_back();
    written.job = workload.jobs[id.value];
    written.name = written.job.name;
    if (const JobRequirements* const of = workload.requirements_of(written.job)) written.requirements = *of;
    if (!written.job.curve) continue;
    const CurveId next(static_cast<std::uint32_t>(document.curves.size()));
    const auto [number, is_new] = numbers.try_emplace(written.job.curve, next);
    if (is_new) {
      const SpeedByGpus& curve = workload.curves[written.job.curve.value];
      document.curves.push_back({.source = curve.source()});
      for (const SpeedByGpus::Level& level : curve.levels())
        document.curves.back().levels.emplace_back(level.num_gpus.value, level.iterations_per_s);
    }
    written.job.curve = number->second;
  }
  for (const SourceFile& source : workload.sources)
    document.sources.emplace_back(source.name, source.last_line);
  return json_of_members(document);
}

Result<Workload> workload_from_json(const nlohmann::json& from) {
  WorkloadDocument document;
  if (auto done = read_members(from, document); !done) return fail(std::move(done.error()));
  Workload workload;
  std::optional<Error> error;
  read_names(document.tenants, workload.tenants, "tenants", error);
  read_names(document.models, workload.models, "models", error);
  read_names(document.users, workload.users, "users", error);
  read_names(document.accounts, workload.accounts, "accounts", error);
  read_names(document.queues, workload.queues, "queues", error);
  read_names(document.qos_names, workload.qos_names, "qos_names", error);
  read_names(document.gpu_types, workload.gpu_types, "gpu_types", error);
  for (const CurveDocument& curve : document.curves) {
    std::vector<SpeedByGpus::Level> levels;
    for (const auto& [gpus, speed] : curve.levels)
      levels.push_back({GpuCount(gpus), speed});
    workload.curves.emplace_back(std::move(levels), curve.source);
  }
  for (const auto& [name, last_line] : document.sources)
    workload.sources.push_back({name, last_line});
  SimTime last = SimTime::min();
  for (std::size_t i = 0; i < document.jobs.size() && !error; ++i) {
    const auto check = [&](bool holds, const char* key, const char* expected) {
      if (error || holds) return;
      error = Error{.field = "jobs[" + std::to_string(i) + "]." + key,
                    .message = std::string("expected ") + expected};
    };
    JobDocument& read = document.jobs[i];
    Job job = read.job;
    const auto is_known = [](auto id, std::size_t size) { return !id || id.value < size; };
    check(is_known(job.tenant, workload.tenants.size()), "tenant", "the number of a tenant");
    check(is_known(job.model, workload.models.size()), "model", "the number of a model");
    check(is_known(job.user, workload.users.size()), "user", "the number of a user");
    check(is_known(job.account, workload.accounts.size()), "account", "the number of an account");
    check(is_known(job.queue, workload.queues.size()), "queue", "the number of a queue");
    check(is_known(job.qos, workload.qos_names.size()), "qos", "the number of a quality of service");
    check(is_known(job.gpu_type, workload.gpu_types.size()), "gpu_type", "the number of a type");
    check(is_known(job.curve, workload.curves.size()), "curve", "the number of a curve");
    check(job.submit >= last, "submit_ns", "no submission before that of the job before");
    last = job.submit;
    job.name = workload.keep(read.name);
    if (read.requirements) workload.add_requirements(job) = *std::move(read.requirements);
    workload.jobs.push_back(job);
  }
  if (error) return fail(*std::move(error));
  return workload;
}

}  // namespace vtrain
