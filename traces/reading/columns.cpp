#include "traces/reading/columns.hpp"

#include <charconv>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/base/numbers.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {
namespace {

template <class T>
Result<void> assign(Result<T> value, T& to) {
  if (!value) return fail(std::move(value.error()));
  to = *std::move(value);
  return {};
}

Result<void> assign_time(std::string_view text, SimTime& to) {
  return assign(parse_instant(text), to);
}
Result<void> assign_time(std::string_view text, SimDuration& to) {
  return assign(parse_duration(text), to);
}

SimDuration from_origin(SimTime time) {
  return time.time_since_epoch();
}
SimDuration from_origin(SimDuration duration) {
  return duration;
}

std::int64_t count_in(GpuCount gpus) {
  return gpus.value;
}
std::int64_t count_in(std::integral auto count) {
  return count;
}

bool always(const Job&, const Workload&) {
  return true;
}

void append_integer(std::string& out, std::int64_t number) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

/// A name that the workload keeps in a table.
template <auto Names, auto Id>
constexpr TraceColumn name_column(std::string_view name) {
  return {.name = name,
          .is_text = true,
          .is_given = [](const Job& job, const Workload&) { return static_cast<bool>(job.*Id); },
          .append = [](std::string& out, const Job& job,
                       const Workload& workload) { out += (workload.*Names)[(job.*Id).value]; },
          .take = [](std::string_view text, Job& job, Workload& workload) -> Result<void> {
            if (auto checked = check_name(text); !checked) return checked;
            job.*Id = std::remove_cvref_t<decltype(job.*Id)>((workload.*Names).add(text));
            return {};
          }};
}

/// Seconds from the trace's origin, or a duration in seconds.
template <auto Member>
constexpr TraceColumn time_column(std::string_view name, bool (*is_given)(const Job&, const Workload&)) {
  return {.name = name,
          .is_text = false,
          .is_given = is_given,
          .append = [](std::string& out, const Job& job,
                       const Workload&) { append_ns_as_seconds(out, from_origin(job.*Member).count()); },
          .take = [](std::string_view text, Job& job, Workload&) { return assign_time(text, job.*Member); }};
}

/// A whole number above 0; 0 is not given.
template <auto Member, auto Parse>
constexpr TraceColumn count_column(std::string_view name) {
  return {
      .name = name,
      .is_text = false,
      .is_given = [](const Job& job, const Workload&) { return count_in(job.*Member) > 0; },
      .append = [](std::string& out, const Job& job,
                   const Workload&) { append_integer(out, count_in(job.*Member)); },
      .take = [](std::string_view text, Job& job, Workload&) { return assign(Parse(text), job.*Member); }};
}

/// A whole number above 0 among the job's requirements.
template <auto Member, auto Parse>
constexpr TraceColumn required_count_column(std::string_view name) {
  return {
      .name = name,
      .is_text = false,
      .is_given =
          [](const Job& job, const Workload& workload) {
            const JobRequirements* const asked = workload.requirements_of(job);
            return asked != nullptr && count_in(asked->*Member) > 0;
          },
      .append =
          [](std::string& out, const Job& job, const Workload& workload) {
            append_integer(out, count_in(workload.requirements_of(job)->*Member));
          },
      .take = [](std::string_view text, Job& job,
                 Workload& workload) { return assign(Parse(text), workload.add_requirements(job).*Member); }};
}

constexpr TraceColumn job_id_column() {
  return {.name = "job_id",
          .is_text = true,
          .is_given = always,
          .append = [](std::string& out, const Job& job, const Workload&) { out += job.name; },
          .take =
              [](std::string_view text, Job& job, Workload& workload) {
                auto checked = check_name(text);
                if (checked) job.name = workload.keep(text);
                return checked;
              }};
}

constexpr TraceColumn priority_column() {
  return {
      .name = "priority",
      .is_text = false,
      .is_given = [](const Job& job, const Workload&) { return job.has_priority(); },
      .append = [](std::string& out, const Job& job, const Workload&) { append_integer(out, job.priority); },
      .take = [](std::string_view text, Job& job,
                 Workload&) { return assign(parse_priority(text), job.priority); }};
}

constexpr TraceColumn share_column() {
  return {.name = "gpu_share",
          .is_text = false,
          .is_given = [](const Job& job, const Workload&) { return job.shares_gpus(); },
          .append =
              [](std::string& out, const Job& job, const Workload&) {
                // Thousandths are written as milliseconds are: exactly, and as short as possible.
                append_ns_as_seconds(out, SimDuration(std::chrono::milliseconds(job.gpu_share)).count());
              },
          .take = [](std::string_view text, Job& job,
                     Workload&) { return assign(parse_gpu_share(text), job.gpu_share); }};
}

constexpr TraceColumn features_column() {
  return {.name = "node_features",
          .is_text = true,
          .is_given =
              [](const Job& job, const Workload& workload) {
                const JobRequirements* const asked = workload.requirements_of(job);
                return asked != nullptr && !asked->node_features.empty();
              },
          .append = [](std::string& out, const Job& job,
                       const Workload& workload) { out += workload.requirements_of(job)->node_features; },
          .take = [](std::string_view text, Job& job, Workload& workload) -> Result<void> {
            if (auto checked = check_name(text); !checked) return checked;
            workload.add_requirements(job).node_features = text;
            return {};
          }};
}

constexpr TraceColumn dependencies_column() {
  return {.name = "dependencies",
          .is_text = true,
          .is_given =
              [](const Job& job, const Workload& workload) {
                const JobRequirements* const asked = workload.requirements_of(job);
                return asked != nullptr && !asked->dependencies.empty();
              },
          .append =
              [](std::string& out, const Job& job, const Workload& workload) {
                append_dependencies(out, workload.requirements_of(job)->dependencies);
              },
          .take = [](std::string_view text, Job& job, Workload& workload) -> Result<void> {
            if (auto checked = check_name(text); !checked) return checked;
            return assign(parse_dependencies(text), workload.add_requirements(job).dependencies);
          }};
}

constexpr TraceColumn status_column() {
  return {.name = "status",
          .is_text = true,
          .is_given = [](const Job& job, const Workload&) { return job.status != JobStatus::Unknown; },
          .append = [](std::string& out, const Job& job, const Workload&) { out += status_name(job.status); },
          .take = [](std::string_view text, Job& job,
                     Workload&) { return assign(parse_status(text), job.status); }};
}

constexpr std::array<TraceColumn, kNumTraceColumns> kColumns = {
    job_id_column(),
    name_column<&Workload::tenants, &Job::tenant>("tenant"),
    name_column<&Workload::users, &Job::user>("user"),
    name_column<&Workload::accounts, &Job::account>("account"),
    name_column<&Workload::queues, &Job::queue>("queue"),
    name_column<&Workload::qos_names, &Job::qos>("qos"),
    priority_column(),
    time_column<&Job::submit>("submit_s", always),
    count_column<&Job::num_gpus, parse_num_gpus>("num_gpus"),
    name_column<&Workload::gpu_types, &Job::gpu_type>("gpu_type"),
    share_column(),
    count_column<&Job::max_gpus, parse_num_gpus>("max_gpus"),
    required_count_column<&JobRequirements::num_nodes, parse_num_nodes>("num_nodes"),
    required_count_column<&JobRequirements::gpus_per_node, parse_num_gpus>("gpus_per_node"),
    features_column(),
    required_count_column<&JobRequirements::cpu_milli, parse_iterations>("cpu_milli"),
    required_count_column<&JobRequirements::memory_mib, parse_iterations>("memory_mib"),
    time_column<&Job::duration>("duration_s",
                                [](const Job& job, const Workload&) { return job.duration.count() > 0; }),
    time_column<&Job::requested_time>(
        "requested_s", [](const Job& job, const Workload&) { return job.requested_time.count() > 0; }),
    time_column<&Job::deadline>("deadline_s",
                                [](const Job& job, const Workload&) { return job.has_deadline(); }),
    name_column<&Workload::models, &Job::model>("model"),
    count_column<&Job::global_batch, parse_global_batch>("global_batch"),
    count_column<&Job::iterations, parse_iterations>("iterations"),
    dependencies_column(),
    time_column<&Job::original_start>(
        "original_start_s",
        [](const Job& job, const Workload&) { return job.original_start != Job::kNoStart; }),
    status_column(),
};

}  // namespace

const std::array<TraceColumn, kNumTraceColumns>& trace_columns() {
  return kColumns;
}

}  // namespace vtrain
