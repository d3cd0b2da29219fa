#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "core/profile/gpu_profile.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/model/layer_kinds.hpp"
#include "workloads/stack/kernel_cost.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

/// A GPU in racks with NVLink between all GPUs.
const GpuProfile& gb200() {
  static const GpuProfile profile = load_gpu_profile("gb200").value();
  return profile;
}

/// A model with four layers: state space, experts, attention, experts.
TransformerModel hybrid_model() {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.has_bias = false;
  model.experts = {.num_experts = 64, .top_k = 2, .expert_ffn_size = 512, .latent_size = 256};
  model.state_space = {.num_heads = 32, .head_size = 64, .state_size = 128, .num_groups = 8};
  model.layer_pattern = "ME*E";
  return model;
}

Stack bridge() {
  return find_stack("megatron-bridge").value();
}

/// The costs of a kind of layers, by its letter in the pattern.
PassCosts layer_of(const TransformerModel& model, const LayerCosts& costs, char letter) {
  return costs.layers[kind_of_layer(model, static_cast<std::int64_t>(model.layer_pattern.find(letter)))];
}

/// Time of the operators with a name, forward and backward.
double time_of(const PassCosts& layer, std::string_view name) {
  double sum = 0;
  for (const auto* pass : {&layer.forward, &layer.backward}) {
    for (const Operator& op : *pass) {
      if (op.name == name) sum += op.duration.count();
    }
  }
  return sum;
}

LayerCosts costs_of(const TransformerModel& model, const Stack& stack, Precision precision,
                    std::int64_t micro_batch = 1) {
  return layer_costs(model, {.expert = 8, .micro_batch = micro_batch, .precision = precision}, gb200(),
                     stack);
}

TEST_CASE("hybrid_layers: a scan is bound by multiprocessors, or else by memory") {
  // 152 multiprocessors move 9.5e9 B/s each: 1.444e9 bytes take 1 ms, and two kernels 3 us each.
  CHECK(scan_kernel_time(gb200(), Bytes(1.444e9), 2).count() == doctest::Approx(1.006e6));
  GpuProfile narrow = gb200();
  narrow.memory_bandwidth = BytesPerSecond(1e12);
  // At 0.85 of 1e12 B/s.
  CHECK(scan_kernel_time(narrow, Bytes(8.5e8), 0).count() == doctest::Approx(1e6));
}

TEST_CASE("hybrid_layers: traffic of a state space") {
  const TransformerModel model = hybrid_model();
  const PassCosts layer = layer_of(model, costs_of(model, bridge(), Precision::Bf16), 'M');
  // 2,048 tokens x 2,048 columns; 16 chunks x 32 heads x 64 x 128 elements of states: 4,194,304 of each.
  const double elements = 4'194'304;
  const auto scan_ns = [&](double bytes, int kernels) {
    return std::round(scan_kernel_time(gb200(), Bytes(bytes * elements), kernels).count());
  };
  CHECK(time_of(layer, "space_scan") == scan_ns(10 + 12, 5));
  const double convolved = 2'048.0 * (2'048 + 2 * 8 * 128);
  const Nanoseconds again = memory_kernel_time(gb200(), MemoryKernel::Elementwise, Bytes(4 * convolved), 1);
  CHECK(time_of(layer, "space_scan_grad") == doctest::Approx(scan_ns(34 + 34, 14) + again.count()));
  CHECK(time_of(layer, "space_reorder_in") == 0);
  // Sequences of a micro-batch are side by side: 4,096 tokens x (2 x 2,048 + 2 x 8 x 128 + 32) columns.
  const PassCosts two = layer_of(model, costs_of(model, bridge(), Precision::Bf16, 2), 'M');
  const double projected = 4'096.0 * (2 * 2'048 + 2 * 8 * 128 + 32);
  CHECK(time_of(two, "space_reorder_in") ==
        std::round(memory_kernel_time(gb200(), MemoryKernel::Elementwise, Bytes(4 * projected), 1).count()));
}

TEST_CASE("hybrid_layers: what of a state space runs again is what its memory does not keep") {
  const TransformerModel model = hybrid_model();
  const auto recomputed = [&](SelectiveRecompute rule) {
    Stack stack = bridge();
    stack.memory.selective = rule;
    LayerKey key{.micro_batch = 1, .recompute = Recompute::Selective, .precision = Precision::Bf16};
    const LayerCosts costs = layer_costs(model, key, gb200(), stack);
    std::vector<std::string> names;
    const PassCosts layer = layer_of(model, costs, 'M');
    for (const Operator& op : layer.recompute)
      names.emplace_back(op.name);
    return names;
  };
  // The norm before the layer, not that of the scan's output.
  CHECK(recomputed(SelectiveRecompute::NormsAndActivations) == std::vector<std::string>{"input_norm"});
  // The scan's output is kept, as attention's is.
  const std::vector<std::string> by_operator = recomputed(SelectiveRecompute::EverySecondProduct);
  CHECK(std::ranges::count(by_operator, "space_in_gemm") == 1);
  CHECK(std::ranges::count(by_operator, "space_scan") == 0);
}

TEST_CASE("hybrid_layers: HybridEP carries scores and gathers the map of tokens") {
  const TransformerModel model = hybrid_model();
  Stack stack = bridge();
  const PassCosts layer = layer_of(model, costs_of(model, stack, Precision::Bf16), 'E');
  // Two experts of a token are on 8 (1 - (7/8)^2) = 1.875 of 8 GPUs; a copy has 256 columns of 2 bytes, and
  // 4 bytes for each of 64 experts on one way. Kernels reach 0.865 and 0.82 of 900 GB/s.
  const double copies = 2'048 * 1.875;
  CHECK(time_of(layer, "dispatch") == doctest::Approx(copies * (512 + 256) / (0.865 * 900)).epsilon(1e-3));
  CHECK(time_of(layer, "combine") == doctest::Approx(copies * 512 / (0.82 * 900)).epsilon(1e-3));
  CHECK(time_of(layer, "combine_grad") == doctest::Approx(copies * 512 / (0.865 * 900)).epsilon(1e-3));
  CHECK(time_of(layer, "dispatch_grad") ==
        doctest::Approx(copies * (512 + 256) / (0.82 * 900)).epsilon(1e-3));
  // A byte for each token of 8 GPUs and each expert is gathered and read.
  const Bytes map(8 * 2'048.0 * 64);
  const Nanoseconds gathered =
      collective_time(gb200(), Collective::AllGather, {.size = 8, .per_node = 8}, map, Libraries::Current)
          .time;
  const Nanoseconds read = memory_kernel_time(gb200(), MemoryKernel::Elementwise, map, 1);
  CHECK(time_of(layer, "routing_map") == doctest::Approx((gathered + read).count()).epsilon(1e-4));
  stack.dispatch = TokenDispatch::OnePerGpu;
  CHECK(time_of(layer_of(model, costs_of(model, stack, Precision::Bf16), 'E'), "routing_map") == 0);
}

TEST_CASE("hybrid_layers: a router in PyTorch's kernels takes longer") {
  const TransformerModel model = hybrid_model();
  Stack stack = bridge();
  const double fused = time_of(layer_of(model, costs_of(model, stack, Precision::Bf16), 'E'), "router");
  stack.fuses_router = false;
  const double unfused = time_of(layer_of(model, costs_of(model, stack, Precision::Bf16), 'E'), "router");
  // 2,048 x 64 scores; 26 kernels and 83 bytes a score more.
  const Nanoseconds more =
      memory_kernel_time(gb200(), MemoryKernel::Elementwise, Bytes(83.0 * 2'048 * 64), 26);
  CHECK(unfused - fused == doctest::Approx(more.count()).epsilon(1e-4));
}

TEST_CASE("hybrid_layers: products that stay wider than the plan's") {
  const TransformerModel model = hybrid_model();
  const LayerCosts narrow = costs_of(model, bridge(), Precision::Fp4);
  const LayerCosts wide = costs_of(model, bridge(), Precision::Bf16);
  Stack stack = bridge();
  stack.wider = {.attention = true, .latent_experts = true, .space_output = true};
  const LayerCosts mixed = costs_of(model, stack, Precision::Fp4);
  const auto of = [&](const LayerCosts& costs, char letter, std::string_view name) {
    return time_of(layer_of(model, costs, letter), name);
  };
  for (const std::string_view name : {"qkv_gemm", "attn_out_gemm", "qkv_grad", "attn_out_grad"})
    CHECK(of(mixed, '*', name) == of(wide, '*', name));
  for (const std::string_view name : {"latent_down_gemm", "latent_up_grad"})
    CHECK(of(mixed, 'E', name) == of(wide, 'E', name));
  CHECK(of(mixed, 'E', "expert_up_gemm") == of(narrow, 'E', "expert_up_gemm"));
  CHECK(of(mixed, 'M', "space_in_gemm") == of(narrow, 'M', "space_in_gemm"));
  const LayerCosts bytes = costs_of(model, bridge(), Precision::Fp8);
  CHECK(of(mixed, 'M', "space_out_gemm") == of(bytes, 'M', "space_out_gemm"));
  CHECK(of(mixed, 'M', "space_out_grad") == of(bytes, 'M', "space_out_grad"));
  // Of the last two layers one is one of two with experts: these cost the mean, attention all of bf16.
  stack.wider = {.last_layers = 2};
  const LayerCosts last = costs_of(model, stack, Precision::Fp4);
  CHECK(of(last, '*', "qkv_gemm") == of(wide, '*', "qkv_gemm"));
  CHECK(of(last, 'M', "space_in_gemm") == of(narrow, 'M', "space_in_gemm"));
  CHECK(of(last, 'E', "expert_up_gemm") ==
        doctest::Approx((of(narrow, 'E', "expert_up_gemm") + of(wide, 'E', "expert_up_gemm")) / 2)
            .epsilon(1e-4));
  // Nothing is made narrower.
  stack.wider.space_output = true;
  CHECK(of(costs_of(model, stack, Precision::Bf16), 'M', "space_out_gemm") ==
        of(wide, 'M', "space_out_gemm"));
}

TEST_CASE("hybrid_layers: inputs of products are gathered as they are multiplied") {
  TransformerModel model = hybrid_model();
  model.experts.shared_ffn_size = 512;
  Stack stack = bridge();
  stack.overlap.tensor = false;
  const auto gathers_ns = [&](char letter, Precision precision) {
    const LayerKey key{.tensor = 2, .expert = 8, .sequence_parallel = true, .precision = precision};
    return time_of(layer_of(model, layer_costs(model, key, gb200(), stack), letter), "all_gather");
  };
  const auto gather_ns = [](double bytes) {
    return std::round(collective_time(gb200(), Collective::AllGather, placed_group(gb200(), 2, 1),
                                      Bytes(bytes * 2048 * 1024), Libraries::Current)
                          .time.count());
  };
  // One before each of the two halves of a pass.
  for (const char letter : {'M', 'E', '*'}) {
    CAPTURE(letter);
    CHECK(gathers_ns(letter, Precision::Bf16) == 2 * gather_ns(2));
    CHECK(gathers_ns(letter, Precision::Fp8) == 2 * gather_ns(1));
    CHECK(gathers_ns(letter, Precision::Fp4) == 2 * gather_ns(0.5));
  }
  stack.wider.space_output = true;
  CHECK(gathers_ns('M', Precision::Fp4) == gather_ns(0.5) + gather_ns(1));
}

TEST_CASE("hybrid_layers: multi-token prediction gathers both inputs, and what it projects them to") {
  TransformerModel model = hybrid_model();
  model.prediction = {.depth = 1, .layer_pattern = "*"};
  Stack stack = bridge();
  stack.overlap.tensor = false;
  const auto collectives = [&](std::string_view name) {
    const LayerKey key{.tensor = 2, .sequence_parallel = true, .precision = Precision::Bf16};
    TransformerModel without = model;
    without.prediction = {};
    const LayerCosts costs = layer_costs(model, key, gb200(), stack);
    const LayerCosts plain = layer_costs(without, key, gb200(), stack);
    // What the further head and the layer add is theirs.
    return time_of(costs.head, name) - 2 * time_of(plain.head, name) -
           time_of(layer_of(model, plain, '*'), name);
  };
  const auto collective_ns = [](Collective collective, std::int64_t columns) {
    return std::round(collective_time(gb200(), collective, placed_group(gb200(), 2, 1),
                                      Bytes(2.0 * 2048 * static_cast<double>(columns)), Libraries::Current)
                          .time.count());
  };
  // Forward both inputs and the projection; backward the gradients of the projection and of the embedding.
  CHECK(collectives("all_gather") ==
        collective_ns(Collective::AllGather, 2048) + 3 * collective_ns(Collective::AllGather, 1024));
  // Forward the embedding, backward both inputs.
  CHECK(collectives("reduce_scatter") ==
        collective_ns(Collective::ReduceScatter, 1024) + collective_ns(Collective::ReduceScatter, 2048));
}

TEST_CASE("hybrid_layers: multi-token prediction in bf16") {
  TransformerModel model = hybrid_model();
  model.prediction = {.depth = 1, .layer_pattern = "*E"};
  Stack stack = bridge();
  stack.wider.prediction = true;
  const auto head_ns = [&](const Stack& with, Precision precision) {
    double sum = 0;
    for (const Operator& op : costs_of(model, with, precision).head.forward)
      sum += op.duration.count();
    return sum;
  };
  CHECK(head_ns(stack, Precision::Fp4) == head_ns(bridge(), Precision::Bf16));
  CHECK(head_ns(stack, Precision::Fp4) != head_ns(bridge(), Precision::Fp4));
}

}  // namespace
}  // namespace vtrain
