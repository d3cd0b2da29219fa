#include "workloads/jobs/run_time_errors.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "sched/simulation/simulation.hpp"
#include "tests/support/sim_time.hpp"
#include "tests/unit/sched/scripted_policy.hpp"

namespace vtrain {
namespace {

using std::chrono::seconds;
using testing::add_job;
using testing::Script;
using testing::Scripted;
using testing::start_all;

/// Factors by number of GPUs; the last job is not predicted.
class FixedErrors final : public RunTimeErrors {
 public:
  explicit FixedErrors(double on_8, double on_4 = 1) : on_8_(on_8), on_4_(on_4) {}
  bool knows(JobId job) const override { return job.value != 9; }
  double time_factor(JobId, GpuCount num_gpus, std::uint32_t) const override {
    return num_gpus.value == 8 ? on_8_ : on_4_;
  }

 private:
  double on_8_;
  double on_4_;
};

SimulationResult run(const Workload& workload, Policy& policy, const RunTimeErrors& errors) {
  SimulationOptions options;
  options.policy_name = "scripted";
  options.run_time_errors = &errors;
  auto result = simulate(workload, ClusterSpec::parse("1x8").value(), policy, options);
  REQUIRE_MESSAGE(result, result.error().describe());
  return *std::move(result);
}

}  // namespace

TEST_CASE("run time errors: a job takes its predicted time x the factor, and policies see the prediction") {
  Workload workload;
  add_job(workload, 0, 100, 8);
  add_job(workload, 50, 10, 4);
  std::vector<SimDuration> remaining;
  Scripted policy([&](SchedulingPass& pass) {
    CHECK(pass.run_times_differ());
    CHECK(pass.job(JobId(0)).duration == seconds(100));
    CHECK(pass.speed(JobId(0), {GpuCount(8)}) == 1);
    if (pass.state(JobId(0)) == JobState::Running) {
      CHECK(pass.segment(JobId(0)).speed == SegmentSpeed{});
      CHECK(pass.planned_end(JobId(0)) == at(100));
      remaining.push_back(pass.remaining(JobId(0)));
    }
    start_all(pass);
  });
  const SimulationResult result = run(workload, policy, FixedErrors(1.25));
  CHECK(result.outcomes[0].end == at(125));
  CHECK(result.outcomes[0].state == JobState::Completed);
  CHECK(result.outcomes[1].end == at(135));
  // In 50 s it has done 40 s of the predicted work: a policy that looks at it learns its speed.
  CHECK(remaining == std::vector<SimDuration>{seconds(60)});
}

TEST_CASE("run time errors: a requested time ends a job that takes longer, a predicted one does not") {
  Workload workload;
  add_job(workload, 0, 100, 8, 110);
  add_job(workload, 200, 100, 8, 130);
  Scripted policy([&](SchedulingPass& pass) {
    start_all(pass);
    if (pass.state(JobId(0)) == JobState::Running) CHECK(pass.planned_end(JobId(0)) == at(110));
  });
  const SimulationResult result = run(workload, policy, FixedErrors(1.25));
  CHECK(result.outcomes[0].state == JobState::Failed);
  CHECK(result.outcomes[0].end == at(110));
  CHECK(result.outcomes[1].state == JobState::Completed);
  CHECK(result.outcomes[1].end == at(325));
}

TEST_CASE("run time errors: each plan has its own, and preempted work counts in predicted time") {
  Workload workload;
  workload.curves.emplace_back(std::vector<SpeedByGpus::Level>{{GpuCount(4), 1.0}, {GpuCount(8), 2.0}});
  add_job(workload, 0, 100, 8);
  workload.jobs[0].curve = CurveId(0);
  workload.jobs[0].iterations = 200;
  add_job(workload, 50, 1, 4);
  Scripted policy(
      [&](SchedulingPass& pass) {
        if (pass.now() == at(0)) CHECK(pass.try_start(JobId(0), GpuCount(8)));
        if (pass.now() == at(50)) {
          // 50 s at 2 / 1.25 iterations a second.
          CHECK(pass.remaining_iterations(JobId(0)) == doctest::Approx(120));
          CHECK(pass.try_resize(JobId(0), {GpuCount(4)}));
        }
      },
      ProgressRule::Iterations);
  const SimulationResult result = run(workload, policy, FixedErrors(1.25, 0.5));
  // 120 iterations on 4 GPUs at 1 / 0.5 iterations a second.
  CHECK(to_seconds(result.outcomes[0].end.time_since_epoch()) == doctest::Approx(110));
}

}  // namespace vtrain
