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
  to = *value;
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

bool always(const Job&) {
  return true;
}

/// A name that the workload keeps in a table.
template <auto Names, auto Id>
constexpr TraceColumn name_column(std::string_view name) {
  return {.name = name,
          .is_given = [](const Job& job) { return static_cast<bool>(job.*Id); },
          .text = [](const Job& job, const Workload& workload) -> std::string_view {
            return (workload.*Names)[(job.*Id).value];
          },
          .append_number = nullptr,
          .take = [](std::string_view text, Job& job, Workload& workload) -> Result<void> {
            if (auto checked = check_name(text); !checked) return checked;
            job.*Id = std::remove_cvref_t<decltype(job.*Id)>((workload.*Names).add(text));
            return {};
          }};
}

/// Seconds from the trace's origin, or a duration in seconds.
template <auto Member>
constexpr TraceColumn time_column(std::string_view name, bool (*is_given)(const Job&)) {
  return {
      .name = name,
      .is_given = is_given,
      .text = nullptr,
      .append_number = [](std::string& out,
                          const Job& job) { append_ns_as_seconds(out, from_origin(job.*Member).count()); },
      .take = [](std::string_view text, Job& job, Workload&) { return assign_time(text, job.*Member); }};
}

/// A whole number above 0; 0 is not given.
template <auto Member, auto Parse>
constexpr TraceColumn count_column(std::string_view name) {
  return {
      .name = name,
      .is_given = [](const Job& job) { return count_in(job.*Member) > 0; },
      .text = nullptr,
      .append_number =
          [](std::string& out, const Job& job) {
            char buffer[24];
            out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, count_in(job.*Member)).ptr);
          },
      .take = [](std::string_view text, Job& job, Workload&) { return assign(Parse(text), job.*Member); }};
}

constexpr TraceColumn job_id_column() {
  return {.name = "job_id",
          .is_given = always,
          .text = [](const Job& job, const Workload&) { return job.name; },
          .append_number = nullptr,
          .take =
              [](std::string_view text, Job& job, Workload& workload) {
                auto checked = check_name(text);
                if (checked) job.name = workload.keep(text);
                return checked;
              }};
}

constexpr TraceColumn share_column() {
  return {.name = "gpu_share",
          .is_given = [](const Job& job) { return job.shares_gpus(); },
          .text = nullptr,
          .append_number =
              [](std::string& out, const Job& job) {
                // Thousandths are written as milliseconds are: exactly, and as short as possible.
                append_ns_as_seconds(out, SimDuration(std::chrono::milliseconds(job.gpu_share)).count());
              },
          .take = [](std::string_view text, Job& job,
                     Workload&) { return assign(parse_gpu_share(text), job.gpu_share); }};
}

constexpr TraceColumn status_column() {
  return {.name = "status",
          .is_given = [](const Job& job) { return job.status != JobStatus::Unknown; },
          .text = [](const Job& job, const Workload&) -> std::string_view { return status_name(job.status); },
          .append_number = nullptr,
          .take = [](std::string_view text, Job& job,
                     Workload&) { return assign(parse_status(text), job.status); }};
}

constexpr std::array<TraceColumn, 16> kColumns = {
    job_id_column(),
    name_column<&Workload::tenants, &Job::tenant>("tenant"),
    name_column<&Workload::users, &Job::user>("user"),
    time_column<&Job::submit>("submit_s", always),
    count_column<&Job::num_gpus, parse_num_gpus>("num_gpus"),
    name_column<&Workload::gpu_types, &Job::gpu_type>("gpu_type"),
    share_column(),
    count_column<&Job::max_gpus, parse_num_gpus>("max_gpus"),
    time_column<&Job::duration>("duration_s", [](const Job& job) { return job.duration.count() > 0; }),
    time_column<&Job::requested_time>("requested_s",
                                      [](const Job& job) { return job.requested_time.count() > 0; }),
    time_column<&Job::deadline>("deadline_s", [](const Job& job) { return job.has_deadline(); }),
    name_column<&Workload::models, &Job::model>("model"),
    count_column<&Job::global_batch, parse_global_batch>("global_batch"),
    count_column<&Job::iterations, parse_iterations>("iterations"),
    time_column<&Job::original_start>("original_start_s",
                                      [](const Job& job) { return job.original_start != Job::kNoStart; }),
    status_column(),
};

}  // namespace

const std::array<TraceColumn, 16>& trace_columns() {
  return kColumns;
}

}  // namespace vtrain
