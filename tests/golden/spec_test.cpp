/// `--spec`: repeats runs from their own output.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::InheritedPipe;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

/// Jobs with a recorded start, a model and a deadline, so that they suit every policy.
std::string trace() {
  std::string text =
      "job_id,submit_s,original_start_s,num_gpus,duration_s,deadline_s,model,global_batch,iterations\n";
  for (int i = 0; i < 40; ++i) {
    const int submit = 100 * i;
    text += std::to_string(i) + "," + std::to_string(submit) + "," + std::to_string(submit + 30) + "," +
            std::to_string(1 << (i % 4)) + "," + std::to_string(500 + 37 * i) + "," +
            std::to_string(submit + 9000) + ",gpt3-1.3b,512,100\n";
  }
  return text;
}

/// The files below a folder, relative to it.
std::set<std::string> files_below(const fs::path& folder) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), folder).string());
  }
  return files;
}

/// Checks that two run folders have equal files, except for the content of `run.json`.
void check_same_run(const fs::path& first, const fs::path& second) {
  const std::set<std::string> files = files_below(first);
  CHECK(files == files_below(second));
  for (const std::string& file : files) {
    CAPTURE(file);
    if (file != "run.json") CHECK(slurp(first / file) == slurp(second / file));
  }
}

void repeat(const TemporaryFolder& work, const std::string& command, const std::string& options) {
  CAPTURE(command + " " + options);
  fs::remove_all(work / "a");
  fs::remove_all(work / "b");
  const auto first = run_vtrain(command + " " + options + " --out a", work.path());
  REQUIRE_MESSAGE(first.exit_code == 0, first.err);
  const auto second = run_vtrain(command + " --spec a/run.json --out b", work.path());
  REQUIRE_MESSAGE(second.exit_code == 0, second.err);
  check_same_run(work / "a", work / "b");
}

/// Runs a trace with output in `a`, and returns the document.
json run_once(const TemporaryFolder& work) {
  work.write("jobs.csv", trace());
  const auto run =
      run_vtrain("replay --trace jobs.csv --cluster 4x8:a100 --policy srtf --out a", work.path());
  REQUIRE_MESSAGE(run.exit_code == 0, run.err);
  return json::parse(slurp(work / "a/run.json"));
}

/// The error of a repetition of a run whose document was changed.
std::string refusal(const TemporaryFolder& work, const json& document,
                    const std::string& command = "replay --spec a/changed.json") {
  work.write("a/changed.json", document.dump(1));
  const auto run = run_vtrain(command + " --out refused", work.path());
  CHECK(run.exit_code == 2);
  CHECK_FALSE(fs::exists(work / "refused"));
  return run.err;
}

}  // namespace

TEST_CASE("spec: runs under every policy are repeated byte for byte") {
  const TemporaryFolder work;
  work.write("jobs.csv", trace());
  work.write("past.csv", "100\n2000\n30000\n");
  const json policies = run_json("policies");
  REQUIRE(policies.size() >= 15);
  for (const json& policy : policies) {
    std::string spec = policy["name"].get<std::string>();
    if (spec == "gittins") spec += ":distribution=past.csv";
    if (spec == "slurm") {
      const std::string folder = VTRAIN_PROJECT_DIR "/docs/slurm_example";
      repeat(work, "replay",
             fmt::format("--trace {0}/batch.csv --cluster {0}/slurm.conf --policy slurm:folder={0}", folder));
      continue;
    }
    repeat(work, "replay", "--trace jobs.csv --cluster 4x8:a100 --policy '" + spec + "'");
  }
}

TEST_CASE("spec: runs under every placement are repeated byte for byte") {
  const TemporaryFolder work;
  work.write("jobs.csv", trace());
  work.write("nodes.json", R"({"groups": [{"num_nodes": 4, "gpus_per_node": 8, "gpu_type": "a100"}]})");
  for (const std::string placement :
       {"count", "yarn", "best-fit", "consolidate", "consolidate-strict", "buddy", "fgd"}) {
    const std::string failures = placement == "count" ? "" : " --failures mtbf=300h --seed 3";
    repeat(work, "replay", "--trace jobs.csv --cluster nodes.json --placement " + placement + failures);
  }
}

TEST_CASE("spec: comparisons, generated days and rules are repeated byte for byte") {
  const TemporaryFolder work;
  work.write("jobs.csv", trace());
  work.write("outages.csv", "node,begin_s,end_s,kind\n0,1000,2000,failure\n");
  repeat(work, "compare", "--policies fifo,easy,elasticflow --spreadsheet-safe --timeline never");
  repeat(
      work, "compare",
      "--trace jobs.csv --cluster 2x8:h100+2x8:a100 --placement consolidate --interruption-cost checkpoint "
      "--tenants 3 --deadlines 1:2 --estimates lognormal:1 --outages outages.csv --run-times predicted "
      "--spread-factor 0.8 --checkpoints 30m --calibrate published --stack megatron-core");
}

TEST_CASE("spec: a run is repeated from any folder, and names files as it did") {
  const TemporaryFolder work;
  run_once(work);
  fs::create_directories(work / "elsewhere");
  const auto again = run_vtrain("replay --spec ../a/run.json --out ../b", work / "elsewhere");
  REQUIRE_MESSAGE(again.exit_code == 0, again.err);
  check_same_run(work / "a", work / "b");
  CHECK(again.out.find("trace     jobs.csv") != std::string::npos);
  // What was repeated can be repeated.
  const auto third = run_vtrain("replay --spec b/run.json --out c", work.path());
  REQUIRE_MESSAGE(third.exit_code == 0, third.err);
  check_same_run(work / "a", work / "c");
}

TEST_CASE("spec: run.json has its version, the spec and notes as data") {
  const TemporaryFolder work;
  const json document = run_once(work);
  CHECK(document["schema_version"] == 2);
  CHECK(document["spec"]["spec_version"] == 1);
  CHECK(document["spec"]["policies"] == json::array({"srtf"}));
  CHECK(document["spec"]["files"]["jobs.csv"]["path"] == "../jobs.csv");
  CHECK(document["spec"]["files"]["jobs.csv"]["sha256"].get<std::string>().size() == 64);
  const json& note = document["assumptions"][0];
  CHECK(note["kind"].is_string());
  CHECK(note["count"].is_number_integer());
  CHECK(note["text"].is_string());
}

TEST_CASE("spec: a spec that somebody wrote needs no more than what differs from the defaults") {
  const TemporaryFolder work;
  fs::create_directories(work / "specs");
  work.write("specs/jobs.csv", trace());
  work.write("specs/mine.json",
             R"({"spec_version": 1, "trace": {"files": ["jobs.csv"]}, "cluster": "4x8:a100",
                 "policies": ["easy"]})");
  json by_spec = run_json("replay --spec specs/mine.json", work);
  by_spec["scenario"]["trace"] = "specs/jobs.csv";  // as options name it
  const json by_options = run_json("replay --trace specs/jobs.csv --cluster 4x8:a100 --policy easy", work);
  CHECK(by_spec == by_options);
}

TEST_CASE("spec: what is wrong with a spec is said with file, line and field") {
  const TemporaryFolder work;
  const json run = run_once(work);
  json changed = run;
  changed["spec"]["placment"] = "count";
  CHECK(refusal(work, changed).find("a/changed.json:") == 7);
  CHECK(refusal(work, changed).find("spec.placment: unknown key; did you mean 'placement'?") !=
        std::string::npos);
  changed = run;
  changed["spec"]["spec_version"] = 7;
  CHECK(refusal(work, changed).find("spec.spec_version: expected 1, found '7'") != std::string::npos);
  changed = run;
  changed["spec"]["placement"] = "cont";
  CHECK(refusal(work, changed).find("spec.placement: expected one of") != std::string::npos);
  changed = run;
  changed["spec"]["policies"] = {"srtff"};
  CHECK(refusal(work, changed).find("spec.policies[0]: unknown policy 'srtff'") != std::string::npos);
  changed = run;
  changed["spec"]["policies"] = {"srtf", "fifo"};
  CHECK(refusal(work, changed).find("spec.policies: expected one policy") != std::string::npos);
  changed = run;
  changed["spec"]["transformations"]["run_times"] = "guessed";
  CHECK(refusal(work, changed).find("spec.transformations.run_times: expected one of 'trace'") !=
        std::string::npos);
  changed = run;
  changed["spec"]["disruptions"]["spread_factor"] = 2;
  CHECK(refusal(work, changed).find("spec.disruptions.spread_factor: expected a number from 0.01 to 1") !=
        std::string::npos);
  // Two fields that contradict each other: nodes that fail, under a placement that knows none.
  changed = run;
  changed["spec"]["disruptions"]["failures"] = "mtbf=300h";
  CHECK(refusal(work, changed).find("spec.disruptions.failures: placement 'count' knows no nodes") !=
        std::string::npos);
  CHECK(refusal(work, run, "replay --spec a/changed.json --cluster 1x8").find("cannot be given with") !=
        std::string::npos);
}

TEST_CASE("spec: a file that is missing or is not what it was is an error") {
  const TemporaryFolder work;
  const json run = run_once(work);
  work.write("jobs.csv", trace() + "40,0,0,1,1,100,,,\n");
  const std::string other = refusal(work, run);
  CHECK(other.find("spec.files.jobs.csv.sha256: expected ") != std::string::npos);
  CHECK(other.find("is not the file that it was") != std::string::npos);
  fs::remove(work / "jobs.csv");
  const std::string missing = refusal(work, run);
  CHECK(missing.find("spec.files.jobs.csv.path: ") != std::string::npos);
  CHECK(missing.find("No such file") != std::string::npos);
}

TEST_CASE("spec: a run of vtrain 0.1 and what is no spec are refused with the reason") {
  const TemporaryFolder work;
  json run = run_once(work);
  run.erase("spec");
  run.erase("schema_version");
  const std::string old = refusal(work, run);
  CHECK(old.find("vtrain 0.1 kept no spec of its runs; repeat this one by its command: vtrain replay") !=
        std::string::npos);
  CHECK(refusal(work, json::object()).find("spec_version: missing: this is no spec") != std::string::npos);
  CHECK(refusal(work, json::array()).find("expected a JSON object") != std::string::npos);
}

TEST_CASE("spec: what was read from a pipe cannot be repeated, and is said so") {
  const TemporaryFolder work;
  const InheritedPipe pipe(trace());
  const auto run =
      run_vtrain("replay --trace " + pipe.path() + " --cluster 4x8:a100 --policy srtf --out a", work.path());
  REQUIRE_MESSAGE(run.exit_code == 0, run.err);
  const auto again = run_vtrain("replay --spec a/run.json --out b", work.path());
  CHECK(again.exit_code == 2);
  CHECK(again.err.find("read from a pipe or the like, which is gone") != std::string::npos);
}

TEST_CASE("spec: plan --json carries its question, which plan --spec asks again") {
  const TemporaryFolder work;
  for (const std::string options :
       {"llama3-8b --gpus 16 --profile h100 --top 2",
        "llama3-8b --cluster 2x8:h100 --tokens 1T --deadline 900d --price 2 --objective cost --headroom 5"}) {
    CAPTURE(options);
    const auto first = run_vtrain("plan " + options + " --json", work.path());
    REQUIRE_MESSAGE(first.exit_code == 0, first.err);
    work.write("plan.json", first.out);
    const auto second = run_vtrain("plan --spec plan.json --json", work.path());
    CHECK(second.exit_code == 0);
    CHECK(second.out == first.out);
  }
  json document = json::parse(slurp(work / "plan.json"));
  document["spec"]["objective"] = "fun";
  work.write("plan.json", document.dump(1));
  const auto refused = run_vtrain("plan --spec plan.json", work.path());
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("spec.objective: expected one of") != std::string::npos);
}
