/// `vtrain replay` and `vtrain compare` through the real command line.
#include <doctest/doctest.h>

#include <algorithm>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::testing::CommandResult;
using vtrain::testing::InheritedPipe;
using vtrain::testing::names_in;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::unwrapped;

namespace {

constexpr std::string_view kJobs = "job_id,submit_s,num_gpus,duration_s\na,0,1,10\nb,5,2,20\n";
/// Two jobs that miss their deadlines even on an empty cluster.
constexpr std::string_view kHopeless =
    "job_id,submit_s,num_gpus,duration_s,deadline_s\na,0,8,1000,10\nb,5,8,2000,20\n";

}  // namespace

TEST_CASE("compare: a policy that completes no job has no JCT, which is not the best") {
  const TemporaryFolder work;
  work.write("jobs.csv", kHopeless);
  const std::string command =
      "compare --trace jobs.csv --cluster 1x8 --policies fifo,elasticflow,edf --out out";
  const CommandResult shown = run_vtrain(command, work.path());
  REQUIRE(shown.exit_code == 0);
  // elasticflow turns both jobs away; for fifo and edf JCTs are 1,000 and 2,995 s.
  CHECK(shown.out.find("elasticflow         2      0.0 %    0.0 %          -          -") !=
        std::string::npos);
  CHECK(shown.out.find("0 s *") == std::string::npos);
  const json rejected = json::parse(slurp(work / "out/elasticflow/summary.json"));
  CHECK(rejected["completed"] == 0);
  for (const char* key : {"avg_jct_s", "p50_jct_s", "p99_jct_s", "avg_queueing_delay_s", "bounded_slowdown",
                          "makespan_s", "gpu_utilization", "finish_time_fairness_max", "jain_index"}) {
    CAPTURE(key);
    CHECK(rejected[key].is_null());
  }
  CHECK(slurp(work / "out/report.html").find("has the shortest average JCT of them") == std::string::npos);
}

TEST_CASE("replay: figures by user, queue, type and size, in the table, the JSON and the report") {
  const TemporaryFolder work;
  // Each job has the whole cluster, in turn: waits are 0, 40, 50 and 60 s, by 4 of 5 jobs; `e` is small and
  // runs beside nobody, from 70 on.
  work.write("jobs.csv",
             "job_id,user,queue,submit_s,num_gpus,gpu_type,duration_s\n"
             "a,ann,day,0,8,a100,40\nb,ben,day,0,8,,10\nc,ben,night,0,8,,10\nd,,night,0,8,,10\n"
             "e,ann,night,0,2,,10\n");
  const std::string command = "replay --trace jobs.csv --cluster 1x8:a100 --policy fifo --by ";
  const auto figures_by = [&](const std::string& grouping) {
    const json document = json::parse(run_vtrain(command + grouping + " --json", work.path()).out);
    std::map<std::string, std::pair<int, double>> figures;
    for (const json& group : document.at("by_" + grouping))
      figures[group.at(grouping)] = {group.at("jobs"), group.at("avg_waiting_time_s")};
    return figures;
  };
  using Figures = std::map<std::string, std::pair<int, double>>;
  CHECK(figures_by("user") == Figures{{"ann", {2, 35}}, {"ben", {2, 45}}, {"", {1, 60}}});
  CHECK(figures_by("queue") == Figures{{"day", {2, 20}}, {"night", {3, 60}}});
  CHECK(figures_by("type") == Figures{{"a100", {1, 0}}, {"", {4, 55}}});
  CHECK(figures_by("size") == Figures{{"5\u20138", {4, 37.5}}, {"2", {1, 70}}});

  const CommandResult shown = run_vtrain(command + "user --out out", work.path());
  CHECK(shown.out.find("user     policy  jobs") != std::string::npos);
  CHECK(shown.out.find("no user  fifo       1") != std::string::npos);
  CHECK(slurp(work / "out/report.html").find("<h2>By user</h2>") != std::string::npos);
  // What was asked for is repeated with the spec.
  const CommandResult again = run_vtrain("replay --spec out/run.json --json", work.path());
  CHECK(json::parse(again.out).contains("by_user"));

  const CommandResult unknown = run_vtrain(command + "tenant", work.path());
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("--by: expected what the trace says of its jobs, one of 'user', 'queue', 'type' and "
                         "'size', found 'tenant'") != std::string::npos);
}

TEST_CASE("replay: bounded slowdown takes short jobs for 10 s long, in all that is written, and by tenant") {
  const TemporaryFolder work;
  // Each job has the whole cluster, in turn: JCTs are 40, 41.5, 51, 71 and 73 s, the last one's without
  // completing.
  work.write("jobs.csv",
             "job_id,tenant,submit_s,num_gpus,duration_s,requested_s\n"
             "long,red,0,8,40,\ntiny,red,0,8,1.5,\nshort,blue,0.5,8,10,\nother,blue,0.5,8,20,\n"
             "cut,blue,0.5,8,3,2\n");
  const std::string command = "replay --trace jobs.csv --cluster 1x8 --policy fifo";
  const json figures = json::parse(run_vtrain(command + " --json", work.path()).out);
  CHECK(figures["avg_jct_s"] == (40 + 41.5 + 51 + 71) / 4);
  CHECK(figures["bounded_slowdown"] == (1 + 4.15 + 5.1 + 3.55) / 4);
  REQUIRE(figures["by_tenant"].size() == 2);
  CHECK(figures["by_tenant"][0]["bounded_slowdown"] == (1 + 4.15) / 2);
  CHECK(figures["by_tenant"][1]["bounded_slowdown"] == (5.1 + 3.55) / 2);
  // A job that is never slower than alone has 1, not less.
  work.write("alone.csv", "job_id,submit_s,num_gpus,duration_s\na,0,8,2\n");
  const CommandResult alone =
      run_vtrain("replay --trace alone.csv --cluster 1x8 --policy fifo --json", work.path());
  CHECK(json::parse(alone.out)["bounded_slowdown"] == 1);
  const CommandResult shown = run_vtrain(command + " --out out", work.path());
  CHECK(shown.out.find(" slow- ") != std::string::npos);
  CHECK(shown.out.find("3.45") != std::string::npos);
  CHECK(json::parse(slurp(work / "out/summary.json"))["bounded_slowdown"] == figures["bounded_slowdown"]);
  const std::string report = slurp(work / "out/report.html");
  CHECK(report.find("Bounded slowdown") != std::string::npos);
  CHECK(report.find("title=\"3.45\"") != std::string::npos);
}

TEST_CASE("compare: a folder that is used again holds one run, and what others put there") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  const auto run = [&](const std::string& arguments) {
    REQUIRE(run_vtrain(arguments + " --trace jobs.csv --cluster 1x8 --out out", work.path()).exit_code == 0);
  };
  const auto has = [&](const std::string& path) { return fs::exists(work / "out" / path); };
  run("compare --seed 1 --policies fifo,easy,las:timer=peer");
  work.write("out/easy/notes.txt", "mine");
  work.write("out/other/jobs.csv", "mine");
  run("compare --seed 1 --policies fifo,srtf");
  CHECK(has("fifo/summary.json"));
  CHECK(has("srtf/summary.json"));
  CHECK_FALSE(has("las-timer=peer"));
  CHECK_FALSE(has("easy/jobs.csv"));
  CHECK(has("easy/notes.txt"));
  CHECK(has("other/jobs.csv"));
  run("replay --policy srtf");
  CHECK_FALSE(has("fifo"));
  CHECK_FALSE(has("srtf"));
  CHECK(has("summary.json"));
  // A run of its own, although its folder has the name of a policy.
  REQUIRE(run_vtrain("replay --trace jobs.csv --cluster 1x8 --policy srtf --out out/srtf", work.path())
              .exit_code == 0);
  run("compare --seed 1 --policies fifo,easy");
  CHECK(has("srtf/summary.json"));
  CHECK_FALSE(has("summary.json"));
  CHECK_FALSE(has("jobs.csv"));
}

TEST_CASE("compare: that policies cannot differ is only said where they do not") {
  const TemporaryFolder work;
  work.write("jobs.csv", kHopeless);
  const auto says_so = [&](const std::string& policies) {
    const CommandResult shown =
        run_vtrain("compare --trace jobs.csv --cluster 2x8 --policies " + policies, work.path());
    REQUIRE(shown.exit_code == 0);
    // Nor is it said what a star means where there is none.
    CHECK((shown.out.find("* best") != std::string::npos) == (shown.out.find(" % *") != std::string::npos));
    return shown.out.find("No job ever waited") != std::string::npos;
  };
  CHECK(says_so("fifo,easy"));
  CHECK_FALSE(says_so("fifo,edf-admission"));
  CHECK_FALSE(says_so("edf-admission,elasticflow"));  // both turn all jobs away
}

TEST_CASE("replay: where jobs share GPUs their parts make the load") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,gpu_share,duration_s\na,0,1,0.1,100\nb,10,1,0.1,100\n");
  // 2 jobs x 100 s x 0.1 GPU in 10 s of 1 GPU; 20 where each has the whole GPU.
  const CommandResult shared =
      run_vtrain("replay --trace jobs.csv --cluster 1x1 --placement fgd --out out", work.path());
  CHECK(shared.out.find("offered load 2.00") != std::string::npos);
  const std::string page = slurp(work / "out/report.html");
  CHECK(page.find("offered load 2.00") != std::string::npos);
  CHECK(page.find("GPUs in use, whole or in part") != std::string::npos);
  CHECK(run_vtrain("replay --trace jobs.csv --cluster 1x1", work.path()).out.find("offered load 20.00") !=
        std::string::npos);
}

TEST_CASE("replay: the inputs of run.json have the hashes of what was read") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  work.write("service.txt", "10\n40\n");
  const InheritedPipe pipe(kJobs);
  const std::string policy = "gittins:distribution=service.txt";
  REQUIRE(run_vtrain("replay --trace " + pipe.path() + " --cluster 1x8 --out piped --policy " + policy,
                     work.path())
              .exit_code == 0);
  REQUIRE(run_vtrain("replay --trace jobs.csv --cluster 1x8 --out read --policy " + policy, work.path())
              .exit_code == 0);
  const json piped = json::parse(slurp(work / "piped/run.json"))["inputs"];
  const json read = json::parse(slurp(work / "read/run.json"))["inputs"];
  const auto hash_of = [](const json& input) {
    const std::string text = input;
    return text.substr(text.find("sha256 "));
  };
  CHECK(hash_of(piped["trace"]) == hash_of(read["trace"]));
  // sha256sum service.txt
  CHECK(read["sample of " + policy] ==
        "service.txt, sha256 44ffb61d19beea000f9ad30f4195b99a4b4c248741076287a6f79a1cafc0ca72");
}

TEST_CASE("replay, compare: the file of a policy is read once, so that it may be a pipe") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  work.write("service.txt", "10\n40\n");
  const auto schedule = [&](const std::string& command, const std::string& sample, const fs::path& jobs) {
    CAPTURE(command);
    const std::string policy = "gittins:distribution=" + sample;
    const CommandResult result =
        run_vtrain(command + policy + " --trace jobs.csv --cluster 1x8 --out out", work.path());
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    const json inputs = json::parse(slurp(work / "out/run.json"))["inputs"];
    CHECK(inputs["sample of " + policy].get<std::string>().starts_with(sample + ", "));
    return slurp(work / "out" / jobs);
  };
  const std::string read = schedule("replay --policy ", "service.txt", "jobs.csv");
  const InheritedPipe one("10\n40\n");
  CHECK(schedule("replay --policy ", one.path(), "jobs.csv") == read);
  const InheritedPipe other("10\n40\n");
  std::string folder = "gittins:distribution=" + other.path();
  std::replace_if(
      folder.begin(), folder.end(), [](char c) { return c == ':' || c == '/'; }, '-');
  CHECK(schedule("compare --seed 1 --policies fifo,", other.path(), folder + "/jobs.csv") == read);
}

TEST_CASE("replay: a folder holds the files of one run") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,16,3600\n");
  const std::string command = "replay --trace jobs.csv --cluster 2x8 --placement yarn --out out ";
  REQUIRE(run_vtrain(command + "--failures mtbf=30m --timeline always", work.path()).exit_code == 0);
  CHECK(names_in(work / "out") == std::set<std::string>{"interruptions.csv", "jobs.csv", "outages.csv",
                                                        "report.html", "run.json", "summary.json",
                                                        "timeline.json"});
  REQUIRE(run_vtrain(command + "--timeline never", work.path()).exit_code == 0);
  CHECK(names_in(work / "out") ==
        std::set<std::string>{"jobs.csv", "report.html", "run.json", "summary.json"});
}

TEST_CASE("replay: results never replace the files that they come from") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  const auto refused = [&](const std::string& command, const std::string& file) {
    CAPTURE(command);
    const CommandResult result = run_vtrain(command, work.path());
    CHECK(result.exit_code == 2);
    CHECK(result.err == "error: --out: would overwrite '" + file + "', which is read; name another folder\n");
    CHECK(slurp(work / "jobs.csv") == kJobs);
  };
  refused("replay --trace jobs.csv --cluster 1x8 --out .", "jobs.csv");
  work.write("fifo/jobs.csv", kJobs);
  refused("compare --trace ./fifo/jobs.csv --cluster 1x8 --policies fifo,easy --out .", "./fifo/jobs.csv");
  work.write("outages.csv", "node,kind,begin_s,end_s\n0,drain,0,5\n");
  refused("replay --trace fifo/jobs.csv --cluster 1x8 --placement yarn --outages outages.csv --out .",
          "outages.csv");
  // The run before goes, and with it the file.
  work.write("long.csv", "job_id,submit_s,num_gpus,duration_s\na,0,16,3600\n");
  const std::string failing = " --trace long.csv --cluster 2x8 --placement yarn --out runs ";
  REQUIRE(run_vtrain("compare --seed 1 --policies fifo,easy --failures mtbf=30m" + failing, work.path())
              .exit_code == 0);
  refused("replay --outages runs/fifo/outages.csv" + failing, "runs/fifo/outages.csv");
  // A folder without a run keeps what is in it.
  work.write("out/outages.csv", "mine");
  REQUIRE(run_vtrain("replay --trace jobs.csv --cluster 1x8 --out out", work.path()).exit_code == 0);
  CHECK(slurp(work / "out/outages.csv") == "mine");
}

TEST_CASE("replay: only files of a run go with the run before, and only once the new one is there") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  const std::string command = "replay --trace jobs.csv --cluster 1x8 --out out";
  work.write("out/thesis.txt", "mine");
  work.write("out/.git/jobs.csv", "mine");
  work.write("elsewhere/jobs.csv", "mine");
  fs::create_directory_symlink("../elsewhere", work / "out/link");
  const std::string files =
      R"("files": ["thesis.txt", ".git/jobs.csv", "link/jobs.csv", "../jobs.csv", "../elsewhere/jobs.csv", 7])";
  for (const std::string& run : {"{" + files + "}", R"({"simulation_wall_s": {}, )" + files + "}"}) {
    CAPTURE(run);
    work.write("out/run.json", run);
    REQUIRE(run_vtrain(command, work.path()).exit_code == 0);
    CHECK(slurp(work / "out/thesis.txt") == "mine");
    CHECK(slurp(work / "out/.git/jobs.csv") == "mine");
    CHECK(slurp(work / "elsewhere/jobs.csv") == "mine");
    CHECK(slurp(work / "jobs.csv") == kJobs);
  }
  // A run that cannot be written leaves the one before, as a whole.
  REQUIRE(run_vtrain(command + " --timeline always", work.path()).exit_code == 0);
  const auto names = [&] { return names_in(work / "out"); };
  const std::set<std::string> before = names();
  const std::string schedule = slurp(work / "out/jobs.csv");
  const std::string page = slurp(work / "out/report.html");
  fs::remove(work / "out/summary.json");
  fs::create_directories(work / "out/summary.json/x");
  work.write("jobs.csv", kHopeless);
  CHECK(run_vtrain(command + " --timeline never", work.path()).exit_code != 0);
  CHECK(names() == before);
  CHECK(slurp(work / "out/jobs.csv") == schedule);
  CHECK(slurp(work / "out/report.html") == page);
}

TEST_CASE("replay: run.json says what was run") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  REQUIRE(run_vtrain(
              "compare --trace jobs.csv --cluster 2x8:h100 --placement yarn --policies fifo,las:timer=peer "
              "--curves data-parallel --out out",
              work.path())
              .exit_code == 0);
  const json run = json::parse(slurp(work / "out/run.json"));
  CHECK(run["trace"] == "jobs.csv");
  CHECK(run["cluster"] == "2 x 8 H100, 16 GPUs");
  CHECK(run["num_gpus"] == 16);
  CHECK(run["spec"]["placement"] == "yarn");
  CHECK(run["spec"]["policies"] == json({"fifo", "las:timer=peer"}));
  CHECK(run["spec"]["pricing"]["curves"] == "data-parallel");
  CHECK(run["predictor"] == "profile h100, stack megatron-core");
}

TEST_CASE("replay: options that nothing reads are named") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s,deadline_s\na,0,1,10,50\n");
  const auto told = [&](const std::string& options) {
    const CommandResult result =
        run_vtrain("replay --trace jobs.csv --cluster 1x8 --json " + options, work.path());
    CHECK(result.exit_code == 0);
    return result.err;
  };
  CHECK(told("").empty());
  CHECK(told("--stack torchtitan").find("--stack: without effect; no job has a model") != std::string::npos);
  CHECK(told("--profile h100").find("--profile: without effect") != std::string::npos);
  CHECK(told("--timeline always").find("--timeline: without effect") != std::string::npos);
  CHECK(told("--deadlines 2").find("--deadlines: without effect; all jobs have one") != std::string::npos);
  CHECK(told("--throughputs-gpu p100").find("--throughputs-gpu: without effect; no tables are given") !=
        std::string::npos);
}

TEST_CASE("replay: JSON documents of two runs are equal to the byte") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,10\nb,1,1,10\n");
  for (const char* command : {"replay --trace jobs.csv --cluster 1x1 --policy fifo --json",
                              "compare --trace jobs.csv --cluster 1x1 --policies fifo,srtf --json"}) {
    const CommandResult first = run_vtrain(command, work.path());
    CHECK(first.exit_code == 0);
    CHECK(run_vtrain(command, work.path()).out == first.out);
  }
}

TEST_CASE("replay: --run-times predicted needs a job that can be predicted") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  const CommandResult result =
      run_vtrain("replay --trace jobs.csv --cluster 1x8 --run-times predicted", work.path());
  CHECK(result.exit_code == 2);
  CHECK(result.err.find("--run-times: no job of the trace says both") != std::string::npos);
}

TEST_CASE("replay: predicted run times beyond what was measured are named, and with --strict refused") {
  const TemporaryFolder work;
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,model,global_batch,iterations\n"
             "a,0,8,gpt3-1.3b,64,10\nb,1,16,gpt3-1.3b,64,10\n");
  // As `vtrain plan` says of either.
  const std::string plan = "plan gpt3-1.3b --global-batch 64 --stack megatron-2021 --cluster ";
  REQUIRE(!run_json(plan + "1x8:a100")["fallbacks"].empty());
  REQUIRE(run_json(plan + "2x8:a100")["fallbacks"].empty());
  const std::string command = "replay --no-cache --stack megatron-2021 --cluster 2x8:a100 --trace jobs.csv ";
  // The furthest kernel is that of the plan's list.
  const std::string list = plan + "1x8:a100 --extrapolated plan.csv";
  REQUIRE(run_vtrain(list, work.path()).exit_code == 0);
  const std::string of_plan = slurp(work / "plan.csv");
  CHECK(of_plan.starts_with("kernel,size,unit,nearest_measured,factor,predictions\n"));
  const std::string sentence = "run times of 1 job are extrapolated beyond measured kernel sizes, up to ";
  const std::vector<std::string> assumptions = run_json(command, work)["assumptions"];
  CHECK(std::ranges::count_if(assumptions,
                              [&](const std::string& text) { return text.starts_with(sentence); }) == 1);
  REQUIRE(run_vtrain(command + "--out runs", work.path()).exit_code == 0);
  std::string of_run = slurp(work / "runs/extrapolated.csv");
  REQUIRE(of_run.starts_with("kernel,size,unit,nearest_measured,factor,jobs\n"));
  CHECK(of_run.substr(of_run.find('\n')) == of_plan.substr(of_plan.find('\n')));
  const CommandResult strict = run_vtrain(command + "--strict", work.path());
  CHECK(strict.exit_code == 2);
  CHECK(strict.err.starts_with("error: --strict: " + sentence));
}

TEST_CASE("replay: a run says which files priced its jobs, with their hashes") {
  const TemporaryFolder work;
  work.write("h100x.json", R"({"schema": "vtrain-gpu-profile", "version": 2, "name": "h100",
      "description": "h100, 800 Gbit/s a node", "made_by": "hand", "extends": "h100", "constants":
      {"node_network_bandwidth": {"value": 1e11, "unit": "B/s", "source": "8 adapters of 100 Gbit/s"}}})");
  work.write("jobs.csv", "job_id,submit_s,num_gpus,model,global_batch,iterations\na,0,8,llama3-8b,64,100\n");
  const auto inputs = [&](const std::string& options) {
    REQUIRE(run_vtrain("replay --trace jobs.csv --cluster 1x8 --no-cache --out out " + options, work.path())
                .exit_code == 0);
    return json::parse(slurp(work / "out/run.json"))["inputs"];
  };
  const json plain = inputs("");
  CHECK_FALSE(plain.contains("profile"));
  CHECK(plain["run times"].get<std::string>().find("calibrat") == std::string::npos);
  const json priced = inputs("--profile h100x.json --calibrate published");
  CHECK(priced["profile"].get<std::string>().starts_with("h100x.json, sha256 "));
  CHECK(priced["run times"].get<std::string>().ends_with(
      "profile h100, stack megatron-core, not calibrated, no factors of stack and profile in published"));
  CHECK(inputs("--stack megatron-2022 --calibrate published")["run times"].get<std::string>().ends_with(
      "profile a100, stack megatron-2022, calibrated with published"));
}

TEST_CASE("replay: no GPU is taken for another unless --profile says so") {
  const TemporaryFolder work;
  const CommandResult misspelt = run_vtrain("replay --cluster 16x8:a1000 --out out", work.path());
  CHECK(misspelt.exit_code == 2);
  CHECK(misspelt.err ==
        "error: --cluster: no profile of 'a1000' to predict with; --profile NAME uses another GPU's; "
        "did you mean 'a100'?\n");
  CHECK_FALSE(fs::exists(work / "out"));
  CHECK(run_vtrain("replay --cluster 1x8:a1000 --profile a100", work.path()).exit_code == 0);
}

TEST_CASE("replay: a factor of spread gangs says whom it slows") {
  const TemporaryFolder work;
  const auto assumed = [&](const std::string& jobs) {
    work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s,model,global_batch,iterations\n" + jobs);
    return unwrapped(
        run_vtrain("replay --trace jobs.csv --cluster 2x8:a100 --placement yarn --spread-factor 0.5",
                   work.path())
            .out);
  };
  const std::string rigid = "a,0,8,100,,,\n";
  const std::string predicted = "b,0,8,,llama3-8b,64,100\n";
  CHECK(assumed(rigid).find("across nodes of a rack jobs have 0.5 of that speed") != std::string::npos);
  CHECK(assumed(rigid + predicted).find("the 1 job that is not predicted has 0.5") != std::string::npos);
  CHECK(assumed(predicted).find("--spread-factor has no effect") != std::string::npos);
}

TEST_CASE("replay: checkpoints may cost nothing") {
  // The failure at 25 takes the 5 s since the last checkpoint, and nothing else.
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,4,50\n");
  work.write("out.csv", "node,begin_s,end_s,kind\n0,25,35,failure\n");
  for (const std::string cost : {"0", "0s"}) {
    const json result = run_json(
        "replay --trace jobs.csv --cluster 1x4 --placement yarn --outages out.csv --checkpoints 10s "
        "--checkpoint-cost " +
            cost + " --json",
        work);
    CHECK(result["makespan_s"] == 25 + 10 + 30);
  }
}

TEST_CASE("replay: costs of checkpoints that nobody takes are said to be without effect") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,4,50\n");
  const auto said = [&](const std::string& options) {
    const auto result = run_vtrain("replay --trace jobs.csv --cluster 1x4 " + options, work.path());
    CHECK(result.exit_code == 0);
    return result.err;
  };
  CHECK(said("--checkpoint-cost 60s --checkpoint-bandwidth 1GB/s") ==
        "warning: --checkpoint-cost: without effect; no --checkpoints are taken\n"
        "warning: --checkpoint-bandwidth: without effect; nothing costs as much as the size of a model\n");
  CHECK(said("--checkpoints 10s --checkpoint-cost 5s") == "");
  CHECK(said("--checkpoint-bandwidth 80Gbit/s").starts_with("warning: --checkpoint-bandwidth: without"));
}

TEST_CASE("replay: a timeline that is wanted is written, even if no job ever runs") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,10,4,5\n");
  work.write("out.csv", "node,begin_s,end_s,kind\n0,0,,failure\n");
  REQUIRE(
      run_vtrain("replay --trace jobs.csv --cluster 1x4 --placement yarn --outages out.csv --timeline always "
                 "--out out",
                 work.path())
          .exit_code == 0);
  CHECK(json::parse(slurp(work / "out/summary.json"))["completed"] == 0);
  CHECK(json::parse(slurp(work / "out/timeline.json")).contains("traceEvents"));
}

TEST_CASE("replay: jobs that end beyond the clock's range are an error in the input under every policy") {
  const TemporaryFolder work;
  std::string jobs = "job_id,submit_s,num_gpus,duration_s\n";
  for (int i = 0; i < 6; ++i)
    jobs += "j" + std::to_string(i) + "," + std::to_string(i) + ",1,3000000000\n";
  work.write("jobs.csv", jobs);
  for (const std::string policy : {"fifo", "las", "elasticflow-las", "elasticflow-edf"}) {
    CAPTURE(policy);
    const CommandResult result =
        run_vtrain("replay --trace jobs.csv --cluster 1x1 --policy " + policy, work.path());
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("later than the simulated clock can tell (292 years)") != std::string::npos);
  }
}

TEST_CASE("replay: the command of run.json can be pasted into a shell") {
  const TemporaryFolder work;
  work.write("it's.csv", kJobs);
  REQUIRE(run_vtrain("replay --trace \"it's.csv\" --cluster 1x8 --out out", work.path()).exit_code == 0);
  CHECK(json::parse(slurp(work / "out/run.json"))["command"] ==
        "vtrain replay --trace 'it'\\''s.csv' --cluster 1x8 --out out");
}

TEST_CASE("replay: an output folder that cannot be made is found out before the work") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  const CommandResult refused =
      run_vtrain("replay --trace jobs.csv --cluster 1x8 --out jobs.csv/x", work.path());
  CHECK(refused.exit_code == 2);
  CHECK(refused.err == "error: jobs.csv/x: cannot create the folder: Not a directory\n");
}

TEST_CASE("replay: jobs that did not complete are told by reason") {
  const TemporaryFolder work;
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,duration_s,requested_s\na,0,1,3600,60\nb,5,9,20,\nc,9,1,9,\n");
  const CommandResult shown = run_vtrain("replay --trace jobs.csv --cluster 1x8", work.path());
  CHECK(shown.out.find("   3 jobs   9 s   1.05 GPU-hours   offered load ") != std::string::npos);
  CHECK(shown.out.find("fifo: 1 of 3 jobs completed; 1 rejected as too large for the cluster, 1 stopped at "
                       "its requested time\n") != std::string::npos);
  // On 8 GPUs a and b cannot both meet deadlines by which each needs all of them.
  work.write("typed.csv",
             "job_id,submit_s,num_gpus,gpu_type,duration_s,deadline_s\na,0,8,a100,60,70\nb,0,8,a100,60,70\n"
             "c,0,9,,5,\nd,0,99,,5,\ne,0,1,h100,5,\n");
  const CommandResult causes =
      run_vtrain("replay --trace typed.csv --cluster 1x8:a100 --policy elasticflow", work.path());
  CHECK(causes.out.find("elasticflow: 1 of 5 jobs completed; 2 rejected as too large for the cluster, 1 "
                        "rejected for a GPU type that the cluster lacks, 1 rejected by the policy\n") !=
        std::string::npos);
}

TEST_CASE("replay: what policies know, and what they do not tell apart, is said of those at hand") {
  const TemporaryFolder work;
  const std::string header = "job_id,submit_s,num_gpus,gpu_type,duration_s,deadline_s,requested_s\n";
  work.write("jobs.csv", header + "a,0,4,h100,100,150,200\nb,0,4,a100,100,150,\n");
  const auto says = [&](const std::string& more, const std::string& sentence) {
    const CommandResult shown =
        run_vtrain("compare --trace jobs.csv --cluster 1x4:a100+1x4:h100 --policies " + more, work.path());
    REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
    return shown.out.find(sentence) != std::string::npos;
  };
  const std::string bounded =
      "policies know requested times of 1 job as upper bounds, and exact run times of the others";
  const std::string known = "exact run times are known to ";
  CHECK(says("easy,fifo", bounded));
  CHECK(!says("easy,fifo", known));
  CHECK(says("easy,srtf,srsf,edf-admission", bounded));
  CHECK(says("easy,srtf,srsf,edf-admission", known + "srtf, srsf, edf-admission"));
  const std::string as_one = "plans treat GPUs of all types as one type, so jobs may be late: ";
  CHECK(!says("fifo,easy,edf,las", as_one));
  CHECK(says("chronus", as_one + "chronus"));
  for (const std::string name : {"elasticflow", "edf-admission"})
    CHECK(!says(name, as_one));
  CHECK(says("elasticflow:admission=batch", as_one + "elasticflow"));
  CHECK(!says("conservative", as_one));
  CHECK(says("conservative:planning=hosts", as_one + "conservative"));
  CHECK(says("elasticflow-las", as_one + "elasticflow-las"));
}

TEST_CASE("replay: the former spelling of ElasticFlow's presets works, with a hint") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  const std::string command = "replay --trace jobs.csv --cluster 1x8 --out out --policy ";
  const CommandResult former = run_vtrain(command + "edf:preset=elasticflow,slot=5m", work.path());
  REQUIRE(former.exit_code == 0);
  CHECK(former.err.find("'edf:preset=elasticflow,slot=5m' is 'elasticflow-edf:slot=5m' now") !=
        std::string::npos);
  const std::string jobs = slurp(work / "out/jobs.csv");
  const CommandResult present = run_vtrain(command + "elasticflow-edf:slot=5m", work.path());
  CHECK(present.err.empty());
  CHECK(slurp(work / "out/jobs.csv") == jobs);
}

TEST_CASE("replay: what a policy needs and no job says is said before the run") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  const auto said = [&](const std::string& policy) {
    return run_vtrain("replay --trace jobs.csv --cluster 1x8 --deadlines none --policy " + policy,
                      work.path())
        .out;
  };
  CHECK(unwrapped(said("edf"))
            .find("no job has a deadline, which decides (--deadlines 1:2 makes some) under edf") !=
        std::string::npos);
  CHECK(unwrapped(said("easy")).find("no job has a requested time; run times are used instead under easy") !=
        std::string::npos);
  CHECK(said("fifo").find("no job has") == std::string::npos);
}

TEST_CASE("policies: a default has its unit in one place") {
  const json list = json::parse(run_vtrain("policies --json", TemporaryFolder().path()).out);
  for (const json& policy : list) {
    for (const json& parameter : policy["parameters"]) {
      CAPTURE(parameter);
      const std::string unit = parameter["unit"];
      CHECK((unit.empty() || !parameter["default"].get<std::string>().ends_with(unit)));
    }
  }
}

TEST_CASE("compare: policies are named once, blanks around them do not count") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  const std::string command = "compare --trace jobs.csv --cluster 1x8 --out out --policies ";
  const CommandResult none = run_vtrain(command + "''", work.path());
  CHECK(none.exit_code == 2);
  CHECK(none.err.starts_with("error: --policies: expected a value, found ''\n"));
  const CommandResult twice = run_vtrain(command + "fifo,easy,fifo", work.path());
  CHECK(twice.exit_code == 2);
  CHECK(twice.err == "error: --policies: 'fifo' is named twice\n");
  CHECK_FALSE(fs::exists(work / "out"));
  REQUIRE(run_vtrain(command + "'fifo, easy'", work.path()).exit_code == 0);
  CHECK(names_in(work / "out") == std::set<std::string>{"easy", "fifo", "report.html", "run.json"});
}

TEST_CASE("compare: parameters longer than a file name have a folder nevertheless, each its own") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  std::string queues = "las:queues=1";
  for (int i = 2; i < 200; ++i)
    queues += ";" + std::to_string(i);
  REQUIRE(run_vtrain("compare --trace jobs.csv --cluster 1x8 --out out --policies 'fifo," + queues + "," +
                         queues + ";200'",
                     work.path())
              .exit_code == 0);
  CHECK(names_in(work / "out").size() == 5);
  for (const std::string& name : names_in(work / "out"))
    CHECK(name.size() <= 100);
}

TEST_CASE("compare: runs at once have folders of their own") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  std::vector<std::future<CommandResult>> runs;
  constexpr std::size_t kRuns = 6;
  for (std::size_t i = 0; i < kRuns; ++i) {
    runs.push_back(std::async(std::launch::async, [&] {
      return run_vtrain("compare --trace jobs.csv --cluster 1x8 --policies fifo,easy", work.path());
    }));
  }
  for (auto& run : runs)
    CHECK(run.get().exit_code == 0);
  CHECK(names_in(work / "runs").size() == kRuns);
}

TEST_CASE("replay: throughput tables are for formats that have them") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  const CommandResult other = run_vtrain("trace info jobs.csv --throughputs none.json", work.path());
  CHECK(other.exit_code == 2);
  CHECK(other.err ==
        "error: --throughputs: expected a trace of the format elasticflow or gavel, which have throughput "
        "tables, "
        "found vtrain\n");
  const CommandResult generated = run_vtrain("replay --throughputs none.json", work.path());
  CHECK(generated.exit_code == 2);
  CHECK(generated.err == "error: --throughputs: needs --trace, which the tables are of\n");
}

TEST_CASE("output: what cannot be written is said") {
  const TemporaryFolder work;
  const CommandResult result = run_vtrain("policies >&- 2> message; echo $?", work.path());
  CHECK(result.out == "1\n");
  CHECK(slurp(work / "message") == "error: cannot write to standard output: Bad file descriptor\n");
}

TEST_CASE("output: what goes to standard output beside a file that is written there goes to standard error") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  work.write("config.json", R"({"model": "gpt3-1.3b", "plan": {"data": 2, "global_batch": 4,
    "micro_batch": 1, "recompute": "full"}})");
  work.write("cases.json", R"([{"id": "a", "settings": {"model": "llama3-8b", "profile": "h100",
    "stack": "megatron-core", "plan": {"tensor": 4, "data": 2, "global_batch": 16, "micro_batch": 1,
    "recompute": "none"}}, "measured": {"iteration_s": 2}}])");
  for (const std::string command :
       {"predict --force config.json --timeline ", "predict --force config.json --graph ",
        "predict --force config.json --timeline other --graph ",
        "predict --force config.json --graph other --timeline ", "validate --force cases.json --predictions ",
        "trace info --force jobs.csv --report "}) {
    for (const std::string form : {"", " --json"}) {
      CAPTURE(command + form);
      const CommandResult beside = run_vtrain(command + "file" + form, work.path());
      REQUIRE_MESSAGE(beside.exit_code == 0, beside.err);
      const CommandResult streamed = run_vtrain(command + "/dev/stdout" + form, work.path());
      CHECK(streamed.exit_code == 0);
      CHECK(streamed.out == slurp(work / "file"));
      // The text of `trace info` ends with the name of its page, that of `predict` with the files' sizes.
      std::string summary = beside.out.substr(0, beside.out.rfind("\nfile\n"));
      summary = summary.substr(0, summary.find("wrote "));
      CHECK(streamed.err.starts_with(summary));
    }
  }
}

TEST_CASE("output: file names that are no UTF-8 stand in JSON with replacement characters") {
  const TemporaryFolder work;
  work.write("jobs\xff.csv", kJobs);
  CHECK(run_json("trace info 'jobs\xff.csv'", work)["trace"] == "jobs\xef\xbf\xbd.csv");
}

TEST_CASE("policies: a default has its unit once") {
  const std::string text = run_vtrain("policies", TemporaryFolder().path()).out;
  CHECK(text.find("(default 60s)") != std::string::npos);
  CHECK(text.find("(default 3250 GPU-s)") != std::string::npos);
  CHECK(text.find("60s s") == std::string::npos);
  CHECK(text.find("must be given") == std::string::npos);
}
