#include "sched/metrics/job_columns.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string_view>
#include <variant>

#include "tests/support/sim_time.hpp"

namespace vtrain {
namespace {

JobValue value_of(std::string_view column, const JobRow& row) {
  for (const JobColumn& known : job_columns()) {
    if (known.name == column) return known.value(row);
  }
  FAIL("no column " << column);
  return {};
}

TEST_CASE("job_columns: names are unique and have a meaning") {
  std::set<std::string_view> names;
  for (const JobColumn& column : job_columns()) {
    CHECK(names.insert(column.name).second);
    CHECK_FALSE(column.meaning.empty());
  }
}

TEST_CASE("job_columns: what a job never had is nothing") {
  const Workload workload;
  Job job;
  job.name = "a";
  job.submit = at(5);
  job.num_gpus = GpuCount(3);
  JobOutcome outcome;
  outcome.state = JobState::Rejected;
  const JobRow row{workload, job, outcome};
  CHECK(value_of("job_id", row) == JobValue(std::string_view("a")));
  CHECK(value_of("submit_s", row) == JobValue(at(5).time_since_epoch()));
  CHECK(value_of("state", row) == JobValue(std::string_view("rejected")));
  CHECK(value_of("num_gpus", row) == JobValue(std::int64_t{3}));
  for (const char* column : {"tenant", "model", "start_s", "end_s", "jct_s", "queueing_delay_s", "deadline_s",
                             "deadline_met", "tardiness_s", "promise", "cost"}) {
    CAPTURE(column);
    CHECK(value_of(column, row) == JobValue());
  }
  // Submitted at 5 s, started at 7 s, done at 17 s, a second after its deadline.
  outcome = {};
  outcome.state = JobState::Completed;
  outcome.start = at(7);
  outcome.end = outcome.finished = at(17);
  job.deadline = at(16);
  CHECK(value_of("jct_s", row) == JobValue(SimDuration(at(17) - at(5))));
  CHECK(value_of("queueing_delay_s", row) == JobValue(SimDuration(at(7) - at(5))));
  CHECK(value_of("deadline_met", row) == JobValue(false));
  CHECK(value_of("preemptions", row) == JobValue(std::int64_t{0}));
  CHECK(value_of("tardiness_s", row) == JobValue(SimDuration(at(1) - at(0))));
  CHECK(value_of("promise", row) == JobValue());
  CHECK(value_of("cost", row) == JobValue());
  outcome.promised = at(5);
  CHECK(value_of("promise", row) == JobValue(std::string_view("broken")));
  CHECK(value_of("cost", {workload, job, outcome, 0.25}) == JobValue(0.25));
}

}  // namespace
}  // namespace vtrain
