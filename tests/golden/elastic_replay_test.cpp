/// Elastic replays with the predictor's curves through the command line: they must agree with `vtrain plan`,
/// for any predictor.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::unwrapped;

namespace {

constexpr const char* kHeader = "job_id,submit_s,num_gpus,model,global_batch,iterations,deadline_s\n";
/// Options of an elastic replay with slots of one second.
constexpr const char* kElastic = "--cluster 8x8:a100 --policy elasticflow:slot=1s ";

/// Iteration time, seconds, of gpt3-1.3b with a batch of 64 and the fastest plan on `gpus` GPUs.
double iteration_s(const std::string& gpus) {
  const TemporaryFolder work;
  const json plans = run_json("plan gpt3-1.3b --global-batch 64 --gpus " + gpus, work);
  return plans["best"].at("iteration_time_s");
}

json replay(const std::string& rows, const std::string& more) {
  const TemporaryFolder work;
  work.write("jobs.csv", kHeader + rows);
  return run_json("replay --trace jobs.csv " + more, work);
}

}  // namespace

TEST_CASE("elastic replay: a job alone takes as many GPUs as help it; rigid it keeps those asked for") {
  const std::string job = "a,0,8,gpt3-1.3b,64,10000,1000000\n";
  const double fastest = iteration_s("1-64") * 10000;
  const double asked = iteration_s("8") * 10000;
  REQUIRE(fastest < asked / 2);
  const double elastic = replay(job, kElastic)["avg_jct_s"];
  CHECK(elastic >= fastest - 1e-6);
  CHECK(elastic <= fastest + 1);
  for (const std::string& rigid :
       {std::string(kElastic) + "--curves none", std::string("--cluster 8x8:a100 --policy fifo")}) {
    const double jct = replay(job, rigid)["avg_jct_s"];
    CHECK(jct >= asked - 1e-6);
    CHECK(jct <= asked + 1);
  }
  // max_gpus binds.
  const TemporaryFolder work;
  work.write(
      "jobs.csv",
      "job_id,submit_s,num_gpus,max_gpus,model,global_batch,iterations\na,0,8,16,gpt3-1.3b,64,10000\n");
  const double bound = run_json(std::string("replay --trace jobs.csv ") + kElastic, work)["avg_jct_s"];
  CHECK(bound == doctest::Approx(iteration_s("16") * 10000).epsilon(0.01));
}

TEST_CASE(
    "elastic replay: a deadline that only more GPUs can meet is met; one that nothing can meet is refused") {
  const double fastest = iteration_s("1-64") * 10000;
  const double between = fastest * 1.3 + 10;
  REQUIRE(between < iteration_s("8") * 10000);
  const std::string rows = fmt::format("a,0,8,gpt3-1.3b,64,10000,{:.0f}\n", between) +
                           fmt::format("b,100000,8,gpt3-1.3b,64,10000,{:.0f}\n", 100000 + fastest * 0.9);
  const json elastic = replay(rows, kElastic);
  CHECK(elastic["deadline_met"] == 1);
  CHECK(elastic["rejected"] == 1);
  const json rigid = replay(rows, "--cluster 8x8:a100 --policy edf:resize=no --curves best-plan");
  CHECK(rigid["deadline_met"] == 0);
  CHECK(rigid["completed"] == 2);
}

TEST_CASE(
    "elastic replay: two that share the cluster do the same work as each alone, data-parallel no faster") {
  const std::string rows =
      "a,0,8,gpt3-1.3b,64,10000,1000000\n"
      "b,0,16,gpt3-6.7b,256,500,1000000\n";
  const json best = replay(rows, kElastic);
  const json again = replay(rows, kElastic);
  CHECK(best["completed"] == 2);
  CHECK(best["avg_jct_s"] == again["avg_jct_s"]);
  // A policy that counts costs leaves GPUs idle where growth does not pay, so that makespans say nothing.
  const std::string growing = "--cluster 8x8:a100 --policy elasticflow:slot=1s,costs=free ";
  const json data_parallel = replay(rows, growing + "--curves data-parallel");
  CHECK(data_parallel["completed"] == 2);
  CHECK(data_parallel["makespan_s"] >= replay(rows, growing)["makespan_s"]);
}

TEST_CASE("elastic replay: a job that a failure has made late keeps nobody out") {
  const TemporaryFolder work;
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,duration_s,deadline_s\n"
             "late,0,1,10000,10500\ns1,5000,1,100,7000\ns2,6000,1,100,8000\ns3,12000,1,100,14000\n"
             "never,12000,1,3000,14000\n");
  work.write("outages.csv", "node,begin_s,end_s\n0,5500,5600\n");
  const auto replayed = run_vtrain(
      "replay --trace jobs.csv --cluster 4x8 --placement yarn --policy elasticflow --outages outages.csv "
      "--json",
      work.path());
  REQUIRE(replayed.exit_code == 0);
  const json summary = json::parse(replayed.out);
  CHECK(summary["completed"] == 4);
  CHECK(summary["rejected_by_policy"] == 1);
  CHECK(summary["deadline_met"] == 3);
  CHECK(summary["skipped_rows"] == 0);
  CHECK(summary["assumptions"].size() > 0);
}

TEST_CASE("elastic replay: what was assumed is said, on paper and in run.json") {
  const TemporaryFolder work;
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,duration_s,model,global_batch,iterations\n"
             "a,0,8,100000,gpt3-1.3b,64,10000\n"
             "b,0,29,100000,gpt3-1.3b,64,10000\n"
             "c,0,8,100000,gpt3-175b,1536,10000\n"
             "d,0,8,100000,,,\n");
  const auto told =
      run_vtrain("replay --trace jobs.csv --cluster 8x8:a100 --policy elasticflow --out out", work.path());
  CAPTURE(told.err);
  REQUIRE(told.exit_code == 0);
  const json run = json::parse(slurp(work.path() / "out" / "run.json"));
  const std::string assumed = run["assumptions"].dump();
  for (const std::string& sentence :
       {std::string(
            "2 of 4 jobs elastic as predicted for the best plan on each number of GPUs, profile a100"),
        std::string("run times of 1 job with a model as in the trace; "),
        std::string("1 elastic job on a number of GPUs that no plan uses fully: the rest idles"),
        std::string("1 job of a known model without a plan on the GPUs requested: rigid")}) {
    CAPTURE(sentence);
    CHECK(told.out.find(sentence) != std::string::npos);
    CHECK(assumed.find(sentence) != std::string::npos);
  }
  CHECK(assumed.find("predicted with profile a100, stack megatron-core they would be ") != std::string::npos);
  CHECK(assumed.find("(elastic policies use that; for all policies: --run-times predicted)") !=
        std::string::npos);
  // Rigid policies need none of this, and with --strict it is an error.
  const auto rigid = run_vtrain("replay --trace jobs.csv --cluster 8x8:a100 --policy fifo", work.path());
  CHECK(rigid.out.find("elastic") == std::string::npos);
  CHECK(rigid.out.find("--run-times predicted)") != std::string::npos);
  const auto priced = run_vtrain(
      "replay --trace jobs.csv --cluster 8x8:a100 --policy fifo --run-times predicted", work.path());
  CHECK(priced.exit_code == 0);
  CHECK(priced.out.find("run times, and requested times with them, as predicted for 1 job") !=
        std::string::npos);
  CHECK(priced.out.find("run times of the trace for 2 jobs whose model has no plan on") != std::string::npos);
  CHECK(priced.out.find("--run-times predicted)") == std::string::npos);
  CHECK(run_vtrain("compare --run-times predicted", work.path()).err.find("--run-times: needs --trace") !=
        std::string::npos);
  const auto strict =
      run_vtrain("replay --trace jobs.csv --cluster 8x8:a100 --policy elasticflow --strict", work.path());
  CHECK(strict.exit_code == 2);
  CHECK(strict.err.find(
            "job 'b': model 'gpt3-1.3b' with a global batch of 64 cannot be divided over exactly 29 GPUs") !=
        std::string::npos);
}

TEST_CASE(
    "elastic replay: the profile is that of the cluster's GPUs, and a job that cannot run is an error") {
  const std::string job = "a,0,8,gpt3-1.3b,64,10000,1000000\n";
  const double a100 = replay(job, "--cluster 8x8:a100 --policy fifo")["avg_jct_s"];
  const double h100 = replay(job, "--cluster 8x8:H100 --policy fifo")["avg_jct_s"];
  CHECK(h100 < a100 / 1.5);
  CHECK(replay(job, "--cluster 8x8:h100 --profile a100 --policy fifo")["avg_jct_s"] == a100);
  const json other = replay(job, "--cluster 8x8:k80 --profile a100 --policy fifo");
  CHECK(other["avg_jct_s"] == a100);
  const TemporaryFolder work;
  work.write("jobs.csv", std::string(kHeader) + "a,0,8,gpt3-175b,1536,100,\n");
  const auto result =
      run_vtrain("replay --trace jobs.csv --cluster 8x8:a100 --policy elasticflow --out out", work.path());
  CHECK(result.exit_code == 2);
  CHECK(result.err.find("job 'a': model 'gpt3-175b' does not fit on 8 GPUs") != std::string::npos);
  CHECK(!std::filesystem::exists(work.path() / "out"));
}

TEST_CASE("elastic replay: a job that names a type of GPUs is priced on that type") {
  const auto jct_s = [](const std::string& gpu_type, const std::string& more) {
    const TemporaryFolder work;
    work.write("jobs.csv", "job_id,submit_s,num_gpus,gpu_type,model,global_batch,iterations\na,0,8," +
                               gpu_type + ",gpt3-1.3b,64,1000\n");
    const json summary = run_json("replay --trace jobs.csv --cluster 1x8:a100+1x8:h100 " + more, work);
    return summary["avg_jct_s"].get<double>();
  };
  const auto near = [](double seconds) { return doctest::Approx(seconds).epsilon(1e-6); };
  const double a100 = iteration_s("8") * 1000;
  const double h100 = iteration_s("8 --profile h100") * 1000;
  REQUIRE(h100 < a100);
  CHECK(jct_s("a100", "--policy fifo") == near(a100));
  CHECK(jct_s("h100", "--policy fifo --placement yarn") == near(h100));
  CHECK(jct_s("", "--policy fifo") == near(a100));  // as on the first type
  CHECK(jct_s("h100", "--policy fifo --profile a100") == near(a100));
  CHECK(jct_s("a100", "--policy fifo --stack megatron-core") ==
        near(iteration_s("8 --stack megatron-core") * 1000));
  // Eight GPUs of a type are all that it may use, and all that help most.
  CHECK(jct_s("h100", "--policy elasticflow:slot=1s --deadlines 3") <= h100 + 1);
}

TEST_CASE("elastic replay: under max_gpus, too, a job gets no GPUs on which it is predicted to be slower") {
  const TemporaryFolder work;
  const auto makespan_s = [&](const std::string& max_gpus, const std::string& policy) {
    work.write("jobs.csv", "job_id,submit_s,num_gpus,max_gpus,model,global_batch,iterations\n0,0,12," +
                               max_gpus + ",gpt2-1.5b,64,100000\n");
    const json summary =
        run_json("replay --trace jobs.csv --cluster 16x8:h100 --deadlines none --policy " + policy, work);
    return summary["makespan_s"].get<double>();
  };
  const double edf = makespan_s("12", "edf");
  REQUIRE(makespan_s("12", "fifo") > edf * 1.01);
  CHECK(makespan_s("12", "elasticflow:slot=1s") == doctest::Approx(edf).epsilon(1e-3));
}

TEST_CASE(
    "elastic replay: a job larger than the cluster is rejected, whether or not a plan divides over it") {
  const TemporaryFolder work;
  const std::string header = "job_id,submit_s,num_gpus,model,global_batch,iterations\n";
  const std::string fits = "fits,0,8,llama3-8b,512,10\n";
  for (const std::string cluster : {"8x8:h100", "4x8:h100+4x8:a100"}) {
    for (const std::string policy : {"fifo", "easy", "srtf", "las", "edf-admission", "elasticflow"}) {
      CAPTURE(cluster);
      CAPTURE(policy);
      work.write("jobs.csv", header + fits + "large,1,1000000,llama3-8b,512,10\n");
      const auto replayed =
          run_vtrain("replay --trace jobs.csv --cluster " + cluster +
                         " --estimates factor:2 --json --policy " + policy + " --deadlines 10 --out out",
                     work.path());
      REQUIRE_MESSAGE(replayed.exit_code == 0, replayed.err);
      const json summary = json::parse(replayed.out);
      CHECK(summary["completed"] == 1);
      CHECK(summary["rejected"] == 1);
      CHECK(summary["assumptions"].dump().find(
                "no run time of 1 job: more GPUs than the cluster has, and no plan on that number") !=
            std::string::npos);
    }
  }
  work.write("jobs.csv", header + "large,1,1000000,llama3-8b,512,10\n");
  const auto strict =
      run_vtrain("replay --trace jobs.csv --cluster 8x8:h100 --policy fifo --strict", work.path());
  CHECK(strict.exit_code == 2);
  CHECK(strict.err.find("job 'large': expected at most 64, the GPUs of the cluster, found '1000000'") !=
        std::string::npos);
  // One that would have room is an error, and so is a model that nobody knows.
  work.write("jobs.csv", header + fits + "odd,1,63,llama3-8b,512,10\n");
  const auto odd = run_vtrain("replay --trace jobs.csv --cluster 8x8:h100 --policy fifo", work.path());
  CHECK(odd.exit_code == 2);
  CHECK(odd.err.find("cannot be divided over exactly 63 GPUs") != std::string::npos);
  work.write("jobs.csv", header + fits + "unknown,1,1000000,llama3-8,512,10\n");
  const auto unknown = run_vtrain("replay --trace jobs.csv --cluster 8x8:h100 --policy fifo", work.path());
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("job 'unknown': unknown model 'llama3-8'") != std::string::npos);
}

TEST_CASE("elastic replay: --assign leaves jobs alone on whose GPUs the model has no plan") {
  const TemporaryFolder work;
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,duration_s\nsmall,0,1,1000\nlarge,0,16,1000\nother,0,1,500\n");
  const std::string assign =
      "replay --trace jobs.csv --cluster 8x8:h100 --policy fifo --out out --assign model=llama3-8b";
  const auto told = run_vtrain(assign + ",global-batch=512", work.path());
  REQUIRE_MESSAGE(told.exit_code == 0, told.err);
  CHECK(unwrapped(told.out).find("llama3-8b with global batch 512 for 1 of 3 jobs, seed 1 (synthetic; ") !=
        std::string::npos);
  CHECK(unwrapped(told.out).find("; 2 without a plan on the GPUs asked for as in the trace") !=
        std::string::npos);
  const std::string jobs = slurp(work.path() / "out" / "jobs.csv");
  CHECK(jobs.find("large,,,,,,,llama3-8b,0,0,") != std::string::npos);
  CHECK(jobs.find("small,,,,,,,,0,0,1000,1000,completed,1,") != std::string::npos);
  CHECK(jobs.find("other,,,,,,,,0,0,500,500,completed,1,") != std::string::npos);
  // Where it has one on none of the jobs nothing was assigned.
  const auto none = run_vtrain(
      "replay --trace jobs.csv --cluster 8x8:h100 --policy fifo --assign model=gpt3-175b", work.path());
  CHECK(none.exit_code == 1);
  CHECK(none.err.find("job 'small': model 'gpt3-175b' does not fit on 1 GPU") != std::string::npos);
}
