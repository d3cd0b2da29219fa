#include "tools/experiment/admission.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tools/experiment/earliest_deadline.hpp"
#include "tools/experiment/scenario.hpp"

namespace vtrain {
namespace {

constexpr const char* kPromising[] = {"deadline", "elasticflow", "elasticflow:costs=free"};

/// A generated day of jobs on 128 GPUs.
Scenario day(std::uint64_t seed, const std::string& interruption_cost) {
  ScenarioSpec spec;
  spec.placement = "count";
  spec.transformations.seed = seed;
  spec.disruptions.interruption_cost = interruption_cost;
  spec.policies = {std::begin(kPromising), std::end(kPromising)};
  std::vector<std::string> warnings;
  auto scenario = Scenario::prepare(std::move(spec), warnings);
  REQUIRE_MESSAGE(scenario, scenario.error().describe());
  return *std::move(scenario);
}

/// An empty cluster that knows the names and curves of a scenario's jobs.
Admission empty_cluster(const Scenario& scenario, const std::string& policy) {
  AdmissionSetup setup;
  setup.cluster = scenario.cluster();
  setup.policy = policy;
  setup.options.placement = scenario.placement();
  setup.options.disruptions = scenario.disruptions() ? &*scenario.disruptions() : nullptr;
  setup.workload = scenario.workload().copy_with_texts_of_this();
  setup.workload.jobs.clear();
  auto admission = Admission::begin(std::move(setup), PolicyRegistry::built_in());
  REQUIRE_MESSAGE(admission, admission.error().describe());
  return *std::move(admission);
}

/// A rigid job of `num_gpus` for some hours after now.
Job rigid_job(std::int32_t num_gpus, int hours, int deadline_h = 0) {
  Job job;
  job.num_gpus = GpuCount(num_gpus);
  job.duration = std::chrono::hours(hours);
  if (deadline_h > 0) job.deadline = SimTime(std::chrono::hours(deadline_h));
  return job;
}

/// One node of 8 GPUs.
Admission one_node(const std::string& policy) {
  AdmissionSetup setup;
  setup.cluster = *ClusterSpec::parse("1x8");
  setup.policy = policy;
  auto admission = Admission::begin(std::move(setup), PolicyRegistry::built_in());
  REQUIRE_MESSAGE(admission, admission.error().describe());
  return *std::move(admission);
}

void admit(Admission& admission, const char* name, const Job& job) {
  const auto id = admission.admit(name, job);
  REQUIRE_MESSAGE(id, id.error().describe());
}

}  // namespace

TEST_CASE("admission: a trace admitted job by job gets the decisions of a replay") {
  std::int64_t promised = 0;
  std::int64_t rejected = 0;
  for (const char* const cost : {"auto", "none"}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Scenario scenario = day(seed, cost);
      const std::vector<Job>& jobs = scenario.workload().jobs;
      for (const std::string policy : kPromising) {
        CAPTURE(std::string(cost));
        CAPTURE(seed);
        CAPTURE(policy);
        const auto replayed = scenario.run(policy);
        REQUIRE(replayed);
        Admission admission = empty_cluster(scenario, policy);
        for (const Job& job : jobs)
          admit(admission, std::string(job.name).c_str(), job);
        const auto result = admission.finish();
        REQUIRE_MESSAGE(result, result.error().describe());
        for (std::size_t i = 0; i < jobs.size(); ++i) {
          CAPTURE(i);
          const JobOutcome& expected = replayed->result.outcomes[i];
          const JobOutcome& found = result->outcomes[i];
          REQUIRE(found.state == expected.state);
          REQUIRE(found.promised == expected.promised);
          REQUIRE(found.start == expected.start);
          REQUIRE(found.end == expected.end);
          REQUIRE(found.finished == expected.finished);
          REQUIRE(found.preemptions == expected.preemptions);
          REQUIRE(found.resizes == expected.resizes);
          REQUIRE(found.gpu_time == expected.gpu_time);
          promised += found.has_promise() ? 1 : 0;
          rejected += found.state == JobState::Rejected ? 1 : 0;
        }
      }
    }
  }
  CHECK(promised > 3'000);
  CHECK(rejected > 300);
}

TEST_CASE("admission: what is considered is what happens if the job is admitted and nobody comes later") {
  const Scenario scenario = day(1, "auto");
  const std::vector<Job>& jobs = scenario.workload().jobs;
  for (const std::string policy : kPromising) {
    CAPTURE(policy);
    Admission admission = empty_cluster(scenario, policy);
    constexpr std::size_t kLast = 120;
    for (std::size_t i = 0; i < kLast; ++i)
      admit(admission, "earlier", jobs[i]);
    const auto answer = admission.consider("last", jobs[kLast]);
    REQUIRE_MESSAGE(answer, answer.error().describe());
    const auto quick = admission.would_admit("last", jobs[kLast]);
    REQUIRE(quick);
    CHECK(*quick == answer->course.outcome.has_promise());
    admit(admission, "last", jobs[kLast]);
    const auto result = admission.finish();
    REQUIRE(result);
    const JobOutcome& found = result->outcomes[kLast];
    CHECK(answer->course.outcome.state == found.state);
    CHECK(answer->course.outcome.promised == found.promised);
    CHECK(answer->course.outcome.start == found.start);
    CHECK(answer->course.outcome.finished == found.finished);
    CHECK(answer->course.outcome.gpu_time == found.gpu_time);
    for (const DisplacedJob& job : answer->displaced) {
      CHECK_FALSE((job.has_promise && job.misses_deadline));
    }
  }
}

TEST_CASE("admission: the earliest deadline is a yes, and one step earlier a no") {
  // 8 GPUs are promised for 10 h. A job of 8 GPUs and 5 h is then done at 15 h at the earliest.
  for (const char* const policy : {"deadline", "elasticflow"}) {
    CAPTURE(std::string(policy));
    Admission admission = one_node(policy);
    admit(admission, "first", rigid_job(8, 10, 10));
    Job job = rigid_job(8, 5, 14);
    const auto refused = admission.consider("second", job);
    REQUIRE(refused);
    CHECK_FALSE(refused->is_yes());
    const auto found = find_earliest_deadline(admission, "second", job, std::chrono::minutes(1),
                                              SimTime(std::chrono::hours(1000)));
    REQUIRE(found);
    REQUIRE(found->has_value());
    CHECK((*found)->reason == AdmissionReason::Promised);
    CHECK(job.deadline >= SimTime(std::chrono::hours(15)));
    CHECK(job.deadline <= SimTime(std::chrono::hours(15) + std::chrono::minutes(2)));
    CHECK(*admission.would_admit("second", job));
    job.deadline -= std::chrono::minutes(1);
    CHECK_FALSE(*admission.would_admit("second", job));
  }
}

TEST_CASE("admission: jobs that a new one displaces are named, and their deadlines count") {
  // A job without a deadline holds 8 GPUs for 10 h; one of 8 GPUs for 2 h takes them at once.
  Admission admission = one_node("deadline");
  admit(admission, "best effort", rigid_job(8, 10));
  const auto answer = admission.consider("urgent", rigid_job(8, 2, 3));
  REQUIRE(answer);
  CHECK(answer->reason == AdmissionReason::Promised);
  REQUIRE(answer->displaced.size() == 1);
  CHECK(answer->displaced[0].number == JobId(0));
  CHECK(answer->displaced[0].by == SimDuration(std::chrono::hours(2)));
  CHECK_FALSE(answer->displaced[0].misses_deadline);
  // Nothing has changed.
  CHECK(admission.simulation().live().size() == 1);
}

TEST_CASE(
    "admission: without promises a yes is a simulated end in time that delays nobody beyond a deadline") {
  // sjf runs the job of fewer GPUs first: the waiting one would end at 12 h instead of 10 h.
  Admission admission = one_node("sjf");
  admit(admission, "running", rigid_job(8, 5));
  admit(admission, "waiting", rigid_job(8, 5, 11));
  const auto breaks = admission.consider("small", rigid_job(4, 2, 8));
  REQUIRE(breaks);
  CHECK(breaks->reason == AdmissionReason::BreaksOther);
  Admission first_come = one_node("fifo");
  admit(first_come, "running", rigid_job(8, 5));
  CHECK(first_come.consider("next", rigid_job(8, 2, 7))->reason == AdmissionReason::InTime);
  CHECK(first_come.consider("next", rigid_job(8, 2, 6))->reason == AdmissionReason::Late);
  CHECK(first_come.consider("next", rigid_job(9, 2, 6))->reason == AdmissionReason::TooLarge);
}

TEST_CASE("admission: jobs that come later are considered, and come at their time") {
  AdmissionSetup setup;
  setup.cluster = *ClusterSpec::parse("1x8");
  setup.policy = "fifo";
  Job later = rigid_job(8, 4, 7);
  later.name = setup.workload.keep("later");
  later.submit = SimTime(std::chrono::hours(2));
  setup.workload.jobs.push_back(later);
  auto admission = Admission::begin(std::move(setup), PolicyRegistry::built_in());
  REQUIRE(admission);
  const auto answer = admission->consider("now", rigid_job(8, 5, 5));
  REQUIRE(answer);
  CHECK(answer->reason == AdmissionReason::BreaksOther);
  REQUIRE(answer->displaced.size() == 1);
  CHECK(answer->displaced[0].by == SimDuration(std::chrono::hours(3)));
  admit(*admission, "now", rigid_job(8, 1));
  const auto result = admission->finish();
  REQUIRE(result);
  CHECK(result->outcomes[1].finished == SimTime(std::chrono::hours(6)));
}

TEST_CASE("admission: a policy that cannot begin with jobs is refused with the names of those that can") {
  AdmissionSetup setup;
  setup.cluster = *ClusterSpec::parse("1x8");
  setup.policy = "las";
  const auto refused = Admission::begin(std::move(setup), PolicyRegistry::built_in());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().describe().find("deadline") != std::string::npos);
}

}  // namespace vtrain
