/// Speed of jobs on their gangs, through the command line. It must agree with `vtrain predict` for a plan on
/// one node and on halves of two nodes.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "core/io/csv.hpp"
#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::unwrapped;

namespace {

/// Writes the profile of an A100 on nodes that a gang shares with others. `ranks_together` of its ranks are
/// connected by NVLink, and have their part of the node's network.
void write_profile(const TemporaryFolder& work, int ranks_together) {
  const auto embedded = std::filesystem::path(VTRAIN_CASES_DIR) / "../../../core/profiles/a100.json";
  json profile = json::parse(slurp(embedded));
  json& constants = profile["constants"];
  json& bandwidth = constants["node_network_bandwidth"]["value"];
  bandwidth = bandwidth.get<double>() * ranks_together / constants["gpus_per_node"]["value"].get<int>();
  constants["gpus_per_node"]["value"] = ranks_together;
  constants["nvlink_domain"]["value"] = ranks_together;
  profile["name"] = "part of a node";
  work.write("part.json", profile.dump());
}

/// Seconds an iteration of GPT 1.3B takes with the best plan for `num_gpus` A100.
double iteration_s(const TemporaryFolder& work, int num_gpus, const std::string& profile) {
  run_json("plan gpt3-1.3b --global-batch 64 --profile a100 --out best.json --force --gpus " +
               std::to_string(num_gpus),
           work);
  return run_json("predict best.json --profile " + profile, work)["iteration_time_s"];
}

/// Seconds an iteration of GPT 1.3B takes on 2 GPUs with its best plan.
double best_plan_s(const TemporaryFolder& work, const std::string& profile) {
  const json plan = run_json("plan gpt3-1.3b --global-batch 64 --gpus 2 --profile " + profile, work);
  return plan["best"]["iteration_time_s"];
}

/// The JCT of each job in `jobs.csv`, seconds.
std::map<std::string, double> jct_s(const TemporaryFolder& work) {
  std::map<std::string, double> jcts;
  const std::string text = slurp(work.path() / "out" / "jobs.csv");
  auto rows = vtrain::CsvReader::open(text, "jobs.csv");
  REQUIRE(rows.has_value());
  const int job = *rows->require_column("job_id");
  const int jct = *rows->require_column("jct_s");
  while (*rows->next())
    jcts[std::string(rows->field(job))] = std::stod(std::string(rows->field(jct)));
  return jcts;
}

constexpr const char* kHeader =
    "job_id,submit_s,num_gpus,gpu_type,duration_s,model,global_batch,iterations\n";

}  // namespace

TEST_CASE("gang speed: the same job on one node and on two takes what vtrain predict says of each") {
  for (const int on_a_node : {1, 2}) {
    CAPTURE(on_a_node);
    const TemporaryFolder work;
    const int gpus = 2 * on_a_node;
    const double packed = iteration_s(work, gpus, "a100") * 1000;
    write_profile(work, on_a_node);
    const double spread = iteration_s(work, gpus, "part.json") * 1000;
    REQUIRE(spread > packed * 1.02);
    // Two jobs leave so many GPUs of each node free; the last one comes when they have gone.
    const std::string other = std::to_string(8 - on_a_node);
    const std::string job = std::to_string(gpus) + ",,,gpt3-1.3b,64,1000\n";
    work.write("jobs.csv", kHeader + ("a,0," + other + ",,50000,,,\nb,0," + other + ",,50000,,,\n") +
                               "torn,10," + job + "whole,60000," + job);
    for (const std::string& policy :
         {std::string("fifo"), std::string("edf"), std::string("elasticflow:slot=1s")}) {
      CAPTURE(policy);
      // The policies that change sizes keep this one: no more GPUs than asked for.
      const json summary = run_json(
          "replay --trace jobs.csv --cluster 2x8:a100 --placement consolidate --deadlines none --out out "
          "--curves " +
              std::string(policy == "fifo" ? "best-plan" : "none") + " --policy " + policy,
          work);
      const auto jcts = jct_s(work);
      // elasticflow decides at whole seconds and books ends that it did not foresee at the next.
      const double tolerance = policy == "fifo" || policy == "edf" ? 1e-5 : 2;
      CHECK(std::abs(jcts.at("torn") - spread) <= tolerance);
      CHECK(std::abs(jcts.at("whole") - packed) <= tolerance);
      // GPU-hours: all of the time by which it took longer.
      CHECK(summary["disruptions"]["lost_gpu_hours"]["spread"].get<double>() ==
            doctest::Approx((spread - packed) * gpus / 3600).epsilon(1e-3));
    }
    // Without nodes nothing is known of links; on the fewest nodes nothing changes.
    for (const char* placement : {"count", "consolidate-strict"}) {
      run_json("replay --trace jobs.csv --cluster 3x8:a100 --out out --policy fifo --placement " +
                   std::string(placement),
               work);
      CHECK(jct_s(work).at("torn") == doctest::Approx(packed).epsilon(1e-9));
    }
  }
}

TEST_CASE("gang speed: jobs are priced in the nodes and islands of their cluster, as plans are") {
  const TemporaryFolder work;
  work.write("jobs.csv", kHeader + std::string("a,0,32,,,llama2-70b,64,1000\n"));
  work.write(
      "islands.json",
      R"({"groups": [{"num_nodes": 8, "gpus_per_node": 8, "gpu_type": "h100", "gpus_per_island": 2}]})");
  std::map<std::string, double> times;
  for (const std::string cluster : {"8x8:h100", "32x2:h100", "islands.json"}) {
    const json plan = run_json("plan llama2-70b --gpus 32 --global-batch 64 --cluster " + cluster, work);
    times[cluster] = plan["best"]["iteration_time_s"].get<double>();
    for (const char* placement : {"count", "consolidate"}) {
      run_json("replay --trace jobs.csv --policy fifo --out out --cluster " + cluster + " --placement " +
                   std::string(placement),
               work);
      CHECK(jct_s(work).at("a") == doctest::Approx(times[cluster] * 1000).epsilon(1e-9));
    }
  }
  CHECK(times["32x2:h100"] > 1.1 * times["8x8:h100"]);
  CHECK(times["islands.json"] > 1.1 * times["8x8:h100"]);
}

TEST_CASE("gang speed: a job that asks for no type has the speed of the type that it gets") {
  const TemporaryFolder work;
  const double a100 = best_plan_s(work, "a100") * 1000;
  const double h100 = best_plan_s(work, "h100") * 1000;
  REQUIRE(h100 < a100 / 1.5);
  // The first job fills the only node of A100.
  work.write("jobs.csv", kHeader + std::string("a,0,8,,100000,,,\nb,1,2,,,gpt3-1.3b,64,1000\n"));
  const auto replayed = run_vtrain(
      "replay --trace jobs.csv --cluster 1x8:a100+1x8:h100 --policy fifo --placement yarn --out out",
      work.path());
  REQUIRE_MESSAGE(replayed.exit_code == 0, replayed.err);
  CHECK(jct_s(work).at("b") == doctest::Approx(h100).epsilon(1e-7));
  CHECK(replayed.out.find("speed of 1 job predicted for the GPU type and the nodes of each gang") !=
        std::string::npos);
  // What priced jobs is named for every type.
  const std::string provenance = slurp(work.path() / "out" / "run.json");
  const std::size_t of_a100 = provenance.find("profile a100, stack megatron-");
  REQUIRE(of_a100 != std::string::npos);
  CHECK(provenance.find("; profile h100, stack megatron-", of_a100) != std::string::npos);
  run_json("replay --trace jobs.csv --cluster 1x8:a100+1x8:h100 --policy fifo --out out", work);
  CHECK(jct_s(work).at("b") == doctest::Approx(a100).epsilon(1e-7));
}

TEST_CASE("gang speed: what the predictor does not know of gangs is said") {
  const TemporaryFolder work;
  work.write("jobs.csv",
             kHeader + std::string("a,0,2,,,gpt3-1.3b,64,1000\nb,0,16,,1000,gpt3-175b,1536,10\n"));
  const auto said = [&](const std::string& arguments, const std::string& sentence) {
    const auto result = run_vtrain("replay --trace jobs.csv --out out " + arguments, work.path());
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    return unwrapped(result.out).find(sentence) != std::string::npos;
  };
  const std::string nodes =
      "profile a100 is of nodes of 8 GPUs, the cluster's have 4: each GPU has as much of the network as "
      "there, "
      "and NVLink joins 4";
  CHECK(said("--cluster 8x4:A100 --placement yarn --policy fifo", nodes));
  CHECK(said("--cluster 8x4:A100 --policy fifo", nodes));
  CHECK(!said("--cluster 8x8:A100 --placement yarn --policy fifo", "profile a100 is of nodes"));
  CHECK(run_vtrain("replay --trace jobs.csv --cluster 8x8:A100 --profile h100 --policy fifo", work.path())
            .err.find("--profile h100 takes the place of the cluster's A100") != std::string::npos);
  const std::string las = "under elasticflow-las the placement of a gang does not change its speed";
  CHECK(said("--cluster 4x8:a100 --placement consolidate --policy elasticflow-las", las));
  CHECK(!said("--cluster 4x8:a100 --placement yarn --policy elasticflow-las", las));
  const std::string plan = "no plan for 1 job on some GPU types that they may get";
  CHECK(said("--cluster 4x8:a100+4x8:h100 --placement yarn --policy fifo", plan));
  const std::string alone = "no plan for 1 job on the GPUs requested: placement does not change their speed";
  CHECK(said("--cluster 4x8:a100 --placement consolidate --policy fifo", alone));
  CHECK(!said("--cluster 4x8:a100 --placement consolidate --policy fifo", "some GPU types"));
  const std::string stacks =
      "software differs: profile v100-sxm3, stack megatron-2021; profile h100, stack megatron-core (--stack "
      "sets one)";
  CHECK(said("--cluster 2x16:v100-sxm3+4x8:h100 --policy fifo", stacks));
  CHECK(said("--cluster 4x8:a100+4x8:h100 --policy fifo",
             "jobs that request no GPU type run as fast as on a100"));
  CHECK(!said("--cluster 2x16:v100-sxm3+4x8:h100 --policy fifo --stack megatron-2021", "software differs"));
  CHECK(!said("--cluster 4x8:a100 --policy fifo", "software differs"));
}

TEST_CASE("gang speed: --spread-factor slows jobs with measured curves as it slows those with durations") {
  const TemporaryFolder work;
  std::filesystem::create_directories(work.path() / "throughputs");
  work.write("throughputs/net.csv", "global_batch_size,1,2,4,8,16\n64,1,2,4,8,10\n");
  work.write("jobs.csv",
             "job_id,model_name,batch_size,num_gpu,submission_time,num_iteration,deadline,max_gpu\n"
             "a,net,64,16,0,10000,100000,16\n"
             "b,net,64,8,5000,8000,100000,8\n");
  // 10,000 iterations at 10/s over two nodes, 8,000 at 8/s on one.
  for (const std::string& policy :
       {std::string("fifo"), std::string("edf"), std::string("elasticflow:slot=1s")}) {
    CAPTURE(policy);
    for (const double factor : {1.0, 0.8, 0.5}) {
      const json summary = run_json(
          "replay --trace jobs.csv --format elasticflow --cluster 2x8:a100 --placement consolidate --out out "
          "--policy " +
              policy + " --spread-factor " + std::to_string(factor),
          work);
      auto jcts = jct_s(work);
      CHECK(jcts["a"] == doctest::Approx(1000 / factor).epsilon(1e-9));
      CHECK(jcts["b"] == doctest::Approx(1000).epsilon(1e-9));
      if (factor < 1)
        CHECK(summary["disruptions"]["lost_gpu_hours"]["spread"].get<double>() ==
              doctest::Approx(16 * (1000 / factor - 1000) / 3600).epsilon(1e-3));
    }
  }
}

TEST_CASE("gang speed: what the order of types means is said") {
  const TemporaryFolder work;
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,model,global_batch,iterations,deadline_s\n"
             "a,0,8,gpt3-1.3b,64,100,90000\n");
  const auto told = [&](const std::string& arguments) {
    const auto result = run_vtrain("replay --trace jobs.csv " + arguments, work.path());
    REQUIRE(result.exit_code == 0);
    return unwrapped(result.out);
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string first = "get the first type of --cluster with room";
  const std::string one = "plans treat GPUs of all types as one type, so jobs may be late: chronus";
  const std::string mixed = "--cluster 1x8:h100+1x8:a100 --policy chronus --placement ";
  CHECK(has(told(mixed + "yarn"), first));
  CHECK(has(told(mixed + "yarn"), one));
  CHECK(has(told(mixed + "count"),
            "run as fast as on h100; --placement consolidate gives types different speeds"));
  CHECK(!has(told(mixed + "count"), one));
  CHECK(!has(told(mixed + "yarn"), "their durations are those on"));
  // elasticflow chooses types itself.
  const std::string chooses = told("--cluster 1x8:h100+1x8:a100 --policy elasticflow --placement yarn");
  CHECK(!has(chooses, first));
  CHECK(!has(chooses, "plans treat GPUs of all types as one type"));
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,model,global_batch,iterations,duration_s,deadline_s\n"
             "a,0,8,gpt3-1.3b,64,100,500,90000\n");
  CHECK(has(told(mixed + "yarn"), first + ", fast or slow; their durations are those on h100"));
  CHECK(!has(told(mixed + "yarn --run-times predicted"), "their durations are those on"));
  const std::string alone =
      told("--cluster 1x8:h100 --policy chronus --placement yarn --run-times predicted");
  CHECK(!has(alone, first));
  CHECK(has(alone, "run times predicted with profile h100, stack megatron-core (--stack sets one)"));
}

TEST_CASE("gang speed: jobs keep to the types of GPUs on which their models have a plan") {
  const TemporaryFolder work;
  work.write("jobs.csv", kHeader + std::string("a,0,1,,,llama3-8b,64,100\n"));
  REQUIRE(run_vtrain("replay --trace jobs.csv --deadlines none --out out --cluster 1x1:b200 --policy fifo",
                     work.path())
              .exit_code == 0);
  const double alone_s = jct_s(work).at("a");
  work.write("jobs.csv", kHeader + std::string("a,0,1,,,llama3-8b,64,100\nb,0,1,,,llama3-8b,64,100\n"
                                               "c,0,1,,10,gpt3-1.3b,64,100\n"));
  for (const std::string cluster : {"1x1:b200+1x8:a100", "1x8:a100+1x1:b200"}) {
    for (const std::string policy : {"easy", "elasticflow", "srtf --placement yarn"}) {
      CAPTURE(cluster);
      CAPTURE(policy);
      const auto result = run_vtrain(
          "replay --trace jobs.csv --deadlines none --out out --cluster " + cluster + " --policy " + policy,
          work.path());
      REQUIRE_MESSAGE(result.exit_code == 0, result.err);
      CHECK(unwrapped(result.out).find("2 jobs keep to the types of GPUs on which the model has a plan") !=
            std::string::npos);
      CHECK(result.out.find("has no plan") == std::string::npos);
      // The two share the one B200, one after the other: at its speed, and neither on an A100 meanwhile.
      const auto jct = jct_s(work);
      CHECK(std::min(jct.at("a"), jct.at("b")) >= alone_s * (1 - 1e-9));
      CHECK(std::max(jct.at("a"), jct.at("b")) >= 2 * alone_s * (1 - 1e-9));
    }
  }
}

TEST_CASE("gang speed: the types on which a job has a plan are the same in any order of types") {
  const TemporaryFolder work;
  // Of the default stacks of the two types only the one of H100 divides 24 GPUs.
  work.write("jobs.csv",
             kHeader + std::string("a,0,24,,,llama2-13b,256,1000\nb,0,24,,,llama2-13b,256,1000\n"));
  const std::string replay = "replay --trace jobs.csv --deadlines none --out out --policy fifo --cluster ";
  std::string first;
  for (const std::string cluster : {"3x8:h100+2x16:v100-sxm3", "2x16:v100-sxm3+3x8:h100"}) {
    for (const std::string placement : {"count", "consolidate"}) {
      CAPTURE(cluster);
      CAPTURE(placement);
      const auto result = run_vtrain(replay + cluster + " --placement " + placement, work.path());
      REQUIRE_MESSAGE(result.exit_code == 0, result.err);
      CHECK(unwrapped(result.out).find("2 jobs keep to the types of GPUs on which the model has a plan") !=
            std::string::npos);
      // One after the other on H100.
      const auto jct = jct_s(work);
      CHECK(jct.at("b") == doctest::Approx(2 * jct.at("a")).epsilon(1e-9));
      const std::string jobs = slurp(work.path() / "out" / "jobs.csv");
      if (first.empty()) first = jobs;
      CHECK(jobs == first);
    }
  }
  // Without a plan on any type, the error says why not on each.
  work.write("jobs.csv", kHeader + std::string("a,0,23,,,llama2-13b,256,1000\n"));
  const auto none = run_vtrain(replay + "2x16:v100-sxm3+3x8:h100", work.path());
  CHECK(none.exit_code == 2);
  const std::string reason =
      ": model 'llama2-13b' with a global batch of 256 cannot be divided over exactly 23 GPUs";
  CHECK(none.err.find("jobs.csv:2: num_gpus: job 'a': with profile v100-sxm3, stack megatron-2021" + reason +
                      "; with profile h100, stack megatron-core" + reason) != std::string::npos);
}

TEST_CASE("gang speed: the same files on any number of threads") {
  const TemporaryFolder work;
  REQUIRE(run_vtrain("trace generate --jobs 200 --cluster 4x8:a100 --load 1.2 --seed 5 --out jobs.csv",
                     work.path())
              .exit_code == 0);
  for (const std::string threads : {"1", "4"}) {
    const auto result = run_vtrain(
        "compare --trace jobs.csv --cluster 2x8:a100+2x8:h100 --placement consolidate --run-times predicted "
        "--policies fifo,easy,srtf,las,edf --out out" +
            threads + " --threads " + threads,
        work.path());
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
  }
  int compared = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(work / "out1")) {
    const std::string name = entry.path().filename().string();
    // These say by which command they were made.
    if (!entry.is_regular_file() || name == "run.json" || name == "report.html") continue;
    CAPTURE(entry.path());
    CHECK(slurp(entry.path()) ==
          slurp(work / "out4" / std::filesystem::relative(entry.path(), work / "out1")));
    ++compared;
  }
  CHECK(compared >= 15);
}
