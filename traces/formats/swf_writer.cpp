#include "traces/formats/swf_writer.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "workloads/jobs/job_error.hpp"

namespace vtrain {
namespace {

/// Whether a name is a number that SWF can hold in its place, written as it would be.
bool is_plain_number(std::string_view name) {
  std::int32_t value = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), value);
  return code == std::errc() && end == name.data() + name.size() && name == std::to_string(value) &&
         value >= 0;
}

/// The numbers that stand for names: themselves if all are numbers, else 1, 2, ... in their order.
class NameNumbers {
 public:
  explicit NameNumbers(const NameTable& names)
      : names_(names), plain_(std::all_of(names.names().begin(), names.names().end(), is_plain_number)) {}

  /// -1 for none.
  template <class NameId>
  std::string of(NameId id) const {
    if (!id) return "-1";
    return plain_ ? names_[id.value] : std::to_string(id.value + 1);
  }

  void append_header(std::string& out, std::string_view kind) const {
    for (std::uint32_t i = 0; !plain_ && i < names_.size(); ++i)
      out += fmt::format("; Note: {} {} is {}\n", kind, i + 1, names_[i]);
  }

 private:
  const NameTable& names_;
  bool plain_;
};

int status_code(JobStatus status) {
  switch (status) {
    case JobStatus::Completed:
      return 1;
    case JobStatus::Failed:
    case JobStatus::TimedOut:
      return 0;
    case JobStatus::Cancelled:
      return 5;
    case JobStatus::Unknown:
    case JobStatus::Running:
      break;
  }
  return -1;
}

class SwfWriter {
 public:
  explicit SwfWriter(const Trace& trace)
      : trace_(trace), users_(trace.workload.users), groups_(trace.workload.tenants) {
    const auto& jobs = trace.workload.jobs;
    plain_ids_ =
        std::all_of(jobs.begin(), jobs.end(), [](const Job& job) { return is_plain_number(job.name); });
  }

  std::string header() const {
    std::int32_t largest = 1;
    for (const Job& job : trace_.workload.jobs)
      largest = std::max(largest, job.num_gpus.value);
    std::string out = fmt::format("; Version: 2.2\n; Conversion: vtrain\n; MaxJobs: {0}\n; MaxRecords: {0}\n",
                                  trace_.workload.jobs.size());
    // A reader takes MaxProcs for the size of the cluster: it is there only where that is known.
    if (trace_.num_gpus) out += fmt::format("; MaxProcs: {}\n", std::max(*trace_.num_gpus, largest));
    out += "; Note: processors are GPUs, groups are tenants\n";
    for (const std::string& assumption : trace_.assumptions)
      out += fmt::format("; Note: {}\n", printable(assumption));
    groups_.append_header(out, "group");
    users_.append_header(out, "user");
    return out;
  }

  void append_job(std::string& out, const Job& job, std::size_t number) const {
    out += plain_ids_ ? std::string(job.name) : std::to_string(number);
    append_seconds(out, job.submit.time_since_epoch().count(), true);
    append_seconds(out, (job.original_start - job.submit).count(),
                   job.original_start != Job::kNoStart && job.original_start >= job.submit);
    append_seconds(out, job.duration.count(), true);
    out += fmt::format(" {} -1 -1 {}", job.num_gpus.value, job.num_gpus.value);
    append_seconds(out, job.requested_time.count(), job.requested_time.count() > 0);
    out += fmt::format(" -1 {} {} {} -1 -1 -1 -1 -1\n", status_code(job.status), users_.of(job.user),
                       groups_.of(job.tenant));
  }

 private:
  static void append_seconds(std::string& out, std::int64_t nanoseconds, bool known) {
    out += ' ';
    if (known) {
      append_ns_as_seconds(out, nanoseconds);
    } else {
      out += "-1";
    }
  }

  const Trace& trace_;
  NameNumbers users_;
  NameNumbers groups_;
  bool plain_ids_ = false;
};

}  // namespace

Result<void> write_swf(const Trace& trace, const std::filesystem::path& path) {
  for (const Job& job : trace.workload.jobs) {
    if (job.duration.count() > 0) continue;
    return fail(job_error(trace.workload, job, "duration",
                          "has no run time, and SWF has no models to compute one from"));
  }
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  const SwfWriter writer(trace);
  file->write(writer.header());
  std::string line;
  std::size_t number = 0;
  for (const Job& job : trace.workload.jobs) {
    line.clear();
    writer.append_job(line, job, ++number);
    file->write(line);
  }
  return file->commit();
}

}  // namespace vtrain
