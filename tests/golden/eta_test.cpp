/// `vtrain eta`: answers worked out by hand, on small dumps in Slurm's words.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// At 10:30 one node of 8 GPUs: 1 holds all of it until 11:00 at the latest, 2 wants all for half an hour, 3
/// wants half for two hours, 4 is held, and 5 needs no GPU.
constexpr const char* kJobs =
    "JobId=1 JobName=train UserId=ann(1) Account=lab Partition=gpu JobState=RUNNING TimeLimit=01:00:00 "
    "SubmitTime=2026-11-25T10:00:00 StartTime=2026-11-25T10:00:00 NodeList=a NumNodes=1 "
    "TRES=cpu=8,gres/gpu=8\n"
    "JobId=2 JobName=big UserId=bob(2) Account=lab Partition=gpu JobState=PENDING Reason=Resources "
    "Priority=9 "
    "TimeLimit=00:30:00 SubmitTime=2026-11-25T10:10:00 LastSchedEval=2026-11-25T10:30:00 NumNodes=1 "
    "TRES=cpu=8,gres/gpu=8\n"
    "JobId=3 JobName=half UserId=cat(3) Account=lab Partition=gpu JobState=PENDING Reason=Priority "
    "Priority=8 "
    "TimeLimit=02:00:00 SubmitTime=2026-11-25T10:20:00 NumNodes=1 TRES=cpu=8,gres/gpu=4\n"
    "JobId=4 JobName=kept UserId=cat(3) Account=lab Partition=gpu JobState=PENDING Reason=JobHeldUser "
    "Priority=0 "
    "TimeLimit=02:00:00 SubmitTime=2026-11-25T10:20:00 NumNodes=1 TRES=cpu=8,gres/gpu=4\n"
    "JobId=5 JobName=cpu UserId=cat(3) Account=lab Partition=gpu JobState=PENDING Reason=Priority Priority=7 "
    "TimeLimit=02:00:00 SubmitTime=2026-11-25T10:20:00 NumNodes=1 TRES=cpu=8\n";
constexpr const char* kNodes =
    "NodeName=a CPUTot=8 Gres=gpu:a100:8 State=ALLOCATED AllocTRES=cpu=8,gres/gpu=8\n";
/// 10:30 in seconds since 1970.
constexpr std::int64_t kNow = 1'795'602'600;
constexpr std::int64_t kMinute = 60;

json answer_of(const std::string& options, const TemporaryFolder& work) {
  return run_json("eta --now jobs.txt nodes.txt " + options, work);
}

json times(std::int64_t p50, std::int64_t p90) {
  return {{"p50", kNow + p50 * kMinute}, {"p90", kNow + p90 * kMinute}};
}

}  // namespace

TEST_CASE("eta: without a past, jobs run for their time limits") {
  const TemporaryFolder work;
  work.write("jobs.txt", kJobs);
  work.write("nodes.txt", kNodes);
  const json answer = answer_of("--policy fifo --samples 10", work);
  CHECK(answer["now"] == kNow);
  CHECK(answer["cluster"] == "1 x 8 A100, 8 GPUs");
  REQUIRE(answer["jobs"].size() == 2);
  const json& big = answer["jobs"][0];
  CHECK(big["job"] == "2");
  CHECK(big["start"] == times(30, 30));
  CHECK(big["end"] == times(60, 60));
  CHECK(big["blocked"] == json{{"reason", "gpus"}, {"scheduler", "Resources"}});
  CHECK(big["ahead"] == json::array());
  CHECK(big["run_time_from"] == "time limit");
  const json& half = answer["jobs"][1];
  CHECK(half["start"] == times(60, 60));
  CHECK(half["end"] == times(180, 180));
  CHECK(half["ahead"] == json::array({"2"}));
  CHECK(answer["stuck"] == json::array({{{"job", "4"}, {"reason", "held by its user"}}}));
  CHECK(answer["assumptions"].dump().find("jobs without GPUs are left out") != std::string::npos);

  // Another instant, another cluster, one job.
  const json twice = answer_of("--policy fifo --samples 10 --cluster 2x8:a100 --job 3", work);
  REQUIRE(twice["jobs"].size() == 1);
  CHECK(twice["jobs"][0]["start"] == times(30, 30));
  const json later = answer_of("--policy fifo --samples 10 --at 2026-11-25T10:40:00", work);
  CHECK(later["jobs"][0]["start"] == times(30, 30));
}

TEST_CASE("eta: past runs of a job tell how long it runs on") {
  const TemporaryFolder work;
  work.write("jobs.txt", kJobs);
  work.write("nodes.txt", kNodes);
  // Five runs of 31 to 35 minutes, of which job 1 has done 30, and one too short to come back.
  std::string history = "JobID|JobName|User|Account|State|Submit|Start|End|Timelimit|NNodes|ReqTRES\n";
  for (int i = 1; i <= 6; ++i) {
    const int minutes = i == 6 ? 5 : 30 + i;
    history += std::to_string(900 + i) +
               "|train|ann|lab|COMPLETED|2026-11-24T10:00:00|2026-11-24T10:00:00|2026-11-24T10:" +
               (minutes < 10 ? "0" : "") + std::to_string(minutes) +
               ":00|01:00:00|1|cpu=8,gres/gpu=8,node=1\n";
  }
  work.write("past.txt", history);
  const json answer = answer_of("--policy fifo --history past.txt", work);
  CHECK(answer["past_jobs"] == 6);
  CHECK(answer["jobs"][0]["start"] == times(3, 5));
  CHECK(answer["jobs"][0]["end"] == times(33, 35));
  CHECK(answer["assumptions"][0] == "run times from: same job for 1 job, time limit for 2 jobs");
  CHECK(answer_of("--policy fifo --history past.txt --threads 1", work) ==
        answer_of("--policy fifo --history past.txt --threads 3", work));
}

TEST_CASE("eta: changes that help one job are simulated, the smallest of each kind") {
  const TemporaryFolder work;
  work.write("jobs.txt", kJobs);
  // Beside node a there is one with four GPUs.
  work.write("nodes.txt", std::string(kNodes) + "NodeName=b CPUTot=8 Gres=gpu:a100:4 State=IDLE\n");
  const json big = answer_of("--policy fifo --samples 10 --job 2", work);
  CHECK(big["jobs"][0]["start"] == times(30, 30));
  CHECK(big["suggestions"] ==
        json::array({{{"change", "4 GPUs"}, {"price", "takes 2 times as long"}, {"start", times(0, 0)}}}));
  // Job 3 fits now, and waits behind job 2 under fifo alone.
  const json half = answer_of("--policy fifo --samples 10 --job 3", work);
  CHECK(half["suggestions"] == json::array());
  CHECK(half["jobs"][0]["ahead"] == json::array());
}

TEST_CASE("eta: the text says what happens, and bad input is refused with its place") {
  const TemporaryFolder work;
  work.write("jobs.txt", kJobs);
  work.write("nodes.txt", kNodes);
  const auto text = run_vtrain("eta --now jobs.txt nodes.txt --policy fifo --report page.html", work.path());
  const std::string page = slurp(work / "page.html");
  CHECK(page.find("2: starts in 30 m 00 s (nine in ten times within 30 m 00 s), ends in 1 h 00 m") !=
        std::string::npos);
  CHECK(page.find("held by its user") != std::string::npos);
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("Under fifo, 0 of 2 pending jobs that can start do so now, the last, 3, in 1 h 00 m") !=
        std::string::npos);
  CHECK(text.out.find("1 job can't start until somebody acts.") != std::string::npos);

  const auto problem = [&work](const std::string& options) {
    const auto result = run_vtrain("eta " + options, work.path());
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK(problem("--now jobs.txt").find("expected nodes with GPUs") != std::string::npos);
  CHECK(problem("--now jobs.txt nodes.txt --policy edf").find("a policy that can begin with") !=
        std::string::npos);
  CHECK(problem("--now jobs.txt nodes.txt --job 17")
            .find("expected a pending job that can start, found '17'") != std::string::npos);
  CHECK(problem("--now jobs.txt nodes.txt --at noon").find("--at: expected a time") != std::string::npos);
  work.write("cut.json", "{\"jobs\": [{\"job_id\": 1");
  CHECK(problem("--now cut.json").find("cut.json:1:") != std::string::npos);
  work.write("full.txt", "NodeName=a CPUTot=8 Gres=gpu:a100:4 State=MIXED AllocTRES=gres/gpu=8\n");
  CHECK(problem("--now jobs.txt full.txt").find("a: 8 of 4 GPUs are in use") != std::string::npos);
}

TEST_CASE("eta: a back-test of a queue that keeps to its limits has no errors") {
  const TemporaryFolder work;
  // One GPU, a job of 100 s every 90 s: job i starts at 100 i, after a wait of 10 i.
  std::string log = "job_id,tenant,submit_s,num_gpus,duration_s,requested_s,original_start_s\n";
  for (int i = 0; i < 80; ++i) {
    log +=
        std::to_string(i) + ",t," + std::to_string(90 * i) + ",1,100,100," + std::to_string(100 * i) + "\n";
  }
  work.write("log.csv", log);
  const json test = run_json("eta --backtest log.csv --cluster 1x1:a100 --policy fifo --samples 5", work);
  // When job i comes, the jobs k with 100 (k + 1) <= 90 i have ended: thirty of them from job 34 on.
  CHECK(test["submissions"] == 46);
  CHECK(test["at_once"] == 0);
  const json& ours = test["methods"][0];
  CHECK(ours["method"] == "vtrain");
  CHECK(ours["median_error_s"] == 0);
  CHECK(ours["p90_error_s"] == 0);
  CHECK(ours["within_p90"] == 1);
  CHECK(ours["waited_within_p50"] == 1);
  CHECK(test["methods"][1]["p90_error_s"] == 0);
  // The jobs that started in the last day waited (0 + … + 10 (n − 1)) / n on average, too little for all.
  CHECK(test["methods"][2]["mean_bias_s"].get<double>() < -250);

  const auto problem = [&work](const std::string& options) {
    const auto refused = run_vtrain("eta --backtest " + options, work.path());
    CHECK(refused.exit_code == 2);
    return refused.err;
  };
  CHECK(problem("log.csv --policy fifo").find("--cluster: missing") != std::string::npos);
  work.write("without.csv", "job_id,tenant,submit_s,num_gpus,duration_s\n1,t,0,1,10\n");
  CHECK(problem("without.csv --cluster 1x1:a100").find("expected a log with recorded starts") !=
        std::string::npos);
}

TEST_CASE("eta: a model that a job names gives its run time, with the predictor's interval as spread") {
  const TemporaryFolder work;
  work.write("nodes.txt", "NodeName=a CPUTot=8 Gres=gpu:h100:8 State=ALLOCATED AllocTRES=cpu=8,gres/gpu=8\n");
  std::string jobs = kJobs;
  const std::string limit = "TimeLimit=01:00:00";
  jobs.replace(jobs.find(limit), limit.size(),
               "Comment=vtrain: model=llama3.1-8b global_batch=64 iterations=5000 TimeLimit=UNLIMITED");
  work.write("jobs.txt", jobs);
  const json plan = run_json("plan llama3.1-8b --cluster 1x8:h100 --global-batch 64", work)["best"];
  const double low = plan["iteration_time_interval_s"]["low"].get<double>();
  const double high = plan["iteration_time_interval_s"]["high"].get<double>();
  // The median of a log-normal time is the root of the product of its ends.
  const double median = 5000 * std::sqrt(low * high);
  const json answer = answer_of("--policy fifo --samples 2000", work);
  CHECK(answer["assumptions"][0] == "run times from: model for 1 job, time limit for 2 jobs");
  // Job 1 has held its GPUs since 10:00, far less than any of its times.
  const double start = answer["jobs"][0]["start"]["p50"].get<double>() - kNow + 30 * kMinute;
  CHECK(start == doctest::Approx(median).epsilon(0.03));
  // A tenth of normal variables is above 1.2816 standard deviations, a twentieth above 1.6449.
  const double p90 = median * std::exp(std::log(high / low) / 2 * 1.2816 / 1.6449);
  CHECK(answer["jobs"][0]["start"]["p90"].get<double>() - kNow + 30 * kMinute ==
        doctest::Approx(p90).epsilon(0.04));

  // A row of a file goes before the comment; a pattern finds jobs by name. Limits end jobs.
  work.write("models.csv",
             "job,model,global_batch,tokens,iterations,plan\n"
             "1,llama3.1-8b,64,,100,\n"
             "ha*f,llama3.1-8b,,1t,,\n"
             "other,llama3.1-8b,,1t,,\n");
  const json rows = answer_of("--policy fifo --models models.csv", work);
  CHECK(rows["assumptions"][0] == "run times from: model for 2 jobs, time limit for 1 job");
  CHECK(rows["jobs"][1]["run_time_from"] == "model");
  // A trillion tokens on four GPUs take longer than its limit of two hours.
  CHECK(rows["jobs"][1]["run_time_s"] == json{{"p5", 7200.0}, {"p50", 7200.0}, {"p95", 7200.0}});
  const std::string assumed = rows["assumptions"].dump();
  CHECK(assumed.find("jobs that end at their limits before the predicted end") != std::string::npos);
  CHECK(assumed.find("rows of --models that no job matches") != std::string::npos);
}

TEST_CASE("eta: comments may have the service's id and deadline, and quotes around values") {
  const TemporaryFolder work;
  work.write("nodes.txt", kNodes);
  const auto answer_with = [&](const std::string& comment) {
    std::string jobs = kJobs;
    const std::string limit = "TimeLimit=00:30:00";
    jobs.replace(jobs.find(limit), limit.size(), "Comment=" + comment + " TimeLimit=UNLIMITED");
    work.write("jobs.txt", jobs);
    return answer_of("--policy fifo --samples 10", work);
  };
  const json plain = answer_with("vtrain: model=llama3.1-8b global_batch=64 iterations=5000");
  CHECK(plain["jobs"][0]["run_time_from"] == "model");
  CHECK(answer_with("vtrain: job=17 model=llama3.1-8b deadline=10d global_batch=64 iterations=5000") ==
        plain);
  CHECK(answer_with("vtrain: job=17 model=\"llama3.1-8b\" iterations=5000  global_batch=\"64\" plan=\"\"") ==
        plain);
}

TEST_CASE("eta: a model that tells no run time is counted, and the next source takes its place") {
  const TemporaryFolder work;
  work.write("nodes.txt", kNodes);
  const auto assumed_with = [&](const std::string& comment, const std::string& nodes) {
    std::string jobs = kJobs;
    jobs.replace(jobs.find("TimeLimit=00:30:00"), 0, "Comment=" + comment + " ");
    work.write("jobs.txt", jobs);
    work.write("nodes.txt", nodes);
    const json answer = answer_of("--policy fifo --samples 10", work);
    CHECK(answer["jobs"][0]["run_time_from"] == "time limit");
    CHECK(answer["jobs"][0]["end"] == times(60, 60));
    return answer["assumptions"].dump();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(assumed_with("vtrain: model=lama9 tokens=1B", kNodes), "not understood: model: "));
  CHECK(has(assumed_with("vtrain: model=llama3.1-8b", kNodes), "tokens: missing, as are iterations"));
  CHECK(has(assumed_with("vtrain: model=llama3.1-8b tokens=1B speed=9", kNodes), "found 'speed=9'"));
  CHECK(has(assumed_with("vtrain: model=llama3.1-8b tokens=1B deadline=1d deadline=2d", kNodes),
            "deadline: expected once"));
  CHECK(has(assumed_with("vtrain: model=llama3.1-8b tokens=\"1B", kNodes), "quote"));
  CHECK(has(assumed_with("vtrain: model=llama3.1-8b tokens=\"1B\"M", kNodes), "quote"));
  CHECK(has(assumed_with("vtrain: model=llama3.1-405b global_batch=8 iterations=9", kNodes),
            "model tells no run time: llama3.1-405b on 8 GPUs: "));
  const std::string unknown = "NodeName=a CPUTot=8 Gres=gpu:q7:8 State=ALLOCATED AllocTRES=gres/gpu=8\n";
  CHECK(has(assumed_with("vtrain: model=llama3.1-8b tokens=1B", unknown), "no profile of GPUs 'q7'"));
  CHECK(has(assumed_with("vtrain: model=llama3.1-8b global_batch=8 iterations=9 plan=tensor=3,micro-batch=1",
                         kNodes),
            "tensor 3"));
  // Comments without the word are other people's.
  CHECK(!has(assumed_with("model=llama3.1-8b", kNodes), "model"));
}

TEST_CASE("eta: bad rows of --models are refused with file, line and field") {
  const TemporaryFolder work;
  work.write("jobs.txt", kJobs);
  work.write("nodes.txt", kNodes);
  const auto problem = [&work](const std::string& table) {
    work.write("models.csv", table);
    const auto result = run_vtrain("eta --now jobs.txt nodes.txt --models models.csv", work.path());
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(problem("job,tokens\n1,1B\n"), "model"));
  CHECK(has(problem("job,model,speed\n1,llama3-8b,1\n"), "models.csv: speed: expected job, model"));
  CHECK(has(problem("job,model,tokens\n1,lama,1B\n"), "models.csv:2: model: "));
  CHECK(has(problem("job,model,tokens\n1,llama3-8b,-1B\n"), "models.csv:2: tokens: "));
  CHECK(has(problem("job,model,iterations\n1,llama3-8b,0\n"), "models.csv:2: iterations: "));
  CHECK(has(problem("job,model,tokens,iterations\n1,llama3-8b,1B,5\n"), "one of them is enough"));
  CHECK(has(problem("job,model,tokens\n1,llama3-8b,1B\n1,llama3-8b,2B\n"),
            "models.csv:3: job: '1' comes twice"));
  CHECK(has(problem("job,model,tokens\n,llama3-8b,1B\n"), "models.csv:2: job: missing"));
  CHECK(has(problem("job,model,tokens\n1,llama3-8b\n"), "models.csv:2: "));
  CHECK(has(problem("job,model,tokens,plan\n1,llama3-8b,1B,tensor\n"), "models.csv:2: plan: "));
}

TEST_CASE("eta: another plan and fewer GPUs come with predicted times") {
  const TemporaryFolder work;
  // Node a is full until 11:00, node b has four free GPUs.
  work.write("nodes.txt",
             "NodeName=a CPUTot=8 Gres=gpu:h100:8 State=ALLOCATED AllocTRES=gres/gpu=8\n"
             "NodeName=b CPUTot=8 Gres=gpu:h100:4 State=IDLE\n");
  work.write("jobs.txt", kJobs);
  work.write("models.csv",
             "job,model,global_batch,iterations,plan\n"
             "2,llama3.1-8b,64,100,\"tensor=8,micro-batch=1,recompute=full\"\n");
  const json answer = answer_of("--policy fifo --samples 10 --job 2 --models models.csv", work);
  const json& found = answer["suggestions"];
  REQUIRE(found.size() == 2);
  CHECK(found[0]["change"].get<std::string>().starts_with("the plan tensor 1, pipeline 4"));
  CHECK(found[0]["price"].get<std::string>().starts_with("takes "));
  CHECK(found[0]["start"] == times(30, 30));
  CHECK(found[1]["change"] == "4 GPUs");
  CHECK(found[1]["price"].get<std::string>().find(" in place of ") != std::string::npos);
  CHECK(found[1]["start"] == times(0, 0));
}

TEST_CASE("eta: a back-test compares with the scheduler's own estimates") {
  const TemporaryFolder work;
  // The queue above as sacct tells it. The scheduler's estimates are 40 s late; it has them for odd jobs.
  const auto clock = [](int seconds) {
    return fmt::format("2026-01-05T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  };
  std::string log = "JobID|User|State|Submit|Start|End|Timelimit|NNodes|AllocTRES\n";
  std::string estimates = "JOBID|STATE|SUBMIT_TIME|START_TIME\n";
  for (int i = 0; i < 80; ++i) {
    log += fmt::format("{}|u|COMPLETED|{}|{}|{}|00:01:40|1|node=1,gres/gpu=1\n", i + 1, clock(90 * i),
                       clock(100 * i), clock(100 * i + 100));
    estimates += fmt::format("{}|PENDING|{}|{}\n", i + 1, clock(90 * i),
                             i % 2 == 0 ? clock(100 * i + 40) : std::string("N/A"));
  }
  work.write("sacct.txt", log);
  work.write("estimates.txt", estimates);
  const json test = run_json(
      "eta --backtest sacct.txt --estimates estimates.txt --cluster 1x1:a100 --policy fifo --samples 5",
      work);
  const json& own = test["methods"][3];
  CHECK(own["method"] == "the scheduler's own");
  CHECK(own["estimates"] == test["submissions"].get<int>() / 2);
  CHECK(own["mean_bias_s"] == 40);
  CHECK(own["median_error_s"] == 40);

  work.write("log.csv", "job_id,tenant,submit_s,num_gpus,duration_s,original_start_s\n1,t,0,1,10,0\n");
  const auto refused =
      run_vtrain("eta --backtest log.csv --estimates estimates.txt --cluster 1x1:a100", work.path());
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("--estimates: expected a log with dates") != std::string::npos);
}
