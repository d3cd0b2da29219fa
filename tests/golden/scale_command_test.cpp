/// `vtrain scale` through the command line: its answer must be consistent.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"
#include "tests/support/model_examples.hpp"

using nlohmann::json;
using vtrain::testing::kLlamaConfig;
using vtrain::testing::kOurModel;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

TEST_CASE("scale: the largest model in time, below what the peak promises") {
  const json answer = run_json("scale --gpus 1024 --days 14");
  const json& best = answer["best"];
  CHECK(best["days"] <= 14);
  CHECK(best["in_time"] == true);
  CHECK(best["parameters"] < answer["promised_by_peak"]["parameters"]);
  CHECK(best["tokens"].get<double>() == doctest::Approx(20 * best["parameters"].get<double>()));
  CHECK(best["plan"]["memory"]["fits"] != "no");
  CHECK(best["plan"]["num_gpus"] == 1024);
  bool above = false;
  for (const json& rung : answer["ladder"]) {
    if (above) CHECK(rung["in_time"] == false);
    above = above || rung["parameters"] == best["parameters"];
    CHECK(rung["days_at_peak"] < rung["days"]);
    CHECK(rung["utilization"].get<double>() ==
          doctest::Approx(rung["days_at_peak"].get<double>() / rung["days"].get<double>()));
  }
  CHECK(above);
}

TEST_CASE("scale: its plan is that of `plan` for the same model, and its days are its iterations") {
  const json best = run_json("scale --gpus 3360 --days 30 --global-batch 1680")["best"];
  const double iterations = std::ceil(best["tokens"].get<double>() / (1680.0 * 2048));
  CHECK(best["days"].get<double>() ==
        doctest::Approx(iterations * best["plan"]["iteration_time_s"].get<double>() / 86400));
}

TEST_CASE("scale: more days train larger models, more tokens per parameter smaller ones") {
  const auto parameters = [](const std::string& more) {
    return run_json("scale --cluster 8x8:a100 " + more)["best"]["parameters"].get<double>();
  };
  const double usual = parameters("--days 20");
  CHECK(parameters("--days 60") > usual);
  CHECK(parameters("--days 20 --tokens-per-parameter 200") < usual);
}

TEST_CASE("scale: in 8 bits larger models are in time, below a higher peak") {
  const std::string asked = "scale llama3-8b --cluster 4x8:h100 --days 20";
  const json usual = run_json(asked);
  const json narrow = run_json(asked + " --precision fp8");
  CHECK(usual["precision"] == "bf16");
  CHECK(narrow["precision"] == "fp8");
  CHECK(narrow["best"]["plan"]["precision"] == "fp8");
  const auto peak = [](const json& answer) {
    return answer["promised_by_peak"]["flops_per_second"].get<double>();
  };
  CHECK(peak(narrow) == doctest::Approx(2 * peak(usual)).epsilon(0.01));
  CHECK(narrow["best"]["parameters"] > usual["best"]["parameters"]);
  // A100 has none.
  const TemporaryFolder work;
  CHECK(run_vtrain("scale --gpus 8 --days 1 --precision fp8", work.path()).exit_code == 2);
}

TEST_CASE("scale: the family of a model, by its name or from a file of either kind") {
  const TemporaryFolder work;
  work.write("ours.json", kOurModel);
  work.write("config.json", kLlamaConfig);
  struct Family {
    std::string model;
    int vocab_size = 0;
    double mlp_ratio = 0;
    int kv_heads = 0;  ///< number of key-value heads, 0: as many as heads
  };
  for (const Family& family :
       {Family{"llama3-8b", 128256, 3.5, 8}, Family{"ours.json", 128256, 3.5, 8},
        Family{"config.json", 32000, 11008.0 / 4096}, Family{"mixtral-8x7b", 32000, 3.5, 8}}) {
    CAPTURE(family.model);
    const json answer = run_json("scale " + family.model + " --cluster 16x8:h100 --days 10", work);
    const json& best = answer["best"];
    CHECK(best["in_time"] == true);
    CHECK(best["parameters"] > 5e9);
    CHECK(best["vocab_size"] == family.vocab_size);
    CHECK(best["tokens"].get<double>() == doctest::Approx(20 * best["active_parameters"].get<double>()));
    CHECK(best["ffn_size"].get<double>() / best["hidden_size"].get<double>() ==
          doctest::Approx(family.mlp_ratio).epsilon(0.01));
    CHECK(best["num_kv_heads"] == (family.kv_heads > 0 ? json(family.kv_heads) : best["num_heads"]));
    // What is proposed can be planned, whatever it consists of.
    work.write("best.json", best["architecture"].dump());
    const json plan = run_json(
        "plan best.json --cluster 16x8:h100 --global-batch " + best["plan"]["global_batch"].dump(), work);
    CHECK(plan["parameters"] == best["parameters"]);
    CHECK(plan["best"]["iteration_time_s"] == best["plan"]["iteration_time_s"]);
  }
  for (const char* wrong : {"lama3-8b", "missing.json", "nemotron-3-nano"}) {
    CAPTURE(wrong);
    const auto result =
        run_vtrain(std::string("scale ") + wrong + " --cluster 16x8:h100 --days 10", work.path());
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.find(wrong) != std::string::npos);
  }
}

TEST_CASE("scale: what the best model rests on beside measurements is told, as plan does") {
  const TemporaryFolder work;
  const std::string command = "scale --gpus 64 --profile h100 --days 10";
  const json answer = run_json(command, work);
  REQUIRE(!answer["fallbacks"].empty());
  CHECK(answer["remarks"].is_array());
  CHECK(run_vtrain(command, work.path()).out.find("\noutside measured sizes in *: ") != std::string::npos);
}

TEST_CASE("scale: what the ladder of models does not hold is said") {
  const TemporaryFolder work;
  const std::string huge = "scale --gpus 100000 --cluster 12500x8:h100 --days ";
  CHECK(run_json(huge + "400")["ladder_ends"] == true);
  const auto told = run_vtrain(huge + "400", work.path());
  CHECK(told.out.find(
            "* the largest in time, and the largest that is tried: larger ones may be in time too.") !=
        std::string::npos);
  CHECK(run_json("scale --gpus 64 --days 14")["ladder_ends"] == false);
}

TEST_CASE("scale: batches divide over few GPUs, and sequences have the length that is asked for") {
  const json few = run_json("scale --cluster 1x8:h100 --days 1");
  for (const json& rung : few["ladder"])
    CHECK(rung["plan"]["global_batch"].get<int>() % 8 == 0);
  const json answer = run_json("scale llama3-8b --cluster 4x8:h100 --days 10 --sequence-length 4096");
  CHECK(answer["best"]["sequence_length"] == 4096);
  CHECK(run_json("scale --gpus 64 --days 14 --sequence-length 8192")["best"]["sequence_length"] == 8192);
}

TEST_CASE("scale: the table marks the answer, once") {
  const TemporaryFolder work;
  const auto result = run_vtrain("scale --gpus 64 --days 14 --price 2", work.path());
  REQUIRE(result.exit_code == 0);
  std::size_t marks = 0;
  for (std::size_t at = result.out.find("  *\n"); at != std::string::npos;
       at = result.out.find("  *\n", at + 1))
    ++marks;
  CHECK(marks == 1);
  CHECK(result.out.starts_with("64 a100 for 14 d, 20 tokens per parameter; "));
  CHECK(result.out.find("\nat peak    ") != std::string::npos);
  CHECK(result.out.find("\npredicted  ") != std::string::npos);

  const auto too_little = run_vtrain("scale --gpus 1 --days 0.002", work.path());
  CHECK(too_little.exit_code == 1);
  CHECK(too_little.err.starts_with("error: --days: "));
}
