#include "traces/editing/join.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {
namespace {

/// The numbers that the names of `from` have in `to`.
template <class NameId>
std::vector<NameId> numbers_in(NameTable& to, const NameTable& from) {
  std::vector<NameId> numbers;
  for (const std::string& name : from.names())
    numbers.push_back(NameId(to.add(name)));
  return numbers;
}

template <class NameId>
void renumber(NameId& id, const std::vector<NameId>& numbers) {
  if (id) id = numbers[id.value];
}

/// Appends the jobs of `from`, without copying their names.
void append_jobs(Workload& to, const Workload& from) {
  const auto tenants = numbers_in<TenantId>(to.tenants, from.tenants);
  const auto users = numbers_in<UserId>(to.users, from.users);
  const auto models = numbers_in<ModelId>(to.models, from.models);
  const auto gpu_types = numbers_in<GpuTypeId>(to.gpu_types, from.gpu_types);
  const auto accounts = numbers_in<AccountId>(to.accounts, from.accounts);
  const auto queues = numbers_in<QueueId>(to.queues, from.queues);
  const auto qos_names = numbers_in<QosId>(to.qos_names, from.qos_names);
  const auto first_requirements = static_cast<std::uint32_t>(to.requirements.size());
  to.requirements.insert(to.requirements.end(), from.requirements.begin(), from.requirements.end());
  const auto first_curve = static_cast<std::uint32_t>(to.curves.size());
  to.curves.insert(to.curves.end(), from.curves.begin(), from.curves.end());
  const std::uint32_t lines_before = to.sources.empty() ? 0 : to.sources.back().last_line;
  for (const SourceFile& file : from.sources)
    to.sources.push_back({file.name, lines_before + file.last_line});
  for (Job job : from.jobs) {
    renumber(job.tenant, tenants);
    renumber(job.user, users);
    renumber(job.model, models);
    renumber(job.gpu_type, gpu_types);
    renumber(job.account, accounts);
    renumber(job.queue, queues);
    renumber(job.qos, qos_names);
    if (job.requirements) job.requirements = RequirementsId(first_requirements + job.requirements.value);
    if (job.curve) job.curve = CurveId(first_curve + job.curve.value);
    if (job.line > 0) job.line += lines_before;
    to.jobs.push_back(job);
  }
}

/// Copies the names of jobs into `workload`; `names` has the name of each job's trace.
void keep_job_names(Workload& workload, const std::vector<std::string_view>& names) {
  const bool repeated = find_same_name(workload.jobs).has_value();
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    Job& job = workload.jobs[i];
    job.name = repeated ? workload.keep(fmt::format("{}/{}", names[i], job.name)) : workload.keep(job.name);
  }
}

/// The earliest origin of the traces. Nothing unless all have an origin by one clock, and all times are near
/// enough to it.
std::optional<TraceOrigin> common_origin(const std::vector<NamedTrace>& traces) {
  std::optional<TraceOrigin> earliest;
  for (const auto& [name, trace] : traces) {
    if (!trace.origin || trace.origin->clock != traces.front().trace.origin->clock) return std::nullopt;
    if (!earliest || trace.origin->time < earliest->time) earliest = trace.origin;
  }
  for (const auto& [name, trace] : traces) {
    for (const Job& job : trace.workload.jobs) {
      const SimTime last = job.original_start == Job::kNoStart ? job.submit : job.original_start;
      if (trace.origin->time - earliest->time > kMaxTraceTime - last.time_since_epoch()) return std::nullopt;
    }
  }
  return earliest;
}

/// Moves the times of a dated trace to another origin, which is not later than its own.
void move_to(const TraceOrigin& origin, Trace& trace) {
  const SimDuration later = trace.origin->time - origin.time;
  for (Job& job : trace.workload.jobs) {
    job.submit += later;
    if (job.has_deadline()) job.deadline += later;
    if (job.original_start != Job::kNoStart) job.original_start += later;
  }
  std::replace(trace.assumptions.begin(), trace.assumptions.end(), trace.origin->describe(),
               origin.describe());
  trace.origin = origin;
}

/// Drops jobs that overlapping exports of dated logs contain twice, with their traces' names. Such a job has
/// the id, the owner, the GPUs and all times of an earlier one. Returns the number of dropped jobs.
std::int64_t drop_repeated(std::vector<Job>& jobs, std::vector<std::string_view>& names) {
  const auto told = [&jobs](std::size_t i) {
    const Job& job = jobs[i];
    return std::tie(job.submit, job.original_start, job.duration, job.num_gpus, job.gpu_type, job.tenant,
                    job.user);
  };
  std::vector<bool> is_dropped(jobs.size());
  std::map<std::size_t, std::vector<std::size_t>> of_name;  // different jobs, by the first job with the name
  for (const SameName& same : find_same_names(jobs)) {
    std::vector<std::size_t>& different = of_name.try_emplace(same.first, 1, same.first).first->second;
    is_dropped[same.second] = std::ranges::any_of(
        different, [&](std::size_t earlier) { return told(earlier) == told(same.second); });
    if (!is_dropped[same.second]) different.push_back(same.second);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (is_dropped[i]) continue;
    names[kept] = names[i];
    jobs[kept++] = jobs[i];
  }
  const auto dropped = static_cast<std::int64_t>(jobs.size() - kept);
  jobs.resize(kept);
  names.resize(kept);
  return dropped;
}

/// Replaces names that several traces have.
template <class Name>
void rename_repeated(std::vector<std::string>& names, Name other_name) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& name : names)
    ++counts[name];
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (counts[names[i]] > 1) names[i] = other_name(i);
  }
}

}  // namespace

std::vector<std::string> trace_names(const std::vector<std::string>& paths) {
  const auto file_name = [&](std::size_t i) {
    const std::filesystem::path path(paths[i]);
    return (path.has_filename() ? path : path.parent_path()).filename().string();  // `folder/` is a folder
  };
  std::vector<std::string> names;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string name = file_name(i);
    names.push_back(name.substr(0, name.find('.', 1)));
  }
  rename_repeated(names, file_name);
  rename_repeated(names, [&](std::size_t i) { return paths[i]; });
  return names;
}

Trace join_traces(std::vector<NamedTrace> traces, bool names_as_tenants) {
  if (names_as_tenants) {
    for (auto& [name, trace] : traces) {
      trace.workload.tenants = {};
      const TenantId tenant = trace.workload.tenant(name);
      for (Job& job : trace.workload.jobs)
        job.tenant = tenant;
    }
  }
  if (traces.size() == 1) return std::move(traces.front().trace);
  Trace all;
  all.origin = common_origin(traces);
  std::vector<std::string_view> names;
  for (auto& [name, trace] : traces) {
    if (all.origin) {
      move_to(*all.origin, trace);
    } else if (trace.origin) {
      std::replace(trace.assumptions.begin(), trace.assumptions.end(), trace.origin->describe(),
                   fmt::format("{} of {}", trace.origin->describe(), name));
    }
    append_jobs(all.workload, trace.workload);
    names.resize(all.workload.jobs.size(), name);
    all.skipped.add(trace.skipped);
    all.files.insert(all.files.end(), trace.files.begin(), trace.files.end());
    const bool known = ("," + all.format + ",").find("," + trace.format + ",") != std::string::npos;
    if (!known) all.format += (all.format.empty() ? "" : ",") + trace.format;
    for (const std::string& assumption : trace.assumptions) {
      if (std::find(all.assumptions.begin(), all.assumptions.end(), assumption) == all.assumptions.end())
        all.assumptions.push_back(assumption);
    }
  }
  if (all.origin && !names_as_tenants) {
    if (const std::int64_t repeated = drop_repeated(all.workload.jobs, names); repeated > 0)
      all.assumptions.push_back("jobs that are in several files, counted once: " + with_thousands(repeated));
  }
  keep_job_names(all.workload, names);
  all.workload.sort_by_submission();
  return all;
}

}  // namespace vtrain
