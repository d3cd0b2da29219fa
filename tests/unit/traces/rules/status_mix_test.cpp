#include "traces/rules/status_mix.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace vtrain;

namespace {

using Mix = std::vector<StatusWeight>;

const Mix kKnown = {{JobStatus::Completed, 6}, {JobStatus::Failed, 3}, {JobStatus::Cancelled, 1}};

std::string error_of(const char* text, const Mix& known = kKnown) {
  const auto mix = parse_status_mix(text, known);
  return mix ? "no error" : mix.error().describe();
}

}  // namespace

TEST_CASE("status_mix: names leave those of the known mix, shares are a mix of their own") {
  CHECK(*parse_status_mix("failed, completed", kKnown) ==
        Mix{{JobStatus::Failed, 3}, {JobStatus::Completed, 6}});
  CHECK(*parse_status_mix("completed=0.7,timeout=0.3,failed=0", kKnown) ==
        Mix{{JobStatus::Completed, 0.7}, {JobStatus::TimedOut, 0.3}});
  CHECK(describe_status_mix(kKnown) == "completed 60.0 %, failed 30.0 %, cancelled 10.0 %");
}

TEST_CASE("status_mix: what cannot be a mix says why") {
  CHECK(error_of("done").starts_with("statuses: expected one of 'unknown', 'completed'"));
  CHECK(error_of("completed,completed") == "statuses: expected each status once, found 'completed'");
  CHECK(error_of("completed=0.5,failed") ==
        "statuses: expected a share for each status, as completed=0.7, found 'failed'");
  CHECK(error_of("completed=x").starts_with("statuses: expected a share for each status"));
  CHECK(error_of("completed=-1").starts_with("statuses: expected a share for each status"));
  CHECK(error_of("completed=0") == "statuses: expected a share above 0");
  CHECK(error_of("running") ==
        "statuses: no job of the shape ends so: completed 60.0 %, failed 30.0 %, cancelled 10.0 %");
  CHECK(error_of("completed", {}) ==
        "statuses: the shape does not say how jobs end; give shares, as completed=0.7,failed=0.3");
}

TEST_CASE("status_mix: statuses are drawn in proportion") {
  Workload workload;
  workload.jobs.resize(10'000);
  draw_statuses(workload, kKnown, 3);
  const auto failed = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                    [](const Job& job) { return job.status == JobStatus::Failed; });
  // Binomial: 3,000 with a standard deviation of 46.
  CHECK(failed > 3000 - 5 * 46);
  CHECK(failed < 3000 + 5 * 46);
}
