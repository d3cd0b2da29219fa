/// `vtrain predict` through the command line.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tests/support/command_runner.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/predict.hpp"

using vtrain::testing::InheritedPipe;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

TEST_CASE("predict: options of the other semantics are said to be without effect") {
  const TemporaryFolder work;
  work.write("config.json",
             R"({"model": "llama3-8b", "plan": {"tensor": 8, "data": 1, "pipeline": 1, "global_batch": 8,
    "micro_batch": 1, "recompute": "none"}})");
  const auto plain = run_vtrain("predict config.json", work.path());
  REQUIRE_MESSAGE(plain.exit_code == 0, plain.err);
  CHECK(plain.err == "");
  const auto with =
      run_vtrain("predict config.json --traces x --collectives y --detail kernels", work.path());
  CHECK(with.exit_code == 0);
  CHECK(with.out == plain.out);
  CHECK(with.err ==
        "warning: --traces: without effect; it is for --semantics vtrain\n"
        "warning: --collectives: without effect; it is for --semantics vtrain\n"
        "warning: --detail kernels: without effect; it is for --semantics vtrain\n");
}

TEST_CASE("predict: an unknown stack is said to come from the option or from the configuration") {
  const TemporaryFolder work;
  const std::string plan =
      R"("model": "llama3-8b", "plan": {"tensor": 8, "data": 1, "pipeline": 1, "global_batch": 8,
    "micro_batch": 1, "recompute": "none"})";
  work.write("plain.json", "{" + plan + "}");
  work.write("named.json", "{" + plan + R"(, "stack": "megatron-kore"})");
  const auto option = run_vtrain("predict plain.json --stack megatron-kore", work.path());
  CHECK(option.exit_code == 2);
  CHECK(option.err == "error: --stack: unknown stack 'megatron-kore'; did you mean 'megatron-core'?\n");
  const auto named = run_vtrain("predict named.json", work.path());
  CHECK(named.exit_code == 2);
  CHECK(named.err ==
        "error: named.json:2: stack: unknown stack 'megatron-kore'; did you mean 'megatron-core'?\n");
  CHECK(run_vtrain("predict named.json --stack megatron-core", work.path()).exit_code == 0);
}

TEST_CASE("predict: what a stack or a GPU cannot run is named with its line") {
  const TemporaryFolder work;
  const auto error_of = [&](const std::string& more, const std::string& options) {
    work.write("config.json", R"({"model": "gpt3-1.3b",
  "plan": {"data": 4, "global_batch": 8, "micro_batch": 1, "recompute": "full",
           )" + more + "}}");
    const auto result = run_vtrain("predict config.json " + options, work.path());
    CHECK(result.exit_code == 2);
    return result.err;
  };
  CHECK(error_of(R"("context": 2)", "--stack megatron-2021")
            .starts_with("error: config.json:3: plan.context: expected 1: stack megatron-2021 "));
  CHECK(error_of(R"("precision": "fp8")", "--profile a100")
            .starts_with("error: config.json:3: plan.precision: "));
  CHECK(error_of(R"("context": 2)", "--profile h1000")
            .starts_with("error: --profile: unknown profile 'h1000'"));
}

TEST_CASE("predict: what is wrong with a configuration on a pipe has its line and field") {
  const InheritedPipe config(R"({"model": "gpt3-1.3b",
    "plan": {"data": 4, "global_batch": 8, "micro_batch": 1, "recompute": "full",
             "precision": "fp8"}})");
  const auto result = run_vtrain("predict --profile a100 " + config.path(), TemporaryFolder().path());
  CHECK(result.exit_code == 2);
  CHECK(result.err.starts_with("error: " + config.path() + ":3: plan.precision: expected one of 'fp32', "));
  const InheritedPipe release(R"({"num_gpus": 8, "data_parallel_size": 1, "tensor_parallel_size": 8,
    "pipeline_parallel_size": 1, "micro_batch_size": 1, "gpu_name": "A1000"})");
  const auto unknown = run_vtrain("predict " + release.path(), TemporaryFolder().path());
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.starts_with("error: " + release.path() + ":2: gpu_name: unknown profile 'a1000'"));
}

TEST_CASE("predict: a plan may name the kernels of attention, in place of the stack's") {
  const TemporaryFolder work;
  const auto predicted = [&](const std::string& attention, const std::string& options) {
    work.write("config.json", R"({"model": "gpt3-1.3b", "plan": {"data": 8, "global_batch": 64,
    "micro_batch": 2, "recompute": "none")" +
                                  attention + "}}");
    return run_json("predict config.json " + options, work);
  };
  const auto of = [](const char* attention) { return fmt::format(R"(, "attention": "{}")", attention); };
  const auto times_and_memory = [](const nlohmann::json& prediction) {
    return std::pair(prediction.at("iteration_time_ns"), prediction.at("memory").at("peak_bytes_per_gpu"));
  };
  // These two stacks differ by their attention alone.
  const auto fused = predicted("", "--stack pytorch-eager");
  const auto unfused = predicted("", "--stack pytorch-unfused");
  CHECK(fused.at("iteration_time_ns") < unfused.at("iteration_time_ns"));
  CHECK(times_and_memory(predicted(of("unfused"), "--stack pytorch-eager")) == times_and_memory(unfused));
  CHECK(times_and_memory(predicted(of("flash-2"), "--stack pytorch-unfused")) == times_and_memory(fused));
  // A name that changes nothing, and no name, which is not written.
  const auto same = predicted(of("stack"), "--stack pytorch-eager");
  CHECK(same == fused);
  CHECK_FALSE(same.at("plan").contains("attention"));
  const auto named = predicted(of("flash-2"), "--stack pytorch-eager");
  CHECK(named.at("plan").at("attention") == "flash-2");
  CHECK(named.at("provenance") == fused.at("provenance"));
  // The A100 has rates of flash attention 2 alone.
  for (const char* attention : {"flash-3", "cudnn"}) {
    const auto prediction = predicted(of(attention), "--profile a100 --stack pytorch-eager");
    CHECK(times_and_memory(prediction) ==
          times_and_memory(predicted("", "--profile a100 --stack pytorch-eager")));
    CHECK(prediction.at("provenance").at("fallbacks").back() ==
          fmt::format(
              "attention {}: a100 has no rates of it, those of the kernel of stack pytorch-eager were used",
              attention));
  }
  predicted(of("cudnn"), "--stack pytorch-unfused");  // leaves this configuration
  const auto result = run_vtrain("predict config.json --stack pytorch-unfused", work.path());
  const std::string text = vtrain::testing::unwrapped(result.out);
  CHECK(text.find("attention cudnn: the plan's, in place of unfused of stack pytorch-unfused") !=
        std::string::npos);
  CHECK(text.find("a100 has no rates of it, those of the newest kernel that it has were used") !=
        std::string::npos);
  work.write("config.json", R"({"model": "gpt3-1.3b", "plan": {"data": 4, "context": 2, "global_batch": 8,
    "micro_batch": 1, "recompute": "none",
    "attention": "unfused"}})");
  CHECK(run_vtrain("predict config.json --stack megatron-core", work.path())
            .err.starts_with("error: config.json:1: plan.context: expected 1: "));
}

TEST_CASE("plan: --beside may name the kernels of attention") {
  const TemporaryFolder work;
  const std::string question =
      "plan gpt3-1.3b --gpus 8 --profile h100 --top 1 --beside tensor=1,recompute=none,attention=";
  const auto unfused = run_json(question + "unfused", work).at("counts")[0];
  CHECK(unfused.at("beside").at("attention") == "unfused");
  CHECK_FALSE(unfused.at("plans")[0].contains("attention"));
  const auto fused = run_json(question + "stack", work).at("counts")[0];
  CHECK(fused.at("beside").at("iteration_time_s") < unfused.at("beside").at("iteration_time_s"));
  CHECK(run_vtrain(question + "flash-4", work.path()).err ==
        "error: --beside: attention: expected one of 'stack', 'flash-2', 'flash-3', 'cudnn' and 'unfused', "
        "found "
        "'flash-4'\n");
}

TEST_CASE("predict: a plan without a precision has that of the stack") {
  const TemporaryFolder work;
  const auto precision = [&](const std::string& more, const std::string& options) {
    work.write(
        "config.json", R"({"model": "gpt3-1.3b", "plan": {"data": 8, "global_batch": 8, "micro_batch": 1,
    "recompute": "full")" + more +
                           "}}");
    const auto predicted = run_json("predict config.json " + options, work);
    return predicted.at("plan").at("precision").get<std::string>();
  };
  // The V100 has no bf16, which would be a fallback.
  CHECK(precision("", "--profile v100-pcie --strict") == "fp16");
  CHECK(precision("", "--profile h100") == "bf16");
  CHECK(precision("", "--profile a100 --stack megatron-2022") == "bf16");
  CHECK(precision(R"(, "precision": "bf16")", "--profile a100") == "bf16");
}

TEST_CASE("predict: the command prints what the library predicts") {
  const TemporaryFolder work;
  work.write("config.json",
             R"({"model": "gpt3-175b", "plan": {"tensor": 8, "data": 2, "pipeline": 4, "global_batch": 64,
    "micro_batch": 1, "recompute": "full"}})");
  const auto printed =
      run_json("predict config.json --profile h100 --stack megatron-core --calibrate published", work);
  const auto target =
      vtrain::resolve_target({.profile = "h100", .stack = "megatron-core", .calibration = "published"});
  REQUIRE(target);
  const vtrain::ParallelPlan plan{.tensor = 8,
                                  .data = 2,
                                  .pipeline = 4,
                                  .global_batch = 64,
                                  .micro_batch = 1,
                                  .recompute = vtrain::Recompute::Full,
                                  .precision = target->stack.choices.precision};
  const auto prediction = vtrain::predict(vtrain::find_model("gpt3-175b")->model(), plan, *target);
  REQUIRE(prediction);
  const vtrain::IterationTimes& times = prediction->times;
  CHECK(printed.at("iteration_time_ns") == times.iteration.count());
  CHECK(printed.at("communication_end_ns") == times.communication_end.count());
  CHECK(printed.at("memory").at("peak_bytes_per_gpu") == prediction->memory->peak.value);
  REQUIRE(printed.at("stages").size() == times.stages.size());
  for (std::size_t stage = 0; stage < times.stages.size(); ++stage)
    CHECK(printed.at("stages")[stage].at("end_ns") == times.stages[stage].end.count());
  CHECK(printed.at("provenance").at("fallbacks") == prediction->provenance.fallbacks.sentences());
}
