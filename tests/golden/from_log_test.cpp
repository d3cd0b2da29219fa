/// Logs of training runs through the command line: `vtrain predict --from-log`, `vtrain profile calibrate
/// --log`. The logs are made here from predictions, so that their answers are known.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::unwrapped;

namespace {

constexpr int kGlobalBatch = 16;

/// A configuration of Llama 3 8B at 8,192 tokens on eight H100.
std::string config(int tensor, int micro_batch) {
  return fmt::format(
      R"({{"model": "llama3-8b", "profile": "h100", "stack": "megatron-core",
          "plan": {{"tensor": {}, "data": {}, "global_batch": {}, "micro_batch": {}, "recompute": "none",
                    "sequence_parallel": {}, "sharding": "optimizer", "precision": "bf16"}}}})",
      tensor, 8 / tensor, kGlobalBatch, micro_batch, tensor > 1);
}

/// The arguments of that configuration, as Megatron-LM prints them.
std::string arguments(int tensor, int micro_batch) {
  std::string text = "------------------------ arguments ------------------------\n";
  const auto add = [&text](const std::string& name, const auto& value) {
    text += fmt::format("  {} {} {}\n", name, std::string(48 - name.size(), '.'), value);
  };
  add("add_bias_linear", "False");
  add("bf16", "True");
  add("ffn_hidden_size", 14336);
  add("global_batch_size", kGlobalBatch);
  add("group_query_attention", "True");
  add("hidden_size", 4096);
  add("max_position_embeddings", 8192);
  add("micro_batch_size", micro_batch);
  add("normalization", "RMSNorm");
  add("num_attention_heads", 32);
  add("num_layers", 32);
  add("num_query_groups", 8);
  add("padded_vocab_size", 128256);
  add("position_embedding_type", "rope");
  add("seq_length", 8192);
  add("sequence_parallel", tensor > 1 ? "True" : "False");
  add("swiglu", "True");
  add("tensor_model_parallel_size", tensor);
  add("untie_embeddings_and_output_weights", "True");
  add("use_distributed_optimizer", "True");
  add("world_size", 8);
  return text + "-------------------- end of arguments ---------------------\n";
}

/// Lines of iterations: three of warm-up, seven of `seconds`, one of a checkpoint.
std::string iterations(double seconds, int batch = kGlobalBatch, int first = 1) {
  std::string text;
  for (int i = 0; i < 11; ++i) {
    const double slower = i < 3 ? 10.0 - i : i == 7 ? 4 : 1;
    text += fmt::format(
        " [2026-01-02 03:04:05] iteration {:8}/     500 | consumed samples: {:12} | elapsed time per "
        "iteration "
        "(ms): {} | global batch size: {:5} | lm loss: 2.0E+00 |\n",
        first + i, batch * (first + i), seconds * slower * 1e3, batch);
  }
  return text;
}

double predicted_time(const TemporaryFolder& work, const std::string& file, const std::string& options = "") {
  return run_json("predict " + file + " " + options, work)["iteration_time_s"].get<double>();
}

std::string error_of(const TemporaryFolder& work, const std::string& command) {
  const auto result = run_vtrain(command, work.path());
  CHECK(result.exit_code == 2);
  CHECK(result.out == "");
  return result.err;
}

}  // namespace

TEST_CASE("predict --from-log: the ratio of a log that was made with it, whatever prints the time") {
  const TemporaryFolder work;
  work.write("config.json", config(2, 1));
  const double predicted = predicted_time(work, "config.json");
  constexpr double kRatio = 1.3;
  const double seconds = kRatio * predicted;
  // 16 sequences of 8,192 tokens on 8 GPUs
  const double tokens = kGlobalBatch * 8192.0 / 8 / seconds;
  struct Format {
    std::string framework;
    std::function<std::string(int)> line;
  };
  const std::vector<Format> formats = {
      {"Megatron-LM",
       [&](int i) {
         return fmt::format("iteration {}/ 99 | elapsed time per iteration (ms): {} |\n", i, seconds * 1e3);
       }},
      {"Megatron-Bridge",
       [&](int) {
         return fmt::format("Step Time : {}s GPU utilization: 663.5MODEL_TFLOP/s/GPU\n", seconds);
       }},
      {"NeMo",
       [&](int i) {
         return fmt::format(
             "Training epoch 0, iteration {0}/99 | global_step: {0} | train_step_timing in s: {1}\n", i,
             seconds);
       }},
      {"torchtitan",
       [&](int i) {
         return fmt::format("[rank0]:[titan] - INFO - step: {}  loss:  2.0  tps: {}\n", i, tokens);
       }},
      {"DeepSpeed",
       [&](int i) {
         return fmt::format(
             "[timer.py:260:stop] epoch=0/micro_step={0}/global_step={0}, CurrSamplesPerSec={1}\n", i,
             kGlobalBatch / seconds);
       }},
  };
  for (const Format& format : formats) {
    CAPTURE(format.framework);
    std::string log;
    for (int i = 1; i <= 8; ++i)
      log += format.line(i);
    work.write("train.log", log);
    const json answer = run_json("predict --from-log train.log --config config.json", work);
    CHECK(answer["framework"] == format.framework);
    CHECK(answer["measured_over_predicted"].get<double>() == doctest::Approx(kRatio).epsilon(1e-12));
    CHECK(answer["predicted"]["iteration_time_s"] == predicted);
    CHECK(answer["measured"]["steady_lines"] == 5);
  }
  std::string table = "Step,run - throughput(tps),run - throughput(tps)__MIN\n";
  for (int i = 1; i <= 8; ++i)
    table += fmt::format("{},{},1\n", i, tokens);
  work.write("export.csv", table);
  const json answer = run_json("predict --from-log export.csv --config config.json", work);
  CHECK(answer["framework"] == "Weights & Biases");
  CHECK(answer["measured_over_predicted"].get<double>() == doctest::Approx(kRatio).epsilon(1e-12));
}

TEST_CASE("predict --from-log: the log's arguments are the plan, and lines that do not count are counted") {
  const TemporaryFolder work;
  work.write("config.json", config(2, 1));
  const double predicted = predicted_time(work, "config.json");
  work.write("train.log",
             arguments(2, 1) + iterations(1.2 * predicted) +
                 "[Rank 0] (after 1 iterations) memory (MB) | allocated: 1.0 | max allocated: 51200.0 | "
                 "reserved: 1.0 | max reserved: 61440.0\n" +
                 arguments(2, 1) + iterations(1.2 * predicted, kGlobalBatch, 6));
  const json answer = run_json("predict --from-log train.log --profile h100", work);
  CHECK(answer["stack"] == "megatron-core");
  CHECK(answer["predicted"]["iteration_time_s"].get<double>() == doctest::Approx(predicted).epsilon(0.02));
  CHECK(answer["measured"]["iteration_time_s"].get<double>() ==
        doctest::Approx(1.2 * predicted).epsilon(1e-12));
  CHECK(answer["starts"] == 2);
  CHECK(answer["measured"]["warm_up_lines"] == 6);
  CHECK(answer["measured"]["slow_lines"] == 2);
  CHECK(answer["measured"]["steady_lines"] == 14);
  CHECK(answer["measured"]["allocated_bytes"] == 51200.0 * 1024 * 1024);
  CHECK(answer["suspects"][0]["part"] == "compute");
  // Its time and the missing time, over its time.
  const double compute = answer["suspects"][0]["predicted_s"].get<double>();
  const double missing = answer["measured"]["iteration_time_s"].get<double>() -
                         answer["predicted"]["iteration_time_s"].get<double>();
  CHECK(answer["suspects"][0]["factor_that_explains_all"].get<double>() ==
        doctest::Approx(1 + missing / compute));
  const std::string text =
      unwrapped(run_vtrain("predict --from-log train.log --profile h100", work.path()).out);
  CHECK(text.find("1 restart") != std::string::npos);
  CHECK(text.find("left out: 6 after starts, 2 slow") != std::string::npos);
  CHECK(text.find("the run is slower than predicted") != std::string::npos);
  CHECK(text.find("times as long would explain it all") != std::string::npos);
  CHECK(text.find("allocated 50.0 GiB measured") != std::string::npos);
}

TEST_CASE("predict --from-log: logs that cannot be read are errors with file and line") {
  const TemporaryFolder work;
  work.write("config.json", config(2, 1));
  work.write("bare.log", "start\n" + iterations(1));
  CHECK(error_of(work, "predict --from-log bare.log") ==
        "error: bare.log:2: the log prints no arguments that are known before its first iteration: --config "
        "FILE, a "
        "configuration of `vtrain predict`, gives model and plan\n");
  work.write("mixed.log", arguments(2, 1) + iterations(1) + arguments(2, 2) + iterations(1));
  CHECK(error_of(work, "predict --from-log mixed.log --profile h100")
            .starts_with(
                "error: mixed.log:43: micro_batch_size: the log has two runs: here the argument is '2', in "
                "line 9 it is '1'"));
  const std::string whole = iterations(1);
  work.write("cut.log", whole.substr(0, whole.find(" [", whole.find("iteration        5/"))));
  CHECK(error_of(work, "predict --from-log cut.log --config config.json")
            .starts_with(
                "error: cut.log:5: the log ends here with 2 steady iteration lines; expected 3 or more"));
  work.write("other.log", "Epoch 1: loss 2.0\n");
  CHECK(error_of(work, "predict --from-log other.log --config config.json")
            .starts_with("error: other.log:1: no line of a training iteration up to here. Known are"));
  work.write("batch.log", iterations(1, 2 * kGlobalBatch));
  CHECK(error_of(work, "predict --from-log batch.log --config config.json") ==
        "error: batch.log:1: global batch size: 32, but the plan has 16\n");
  work.write("heads.log",
             "--- arguments ---\n  num_layers ..... 32\n  hidden_size ..... many\n end of arguments ---\n" +
                 iterations(1));
  CHECK(error_of(work, "predict --from-log heads.log --profile h100").find("heads.log:") !=
        std::string::npos);
  CHECK(error_of(work, "predict --from-log absent.log").starts_with("error: absent.log: "));
  CHECK(error_of(work, "predict --from-log bare.log --config config.json --profile h1000")
            .starts_with("error: --profile: unknown profile 'h1000'"));
  CHECK(error_of(work, "predict --from-log bare.log config.json").starts_with("error: --from-log: "));
  CHECK(error_of(work, "predict").starts_with("error: configs: "));
}

TEST_CASE("calibrate --log: three logs give back the ratio that made them, with an interval") {
  const TemporaryFolder work;
  constexpr double kRatio = 1.25;
  std::string logs;
  for (const int tensor : {1, 2, 4}) {
    const std::string name = fmt::format("run{}", tensor);
    work.write(name + ".json", config(tensor, 1));
    work.write(name + ".log", iterations(kRatio * predicted_time(work, name + ".json")));
    logs += fmt::format(" --log {0}.log --config {0}.json", name);
  }
  const auto made = run_vtrain("profile calibrate" + logs + " --out mine.json", work.path());
  REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  CHECK(made.out.find("the next run lies between with a chance of about 50 %") != std::string::npos);
  const json stack = json::parse(slurp(work.path() / "mine.json"))["stacks"][0];
  CHECK(stack["stack"] == "megatron-core");
  CHECK(stack["fitted_on"].size() == 3);
  // Not all parts of an iteration have a factor: launches and sends between stages have none.
  constexpr double kTolerance = 0.01;
  // Of two plans, the fit cannot tell which part of a third is slower.
  constexpr double kToleranceOfThird = 0.02;
  REQUIRE(stack["left_out_log_ratios"].size() == 3);
  for (const json& ratio : stack["left_out_log_ratios"])
    CHECK(std::abs(ratio.get<double>()) < kToleranceOfThird);
  CHECK(stack["held_out"]["mape_percent"].get<double>() < 100 * kToleranceOfThird);
  CHECK(stack["held_out_before"]["mape_percent"].get<double>() ==
        doctest::Approx(20).epsilon(1e-9));  // 1 - 1/1.25
  for (const int tensor : {1, 2, 4}) {
    const std::string file = fmt::format("run{}.json", tensor);
    const double after = predicted_time(work, file, "--calibrate mine.json");
    CHECK(after / predicted_time(work, file) == doctest::Approx(kRatio).epsilon(kTolerance));
  }
  // The calibrated run is as it was predicted.
  const json again = run_json("predict --from-log run2.log --config run2.json --calibrate mine.json", work);
  CHECK(again["measured_over_predicted"].get<double>() == doctest::Approx(1).epsilon(kTolerance));
  CHECK(again["calibration"] == "calibrated with mine.json");
}

TEST_CASE("calibrate --log: two logs give factors but no interval, and options are checked") {
  const TemporaryFolder work;
  work.write("a.json", config(2, 1));
  const double predicted = predicted_time(work, "a.json");
  work.write("a.log", iterations(1.1 * predicted));
  work.write("b.log", iterations(1.1 * predicted));
  const auto two =
      run_vtrain("profile calibrate --log a.log --log b.log --config a.json --out two.json", work.path());
  REQUIRE_MESSAGE(two.exit_code == 0, two.err);
  CHECK(two.out.find("no interval, 3 or more logs are needed (2)") != std::string::npos);
  CHECK_FALSE(json::parse(slurp(work.path() / "two.json"))["stacks"][0].contains("left_out_log_ratios"));
  const std::string calibrate = "profile calibrate --out x.json ";
  CHECK(error_of(work, calibrate + "--log a.log --log a.log --config a.json").find("a.log") !=
        std::string::npos);
  CHECK(error_of(work, calibrate + "--log a.log --config a.json --config a.json")
            .starts_with("error: --config: expected one for all logs or one for each of 1, found 2"));
  CHECK(error_of(work, calibrate + "a.json --log a.log --config a.json").starts_with("error: CASES: "));
  CHECK(error_of(work, calibrate).starts_with("error: CASES: "));
  CHECK(error_of(work, calibrate + "--log a.log").starts_with("error: a.log:1: the log prints no arguments"));
}
