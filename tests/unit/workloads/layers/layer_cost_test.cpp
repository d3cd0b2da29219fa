#include "workloads/layers/layer_cost.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/workloads/release_a100.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/model/layer_kinds.hpp"
#include "workloads/stack/kernel_cost.hpp"

namespace vtrain {
namespace {

/// Costs of one GPU's part of the layers.
LayerCosts costs_of(const TransformerModel& model, std::int64_t tensor, std::int64_t micro_batch) {
  return layer_costs(model, {.tensor = tensor, .micro_batch = micro_batch, .precision = Precision::Fp16},
                     a100(), megatron());
}

TEST_CASE("layer_cost: a layer's kernels add up") {
  // Hidden size 2048, 16 heads, sequence 1024, micro-batch 4. A second implementation of the formulas, with
  // the rate of products that is fitted to Vidur's tables and the traffic as it is counted, gives 8.133 ms
  // without kernel overhead and gradient accumulation. There are 15 + 34 kernels of 3 us overhead, and
  // accumulating 12 h^2 gradients moves 301,989,888 bytes at 1733.15e9 B/s: 8.133 + 0.147 + 0.174 = 8.454 ms.
  const TransformerModel model{"", 24, 2048, 16, 1024};
  GpuProfile profile = a100();
  profile.tiles.rate = FlopsPerSecond(242.8e12);
  const LayerCosts costs =
      layer_costs(model, {.tensor = 1, .micro_batch = 4, .precision = Precision::Fp16}, profile, megatron());
  const double total = total_ns(costs.layers[0].forward) + total_ns(costs.layers[0].backward);
  CHECK(total == doctest::Approx(8.454e6).epsilon(1e-4));
  for (const Operator& op : costs.layers[0].forward) {
    CHECK(op.kind == TaskKind::Forward);
    CHECK(op.duration.count() == std::floor(op.duration.count()));
  }
}

TEST_CASE("layer_cost: a small layer takes as long as the CPU needs to issue it") {
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

TEST_CASE("layer_cost: multi-token prediction runs its layers and the head again on the last stage") {
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

TEST_CASE("layer_cost: what grouped experts do outside fused kernels") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 512};
  model.activation = Activation::SwiGlu;
  model.has_bias = false;
  const LayerKey key{.expert = 4, .micro_batch = 4, .precision = Precision::Bf16};
  const auto layer_ns = [&](const Stack& stack, std::string_view name) {
    const PassCosts layer = layer_costs(model, key, a100(), stack).layers[1];
    return time_of(layer.forward, name) + time_of(layer.backward, name);
  };
  const Stack core = *find_stack("megatron-core");
  const auto memory_ns = [](double bytes, int kernels) {
    return std::round(memory_kernel_time(a100(), MemoryKernel::Elementwise, Bytes(bytes), kernels).count());
  };
  // 8,192 tokens, two rows each, of 1,024 columns of 2 bytes, read and written. Two experts on a GPU.
  CHECK(layer_ns(core, "expert_sort") == memory_ns(4.0 * 16'384 * 1'024, 1));
  CHECK(layer_ns(*find_stack("megatron-bridge"), "expert_sort") == 0);  // dispatched in the experts' order
  CHECK(layer_ns(core, "expert_bias") == 0);
  CHECK(layer_ns(core, "expert_clamp") == 0);
  model.has_bias = true;
  model.clamps_activation = true;
  const auto eager_ns = [](double elements, const EagerWork& work) {
    return std::round(eager_kernel_time(a100(), elements, work).count());
  };
  CHECK(layer_ns(core, "expert_bias") == eager_ns(16'384.0 * 1'024, {1, 2, 10, 3}));
  CHECK(layer_ns(core, "expert_bias_grad") == eager_ns(16'384.0 * 1'024, {2, 4, 8, 5}));
  // Scores in single precision, as DeepEP and HybridEP have them.
  CHECK(layer_ns(*find_stack("megatron-bridge"), "expert_bias") == eager_ns(16'384.0 * 1'024, {2, 7, 14, 4}));
  // Both inputs of the gated non-linearity, 512 columns each.
  CHECK(layer_ns(core, "expert_clamp") == eager_ns(16'384.0 * 1'024, {1, 4, 4, 3}));
  CHECK(layer_ns(core, "expert_input_bias") == 0);  // the products add it
  CHECK(layer_ns(*find_stack("nemo-automodel"), "expert_input_bias") ==
        eager_ns(16'384.0 * 1'024, {1, 4, 4, 2}));
  CHECK(layer_ns(*find_stack("nemo-automodel"), "expert_clamp") == 0);  // compiled
  CHECK(layer_ns(core, "attn_out_bias") == eager_ns(8'192.0 * 1'024, {1, 4, 0, 1}));
  CHECK(layer_ns(*find_stack("megatron-bridge-26.06"), "expert_clamp") == 0);
  CHECK(layer_ns(*find_stack("megatron-bridge-26.06"), "expert_bias") == 0);
}

TEST_CASE(
    "layer_cost: the GPU waits for the CPU after what is copied to it between the experts' "
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

TEST_CASE("layer_cost: scaled rotary positions are left to PyTorch where the fused kernel has none") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.num_kv_heads = 4;
  model.positions = Positions::Rotary;
  const LayerKey key{.micro_batch = 4, .precision = Precision::Bf16};
  const auto rotation_ns = [&](std::string_view stack, bool scales) {
    model.scales_rotation = scales;
    return time_of(layer_costs(model, key, a100(), *find_stack(stack)).layers[0].forward, "rotation");
  };
  // 8,192 tokens with 1,024 columns of queries and 256 of keys.
  constexpr double kElements = 8'192.0 * 1'280;
  const double fused = memory_kernel_time(a100(), MemoryKernel::Elementwise, Bytes(4 * kElements), 2).count();
  const double eager = eager_kernel_time(a100(), kElements, {3.5, 4, 10, 12}).count();
  CHECK(eager > 5 * fused);
  CHECK(rotation_ns("megatron-core", true) == std::round(eager));
  CHECK(rotation_ns("megatron-core", false) == std::round(fused));
  CHECK(rotation_ns("nemo-automodel", true) == std::round(fused));
  CHECK(rotation_ns("transformers-eager", false) == std::round(eager));
}

TEST_CASE("layer_cost: weights that are kept for the backward pass are gathered once") {
  const TransformerModel model{"", 4, 1024, 16, 2048};
  Stack stack = *find_stack("fsdp-eager");
  // Nothing is hidden: each collective takes its full time.
  stack.data_parallel.contention = 1;
  stack.issue_floor = {};
  ParallelPlan plan{.data = 64, .global_batch = 64, .micro_batch = 1, .sharding = Sharding::Full};
  const auto costs = [&] { return layer_costs(model, layer_key(plan), a100(), stack); };
  const LayerCosts full = costs();
  plan.sharding = Sharding::Gradients;
  const LayerCosts kept = costs();
  const double gather = time_of(full.layers[0].forward, "weight_gather");
  CHECK(gather > 0);
  CHECK(time_of(kept.layers[0].forward, "weight_gather") == gather);
  // To the nanoseconds that durations are rounded to.
  const double both = time_of(full.layers[0].backward, "gather_reduce");
  CHECK(std::abs(both - gather - time_of(kept.layers[0].backward, "gradient_reduce")) < 2);
  // With several stages both keep them for the whole iteration.
  plan.data = 32;
  plan.pipeline = 2;
  const LayerKey kept_key = layer_key(plan);
  plan.sharding = Sharding::Full;
  CHECK(layer_key(plan) == kept_key);
  CHECK(total_ns(costs().layers[0].forward) == total_ns(kept.layers[0].forward) - gather);
}

TEST_CASE("layer_cost: learned positions are gathered with the word embedding") {
  const LayerKey key{.is_sharded = true, .replicas = 64};
  const auto gather = [&](const TransformerModel& model) {
    return time_of(layer_costs(model, key, a100(), *find_stack("fsdp-eager")).embedding.forward,
                   "weight_gather");
  };
  TransformerModel model{"", 4, 1024, 16, 2048};
  REQUIRE(model.positions == Positions::Learned);
  const double learned = gather(model);
  CHECK(learned > 0);
  // As many rows of a larger vocabulary.
  model.positions = Positions::Rotary;
  model.vocab_size += 2048;
  CHECK(learned == gather(model));
}

TEST_CASE("layer_cost: the CPU issues experts after it has waited for the GPU") {
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

TEST_CASE("layer_cost: experts with a capacity are sent as many rows as they take") {
  TransformerModel model{"", 2, 4096, 32, 4096};
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 1024};
  LayerKey key{.expert = 4, .micro_batch = 1, .precision = Precision::Bf16};
  Stack stack = *find_stack("megatron-core");
  const auto dispatch = [&](TokenDispatch kind, double capacity_factor) {
    stack.dispatch = kind;
    model.experts.capacity_factor = capacity_factor;
    return time_of(layer_costs(model, key, a100(), stack).layers[1].forward, "dispatch");
  };
  const double even = dispatch(TokenDispatch::AllToAll, 0);
  CHECK(dispatch(TokenDispatch::AllToAll, 1) == even);
  CHECK(dispatch(TokenDispatch::AllToAll, 4) == doctest::Approx(4 * even).epsilon(0.15));
  CHECK(dispatch(TokenDispatch::AllToAll, 0.5) < even);
  // One copy of a token for each GPU that it goes to.
  CHECK(dispatch(TokenDispatch::OnePerGpu, 4) == dispatch(TokenDispatch::OnePerGpu, 1));
  // The same over two nodes of 8 GPUs.
  model.experts.num_experts = 16;
  key.expert = 16;
  const double between_nodes = dispatch(TokenDispatch::AllToAll, 1);
  CHECK(dispatch(TokenDispatch::AllToAll, 4) == doctest::Approx(4 * between_nodes).epsilon(0.15));
}

TEST_CASE("layer_cost: the CPU catches up in the other layers of a hybrid's backward pass") {
  TransformerModel model{"", 6, 1024, 16, 2048};
  model.layer_pattern = "**E**E";
  model.experts = {.num_experts = 4, .top_k = 2, .expert_ffn_size = 512};
  const LayerKey key{.micro_batch = 1, .precision = Precision::Bf16};
  Stack stack = *find_stack("megatron-core");
  stack.issue_floor = {};
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

TEST_CASE("layer_cost: dispatch and combine hide under another micro-batch as far as it reaches") {
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

TEST_CASE("layer_cost: Megatron-LM of 2022 reduces the gradients of inputs beside products") {
  TransformerModel model{"", 4, 12288, 96, 2048};
  LayerKey key{.tensor = 8, .micro_batch = 4, .precision = Precision::Fp16};
  const auto backward = [&](const char* stack) {
    return layer_costs(model, key, a100(), *find_stack(stack)).layers[0].backward;
  };
  const auto time_ns = [&](Collective collective) {
    const Bytes activations(2.0 * 4 * 2048 * static_cast<double>(model.hidden_size));
    return collective_time(a100(), collective, placed_group(a100(), 8, 1), activations, Libraries::Old)
        .time.count();
  };
  // Both halves of the layer reduce one gradient; the products for the gradients of their weights take
  // longer.
  const double reduction = time_ns(Collective::AllReduce);
  CHECK(time_of(backward("megatron-2021"), "all_reduce") == 2 * std::round(reduction));
  CHECK(time_of(backward("megatron-2022"), "all_reduce") == 2 * std::round(0.15 * reduction));
  key.sequence_parallel = true;
  const double beside = time_ns(Collective::ReduceScatter) + time_ns(Collective::AllGather);
  CHECK(time_of(backward("megatron-2022"), "reduce_scatter") == 2 * std::round(0.15 * beside));
  CHECK(time_of(backward("megatron-2022"), "all_gather") == time_of(backward("megatron-2021"), "all_gather"));
  // Narrow weights: of what their products cannot hide, all shows, whatever the products for the gradient of
  // the input take, which are done by then.
  key.sequence_parallel = false;
  model = {"", 4, 4096, 32, 2048};
  const double narrow = time_ns(Collective::AllReduce);
  double shown = 0;
  for (const GemmShape& weight : {GemmShape{3 * 4096 / 8, 4096, 8192}, {4 * 4096 / 8, 4096, 8192}}) {
    const double product = modelled_gemm_time(a100(), Precision::Fp16, weight).time.count();
    shown += std::round(std::max(0.0, narrow - product) + 0.15 * std::min(narrow, product));
  }
  CHECK(time_of(backward("megatron-2022"), "all_reduce") == doctest::Approx(shown).epsilon(1e-5));
  // With sequence parallelism the gather hides beside the products for the gradient of the input, which come
  // first.
  key.sequence_parallel = true;
  shown = 0;
  const auto exposed = [](double collective, double product) {
    return std::max(0.0, collective - product) + 0.15 * std::min(collective, product);
  };
  for (const std::int64_t columns : {3 * 4096 / 8, 4 * 4096 / 8}) {
    const double input = modelled_gemm_time(a100(), Precision::Fp16, {8192, 4096, columns}).time.count();
    const double weight = modelled_gemm_time(a100(), Precision::Fp16, {columns, 4096, 8192}).time.count();
    shown += std::round(exposed(time_ns(Collective::ReduceScatter), weight) +
                        exposed(time_ns(Collective::AllGather), input));
  }
  CHECK(time_of(backward("megatron-2022"), "reduce_scatter") == doctest::Approx(shown).epsilon(1e-5));
}

TEST_CASE("layer_cost: overlapped tensor parallelism cuts the products beside its collectives") {
  const TransformerModel model{"", 4, 4096, 32, 2048};
  const GpuProfile h100 = load_gpu_profile("h100").value();
  Stack stack = *find_stack("megatron-bridge");
  stack.issue_floor = {};
  LayerKey key{.tensor = 4, .micro_batch = 1, .sequence_parallel = true, .precision = Precision::Bf16};
  const auto layer = [&] { return layer_costs(model, key, h100, stack).layers[0]; };
  const auto gemm_ns = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm_time(h100, Precision::Bf16, {m, n, k}).time.count();
  };
  const PassCosts cut = layer();
  CHECK(time_of(cut.forward, "mlp_up_gemm") == std::round(4 * gemm_ns(512, 4096, 4096)));
  // Kernels that reduce four pieces keep 16 of 132 multiprocessors.
  const auto reduced_ns = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm_time(h100, Precision::Bf16, {m, n, k}, 116.0 / 132).time.count();
  };
  CHECK(time_of(cut.forward, "mlp_down_gemm") == std::round(4 * reduced_ns(512, 4096, 4096)));
  LayerKey wide = key;
  wide.tensor = 8;
  const PassCosts of_eight = layer_costs(model, wide, h100, stack).layers[0];
  CHECK(time_of(of_eight.forward, "mlp_up_gemm") == std::round(8 * gemm_ns(256, 2048, 4096)));
  CHECK(time_of(of_eight.forward, "mlp_down_gemm") == std::round(4 * reduced_ns(512, 4096, 2048)));
  // In 8 bits reductions go around a ring of the eight; the input is converted before.
  wide.precision = Precision::Fp8;
  const PassCosts in_8_bits = layer_costs(model, wide, h100, stack).layers[0];
  const Nanoseconds conversion = memory_kernel_time(h100, MemoryKernel::Elementwise, Bytes(0), 1);
  CHECK(time_of(in_8_bits.forward, "mlp_down_gemm") ==
        std::round((conversion + 8 * gemm_time(h100, Precision::Fp8, {256, 4096, 2048}).time).count()));
  stack.overlap.tensor = false;
  const PassCosts whole = layer();
  CHECK(time_of(whole.forward, "mlp_up_gemm") == std::round(gemm_ns(2048, 4096, 4096)));
  // Backward the gradient of the output is gathered beside one product, the sums beside a whole one.
  CHECK(time_of(cut.backward, "mlp_down_grad") > time_of(whole.backward, "mlp_down_grad"));
  CHECK(time_of(cut.backward, "mlp_up_grad") == time_of(whole.backward, "mlp_up_grad"));
  CHECK(time_of(cut.backward, "all_gather") < 0.5 * time_of(whole.backward, "all_gather"));
  // User buffers need sequence parallelism, end at the host, and know no 4 bits.
  const auto is_cut = [&](LayerKey with) {
    key = with;
    stack.overlap.tensor = true;
    const double overlapped = total_ns(layer().forward);
    stack.overlap.tensor = false;
    return overlapped != total_ns(layer().forward);
  };
  const LayerKey plain = key;
  CHECK(is_cut(plain));
  LayerKey other = plain;
  other.sequence_parallel = false;
  CHECK_FALSE(is_cut(other));
  other = plain;
  other.tensor = 16;
  CHECK_FALSE(is_cut(other));
  other = plain;
  other.precision = Precision::Fp4;
  CHECK_FALSE(is_cut(other));
}

TEST_CASE("layer_cost: a layer of GPT 22B takes what Megatron-LM took in 2022") {
  // Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, table 4: 64
  // heads, tensor degree 8, micro-batches of 4 sequences, on A100.
  struct Measured {
    Recompute recompute;
    bool sequence_parallel;
    double forward_ms;
    double backward_ms;
  };
  const TransformerModel model{"GPT 22B", 48, 6144, 64, 2048};
  for (const Measured& measured : {Measured{Recompute::None, false, 7.7, 11.9},
                                   {Recompute::None, true, 7.2, 11.8},
                                   {Recompute::Full, false, 7.7, 19.5},
                                   {Recompute::Selective, false, 7.7, 13.2},
                                   {Recompute::Selective, true, 7.2, 13.1}}) {
    CAPTURE(name_of(measured.recompute));
    CAPTURE(measured.sequence_parallel);
    const LayerKey key{.tensor = 8,
                       .micro_batch = 4,
                       .sequence_parallel = measured.sequence_parallel,
                       .recompute = measured.recompute,
                       .precision = Precision::Fp16};
    const PassCosts layer = layer_costs(model, key, a100(), *find_stack("megatron-2022")).layers[0];
    CHECK(total_ns(layer.forward) / 1e6 == doctest::Approx(measured.forward_ms).epsilon(0.05));
    CHECK((total_ns(layer.recompute) + total_ns(layer.backward)) / 1e6 ==
          doctest::Approx(measured.backward_ms).epsilon(0.05));
  }
}

TEST_CASE("layer_cost: inputs of experts are quantised one by one in 8 bits, at once in 4") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 512};
  GpuProfile b200 = load_gpu_profile("b200").value();
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
  b200.conversion_traffic_fp4 = Bytes(5);
  CHECK(act_to_down(Precision::Fp4, 8) == doctest::Approx(memory_ns(1)).epsilon(1e-3));
  // Where the tables of products contain the conversion, the starts of the kernels are left.
  b200.conversion_traffic = b200.conversion_traffic_fp4 = Bytes(0);
  CHECK(act_to_down(Precision::Fp8, 8) == doctest::Approx(8 * b200.kernel_overhead.count()).epsilon(1e-3));
  CHECK(act_to_down(Precision::Fp4, 8) == doctest::Approx(b200.kernel_overhead.count()).epsilon(1e-2));
}

TEST_CASE("layer_cost: what runs again is the stack's rule") {
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
  CHECK(names(SelectiveRecompute::AttentionScores) == "attention ");
  CHECK(names(SelectiveRecompute::NormsAndActivations) == "input_norm mlp_norm expert_act ");
  CHECK(names(SelectiveRecompute::Experts) ==
        "mlp_norm router permute expert_up_gemm expert_act expert_down_gemm expert_bias unpermute ");
}

}  // namespace
}  // namespace vtrain
