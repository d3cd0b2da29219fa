/// The CSV of the Chronus simulator (Gao et al., SoCC'21): Tiresias's columns with users and deadlines, in
/// minutes.
///
/// Kept: submission, duration, iterations, GPUs, user, model, deadline. `expect_time_list` has minutes after
/// the submission, joined by `-`; `job_type` is `strict`, `soft`, or `best` (no deadline). A soft deadline is
/// a list of instants, each with the job's worth at that time. The first is kept, as in the simulator where
/// it needs one deadline. The file has no global batch, GPU type, requested time, status or original start.
/// Users are the virtual clusters of Philly and become tenants too. Rows with 0 GPUs are no jobs and are
/// skipped, as in the simulator.
///
/// Recognised by Tiresias's columns, `user`, `expect_time_list` and `job_type`.
#include "traces/formats/formats.hpp"

#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "traces/reading/job_csv.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/reading/job_log.hpp"

namespace vtrain {
namespace {

/// Positions of the columns beyond those of `JobColumns`.
struct ChronusColumns {
  int num_gpus, deadlines, kind;
};

Result<SimTime> deadline_of(const CsvReader& row, const ChronusColumns& at, SimTime submit) {
  const std::string_view kind = trim(row.field(at.kind));
  if (kind == "best") return Job::kNoDeadline;
  if (kind != "strict" && kind != "soft") {
    return fail(row.error_at(at.kind, expected_found("strict, soft or best", kind)));
  }
  const std::string_view list = row.field(at.deadlines);
  const auto deadline =
      parse_duration(list.substr(0, list.find('-')), kMinutes).and_then([&](SimDuration delay) {
        return instant_after(submit, delay);
      });
  if (!deadline) return fail(row.error_at(at.deadlines, deadline.error().message));
  return deadline;
}

Result<void> read_rows(JobCsvReader& reader) {
  const CsvReader& row = reader.row();
  ChronusColumns at{};
  for (const auto& [name, position] :
       {std::pair{"num_gpu", &at.num_gpus}, {"expect_time_list", &at.deadlines}, {"job_type", &at.kind}}) {
    const auto found = row.require_column(name);
    if (!found) return fail(found.error());
    *position = *found;
  }
  for (;;) {
    const auto more = reader.next();
    if (!more) return fail(more.error());
    if (!*more) return {};
    if (trim(row.field(at.num_gpus)) == "0") {
      if (auto skipped = reader.skip(skip::kNoGpu, at.num_gpus); !skipped) return skipped;
      continue;
    }
    auto job = reader.job();
    if (!job) return fail(std::move(job.error()));
    const auto deadline = deadline_of(row, at, job->submit);
    if (!deadline) return fail(deadline.error());
    job->deadline = *deadline;
    reader.add(*job);
  }
}

}  // namespace

bool recognise_chronus(std::string_view head) {
  return header_has(head,
                    {"job_id", "user", "num_gpu", "submit_time", "duration", "expect_time_list", "job_type"},
                    {"iterations", "model_name", "interval", "expect_value_list", "best_effort"});
}

Result<Trace> read_chronus(const TraceInput& input) {
  auto reader = JobCsvReader::open(input, {.job_id = "job_id",
                                           .submit = "submit_time",
                                           .num_gpus = "num_gpu",
                                           .duration = "duration",
                                           .tenant = "user",
                                           .model = "model_name",
                                           .iterations = "iterations",
                                           .user = "user",
                                           .unit = kMinutes});
  if (!reader) return fail(std::move(reader.error()));
  if (auto read = read_rows(*reader); !read) return fail(std::move(read.error()));
  return reader->finish();
}

}  // namespace vtrain
