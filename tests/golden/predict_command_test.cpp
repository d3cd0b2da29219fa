/// `vtrain predict` as a user sees it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

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
