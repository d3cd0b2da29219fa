/// `vtrain admit`: answers worked out by hand, on an empty cluster and on small dumps in Slurm's words.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

namespace {

/// At 10:30 one node of 8 GPUs: 1 holds all of it until 11:00 at the latest, 2 wants all for half an hour.
constexpr const char* kJobs =
    "JobId=1 JobName=train UserId=ann(1) Account=lab Partition=gpu JobState=RUNNING TimeLimit=01:00:00 "
    "SubmitTime=2026-11-25T10:00:00 StartTime=2026-11-25T10:00:00 NodeList=a NumNodes=1 "
    "TRES=cpu=8,gres/gpu=8\n"
    "JobId=2 JobName=big UserId=bob(2) Account=lab Partition=gpu JobState=PENDING Reason=Resources "
    "Priority=9 "
    "TimeLimit=00:30:00 SubmitTime=2026-11-25T10:10:00 LastSchedEval=2026-11-25T10:30:00 NumNodes=1 "
    "TRES=cpu=8,gres/gpu=8\n";
constexpr const char* kNodes =
    "NodeName=a CPUTot=8 Gres=gpu:a100:8 State=ALLOCATED AllocTRES=cpu=8,gres/gpu=8\n";
constexpr double kHalfHour = 1800;

/// A job of about a quarter of an hour on 8 A100.
constexpr const char* kSmall = "gpt3-1.3b --tokens 0.1B --gpus 8 --rigid --no-cache ";

/// The document of an answer, whose exit code must be that of a yes or a no.
json answer_of(const std::string& options, const TemporaryFolder& work) {
  const auto run = run_vtrain("admit " + options + " --json", work.path());
  CAPTURE(options);
  CAPTURE(run.err);
  const json answer = json::parse(run.out, nullptr, false);
  REQUIRE(answer.is_object());
  REQUIRE(run.exit_code == (answer["answer"] == "yes" ? 0 : 3));
  return answer;
}

/// Time of a job that `plan` predicts: whole iterations on these GPUs.
double planned_s(const std::string& model, double tokens, const std::string& options,
                 const TemporaryFolder& work) {
  const json plan = run_json("plan " + model + " " + options, work);
  const double iterations = std::ceil(tokens / plan["tokens_per_iteration"].get<double>());
  return iterations * plan["best"]["iteration_time_s"].get<double>();
}

/// Writes the files of the full node.
void write_full_node(const TemporaryFolder& work) {
  work.write("jobs.txt", kJobs);
  work.write("nodes.txt", kNodes);
}

constexpr const char* kNow = "--now jobs.txt nodes.txt ";

}  // namespace

TEST_CASE("admit: on an empty cluster a rigid job ends when the plan's iterations are done") {
  const TemporaryFolder work;
  const double seconds = planned_s("gpt3-13b", 300e9, "--gpus 64 --cluster 16x8:a100", work);
  for (const char* const policy : {"fifo", "easy", "deadline", "elasticflow"}) {
    CAPTURE(std::string(policy));
    const json answer = answer_of(
        "gpt3-13b --tokens 300B --deadline 60d --gpus 64 --rigid --policy " + std::string(policy), work);
    CHECK(answer["answer"] == "yes");
    CHECK(answer["start_s"] == 0);
    // elasticflow counts in whole seconds.
    CHECK(answer["end_s"].get<double>() == doctest::Approx(seconds).epsilon(1e-6));
    REQUIRE(answer["gpus_over_time"].size() == 1);
    CHECK(answer["gpus_over_time"][0]["num_gpus"] == 64);
    CHECK(answer["displaced"].empty());
    CHECK(answer["probability_in_time"] == 1.0);
  }
}

TEST_CASE("admit: an elastic job alone may hold the whole cluster") {
  const TemporaryFolder work;
  const double seconds = planned_s("gpt3-13b", 300e9, "--gpus 128 --cluster 16x8:a100", work);
  const json answer = answer_of("gpt3-13b --tokens 300B --deadline 60d --tenant nlp", work);
  CHECK(answer["reason"] == "promised");
  CHECK(answer["promised_s"] == 0);
  CHECK(answer["tenant"] == "nlp");
  CHECK(answer["end_s"].get<double>() == doctest::Approx(seconds).epsilon(1e-6));
  CHECK(answer["end_interval_s"]["low"] < answer["end_s"]);
  CHECK(answer["end_interval_s"]["high"] > answer["end_s"]);
}

TEST_CASE("admit: the probability is that of the predictor's errors") {
  const TemporaryFolder work;
  // A deadline at the predicted end is met if the run time is no longer than predicted: half of the draws.
  const double seconds = planned_s("gpt3-13b", 300e9, "--gpus 64 --cluster 16x8:a100", work);
  const std::string options =
      "gpt3-13b --tokens 300B --gpus 64 --rigid --policy fifo --samples 400 --prediction-error lognormal:0.1 "
      "--deadline " +
      std::to_string(std::llround(std::ceil(seconds))) + "s";
  const json even = answer_of(options, work);
  CHECK(even["answer"] == "yes");
  CHECK(even["probability_in_time"].get<double>() > 0.42);
  CHECK(even["probability_in_time"].get<double>() < 0.58);
  // Nine in ten are within exp(-0.1645) to exp(0.1645).
  CHECK(even["end_interval_s"]["low"].get<double>() ==
        doctest::Approx(seconds * std::exp(-0.1645)).epsilon(0.03));
  CHECK(even["end_interval_s"]["high"].get<double>() ==
        doctest::Approx(seconds * std::exp(0.1645)).epsilon(0.03));
}

TEST_CASE("admit: a full node, where first come first served waits and deadline displaces") {
  const TemporaryFolder work;
  write_full_node(work);
  const json alone = answer_of(std::string(kSmall) + "--deadline 10h --policy fifo --cluster 1x8:a100", work);
  const double seconds = alone["end_s"];
  REQUIRE(seconds > 60);
  REQUIRE(seconds < kHalfHour);
  // Job 1 ends at 11:00, job 2 at 11:30.
  const json waits = answer_of(std::string(kSmall) + kNow + "--deadline 10h --policy fifo", work);
  CHECK(waits["answer"] == "yes");
  CHECK(waits["running"] == 1);
  CHECK(waits["waiting"] == 1);
  CHECK(waits["start_s"] == 2 * kHalfHour);
  CHECK(waits["displaced"].empty());
  // Jobs without a deadline make room.
  const json displaces = answer_of(std::string(kSmall) + kNow + "--deadline 20m", work);
  CHECK(displaces["answer"] == "yes");
  CHECK(displaces["start_s"] == 0);
  REQUIRE(displaces["displaced"].size() == 2);
  CHECK(displaces["displaced"][0]["later_by_s"].get<double>() == doctest::Approx(seconds));
  CHECK(displaces["displaced"][0]["misses_deadline"] == false);
  // Unless those that run are kept.
  const json kept =
      answer_of(std::string(kSmall) + kNow + "--deadline 20m --policy deadline:running=keep", work);
  CHECK(kept["answer"] == "no");
  const json later =
      answer_of(std::string(kSmall) + kNow + "--deadline 50m --policy deadline:running=keep", work);
  CHECK(later["answer"] == "yes");
  CHECK(later["start_s"] == kHalfHour);
  REQUIRE(later["displaced"].size() == 1);
  CHECK(later["displaced"][0]["job"] == "2");
}

TEST_CASE("admit: the stated earliest deadline is accepted, and a minute earlier refused") {
  const TemporaryFolder work;
  write_full_node(work);
  for (const char* const policy : {"fifo", "easy", "deadline", "elasticflow", "deadline:running=keep"}) {
    CAPTURE(std::string(policy));
    const std::string options = std::string("gpt3-13b --tokens 20B ") + kNow + "--policy " + policy + " ";
    const json refused = answer_of(options + "--deadline 61m", work);
    CHECK(refused["answer"] == "no");
    REQUIRE_FALSE(refused["changes"].empty());
    const json& first = refused["changes"][0];
    CHECK(first["change"] == "deadline");
    const std::int64_t minutes = std::llround(first["earliest_deadline_s"].get<double>() / 60);
    CHECK(first["option"] == "--deadline " + std::to_string(minutes) + "m");
    // GPUs chosen for the first deadline are to stay.
    const std::string gpus = "--gpus " + refused["num_gpus"].dump() + " ";
    CHECK(answer_of(options + gpus + first["option"].get<std::string>(), work)["answer"] == "yes");
    CHECK(answer_of(options + gpus + "--deadline " + std::to_string(minutes - 1) + "m", work)["answer"] ==
          "no");
    for (const json& change : refused["changes"]) {
      if (change["change"] != "tokens") continue;
      const std::string fewer = std::string("gpt3-13b ") + kNow + "--policy " + policy + " " + gpus +
                                "--deadline 61m " + change["option"].get<std::string>();
      CHECK(answer_of(fewer, work)["answer"] == "yes");
    }
  }
}

TEST_CASE("admit: a rigid job gets to know the number of GPUs that would do") {
  const TemporaryFolder work;
  const json refused =
      answer_of("gpt3-13b --tokens 300B --deadline 10d --gpus 8 --rigid --cluster 32x8:a100", work);
  CHECK(refused["answer"] == "no");
  const auto change =
      std::ranges::find_if(refused["changes"], [](const json& each) { return each["change"] == "gpus"; });
  REQUIRE(change != refused["changes"].end());
  CHECK(answer_of("gpt3-13b --tokens 300B --deadline 10d --rigid --cluster 32x8:a100 " +
                      (*change)["option"].get<std::string>(),
                  work)["answer"] == "yes");
}

TEST_CASE("admit: the text begins with the answer, and two runs are the same") {
  const TemporaryFolder work;
  write_full_node(work);
  const auto yes = run_vtrain(std::string("admit ") + kSmall + kNow + "--deadline 20m", work.path());
  CHECK(yes.exit_code == 0);
  CHECK(yes.out.starts_with("yes: gpt3-1.3b on 0.1 billion tokens ends in "));
  CHECK(yes.out.find("done later") != std::string::npos);
  CHECK(yes.err.empty());
  CHECK(run_vtrain(std::string("admit ") + kSmall + kNow + "--deadline 20m --threads 1", work.path()).out ==
        yes.out);
  const auto no =
      run_vtrain(std::string("admit ") + kSmall + kNow + "--deadline 20m --policy fifo", work.path());
  CHECK(no.exit_code == 3);
  CHECK(no.out.starts_with("no: gpt3-1.3b on 0.1 billion tokens would end in "));
  CHECK(no.out.find("yes with") != std::string::npos);
}

TEST_CASE("admit: bad input is refused with its place") {
  const TemporaryFolder work;
  write_full_node(work);
  const auto refused = [&](const std::string& options, const std::string& message) {
    CAPTURE(options);
    const auto run = run_vtrain("admit " + options, work.path());
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CAPTURE(run.err);
    CHECK(run.err.find(message) != std::string::npos);
  };
  refused("", "model: missing");
  refused("gpt3-13b --deadline 10d", "--tokens: missing");
  refused("gpt3-13b --tokens 300B", "--deadline: missing");
  refused("gpt3-13b --tokens 300B --deadline 10", "--deadline: expected a duration");
  refused("gpt3-13b --tokens 300X --deadline 10d", "--tokens: ");
  refused("gpt3-13c --tokens 300B --deadline 10d", "gpt3-13b");
  refused("./model.json --tokens 300B --deadline 10d", "model: expected a name");
  refused("gpt3-13b --tokens 300B --deadline 10d --gpus 1000", "--gpus: expected at most 128");
  refused("gpt3-13b --tokens 300B --deadline 10d --gpu-type h100", "--gpu-type: ");
  refused("gpt3-13b --tokens 300B --deadline 10d --cluster 16x", "--cluster: ");
  refused("gpt3-13b --tokens 300B --deadline 10d --policy las", "--policy: ");
  refused("gpt3-13b --tokens 300B --deadline 10d --policy edff", "--policy: ");
  refused("gpt3-13b --tokens 300B --deadline 10d --placement near", "--placement: ");
  refused("gpt3-13b --tokens 300B --deadline 10d --now absent.txt", "absent.txt");
  refused("gpt3-13b --tokens 300B --deadline 10d --history jobs.txt", "--history: needs --now");
  refused("gpt3-13b --tokens 300B --deadline 10d --prediction-error lognormal:9", "--prediction-error: ");
  refused("gpt3-13b --tokens 300B --deadline 10d --interruption-cost soon", "--interruption-cost: ");
  refused("gpt3-175b --tokens 300B --deadline 10d --gpus 8", "--gpus: ");
}
