#include "docs/measured/normalise/published_recipe.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/normalise/measured_records.hpp"

namespace vtrain {
namespace {

TEST_CASE("published_recipe: recipes complete what records leave to them") {
  const auto read = [](const std::string& model, const std::string& title, const std::string& parallel,
                       const std::string& recompute) {
    return only_case(
        R"({"id": "x", "framework": "Megatron-Bridge", "precision": "FP8", "recompute": ")" + recompute +
        R"(", "source": {"title": ")" + title + R"("}, "model": {"name": ")" + model +
        R"(", "seq_len": 4096}, "system": {"gpu": "GB300", "num_gpus": 64}, "parallel": )" + parallel +
        R"(, "batch": {"global_batch": 64, "micro_batch": 1}, "measured": {"iteration_s": 1}})");
  };
  const std::string sharded = R"({"tp": 1, "pp": 1, "fsdp": 64})";
  const std::string staged = R"({"tp": 1, "pp": 2, "ep": 32})";
  CHECK(read("LLAMA3_70B", "t, 25.11 C", sharded, "see recipe").plan.offloaded_layers == 20);
  CHECK(read("LLAMA3_70B", "t, 25.11 C", R"({"tp": 1, "pp": 4})", "see recipe").plan.offloaded_layers == 0);
  CHECK(read("LLAMA3_70B", "t, 25.11 C", sharded, "see recipe").plan.virtual_stages == 1);
  const RawCase interleaved = read("LLAMA3_70B", "t, 26.02 N", R"({"tp": 1, "pp": 4, "vp": null})", "none");
  CHECK(interleaved.plan.virtual_stages == 5);
  CHECK(interleaved.assumed.back() == "5 virtual stages: the recipe");
  const RawCase old_release = read("DeepSeekV3", "t, 26.02 NeMo", staged, "see recipe");
  CHECK(old_release.plan.recompute == Recompute::Selective);
  CHECK(old_release.stack.name == "megatron-bridge");
  CHECK(old_release.assumed.back() == "recomputation: selective, the recipe's");
  const RawCase new_release = read("DeepSeekV3", "t, 26.06 NeMo", staged, "see recipe");
  CHECK(new_release.plan.recompute == Recompute::None);
  CHECK(new_release.stack.name == "megatron-bridge-26.06");
  CHECK(old_release.stack.dispatch == TokenDispatch::HybridEp);
  CHECK(read("DeepSeekV3", "t, 25.11 NeMo", staged, "none").stack.dispatch == TokenDispatch::OnePerGpu);
  const RawCase hybrid = read("Nemotron_3_Super", "t, 26.06 NeMo", staged, "see recipe");
  CHECK(hybrid.stack.wider == WiderProducts{.prediction = true});
  CHECK_FALSE(hybrid.stack.fuses_router);
  CHECK_FALSE(hybrid.stack.overlap.tensor);
  const RawCase ultra = read("Nemotron_3_Ultra", "t, 26.08 NeMo", staged, "see recipe");
  CHECK(ultra.plan.sharding == Sharding::Full);
  CHECK(ultra.plan.recompute == Recompute::Selective);
  CHECK(ultra.stack.memory.selective == SelectiveRecompute::Activations);
  CHECK(ultra.stack.memory.offloads_expert_inputs);
  // What the record says counts.
  CHECK(read("DeepSeekV3", "t, 26.02 NeMo", staged, "none").plan.recompute == Recompute::None);
}

TEST_CASE("published_recipe: collectives of fully sharded weights on registered buffers") {
  const auto contention = [](const std::string& gpu, const std::string& precision,
                             const std::string& sharded) {
    const RawCase measured = only_case(
        R"({"id": "x", "framework": "Megatron-Bridge", "precision": ")" + precision +
        R"(", "recompute": "none", "source": {"title": "t, 26.02 NeMo"}, "model": {"name": "LLAMA3_70B",
        "seq_len": 4096}, "system": {"gpu": ")" +
        gpu + R"(", "num_gpus": 64}, "parallel": {"tp": 1, "pp": 1, "fsdp": )" + sharded +
        R"(}, "batch": {"global_batch": 64, "micro_batch": 1}, "measured": {"iteration_s": 1}})");
    return measured.stack.data_parallel.contention;
  };
  CHECK(contention("GB300", "BF16", "64") == 0.03);
  CHECK(contention("GB300", "BF16", "0") == 0.15);
  CHECK(contention("GB300", "FP8", "64") == 0.15);
  CHECK(contention("GB200", "BF16", "64") == 0.15);
}

TEST_CASE("published_recipe: recipes of mixtures of experts differ by GPU and release") {
  const auto read = [](const std::string& model, const std::string& release, const std::string& gpu,
                       int virtual_stages) {
    return only_case(
               R"({"id": "x", "framework": "Megatron-Bridge", "precision": "FP8", "recompute": "see recipe",
                   "source": {"title": "summary, )" +
               release + R"( NeMo Container"}, "model": {"name": ")" + model +
               R"(", "seq_len": 4096}, "system": {"gpu": ")" + gpu +
               R"(", "num_gpus": 64}, "parallel": {"tp": 1, "pp": 2, "ep": 8, "vp": )" +
               std::to_string(virtual_stages) +
               R"(}, "batch": {"global_batch": 64, "micro_batch": 1}, "measured": {"iteration_s": 1}})")
        .stack;
  };
  // Dispatch under other layers, as long as the recipe has it and stages have several chunks.
  CHECK(read("Qwen3_30B_a3B", "26.02", "H100", 12).name == "megatron-bridge-overlap");
  CHECK(read("Qwen3_30B_a3B", "26.02", "H100", 1).name == "megatron-bridge");
  CHECK(read("Qwen3_30B_a3B", "26.04", "H100", 12).name == "megatron-bridge");
  CHECK(read("Qwen3_30B_a3B (tokendrop)", "25.09", "H100", 12).name == "megatron-bridge");
  CHECK(read("Qwen3_30B_a3B", "26.02", "H100", 12).dispatch == TokenDispatch::AllToAll);
  CHECK(read("Qwen3_30B_a3B", "26.04", "H100", 1).dispatch != TokenDispatch::AllToAll);
  CHECK(read("DeepSeekV3 (tokendrop)", "25.09", "GB200", 1).dispatch == TokenDispatch::AllToAll);
  CHECK(read("DeepSeekV3", "25.11", "GB200", 1).dispatch != TokenDispatch::AllToAll);
  // CUDA graphs.
  CHECK(read("Qwen3_30B_a3B", "26.02", "B200", 1).graphs == CudaGraphs::Router);
  CHECK(read("Qwen3_30B_a3B", "26.04", "B200", 1).graphs == CudaGraphs::Layer);
  CHECK(read("Qwen3_30B_a3B", "26.04", "H100", 1).graphs == CudaGraphs::None);
  CHECK(read("DeepSeekV3", "26.02", "GB200", 1).graphs == CudaGraphs::Layer);
  CHECK(read("DeepSeekV3", "26.06", "GB200", 1).graphs == CudaGraphs::Iteration);
}
}  // namespace
}  // namespace vtrain
