#include "traces/formats/batsim_writer.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/io/file.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/jobs/job_error.hpp"

namespace vtrain {
namespace {

std::string seconds(SimDuration duration) {
  std::string text;
  append_ns_as_seconds(text, duration.count());
  return text;
}

std::string header(const Trace& trace) {
  std::int32_t size = trace.num_gpus.value_or(1);
  for (const Job& job : trace.workload.jobs)
    size = std::max(size, job.num_gpus.value);
  std::string out = fmt::format("{{\n\"nb_res\": {},\n", size);
  if (!trace.assumptions.empty()) {
    out += fmt::format("\"description\": {},\n",
                       json_string(fmt::format("{}", fmt::join(trace.assumptions, "; "))));
  }
  return out + "\"jobs\": [\n";
}

std::string job_text(const Job& job) {
  const std::string walltime = job.requested_time.count() > 0 ? seconds(job.requested_time) : "-1";
  return fmt::format(
      "{{\"id\": {}, \"subtime\": {}, \"res\": {}, \"walltime\": {}, \"profile\": \"delay {}\"}}",
      json_string(job.name), seconds(job.submit.time_since_epoch()), job.num_gpus.value, walltime,
      seconds(job.duration));
}

}  // namespace

Result<void> write_batsim(const Trace& trace, const std::filesystem::path& path) {
  std::set<SimDuration> durations;
  for (const Job& job : trace.workload.jobs) {
    if (job.duration.count() == 0) {
      return fail(
          job_error(trace.workload, job, "duration", "has no run time, and a profile of Batsim needs one"));
    }
    durations.insert(job.duration);
  }
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  file->write(header(trace));
  const auto append = [&](const std::string& element, bool first) {
    if (!first) file->write(",\n");
    file->write(element);
  };
  for (const Job& job : trace.workload.jobs)
    append(job_text(job), &job == &trace.workload.jobs.front());
  file->write("\n],\n\"profiles\": {\n");
  for (const SimDuration duration : durations) {
    append(fmt::format("\"delay {0}\": {{\"type\": \"delay\", \"delay\": {0}}}", seconds(duration)),
           duration == *durations.begin());
  }
  file->write("\n}\n}\n");
  return file->commit();
}

}  // namespace vtrain
