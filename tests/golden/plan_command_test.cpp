/// `vtrain plan` through the command line: its parts must agree with each other, for any predictor.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"
#include "tests/support/model_examples.hpp"

using nlohmann::json;
using vtrain::testing::kLlamaConfig;
using vtrain::testing::kOurModel;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

std::vector<std::string> run_lines(const std::string& arguments) {
  const TemporaryFolder work;
  const auto result = run_vtrain(arguments, work.path());
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  std::vector<std::string> lines;
  std::istringstream text(result.out);
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  return lines;
}

/// Writes `config.json` for `predict` with a plan from an answer.
void write_config(const TemporaryFolder& work, const std::string& model, const json& answer,
                  const json& found) {
  json plan = json::object();
  for (const char* key :
       {"tensor", "context", "expert", "expert_tensor", "pipeline", "virtual_stages", "data", "global_batch",
        "micro_batch", "recompute", "recomputed_layers", "offloaded_layers", "sequence_parallel", "sharding",
        "schedule", "precision", "ends_count_as_layers", "sequence_length"})
    plan[key] = found[key];
  work.write(
      "config.json",
      json{{"model", model}, {"plan", plan}, {"profile", answer["profile"]}, {"stack", answer["stack"]}}
          .dump());
}

double breakdown_sum(const json& plan) {
  double sum = 0;
  for (const auto& part : plan.at("breakdown")) {
    if (part.is_number()) sum += part.get<double>();
  }
  return sum;
}

}  // namespace

TEST_CASE("plan: the plans of one GPU count are in order, fit and add up") {
  const json answer = run_json("plan megatron-18.4b --gpus 64 --top 0");
  REQUIRE(answer["counts"].size() == 1);
  const json& count = answer["counts"][0];
  const json& plans = count["plans"];
  CHECK(plans.size() == count["num_fitting"].get<std::size_t>());
  CHECK(count["num_fitting"] < count["num_plans"]);
  CHECK(answer["best"] == plans[0]);
  double before = 0;
  for (const json& plan : plans) {
    CHECK(plan["num_gpus"] == 64);
    CHECK(plan["tensor"].get<int>() * plan["context"].get<int>() * plan["pipeline"].get<int>() *
              plan["data"].get<int>() ==
          64);
    CHECK(plan["global_batch"] == 1024);
    CHECK(plan["memory"]["fits"] != "no");
    CHECK(plan["iteration_time_s"] >= before);
    before = plan["iteration_time_s"];
    CHECK(breakdown_sum(plan) == doctest::Approx(before).epsilon(1e-9));
  }
  // The ten best of a search that looks for no more are the same.
  const json ten = run_json("plan megatron-18.4b --gpus 64 --top 10")["counts"][0]["plans"];
  REQUIRE(ten.size() == 10);
  for (std::size_t i = 0; i < ten.size(); ++i)
    CHECK(ten[i] == plans[i]);
}

TEST_CASE("plan: plans of numbers of GPUs on which none fits count, too") {
  const TemporaryFolder work;
  // Plans divide layers, heads and batches, so that a narrower model has the same ones; and it fits anywhere.
  work.write("narrow.json", R"({"base": "llama3-70b", "hidden_size": 1024, "ffn_size": 512})");
  const std::string options = " --gpus 8,16,32 --profile h100 --stack megatron-core --global-batch 128";
  for (const std::string schedules : {"", " --zero-bubble"}) {
    CAPTURE(schedules);
    const json wide = run_json("plan llama3-70b" + options + schedules, work);
    const json narrow = run_json("plan narrow.json" + options + schedules, work);
    CHECK(wide["num_plans"] == narrow["num_plans"]);
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(wide["counts"][i]["num_plans"] == narrow["counts"][i]["num_plans"]);
    CHECK(wide["counts"][0].contains("error"));
    CHECK(wide["counts"][0]["num_fitting"] == 0);
    CHECK(wide["num_fitting"] == wide["counts"][2]["num_fitting"]);
  }
}

TEST_CASE("plan: the front trades time for cost; each objective takes its end of it") {
  const std::string command = "plan megatron-7.5b --gpus 8-64 --price 2 --tokens 10B";
  const json fast = run_json(command);
  CHECK(fast["best"]["num_gpus"] == 64);
  const json cheap = run_json(command + " --objective cost");
  const json small = run_json(command + " --objective gpus");
  CHECK(cheap["best"]["training_usd"] <= fast["best"]["training_usd"]);
  CHECK(small["best"]["num_gpus"] <= cheap["best"]["num_gpus"]);
  CHECK(fast["pareto_gpus"].size() == cheap["pareto_gpus"].size());
  // 10 billion tokens in batches of 512 x 2048 are 9,537 iterations.
  const json& best = fast["best"];
  const double days = best["training_s"].get<double>() / 86400;
  CHECK(best["training_s"].get<double>() == doctest::Approx(9537 * best["iteration_time_s"].get<double>()));
  CHECK(best["training_usd"].get<double>() == doctest::Approx(days * 24 * 64 * 2));
  CHECK(best["training_gpu_hours"].get<double>() == doctest::Approx(days * 24 * 64));
}

TEST_CASE("plan: with a deadline the cheapest plan in time is best, and none is an error") {
  const std::string command = "plan megatron-7.5b --gpus 8-128 --tokens 100B --deadline ";
  const json all = run_json("plan megatron-7.5b --gpus 8-128 --tokens 100B --objective cost");
  double expected = 1e300;
  const double limit = 12 * 86400;
  for (const json& count : all["counts"]) {
    if (!count.contains("plans") || count["plans"][0]["training_s"] > limit) continue;
    expected = std::min(expected, count["plans"][0]["training_gpu_hours"].get<double>());
  }
  const json answer = run_json(command + "12d");
  CHECK(answer["objective"] == "cost");
  CHECK(answer["best"]["training_s"] <= limit);
  CHECK(answer["best"]["training_gpu_hours"] == expected);
  CHECK(run_json(command + "288h")["best"] == answer["best"]);
  for (const json& count : answer["counts"]) {
    if (!count.contains("plans")) continue;
    CHECK(count["plans"][0]["in_time"] == (count["plans"][0]["training_s"] <= limit));
  }

  const TemporaryFolder work;
  const auto none = run_vtrain(command + "1h", work.path());
  CHECK(none.exit_code == 1);
  CHECK(none.out == "");
  CHECK(none.err.find("--deadline: no plan trains 100 billion tokens in 1 h 00 m; the fastest takes ") !=
        std::string::npos);
}

TEST_CASE("plan: zero bubble, which Megatron-Core itself does not have, is proposed where it is asked for") {
  const std::string question = "plan llama3-8b --gpus 8 --profile h100 --global-batch 128 --headroom 10";
  const json without = run_json(question + " --top 0");
  for (const json& plan : without["counts"][0]["plans"])
    CHECK(plan["schedule"] == "1f1b");
  const json with = run_json(question + " --zero-bubble");
  REQUIRE(with["best"]["schedule"] == "zero-bubble");
  CHECK(with["best"]["iteration_time_s"] < without["best"]["iteration_time_s"]);
  const auto lines = run_lines(question + " --zero-bubble");
  CHECK(
      std::ranges::any_of(lines, [](const std::string& line) { return line.starts_with("zero-bubble: "); }));

  const TemporaryFolder work;
  write_config(work, "llama3-8b", with, with["best"]);
  const json predicted = run_json("predict config.json", work);
  CHECK(predicted["iteration_time_s"] == with["best"]["iteration_time_s"]);
  for (const json& fallback : predicted["provenance"]["fallbacks"])
    CHECK(fallback.get<std::string>().find("schedule") == std::string::npos);
  const auto refused = run_vtrain(question + " --zero-bubble --stack torchtitan", work.path());
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("--zero-bubble: expected a stack that can: 'megatron-core'") != std::string::npos);
}

TEST_CASE("plan: with headroom the best plan leaves as much memory free") {
  const std::string question = "plan gpt3-175b --gpus 1024 --profile h100 --top 1";
  const json all = run_json(question + " --headroom 0")["best"];
  const json usual = run_json(question)["best"];
  const json tenth = run_json(question + " --headroom 10")["best"];
  const double capacity = all["memory"]["capacity_bytes"];
  CHECK(all["memory"]["peak_bytes_per_gpu"].get<double>() > 0.9 * capacity);
  CHECK(usual["memory"]["peak_bytes_per_gpu"].get<double>() <= 0.97 * capacity);
  CHECK(tenth["memory"]["capacity_bytes"] == capacity);
  CHECK(tenth["memory"]["peak_bytes_per_gpu"].get<double>() <= 0.9 * capacity);
  CHECK(tenth["iteration_time_s"] >= all["iteration_time_s"]);
  CHECK(run_json(question)["headroom_percent"] == 3);
  CHECK(run_json(question + " --headroom 10")["headroom_percent"] == 10);
  const TemporaryFolder work;
  CHECK(run_vtrain(question + " --headroom 100", work.path()).err.find("--headroom: ") != std::string::npos);
}

TEST_CASE("plan: uneven stages are told by layers, as Megatron-Core takes them") {
  const json answer = run_json("plan llama3-70b --gpus 512 --profile h100 --top 1 --headroom 0");
  const json& best = answer["best"];
  REQUIRE(best["ends_count_as_layers"] == true);
  std::int64_t layers = 0;
  for (const json& stage : best["layers_by_stage"])
    layers += stage.get<std::int64_t>();
  CHECK(layers == 80);
  CHECK(best["layers_by_stage"].size() == best["pipeline"]);
  const std::vector<std::string> lines =
      run_lines("plan llama3-70b --gpus 512 --profile h100 --top 1 --headroom 0");
  const auto told = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find("--pipeline-model-parallel-layout '" + best["pipeline_layout"].get<std::string>()) !=
           std::string::npos;
  });
  CHECK(told != lines.end());
}

TEST_CASE("plan: a cluster's islands are its NVLink domains") {
  const TemporaryFolder work;
  work.write(
      "islands.json",
      R"({"groups": [{"num_nodes": 16, "gpus_per_node": 8, "gpu_type": "h100", "gpus_per_island": 2}]})");
  const auto iteration = [&](const std::string& target) {
    const auto result = run_vtrain("plan llama3-8b --top 1 --json " + target, work.path());
    REQUIRE(result.exit_code == 0);
    return json::parse(result.out)["best"]["iteration_time_s"].get<double>();
  };
  const double islands = iteration("--cluster islands.json");
  CHECK(islands == iteration("--gpus 128 --profile h100:nvlink_domain=2"));
  CHECK(islands > iteration("--cluster 16x8:h100"));
}

TEST_CASE("plan: thousands are not separated") {
  const TemporaryFolder work;
  const auto result = run_vtrain("plan gpt2-124m --gpus 1,024", work.path());
  CHECK(result.exit_code == 2);
  CHECK(result.err ==
        "error: --gpus: expected whole numbers without separators of thousands, found '1,024'\n");
}

TEST_CASE("plan: a plan beside the others may have another precision") {
  const std::string question = "plan llama3-8b --gpus 64 --profile h100 --top 1 --beside tensor=2,pipeline=1";
  const auto beside = [&](const std::string& more) {
    const TemporaryFolder work;
    return run_json(question + more, work)["counts"][0]["beside"];
  };
  CHECK(beside("")["precision"] == "bf16");
  CHECK(beside(",precision=fp8")["precision"] == "fp8");
  CHECK(beside(",precision=fp8")["iteration_time_s"] < beside("")["iteration_time_s"]);
  CHECK(run_lines(question)[2].find("precision") == std::string::npos);
  CHECK(run_lines(question + ",precision=fp8")[2].find("precision") != std::string::npos);
  CHECK(beside(",precision=fp4")["error"].get<std::string>().find("the formats of h100") !=
        std::string::npos);
}

TEST_CASE("plan: the table has a line for each plan and says why the first beats the second") {
  const auto lines = run_lines("plan gpt3-175b --gpus 512 --top 4 --beside tensor=8,pipeline=16");
  REQUIRE(lines.size() >= 10);
  CHECK(lines[0].starts_with("gpt3-175b   "));
  CHECK(lines[0].find("global batch 1,536 x 2,048 tokens   512 a100") != std::string::npos);
  CHECK(lines[1].find(" GiB of memory, searched in ") != std::string::npos);
  CHECK(lines[2].find("pipeline (virtual)") != std::string::npos);
  CHECK(lines[3].starts_with("1  "));
  CHECK(lines[6].starts_with("4  "));
  CHECK(lines[7].starts_with("given  "));
  // Then the lines that stand for several plans, and what to make of the differences.
  const auto starts = [&lines](const std::string& text) {
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.starts_with(text); });
  };
  CHECK(starts("~ tight: within 8 % of 80.0 GiB"));
  CHECK(starts("1 beats 2 by "));
  CHECK(starts("1 to 4 differ by less than a comparison errs, 7 %"));
  CHECK(starts("90 % interval of 1: "));
  const auto speed =
      std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("1 trains "); });
  REQUIRE(speed != lines.end());
  CHECK(speed->find(" tokens/s/GPU   MFU ") != std::string::npos);
  CHECK(speed->ends_with(" TFLOP/s/GPU"));
  for (std::size_t i = 4; i < 8; ++i)
    CHECK(lines[i].size() == lines[3].size());
}

TEST_CASE("plan: GPUs without fused attention get a stack of 2021, which is said") {
  const auto last_line = [](const std::string& stack) {
    return run_lines("plan gpt3-6.7b --global-batch 64 --gpus 64 --profile v100-sxm3" + stack).back();
  };
  const std::string note =
      "stack megatron-2021, the default for GPUs without fused attention, is software of 2021";
  CHECK(last_line("").starts_with(note));
  CHECK(!last_line(" --stack megatron-2021").starts_with(note));
}

TEST_CASE("plan: the plan given is predicted on every GPU count that it divides") {
  const json answer = run_json(
      "plan mtnlg-530b --gpus 2240,2250,3360 --beside tensor=8,pipeline=35,micro-batch=1,recompute=full");
  REQUIRE(answer["counts"].size() == 3);
  CHECK(answer["counts"][0]["beside"]["data"] == 8);
  CHECK(answer["counts"][1]["beside"].contains("error"));
  CHECK(answer["counts"][2]["beside"]["data"] == 12);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    CHECK(answer["counts"][i]["beside"]["iteration_time_s"] >=
          answer["counts"][i]["plans"][0]["iteration_time_s"]);
  }
}

TEST_CASE(
    "plan: --offload adds plans that keep activations in the CPU's memory, and they are predicted alike") {
  const std::string command = "plan llama3-70b --cluster 16x4:gb200 --global-batch 256 --top 0";
  const json without = run_json(command);
  const json with = run_json(command + " --offload");
  CHECK(with["num_plans"] == without["num_plans"]);
  CHECK(with["num_fitting"] > without["num_fitting"]);
  CHECK(with["best"]["iteration_time_s"] <= without["best"]["iteration_time_s"]);
  const json& plans = with["counts"][0]["plans"];
  const auto offloading =
      std::find_if(plans.begin(), plans.end(), [](const json& plan) { return plan["offloaded_layers"] > 0; });
  REQUIRE(offloading != plans.end());
  const TemporaryFolder work;
  write_config(work, "llama3-70b", with, *offloading);
  CHECK(run_json("predict config.json", work)["iteration_time_s"] == (*offloading)["iteration_time_s"]);
  const auto described = run_vtrain("predict config.json", work.path());
  CHECK(described.out.find(": TIGHT, only a run can tell   recompute none   ") != std::string::npos);
  CHECK(described.out.find(" a stage offloaded\n") != std::string::npos);
  const auto refused =
      run_vtrain("plan llama3-70b --gpus 8 --global-batch 8 --offload --stack torchtitan", work.path());
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("--offload: expected a stack that can: ") != std::string::npos);
}

TEST_CASE("plan: --partial-recompute lets as many layers keep their activations as fit") {
  const std::string command = "plan llama2-70b --gpus 16 --profile h100 --headroom 0 --global-batch 64";
  const TemporaryFolder work;
  const json without = run_json(command);
  const json with = run_json(command + " --partial-recompute --out config.json", work);
  CHECK(without["best"]["recompute"] == "full");
  CHECK(with["best"]["recomputed_layers"] > 0);
  CHECK(with["best"]["iteration_time_s"] < without["best"]["iteration_time_s"]);
  CHECK(with["best"]["memory"]["fits"] != "no");
  CHECK(run_json("predict config.json", work)["iteration_time_s"] == with["best"]["iteration_time_s"]);
  const std::string layers = with["best"]["recomputed_layers"].dump();
  const auto described = run_vtrain("predict config.json", work.path());
  CHECK(described.out.find("recompute full of the first " + layers + " layer") != std::string::npos);
  // What can be typed into Megatron-LM, and what can be asked here.
  CHECK(run_vtrain(command + " --partial-recompute", work.path())
            .out.find("--recompute-method block --recompute-num-layers " + layers + "\n") !=
        std::string::npos);
  CHECK(run_vtrain(command, work.path()).out.find("--partial-recompute") != std::string::npos);
  const auto refused = run_vtrain(
      "plan llama3-70b --gpus 8 --global-batch 8 --partial-recompute --stack torchtitan", work.path());
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("--partial-recompute: expected a stack that can: ") != std::string::npos);
}

TEST_CASE("plan: queries, keys and values of latent attention may be made again from their compressed form") {
  const std::string command = "plan deepseek-v3 --gpus 512 --profile h100 --global-batch 2048";
  const TemporaryFolder work;
  const json answer = run_json(command + " --out config.json", work);
  CHECK(answer["best"]["recompute"] == "selective");
  CHECK(run_json("predict config.json", work)["iteration_time_s"] == answer["best"]["iteration_time_s"]);
  const auto told = run_vtrain(command, work.path());
  CHECK(told.out.find("--recompute-modules mla_up_proj") != std::string::npos);
}

TEST_CASE("plan: what the best plan rests on beside measurements is that of its prediction") {
  const TemporaryFolder work;
  const json answer =
      run_json("plan llama3-8b --cluster 2x8:h100 --global-batch 256 --out config.json", work);
  const json predicted = run_json("predict config.json", work);
  CHECK(predicted["provenance"]["fallbacks"] == answer["fallbacks"]);
  REQUIRE(!answer["fallbacks"].empty());
  const auto text = run_vtrain("plan llama3-8b --cluster 2x8:h100 --global-batch 256", work.path());
  // The vocabulary of 128,256 is the furthest: the table of products ends below it.
  const std::string first = answer["fallbacks"][0];
  CHECK(first.starts_with("logits_gemm: outside the measured sizes: 128,256 columns, "));
  CHECK(text.out.find("\noutside measured sizes in 1: ") != std::string::npos);
}

TEST_CASE("plan: another sequence length is part of the plan") {
  const TemporaryFolder work;
  const json answer =
      run_json("plan llama3-8b --cluster 2x8:h100 --sequence-length 4096 --out config.json", work);
  CHECK(answer["sequence_length"] == 4096);
  CHECK(answer["best"]["sequence_length"] == 4096);
  CHECK(run_json("predict config.json", work)["iteration_time_s"] == answer["best"]["iteration_time_s"]);
}

TEST_CASE("plan: the best plan is predicted from the file that --out writes, in any folder") {
  const TemporaryFolder work;
  work.write("ours.json", kOurModel);
  work.write("llama/config.json", kLlamaConfig);
  work.write("mine.json", slurp(VTRAIN_PROFILES_DIR "/h100.json"));
  std::filesystem::create_directory(work.path() / "elsewhere");
  work.write(
      "islands.json",
      R"({"groups": [{"num_nodes": 16, "gpus_per_node": 8, "gpu_type": "h100", "gpus_per_island": 2}]})");
  const std::string constant = ":node_network_bandwidth=100Gbit/s";
  for (const std::string& arguments :
       {std::string(
            "llama3-8b --gpus 64,128 --global-batch 256 --stack torchtitan --precision fp8 --profile h100"),
        "ours.json --gpus 16 --global-batch 64 --profile h100" + constant,
        "./llama --cluster islands.json --global-batch 256 --profile h100" + constant,
        "./llama/config.json --gpus 16 --global-batch 64 --profile mine.json" + constant}) {
    CAPTURE(arguments);
    const json answer = run_json("plan " + arguments + " --force --out elsewhere/best.json", work);
    const json predicted = json::parse(run_vtrain("predict best.json --json", work.path() / "elsewhere").out);
    CHECK(predicted["iteration_time_s"] == answer["best"]["iteration_time_s"]);
    CHECK(predicted["memory"]["peak_bytes_per_gpu"] == answer["best"]["memory"]["peak_bytes_per_gpu"]);
    CHECK(predicted["model_tflops_per_gpu"] == answer["best"]["model_tflops_per_gpu"]);
    CHECK(predicted["provenance"]["fallbacks"] == answer["fallbacks"]);
  }
  const auto told =
      run_vtrain("plan llama3-8b --gpus 8 --profile h100 --calibrate published --out best.json", work.path());
  CHECK(told.out.ends_with("1 is written: vtrain predict best.json --calibrate published\n"));
  const auto late = run_vtrain(
      "plan llama3-8b --gpus 8 --profile h100 --tokens 300B --deadline 1d --out late.json", work.path());
  CHECK(late.exit_code == 1);
  CHECK(!std::filesystem::exists(work.path() / "late.json"));
}

TEST_CASE("plan: a cluster whose GPU type is written in both cases has one type") {
  const json answer = run_json("plan llama3-8b --cluster 2x8:a100+2x8:A100 --top 1");
  CHECK(answer["best"] == run_json("plan llama3-8b --cluster 4x8:a100 --top 1")["best"]);
}

TEST_CASE("plan: a cluster gives GPUs and profile") {
  const json answer = run_json("plan megatron-7.5b --cluster 4x8:a100");
  CHECK(answer["profile"] == "a100");
  REQUIRE(answer["counts"].size() == 1);
  CHECK(answer["counts"][0]["num_gpus"] == 32);
  // With a deadline it may be any part of the cluster.
  const json part = run_json("plan megatron-7.5b --cluster 4x8:a100 --tokens 1B --deadline 30d");
  CHECK(part["counts"].size() == 7);  // 1, 2, 4, 8, 16, 24, 32
}

TEST_CASE("plan: models come from files too, ours and Hugging Face's") {
  const TemporaryFolder work;
  work.write("ours.json", kOurModel);
  work.write("config.json", kLlamaConfig);
  for (const char* file : {"ours.json", "config.json"}) {
    CAPTURE(file);
    const auto result =
        run_vtrain(std::string("plan ") + file + " --gpus 16 --global-batch 64 --stack megatron-core --json",
                   work.path());
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    const json answer = json::parse(result.out);
    CHECK(answer["tokens_per_iteration"] == 64 * 4096);
    CHECK(answer["stack"] == "megatron-core");
    CHECK(answer["best"]["num_gpus"] == 16);
  }
}
