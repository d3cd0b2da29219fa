#include "traces/vtrain_csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/csv.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "traces/job_csv.hpp"

namespace vtrain {
namespace {

constexpr std::array<std::string_view, 16> kColumns = {
    "job_id",           "tenant",     "user",        "submit_s",   "num_gpus", "gpu_type",     "gpu_share",
    "max_gpus",         "duration_s", "requested_s", "deadline_s", "model",    "global_batch", "iterations",
    "original_start_s", "status"};

void append_integer(std::string& out, std::int64_t number) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

/// Writes rows with the columns that some job fills.
class JobCsvWriter {
 public:
  explicit JobCsvWriter(const Workload& workload) : workload_(workload) {
    for (const Job& job : workload.jobs) {
      tenant_ |= static_cast<bool>(job.tenant);
      user_ |= static_cast<bool>(job.user);
      gpu_type_ |= static_cast<bool>(job.gpu_type);
      gpu_share_ |= job.shares_gpus();
      max_gpus_ |= job.max_gpus.value > 0;
      duration_ |= job.duration.count() > 0;
      requested_ |= job.requested_time.count() > 0;
      deadline_ |= job.has_deadline();
      model_ |= static_cast<bool>(job.model);
      global_batch_ |= job.global_batch > 0;
      iterations_ |= job.iterations > 0;
      original_start_ |= job.original_start != Job::kNoStart;
      status_ |= job.status != JobStatus::Unknown;
    }
  }

  void append_header(std::string& out) const {
    out += "job_id";
    if (tenant_) out += ",tenant";
    if (user_) out += ",user";
    out += ",submit_s,num_gpus";
    if (gpu_type_) out += ",gpu_type";
    if (gpu_share_) out += ",gpu_share";
    if (max_gpus_) out += ",max_gpus";
    if (duration_) out += ",duration_s";
    if (requested_) out += ",requested_s";
    if (deadline_) out += ",deadline_s";
    if (model_) out += ",model";
    if (global_batch_) out += ",global_batch";
    if (iterations_) out += ",iterations";
    if (original_start_) out += ",original_start_s";
    if (status_) out += ",status";
    out += '\n';
  }

  void append_row(std::string& out, const Job& job) const {
    append_csv_field(out, job.name);
    if (tenant_) append_name(out, workload_.tenants, job.tenant);
    if (user_) append_name(out, workload_.users, job.user);
    append_seconds(out, job.submit.time_since_epoch().count(), true);
    append_count(out, job.num_gpus.value);
    if (gpu_type_) append_name(out, workload_.gpu_types, job.gpu_type);
    if (gpu_share_) append_share(out, job.gpu_share);
    if (max_gpus_) append_count(out, job.max_gpus.value);
    if (duration_) append_seconds(out, job.duration.count(), job.duration.count() > 0);
    if (requested_) append_seconds(out, job.requested_time.count(), job.requested_time.count() > 0);
    if (deadline_) append_seconds(out, job.deadline.time_since_epoch().count(), job.has_deadline());
    if (model_) append_name(out, workload_.models, job.model);
    if (global_batch_) append_count(out, job.global_batch);
    if (iterations_) append_count(out, job.iterations);
    if (original_start_) {
      append_seconds(out, job.original_start.time_since_epoch().count(), job.original_start != Job::kNoStart);
    }
    if (status_) {
      out += ',';
      if (job.status != JobStatus::Unknown) out += status_name(job.status);
    }
    out += '\n';
  }

 private:
  template <class NameId>
  static void append_name(std::string& out, const NameTable& names, NameId id) {
    out += ',';
    if (id) append_csv_field(out, names[id.value]);
  }

  static void append_seconds(std::string& out, std::int64_t nanoseconds, bool given) {
    out += ',';
    if (given) append_ns_as_seconds(out, nanoseconds);
  }

  static void append_count(std::string& out, std::int64_t count) {
    out += ',';
    if (count > 0) append_integer(out, count);
  }

  /// A share in thousandths is written as seconds in nanoseconds are: exactly, and as short as possible.
  static void append_share(std::string& out, std::int16_t thousandths) {
    constexpr std::int64_t kBillionthsPerThousandth = 1'000'000;
    append_seconds(out, thousandths * kBillionthsPerThousandth, thousandths != kWholeGpu);
  }

  const Workload& workload_;
  bool tenant_ = false, user_ = false, gpu_type_ = false, gpu_share_ = false, max_gpus_ = false;
  bool duration_ = false, requested_ = false, deadline_ = false;
  bool model_ = false, global_batch_ = false, iterations_ = false, original_start_ = false, status_ = false;
};

}  // namespace

bool recognise_vtrain_csv(std::string_view head) {
  const auto header = CsvReader::open_any_header(head, {});
  return header && header->find_column("job_id") >= 0 && header->find_column("submit_s") >= 0 &&
         header->find_column("end_s") < 0;
}

Result<Trace> read_vtrain_csv(const TraceInput& input) {
  const auto header = CsvReader::open(input.text, input.file);
  if (!header) return fail(header.error());
  for (std::size_t i = 0; i < header->columns().size(); ++i) {
    const std::string& name = header->columns()[i];
    if (std::find(kColumns.begin(), kColumns.end(), name) != kColumns.end()) continue;
    return fail({.file = input.file,
                 .line = header->line(),
                 .field = name,
                 .message = "unknown column; " + suggest_name(name, kColumns)});
  }
  auto trace = read_job_csv(input, {.job_id = "job_id",
                                    .submit = "submit_s",
                                    .num_gpus = "num_gpus",
                                    .duration = "duration_s",
                                    .tenant = "tenant",
                                    .requested = "requested_s",
                                    .deadline = "deadline_s",
                                    .model = "model",
                                    .global_batch = "global_batch",
                                    .iterations = "iterations",
                                    .user = "user",
                                    .gpu_type = "gpu_type",
                                    .gpu_share = "gpu_share",
                                    .max_gpus = "max_gpus",
                                    .original_start = "original_start_s",
                                    .status = "status",
                                    .unique_ids = true});
  if (!trace) return trace;
  for (const std::string_view comment : header->comments())
    trace->assumptions.push_back(printable(comment));
  return trace;
}

Result<void> write_vtrain_csv(const Trace& trace, const std::filesystem::path& path) {
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  const JobCsvWriter writer(trace.workload);
  for (const std::string& assumption : trace.assumptions)
    file->write("# " + printable(assumption) + "\n");
  std::string line;
  writer.append_header(line);
  file->write(line);
  for (const Job& job : trace.workload.jobs) {
    line.clear();
    writer.append_row(line, job);
    file->write(line);
  }
  return file->commit();
}

std::string to_vtrain_csv(const Workload& workload) {
  const JobCsvWriter writer(workload);
  std::string text;
  writer.append_header(text);
  for (const Job& job : workload.jobs)
    writer.append_row(text, job);
  return text;
}

}  // namespace vtrain
