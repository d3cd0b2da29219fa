#include "workloads/physical_semantics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/csv.hpp"
#include "core/file.hpp"
#include "core/rng.hpp"
#include "workloads/graph_builder.hpp"
#include "workloads/kernel_cost.hpp"
#include "workloads/model_zoo.hpp"

namespace vtrain {
namespace {

/// The A100 in nodes with 800 Gbit/s, as where the iterations of the public vTrain release were measured.
const GpuProfile& a100() {
  static const GpuProfile profile = [] {
    GpuProfile loaded = load_gpu_profile("a100").value();
    loaded.node_network_bandwidth = BytesPerSecond(1e11);
    return loaded;
  }();
  return profile;
}

const Stack& megatron() {
  return default_stack(a100());
}

/// Costs of one GPU's part of the layers.
LayerCosts costs_of(const TransformerModel& model, std::int64_t tensor, std::int64_t micro_batch) {
  return layer_costs(model, {.tensor = tensor, .micro_batch = micro_batch, .precision = Precision::Fp16},
                     a100(), megatron());
}

double total_ns(const std::vector<Operator>& operators) {
  double sum = 0;
  for (const Operator& op : operators)
    sum += op.duration.count() + op.gap.count();
  return sum;
}

TEST_CASE("physical_semantics: a layer's kernels add up") {
  // Hidden size 2048, 16 heads, sequence 1024, micro-batch 4. A second implementation of the formulas, with
  // the rate of products that is fitted to Vidur's tables and the traffic as it is counted, gives 8.133 ms
  // without kernel overhead and gradient accumulation. There are 15 + 34 kernels of 3 us overhead, and
  // accumulating 12 h^2 gradients moves 301,989,888 bytes at 1733.15e9 B/s: 8.133 + 0.147 + 0.174 = 8.454 ms.
  const TransformerModel model{"", 24, 2048, 16, 1024};
  GpuProfile profile = a100();
  profile.tiles.rate = FlopsPerSecond(242.8e12);
  Stack stack = megatron();
  stack.traffic_factor = 1;
  const LayerCosts costs =
      layer_costs(model, {.tensor = 1, .micro_batch = 4, .precision = Precision::Fp16}, profile, stack);
  const double total = total_ns(costs.layers[0].forward) + total_ns(costs.layers[0].backward);
  CHECK(total == doctest::Approx(8.454e6).epsilon(1e-4));
  for (const Operator& op : costs.layers[0].forward) {
    CHECK(op.kind == TaskKind::Forward);
    CHECK(op.duration.count() == std::floor(op.duration.count()));
  }
}

TEST_CASE("physical_semantics: a small layer takes as long as the CPU needs to issue it") {
  const TransformerModel model{"", 12, 768, 12, 128};
  const LayerCosts costs = costs_of(model, 1, 1);
  CHECK(total_ns(costs.layers[0].forward) == 900'000);
  CHECK(total_ns(costs.layers[0].backward) == 1'400'000);
  // Issuing goes on while collectives run.
  const LayerCosts split = costs_of(model, 2, 1);
  CHECK(total_ns(split.layers[0].forward) == 900'000);
  CHECK(total_ns(split.layers[0].backward) == 1'400'000);
  CHECK(split.extrapolated.empty());
}

TEST_CASE("physical_semantics: GPUs that share experts gather and reduce rows, and do the same arithmetic") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 4096};
  const Stack stack = find_stack("megatron-core").value();
  LayerKey key{.tensor = 4, .expert = 2, .micro_batch = 8, .sequence_parallel = true};
  const LayerCosts whole = layer_costs(model, key, a100(), stack);
  key.expert_tensor = 4;
  const LayerCosts shared = layer_costs(model, key, a100(), stack);
  const auto time_of = [](const std::vector<Operator>& pass, std::string_view name) {
    double sum = 0;
    for (const Operator& op : pass) {
      if (op.name == name) sum += op.duration.count();
    }
    return sum;
  };
  // T = 16,384 / 4 tokens a GPU, two rows each; those of four GPUs, 2 bytes x 1024 columns, within the node.
  const Bytes rows(2.0 * 4 * 8'192 * 1'024);
  const auto collective = [&](Collective kind) {
    return std::round(collective_time(a100(), kind, {4, 4}, rows).time.count());
  };
  CHECK(time_of(whole.layers[1].forward, "expert_gather") == 0);
  for (const auto* pass : {&shared.layers[1].forward, &shared.layers[1].backward}) {
    CHECK(time_of(*pass, "expert_gather") == collective(Collective::AllGather));
    CHECK(time_of(*pass, "expert_reduce_scatter") == collective(Collective::ReduceScatter));
  }
  // Four times the rows and a quarter of the columns, but four times the rows an expert: less is lost.
  const double ratio = time_of(shared.layers[1].forward, "expert_up_gemm") /
                       time_of(whole.layers[1].forward, "expert_up_gemm");
  CHECK(ratio < 1.05);
  CHECK(ratio > 0.8);
  CHECK(shared.routed_weights == whole.routed_weights / 4);
}

TEST_CASE("physical_semantics: passes wait for activations on their way to the CPU's memory and back") {
  const TransformerModel model{"", 8, 4096, 32, 2048};
  const Stack stack = find_stack("megatron-core").value();
  ParallelPlan plan{.global_batch = 4, .micro_batch = 1, .recompute = Recompute::None};
  GpuProfile profile = a100();
  const auto times = [&] {
    const auto prediction = predict_physical(model, plan, profile, stack);
    REQUIRE(prediction);
    LayerCostCache cache(model, profile, stack);
    const IterationTimes blocks = fast_iteration_times(cache.work(plan));
    const IterationTimes operators = fast_iteration_times(prediction->work);
    CHECK(blocks.iteration == operators.iteration);
    return operators;
  };
  const IterationTimes without = times();
  plan.offloaded_layers = 4;
  profile.host_bandwidth = BytesPerSecond(1e15);
  CHECK(times().iteration == without.iteration);
  // So slow that only the copies count: four micro-batches there and back, beside the optimizer.
  profile.host_bandwidth = BytesPerSecond(1e8);
  const Bytes copied = offloaded_activations(model, plan, 0, stack.memory);
  const IterationTimes slow = times();
  CHECK(slow.iteration.count() ==
        doctest::Approx(8 * copied.value / 1e8 * 1e9 + slow.breakdown.optimizer.count()).epsilon(1e-9));
  profile.host_bandwidth = {};
  const auto unknown = predict_physical(model, plan, profile, stack);
  REQUIRE(unknown);
  CHECK(unknown->provenance.fallbacks.back().starts_with("offloaded activations: "));
}

TEST_CASE("physical_semantics: stages hold what belongs to them") {
  const TransformerModel model{"", 8, 1024, 16, 512};
  const ParallelPlan plan{.tensor = 2, .data = 2, .pipeline = 4, .global_batch = 16, .micro_batch = 1};
  const auto prediction = predict_physical(model, plan, a100(), megatron());
  REQUIRE(prediction);
  const IterationWork& work = prediction->work;
  REQUIRE(work.stages.size() == 4);
  CHECK(work.num_micro_batches == 8);
  CHECK(!work.reduction_waits_for_first_stage);
  CHECK(work.stages[0].chunks[0].forward.front().name == "embedding");
  CHECK(work.stages[0].chunks[0].backward.back().name == "embedding_grad");
  CHECK(work.stages[3].chunks[0].forward.back().name == "loss");
  CHECK(work.stages[3].chunks[0].backward.front().name == "loss_grad");
  CHECK(work.stages[1].chunks[0].forward.front().name == "input_norm");
  CHECK(work.stages[0].chunks[0].send_forward.hold.count() > 0);
  CHECK(work.stages[0].chunks[0].send_backward.hold.count() == 0);
  CHECK(work.stages[3].chunks[0].send_forward.hold.count() == 0);
  CHECK(work.stages[3].chunks[0].send_backward.hold.count() > 0);
  const auto num_recomputed = [](const StageWork& stage) {
    CHECK(stage.chunks[0].recompute.empty());
    std::set<std::int32_t> layers;
    for (const Operator& op : stage.chunks[0].backward) {
      if (op.kind == TaskKind::Recompute) layers.insert(op.layer);
    }
    return layers.size();
  };
  CHECK(num_recomputed(work.stages[0]) == 2);
  CHECK(num_recomputed(work.stages[2]) == 2);
  CHECK(num_recomputed(work.stages[3]) == 0);  // `last_stage_recomputes` is 0
  for (const StageWork& stage : work.stages) {
    CHECK(stage.data_parallel.size() == 1);
    CHECK(stage.optimizer.size() == 1);
  }
  // The last layer's backward pass comes first; its forward pass is run again just before.
  CHECK(work.stages[1].chunks[0].forward.front().layer == 2);
  CHECK(work.stages[1].chunks[0].backward.front().layer == 3);
  CHECK(work.stages[1].chunks[0].backward.front().kind == TaskKind::Recompute);

  ParallelPlan alone{.tensor = 1, .data = 1, .pipeline = 1, .global_batch = 2, .micro_batch = 1};
  const auto single = predict_physical(model, alone, a100(), megatron());
  REQUIRE(single);
  CHECK(single->work.stages[0].data_parallel.empty());
  CHECK(num_recomputed(single->work.stages[0]) == 8);
  alone.recompute = Recompute::None;
  CHECK(num_recomputed(predict_physical(model, alone, a100(), megatron())->work.stages[0]) == 0);
}

/// A random plan of a random small model.
std::pair<TransformerModel, ParallelPlan> random_case(RandomStream& random) {
  const auto power = [&](std::uint64_t bound) { return std::int64_t{1} << random.below(bound); };
  TransformerModel model{.name = "", .num_heads = 8 * power(3), .sequence_length = 128 * power(4)};
  model.hidden_size = model.num_heads * 32 * power(3);
  ParallelPlan plan{
      .tensor = power(4), .data = power(4), .pipeline = 1 + static_cast<std::int64_t>(random.below(6))};
  model.num_layers = plan.pipeline * power(3);
  plan.micro_batch = power(3);
  plan.global_batch = plan.data * plan.micro_batch * (1 + static_cast<std::int64_t>(random.below(20)));
  plan.recompute = random.below(2) == 0 ? Recompute::Full : Recompute::None;
  return {model, plan};
}

TEST_CASE("physical_semantics: blocks, operators and the graph give the same time") {
  RandomStream random(7, "physical plans");
  for (int i = 0; i < 200; ++i) {
    const auto [model, plan] = random_case(random);
    CAPTURE(i);
    const auto prediction = predict_physical(model, plan, a100(), megatron());
    REQUIRE(prediction);
    const IterationTimes times = fast_iteration_times(prediction->work);
    LayerCostCache costs(model, a100(), megatron());
    const IterationWork blocks = costs.work(plan);
    CHECK(fast_iteration_times(blocks).iteration == times.iteration);
    const auto graph = build_graph(prediction->work, GraphDetail::Operators);
    REQUIRE(graph);
    CHECK(simulated_iteration_times(prediction->work, *graph).iteration == times.iteration);
    const Breakdown& parts = times.breakdown;
    const Nanoseconds sum = parts.compute + parts.tensor_comm + parts.pipeline_comm + parts.data_comm +
                            parts.optimizer + parts.bubble;
    CHECK(sum.count() == doctest::Approx(times.iteration.count()).epsilon(1e-12));
  }
}

TEST_CASE("physical_semantics: one stage takes the sum of its work") {
  const TransformerModel model{"", 4, 2048, 16, 1024};
  const ParallelPlan plan{.tensor = 1, .data = 8, .pipeline = 1, .global_batch = 96, .micro_batch = 4};
  const auto prediction = predict_physical(model, plan, a100(), megatron());
  REQUIRE(prediction);
  const StageWork& stage = prediction->work.stages[0];
  // Three micro-batches on each GPU, then the gradients, then Adam.
  const double expected = 3 * (total_ns(stage.chunks[0].forward) + total_ns(stage.chunks[0].backward)) +
                          total_ns(stage.data_parallel) + total_ns(stage.optimizer);
  CHECK(fast_iteration_times(prediction->work).iteration.count() == expected);
}

TEST_CASE("physical_semantics: extrapolated messages are named") {
  // 3.6e9 parameters in half precision are 6.8 GiB, beyond the 1 GiB of the tables.
  const TransformerModel model = find_model("megatron-3.6b")->model();
  const ParallelPlan within{.tensor = 1, .data = 8, .pipeline = 1, .global_batch = 64, .micro_batch = 1};
  const auto extrapolated = predict_physical(model, within, a100(), megatron());
  REQUIRE(extrapolated);
  REQUIRE(extrapolated->provenance.fallbacks.size() == 1);
  CHECK(extrapolated->provenance.fallbacks[0].starts_with("gradient all-reduce over 8 GPUs: "));
  CHECK(extrapolated->provenance.profile == "a100");
  const ParallelPlan beyond{.tensor = 8, .data = 8, .pipeline = 1, .global_batch = 64, .micro_batch = 1};
  CHECK(predict_physical(model, beyond, a100(), megatron())->provenance.fallbacks.empty());
}

TEST_CASE("physical_semantics: a plan that does not divide names the field") {
  const TransformerModel model{"", 6, 1024, 12, 512};
  const auto field_of = [&](const TransformerModel& m, const ParallelPlan& plan) {
    const auto prediction = predict_physical(m, plan, a100(), megatron());
    return prediction ? std::string() : prediction.error().field;
  };
  CHECK(field_of(model, {1, 1, 1, 4, 1}) == "num_heads");  // 1024 / 12
  TransformerModel good = model;
  good.num_heads = 16;
  CHECK(field_of(good, {1, 1, 1, 4, 1}).empty());
  CHECK(field_of(good, {3, 1, 1, 4, 1}) == "tensor");
  CHECK(field_of(good, {1, 1, 4, 4, 1}) == "pipeline");
  CHECK(field_of(good, {1, 3, 1, 4, 1}) == "data");
  CHECK(field_of(good, {1, 2, 1, 8, 3}) == "micro_batch");
  CHECK(field_of(good, {0, 1, 1, 4, 1}) == "tensor");
  ParallelPlan chunked{.tensor = 1, .data = 1, .pipeline = 3, .global_batch = 6, .micro_batch = 1};
  chunked.virtual_stages = 2;
  CHECK(field_of(good, chunked).empty());
  chunked.virtual_stages = 3;
  CHECK(field_of(good, chunked) == "virtual_stages");  // 2 layers a stage
  chunked.virtual_stages = 2;
  chunked.global_batch = 4;
  CHECK(field_of(good, chunked) == "global_batch");
  chunked.pipeline = 1;
  CHECK(field_of(good, chunked) == "virtual_stages");
  CHECK(field_of(good, {1, 1, 1, -4, 1}) == "global_batch");
  good.num_layers = 2'000'000'000;
  CHECK(field_of(good, {1, 1, 1, 4, 1}) == "num_layers");
}

TEST_CASE("physical_semantics: arithmetic of a model") {
  // h = 4, L = 2, s = 6, V = 24, B = 1: 72 x 6 x 2 x 16 x (1 + 6 / 24 + 24 / 96) = 13,824 x 1.5 = 20,736. By
  // parts, forward: 24 B s h^2
  // + 4 B s^2 h = 2304 + 576 a layer, 2 B s h V = 1152 logits; three times 2 x 2880 + 1152 = 20,736.
  const TransformerModel model{"", 2, 4, 1, 6, 24};
  CHECK(model_flops(model, 1).value == doctest::Approx(20'736));
  // 2 (12 x 16 + 13 x 4) + 24 x 4 + 6 x 4 + 2 x 4.
  CHECK(model.num_parameters() == 616);
}

struct Accuracy {
  int num_rows = 0;
  double mape_percent = 0;
  double bias_percent = 0;
};

/// Errors over the distinct rows of the measured iteration times, with the micro-batch of the table and full
/// recomputation.
Accuracy measure_accuracy(const std::string& text) {
  Accuracy accuracy;
  CsvReader reader = CsvReader::open(text, "ground_truth_multi.csv").value();
  std::set<std::string> seen;
  while (reader.next().value()) {
    std::string row;
    for (int column = 0; column < static_cast<int>(reader.columns().size()); ++column) {
      row += std::string(reader.field(column)) + ",";
    }
    if (!seen.insert(row).second) continue;
    const auto integer = [&](const char* name) {
      return reader.integer(reader.require_column(name).value(), 1, 1'000'000).value();
    };
    const TransformerModel model{"", integer("# layers"), integer("hidden size"), integer("attention heads"),
                                 integer("sequence length")};
    const ParallelPlan plan{.tensor = integer("tensor parallelism"),
                            .data = integer("data parallelism"),
                            .pipeline = integer("pipeline parallelism"),
                            .global_batch = integer("global batch"),
                            .micro_batch = integer("micro batch"),
                            .recompute = Recompute::Full};
    const auto prediction = predict_physical(model, plan, a100(), megatron());
    CAPTURE(row);
    REQUIRE(prediction);
    // These runs were made, so they fitted.
    CHECK(prediction->memory.fits());
    const double measured_ms =
        reader.number(reader.require_column("iteration time (ms)").value(), 1, 1e9).value();
    const double error = fast_iteration_times(prediction->work).iteration.count() / 1e6 / measured_ms - 1;
    accuracy.num_rows += 1;
    accuracy.mape_percent += 100 * std::abs(error);
    accuracy.bias_percent += 100 * error;
  }
  accuracy.mape_percent /= accuracy.num_rows;
  accuracy.bias_percent /= accuracy.num_rows;
  return accuracy;
}

TEST_CASE("physical_semantics: multi-token prediction runs its layers and the head again on the last stage") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  const LayerKey key{.tensor = 1, .micro_batch = 4, .precision = Precision::Fp16};
  const LayerCosts plain = layer_costs(model, key, a100(), megatron());
  model.prediction.depth = 2;
  const LayerCosts twice = layer_costs(model, key, a100(), megatron());
  const auto of_projection = [](const std::vector<Operator>& pass) {
    double sum = 0;
    for (const Operator& op : pass) {
      if (op.name.starts_with("predict_")) sum += op.duration.count();
    }
    return sum;
  };
  CHECK(of_projection(twice.head.forward) > 0);
  CHECK(total_ns(twice.head.forward) == 3 * total_ns(plain.head.forward) +
                                            2 * total_ns(plain.layers[0].forward) +
                                            of_projection(twice.head.forward));
  CHECK(total_ns(twice.head.backward) == 3 * total_ns(plain.head.backward) +
                                             2 * total_ns(plain.layers[0].backward) +
                                             of_projection(twice.head.backward));
}

TEST_CASE("physical_semantics: what grouped experts do outside fused kernels") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 512};
  model.activation = Activation::SwiGlu;
  model.has_bias = false;
  const LayerKey key{.expert = 4, .micro_batch = 4, .precision = Precision::Bf16};
  const auto time_of = [&](const Stack& stack, std::string_view name) {
    const LayerCosts costs = layer_costs(model, key, a100(), stack);
    double sum = 0;
    for (const auto* pass : {&costs.layers[1].forward, &costs.layers[1].backward}) {
      for (const Operator& op : *pass) {
        if (op.name == name) sum += op.duration.count();
      }
    }
    return sum;
  };
  const Stack core = *find_stack("megatron-core");
  const auto memory_ns = [](double bytes, int kernels) {
    return std::round(memory_kernel_time(a100(), MemoryKernel::Elementwise, Bytes(bytes), kernels).count());
  };
  // 8,192 tokens, two rows each, of 1,024 columns of 2 bytes, read and written. Two experts on a GPU.
  CHECK(time_of(core, "expert_sort") == memory_ns(4.0 * 16'384 * 1'024, 1));
  CHECK(time_of(*find_stack("megatron-bridge"), "expert_sort") == 0);  // dispatched in the experts' order
  CHECK(time_of(core, "expert_bias") == 0);
  CHECK(time_of(core, "expert_clamp") == 0);
  model.has_bias = true;
  model.clamps_activation = true;
  const auto eager_ns = [](double elements, const EagerWork& work) {
    return std::round(eager_kernel_time(a100(), elements, work).count());
  };
  CHECK(time_of(core, "expert_bias") == eager_ns(16'384.0 * 1'024, {1, 2, 10, 3}));
  CHECK(time_of(core, "expert_bias_grad") == eager_ns(16'384.0 * 1'024, {2, 4, 8, 5}));
  // Scores in single precision, as DeepEP and HybridEP have them.
  CHECK(time_of(*find_stack("megatron-bridge"), "expert_bias") == eager_ns(16'384.0 * 1'024, {2, 7, 14, 4}));
  // Both inputs of the gated non-linearity, 512 columns each.
  CHECK(time_of(core, "expert_clamp") == eager_ns(16'384.0 * 1'024, {1, 4, 4, 3}));
  CHECK(time_of(core, "expert_input_bias") == 0);  // the products add it
  CHECK(time_of(*find_stack("nemo-automodel"), "expert_input_bias") ==
        eager_ns(16'384.0 * 1'024, {1, 4, 4, 2}));
  CHECK(time_of(*find_stack("nemo-automodel"), "expert_clamp") == 0);  // compiled
  CHECK(time_of(core, "attn_out_bias") == eager_ns(8'192.0 * 1'024, {1, 4, 0, 1}));
  CHECK(time_of(*find_stack("megatron-bridge-26.06"), "expert_clamp") == 0);
  CHECK(time_of(*find_stack("megatron-bridge-26.06"), "expert_bias") == 0);
}

TEST_CASE(
    "physical_semantics: the GPU waits for the CPU after what is copied to it between the experts' "
    "products") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 512};
  model.activation = Activation::SwiGlu;
  Stack stack = *find_stack("megatron-bridge");
  stack.experts_issue = {};
  stack.expert_issue = {Nanoseconds(1000), Nanoseconds(3000)};
  stack.memory.selective = SelectiveRecompute::NormsAndActivations;
  const auto gap = [&](std::string_view name, Recompute recompute) {
    const LayerKey key{.expert = 4, .micro_batch = 4, .recompute = recompute, .precision = Precision::Bf16};
    const LayerCosts costs = layer_costs(model, key, a100(), stack);
    double sum = 0;
    for (const auto* pass :
         {&costs.layers[1].forward, &costs.layers[1].recompute, &costs.layers[1].backward}) {
      for (const Operator& op : *pass) {
        if (op.name == name) sum += op.gap.count();
      }
    }
    return sum;
  };
  CHECK(gap("expert_down_gemm", Recompute::None) == 0);
  model.clamps_activation = true;
  // One of the two products of each of two experts.
  CHECK(gap("expert_down_gemm", Recompute::None) == 1000);
  CHECK(gap("expert_down_grad", Recompute::None) == 0);
  CHECK(gap("expert_down_gemm", Recompute::Selective) == 1000);
  CHECK(gap("expert_down_grad", Recompute::Selective) == 3000);  // the activation runs again before it
  stack.eager.activation_clamp = false;
  CHECK(gap("expert_down_gemm", Recompute::None) == 0);
  // What the CPU takes anyway is not counted twice: all from the dispatch on takes it 1 s.
  stack.eager.activation_clamp = true;
  stack.experts_issue = {Nanoseconds(1e9), Nanoseconds(1e9)};
  const LayerCosts costs =
      layer_costs(model, {.expert = 4, .micro_batch = 4, .precision = Precision::Bf16}, a100(), stack);
  const std::vector<Operator>& forward = costs.layers[1].forward;
  auto op =
      std::find_if(forward.begin(), forward.end(), [](const Operator& o) { return o.name == "dispatch"; });
  double all = 0;
  for (; op != forward.end(); ++op)
    all += op->duration.count() + op->gap.count();
  CHECK(all == 1e9 + 2000);  // and issuing two experts
}

TEST_CASE("physical_semantics: scaled rotary positions are left to PyTorch where the fused kernel has none") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.num_kv_heads = 4;
  model.positions = Positions::Rotary;
  const LayerKey key{.micro_batch = 4, .precision = Precision::Bf16};
  const auto attention_ns = [&](std::string_view stack, bool scales) {
    model.scales_rotation = scales;
    const LayerCosts costs = layer_costs(model, key, a100(), *find_stack(stack));
    const auto& pass = costs.layers[0].forward;
    return std::find_if(pass.begin(), pass.end(), [](const Operator& op) { return op.name == "attention"; })
        ->duration.count();
  };
  // 8,192 tokens with 1,024 columns of queries and 256 of keys.
  constexpr double kElements = 8'192.0 * 1'280;
  const double fused = memory_kernel_time(a100(), MemoryKernel::Elementwise, Bytes(4 * kElements), 2).count();
  const double eager = eager_kernel_time(a100(), kElements, {3.5, 4, 10, 12}).count();
  CHECK(eager > 5 * fused);
  CHECK(attention_ns("megatron-core", true) - attention_ns("megatron-core", false) ==
        doctest::Approx(eager - fused).epsilon(1e-5));
  CHECK(attention_ns("nemo-automodel", true) == attention_ns("nemo-automodel", false));
}

TEST_CASE("physical_semantics: the CPU issues experts after it has waited for the GPU") {
  TransformerModel model{"", 4, 256, 4, 128};
  model.experts = {.num_experts = 32, .top_k = 2, .expert_ffn_size = 64};
  Stack stack = *find_stack("megatron-core");
  stack.issue_floor = {Nanoseconds(8'000'000), Nanoseconds(10'000'000)};
  stack.experts_issue = {Nanoseconds(3'000'000), Nanoseconds(5'000'000)};
  stack.expert_issue = {Nanoseconds(200'000), Nanoseconds(300'000)};
  const LayerKey key{.expert = 4, .micro_batch = 1, .precision = Precision::Bf16};
  const auto layer = [&] { return layer_costs(model, key, a100(), stack).layers[1]; };
  // Two halves, then 8 of the 32 experts; the GPU takes far less for all of them.
  CHECK(total_ns(layer().forward) == 8'000'000 + 3'000'000 + 8 * 200'000);
  CHECK(total_ns(layer().backward) == 10'000'000 + 5'000'000 + 8 * 300'000);
  // A slower host takes longer for all of it.
  GpuProfile slower = a100();
  slower.host_issue_factor = 1.5;
  const PassCosts on_slower = layer_costs(model, key, slower, stack).layers[1];
  CHECK(total_ns(on_slower.forward) == 1.5 * 12'600'000);
  CHECK(total_ns(on_slower.backward) == 1.5 * 17'400'000);
  // Graphs take the CPU no time: those of the router half of what is before the wait, those of the layer all.
  const auto forward_with = [&](CudaGraphs graphs) {
    stack.graphs = graphs;
    return total_ns(layer().forward);
  };
  CHECK(forward_with(CudaGraphs::Router) == 4'000'000 + 4'600'000);
  const double before_wait = forward_with(CudaGraphs::Layer) - 4'600'000;
  CHECK(before_wait > 0);
  CHECK(before_wait < 1'000'000);
  CHECK(forward_with(CudaGraphs::Iteration) < 1'000'000);

  // What is before the wait is no cover for what comes after it; where all experts get as many rows, nobody
  // waits.
  stack.graphs = CudaGraphs::Layer;
  stack.experts_issue.forward = stack.expert_issue.forward = Nanoseconds(0);
  const double busy = total_ns(layer().forward);
  stack.experts_issue.forward = Nanoseconds(0.9 * busy);
  CHECK(total_ns(layer().forward) > 1.1 * busy);
  model.experts.capacity_factor = 1;
  CHECK(total_ns(layer().forward) == busy);
}

TEST_CASE("physical_semantics: the CPU catches up in the other layers of a hybrid's backward pass") {
  TransformerModel model{"", 6, 1024, 16, 2048};
  model.layer_pattern = "**E**E";
  model.experts = {.num_experts = 4, .top_k = 2, .expert_ffn_size = 512};
  const LayerKey key{.micro_batch = 1, .precision = Precision::Bf16};
  Stack stack = *find_stack("megatron-core");
  const auto backward_ns = [&](LayerKind wanted) {
    const LayerCosts costs = layer_costs(model, key, a100(), stack);
    double sum = 0;
    for (std::size_t i = 0; i < kNumLayerKinds; ++i) {
      if (layer_kinds(model)[i] == wanted) sum += total_ns(costs.layers[i].backward);
    }
    return sum;
  };
  constexpr LayerKind kAttention{Mixer::Attention, FeedForward::None};
  constexpr LayerKind kExperts{Mixer::None, FeedForward::Experts};
  const double attention = backward_ns(kAttention);
  const double experts = backward_ns(kExperts);
  REQUIRE(attention > 100'000);
  // Two layers of attention for each with experts: their time covers as much of issuing it.
  stack.experts_issue.backward = Nanoseconds(std::floor(experts + 2 * attention));
  CHECK(backward_ns(kExperts) == doctest::Approx(experts).epsilon(1e-6));
  stack.experts_issue.backward = Nanoseconds(experts + 2 * attention + 50'000);
  CHECK(backward_ns(kExperts) == doctest::Approx(experts + 50'000).epsilon(1e-6));
  CHECK(backward_ns(kAttention) == attention);
}

TEST_CASE("physical_semantics: dispatch and combine hide under another micro-batch as far as it reaches") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.experts = {.num_experts = 16, .top_k = 4, .expert_ffn_size = 512};
  Stack stack = *find_stack("megatron-core");
  const LayerKey key{.expert = 8, .micro_batch = 4, .precision = Precision::Bf16};
  struct Sums {
    double dispatch = 0;
    double computation = 0;
  };
  const auto sums = [&] {
    const PassCosts layer = layer_costs(model, key, a100(), stack).layers[1];
    Sums result;
    for (const auto* pass : {&layer.forward, &layer.backward}) {
      for (const Operator& op : *pass) {
        const bool moves = op.name.find("dispatch") == 0 || op.name.find("combine") == 0;
        (moves ? result.dispatch : result.computation) += op.duration.count();
      }
    }
    return result;
  };
  const Sums plain = sums();
  REQUIRE(plain.dispatch > 0);
  stack.overlap.experts = true;
  // Adding gradients is part of the computation; four operators are rounded to whole nanoseconds.
  const double cover = plain.computation;
  const double shown = std::max(0.0, plain.dispatch - cover) + 0.15 * std::min(plain.dispatch, cover);
  CHECK(std::abs(sums().dispatch - shown) <= 4);
  CHECK(sums().computation == plain.computation);
  // Ten times the contention cannot hide more than there is.
  stack.overlap.contention = 1;
  CHECK(std::abs(sums().dispatch - plain.dispatch) <= 4);
}

TEST_CASE("physical_semantics: inputs of experts are quantised one by one in 8 bits, at once in 4") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 512};
  const GpuProfile b200 = load_gpu_profile("b200").value();
  const auto act_to_down = [&](Precision precision, int experts) {
    model.experts.num_experts = experts;
    const LayerKey key{.micro_batch = 4, .precision = precision};
    const PassCosts layer = layer_costs(model, key, b200, *find_stack("megatron-core")).layers[1];
    const auto rows = static_cast<std::int64_t>(8'192 * 2);
    for (const Operator& op : layer.forward) {
      if (op.name != "expert_down_gemm") continue;
      return op.duration.count() -
             grouped_gemm_time(b200, precision, {rows, 1'024, 512, experts}).time.count();
    }
    return 0.0;
  };
  // 5 bytes for each of 16,384 x 512 inputs, and a kernel for each expert or one for all.
  const auto memory_ns = [&](int kernels) {
    return memory_kernel_time(b200, MemoryKernel::Elementwise, Bytes(5.0 * 16'384 * 512), kernels).count();
  };
  CHECK(act_to_down(Precision::Fp8, 8) == doctest::Approx(memory_ns(8)).epsilon(1e-3));
  CHECK(act_to_down(Precision::Fp8, 4) == doctest::Approx(memory_ns(4)).epsilon(1e-3));
  CHECK(act_to_down(Precision::Fp4, 8) == doctest::Approx(memory_ns(1)).epsilon(1e-3));
}

TEST_CASE("physical_semantics: what runs again is the stack's rule") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 512};
  const LayerKey key{.micro_batch = 4, .recompute = Recompute::Selective, .precision = Precision::Bf16};
  const auto names = [&](SelectiveRecompute rule) {
    Stack stack = *find_stack("megatron-core");
    stack.memory.selective = rule;
    std::string all;
    const LayerCosts costs = layer_costs(model, key, a100(), stack);
    for (const Operator& op : costs.layers[1].recompute)
      all += std::string(op.name) + " ";
    return all;
  };
  CHECK(names(SelectiveRecompute::NormsAndActivations) == "input_norm mlp_norm expert_act ");
  CHECK(names(SelectiveRecompute::Experts) ==
        "mlp_norm router permute expert_up_gemm expert_act expert_down_gemm expert_bias unpermute ");
}

TEST_CASE("physical_semantics: error on measured iteration times, without calibration") {
  const std::string path = VTRAIN_SHARED_DIR "/data/vtrain/ground_truth_multi.csv";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: ", path, " absent");
    return;
  }
  const Accuracy accuracy = measure_accuracy(read_file(path).value());
  MESSAGE("MAPE ", accuracy.mape_percent, " %, bias ", accuracy.bias_percent, " % over ", accuracy.num_rows,
          " rows");
  CHECK(accuracy.num_rows >= 60);
  // What was reached: 7.33 %, median 3.2 %, bias -4.72 % on the 62 distinct rows at hand. Fourteen of them
  // are 12 to 83 % slower than predicted and make the bias. Nothing may be fitted to this table.
  CHECK(accuracy.mape_percent < 7.5);
  CHECK(std::abs(accuracy.bias_percent) < 5);
}

}  // namespace
}  // namespace vtrain
