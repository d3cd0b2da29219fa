/// Operators that frameworks leave to PyTorch, and context parallelism of both kinds.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "tests/unit/workloads/release_a100.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/stack/kernel_cost.hpp"

namespace vtrain {
namespace {

// 32 heads of 128 columns, 8 of keys and values. A GPU has 8,192 tokens of a sequence.
constexpr double kTokens = 8'192;
constexpr double kQueries = 4'096;
constexpr double kKeys = 1'024;

TransformerModel llama(std::int64_t parts = 1) {
  TransformerModel model{"", 4, 4'096, 32, 8'192 * parts};
  model.num_kv_heads = 8;
  model.ffn_size = 14'336;
  model.activation = Activation::SwiGlu;
  model.normalization = Normalization::RmsNorm;
  model.positions = Positions::Rotary;
  model.has_bias = false;
  return model;
}

PassCosts layer_of(const Stack& stack, LayerKey key = {}) {
  key.micro_batch = 1;
  key.precision = Precision::Bf16;
  return layer_costs(llama(key.context), key, a100(), stack).layers[0];
}

double elementwise_ns(double bytes, int kernels) {
  return std::round(memory_kernel_time(a100(), MemoryKernel::Elementwise, Bytes(bytes), kernels).count());
}

double eager_ns(double elements, const EagerWork& work) {
  return std::round(eager_kernel_time(a100(), elements, work).count());
}

TEST_CASE("torchtitan: keys and values are repeated for each query's head") {
  const PassCosts layer = layer_of(*find_stack("torchtitan"));
  // Both are read as they are and written four times as wide; backward the other way round.
  const double bytes = 2 * kTokens * (2 * kKeys + 2 * kQueries);
  CHECK(time_of(layer.forward, "repeat_heads") == elementwise_ns(bytes, 2));
  CHECK(time_of(layer.backward, "repeat_heads_grad") == elementwise_ns(bytes, 2));
  CHECK(time_of(layer_of(*find_stack("megatron-core")).forward, "repeat_heads") == 0);
}

TEST_CASE("torchtitan: rotation by complex numbers is not compiled") {
  const double rotated = kTokens * (kQueries + kKeys);
  const auto rotation = [](const char* stack) {
    const PassCosts layer = layer_of(*find_stack(stack));
    CHECK(time_of(layer.forward, "rotation") == time_of(layer.backward, "rotation_grad"));
    return time_of(layer.forward, "rotation");
  };
  // Compiled: 6 bytes of each conversion, and one product of 8 + 8 bytes for every two elements.
  CHECK(rotation("torchtitan") == eager_ns(rotated, {0.5, 16, 12, 6}));
  CHECK(rotation("torchtitan-eager") == eager_ns(rotated, {2.5, 8, 0, 6}));
  CHECK(rotation("pytorch-compiled") == elementwise_ns(4 * rotated, 2));
}

TEST_CASE("torchtitan-eager: a root-mean-square norm is many kernels") {
  const double elements = kTokens * 4'096;
  const PassCosts eager = layer_of(*find_stack("torchtitan-eager"));
  // Conversion 6, square 8, mean 4, root's product 8, conversion 6, weight's product 4 bytes, of which the
  // square and the mean are read and written in vectors.
  CHECK(time_of(eager.forward, "input_norm") == eager_ns(elements, {4, 6, 12, 8}));
  // Beside the norm's kernels the residual connection's gradient is added.
  CHECK(
      time_of(eager.backward, "input_norm_grad") ==
      doctest::Approx(eager_ns(elements, {5, 6.4, 44, 13}) + elementwise_ns(6 * elements, 1)).epsilon(1e-6));
  const double compiled = time_of(layer_of(*find_stack("torchtitan")).forward, "input_norm");
  CHECK(compiled ==
        std::round(memory_kernel_time(a100(), MemoryKernel::LayerNorm, Bytes(4 * elements), 1).count()));
}

TEST_CASE("megatron-bridge: an activation that is not fused is operator by operator") {
  Stack stack = *find_stack("megatron-bridge");
  const double elements = kTokens * 14'336;
  const auto gelu_ns = [&](double bytes, int kernels) {
    return std::round(
        memory_kernel_time(a100(), MemoryKernel::Gelu, Bytes(bytes * elements), kernels).count());
  };
  // SwiGLU: two inputs read and one output written.
  CHECK(time_of(layer_of(stack).forward, "mlp_act") == gelu_ns(6, 1));
  stack.eager.activation = true;
  // SiLU reads and writes one, the product reads two and writes one.
  CHECK(time_of(layer_of(stack).forward, "mlp_act") == gelu_ns(10, 2));
}

TEST_CASE("torchtitan: context parallelism gathers keys and values before attention") {
  const PassCosts layer = layer_of(*find_stack("torchtitan"), {.context = 4});
  // Keys and values of all heads, on each of four GPUs.
  const double columns = 2 * kQueries;
  const Bytes all(4 * 2 * kTokens * columns);
  const double gather = std::round(
      collective_time(a100(), Collective::AllGather, {.size = 4, .per_node = 4}, all, Libraries::Current)
          .time.count());
  CHECK(time_of(layer.forward, "context_gather") == gather);
  CHECK(time_of(layer.backward, "context_gather") == gather);
  CHECK(time_of(layer.forward, "context_concat") == elementwise_ns(4 * kTokens * columns, 1));
  // Three outputs of 2 bytes are merged into a sum of 4 bytes, which is read and written.
  CHECK(time_of(layer.forward, "context_merge") == elementwise_ns(3 * 10 * kTokens * kQueries, 4));
  CHECK(time_of(layer.forward, "context_ring") == 0);
  // Gradients in single precision go on after each part.
  CHECK(time_of(layer.backward, "context_ring") ==
        std::round(4 * send_time(a100(), true, Bytes(4 * kTokens * columns)).time.count()));
  CHECK(time_of(layer.backward, "context_add") ==
        elementwise_ns(4 * kTokens * (10 * kQueries + 18 * columns), 16));
}

TEST_CASE("megatron-core: context parallelism passes keys and values around behind attention") {
  const PassCosts layer = layer_of(*find_stack("megatron-core"), {.context = 4});
  // The heads that there are; the first of three hops shows.
  const double columns = 2 * kKeys;
  const auto hop = [](double bytes) {
    return std::round(send_time(a100(), true, Bytes(bytes)).time.count());
  };
  CHECK(time_of(layer.forward, "context_ring") == hop(2 * kTokens * columns));
  CHECK(time_of(layer.backward, "context_ring") == hop(2 * 2 * kTokens * columns));
  CHECK(time_of(layer.forward, "context_gather") == 0);
  CHECK(time_of(layer.backward, "context_gather") == 0);
  CHECK(time_of(layer.forward, "context_concat") == elementwise_ns(4 * kTokens * columns, 1));
  // The first output is scaled (read and written), three are added (two read, one written).
  CHECK(time_of(layer.forward, "context_merge") == elementwise_ns((4 + 3 * 6) * kTokens * kQueries, 4));
  // The same of the queries' gradients; of keys and values four are concatenated and added.
  CHECK(time_of(layer.backward, "context_add") ==
        elementwise_ns(kTokens * ((4 + 3 * 6) * kQueries + 4 * (4 + 6) * columns), 16));
  CHECK(time_of(layer_of(*find_stack("megatron-core")).forward, "context_concat") == 0);
}

TEST_CASE(
    "megatron-core: a context ring that leaves the NVLink domain shows as far as attention is shorter") {
  // 4 x 4 GPUs are more than a node has. Through a slow network all three hops take longer than attention on
  // the three parts that arrive.
  GpuProfile slow = a100();
  slow.node_network_bandwidth = slow.node_network_bandwidth * 0.01;
  const LayerKey key{.tensor = 4, .context = 4, .micro_batch = 1, .precision = Precision::Bf16};
  const PassCosts layer = layer_costs(llama(4), key, slow, *find_stack("megatron-core")).layers[0];
  const double hop = send_time(slow, false, Bytes(2 * kTokens * 2 * kKeys / 4)).time.count();
  const double attention = time_of(layer.forward, "attention");
  CHECK(2 * hop > attention);
  CHECK(time_of(layer.forward, "context_ring") == doctest::Approx(3 * hop - 0.75 * attention).epsilon(1e-6));
}

TEST_CASE("torchtitan: asynchronous tensor parallelism sums up pieces itself") {
  Stack stack = *find_stack("torchtitan");
  const LayerKey key{.tensor = 8, .sequence_parallel = true};
  CHECK(time_of(layer_of(stack, key).forward, "sum_pieces") == 0);
  stack.overlap.tensor = true;
  // After attention and after the MLP: eight pieces are read, one is written.
  const double elements = kTokens * 4'096;
  CHECK(time_of(layer_of(stack, key).forward, "sum_pieces") == 2 * elementwise_ns(2 * elements * 9 / 8, 1));
}

const GpuProfile& h100() {
  static const GpuProfile profile = load_gpu_profile("h100").value();
  return profile;
}

PassCosts h100_layer(const char* stack, Precision precision, LayerKey key = {}) {
  key.precision = precision;
  return layer_costs(llama(), key, h100(), *find_stack(stack)).layers[0];
}

TEST_CASE("layer_cost: inputs of products are gathered as they are multiplied, unless rows are scaled") {
  const LayerKey key{.tensor = 8, .sequence_parallel = true};
  const auto gathered_ns = [](double bytes) {
    return 2 * std::round(collective_time(h100(), Collective::AllGather, placed_group(h100(), 8, 1),
                                          Bytes(bytes * kTokens * 4'096), Libraries::Current)
                              .time.count());
  };
  for (const char* stack : {"torchtitan", "torchtitan-2024", "megatron-core"}) {
    const PassCosts layer = h100_layer(stack, Precision::Fp8, key);
    CHECK(time_of(layer.forward, "all_gather") == gathered_ns(1));
    CHECK(time_of(layer.backward, "all_gather") == gathered_ns(1));
    CHECK(time_of(h100_layer(stack, Precision::Bf16, key).forward, "all_gather") == gathered_ns(2));
  }
  CHECK(time_of(h100_layer("megatron-core", Precision::Fp4, key).forward, "all_gather") == gathered_ns(0.5));
  CHECK(time_of(h100_layer("torchtitan-rowwise", Precision::Fp8, key).forward, "all_gather") ==
        gathered_ns(2));
}

TEST_CASE("torchtitan: in 8 bits sharded weights are gathered in 8 bits") {
  // Two GPUs and one sequence of 16 tokens: nothing hides the gather.
  const auto gather_ns = [](const char* stack, Precision precision) {
    TransformerModel model = llama();
    model.sequence_length = 16;
    const LayerKey key{
        .is_sharded = true, .replicas = 2, .gather = WeightGather::EveryForward, .precision = precision};
    return time_of(layer_costs(model, key, h100(), *find_stack(stack)).layers[0].forward, "weight_gather");
  };
  CHECK(gather_ns("torchtitan", Precision::Fp8) < 0.6 * gather_ns("torchtitan", Precision::Bf16));
  CHECK(gather_ns("torchtitan-rowwise", Precision::Fp8) > 1.6 * gather_ns("torchtitan", Precision::Fp8));
}

TEST_CASE("torchtitan: embedding and output layer are gathered in 16 bits whatever the layers have") {
  const auto gathers_ns = [](Precision precision) {
    const LayerKey key{.is_sharded = true, .replicas = 64, .precision = precision};
    const LayerCosts costs = layer_costs(llama(), key, h100(), *find_stack("torchtitan"));
    return std::pair(time_of(costs.embedding.forward, "weight_gather"),
                     time_of(costs.head.forward, "weight_gather"));
  };
  CHECK(gathers_ns(Precision::Fp8).first > 0);
  CHECK(gathers_ns(Precision::Fp8) == gathers_ns(Precision::Bf16));
}

TEST_CASE("torchtitan: recomputation by operator keeps what was reduced, and gathers again") {
  const LayerKey key{.tensor = 8, .sequence_parallel = true, .recompute = Recompute::Selective};
  const PassCosts layer = h100_layer("torchtitan", Precision::Bf16, key);
  CHECK(time_of(layer.recompute, "all_gather") == time_of(layer.forward, "all_gather"));
  CHECK(time_of(layer.recompute, "all_gather") > 0);
  CHECK(time_of(layer.forward, "reduce_scatter") > 0);
  CHECK(time_of(layer.recompute, "reduce_scatter") == 0);
  CHECK(time_of(layer.recompute, "attention") == 0);
}

TEST_CASE("torchtitan: what moves sharded weights takes memory bandwidth from the computation, and copies") {
  // Queries, keys and values, their output, the MLP, two norms.
  constexpr double kWeights = 4'096.0 * (6'144 + 4'096 + 3 * 14'336 + 2);
  const LayerKey key{.is_sharded = true, .replicas = 8};
  const auto time_ns = [](Collective collective, double bytes) {
    return collective_time(h100(), collective, placed_group(h100(), 8, 1), Bytes(bytes * kWeights),
                           Libraries::Current)
        .time.count();
  };
  const auto copy_ns = [](double bytes) {
    return memory_kernel_time(h100(), MemoryKernel::Elementwise, Bytes(bytes * kWeights), 1).count();
  };
  const auto traffic_ns = [](double bytes) {
    return Nanoseconds(Bytes(bytes * kWeights) / h100().memory_bandwidth).count();
  };
  // Both passes of a layer take longer than its collectives. Gathered are 2 bytes a weight, reduced 4.
  const PassCosts layer = h100_layer("torchtitan", Precision::Bf16, key);
  const double gather = time_ns(Collective::AllGather, 2);
  CHECK(time_of(layer.forward, "weight_gather") ==
        doctest::Approx(0.15 * gather + 3 * traffic_ns(2) + copy_ns(4)).epsilon(1e-6));
  CHECK(time_of(layer.backward, "gather_reduce") ==
        doctest::Approx(0.15 * (gather + time_ns(Collective::ReduceScatter, 4)) + 3 * traffic_ns(6) +
                        copy_ns(4) + copy_ns(6))
            .epsilon(1e-6));
  // FSDP of MosaicML's runs: they take the computation their whole time, and nothing is copied.
  CHECK(time_of(h100_layer("fsdp-eager", Precision::Bf16, key).forward, "weight_gather") ==
        doctest::Approx(gather));
  // Over several stages gradients add up in single precision: 2 bytes and 4 are read, 4 written.
  const LayerKey stages{.is_sharded = true, .replicas = 8, .gather = WeightGather::EveryIteration};
  CHECK(time_of(h100_layer("torchtitan", Precision::Bf16, stages).backward, "grad_accumulate") ==
        doctest::Approx(
            memory_kernel_time(h100(), MemoryKernel::Elementwise, Bytes(10 * kWeights), 4).count()));
  CHECK(time_of(layer.backward, "grad_accumulate") == 0);
}

TEST_CASE(
    "torchtitan: in sets of replicas weights are gathered within a set, gradients summed between sets") {
  TransformerModel model = llama();
  model.tied_embeddings = false;
  const Stack stack = *find_stack("fsdp-eager");  // copies nothing
  // 32 replicas in sets of 8, which are nodes. Nothing hides the collectives of the embedding.
  const LayerCosts sets =
      layer_costs(model, {.is_sharded = true, .replicas = 32, .replicate = 4}, h100(), stack);
  const LayerCosts node = layer_costs(model, {.is_sharded = true, .replicas = 8}, h100(), stack);
  CHECK(time_of(sets.embedding.forward, "weight_gather") == time_of(node.embedding.forward, "weight_gather"));
  const Bytes part(4.0 * static_cast<double>(model.vocab_size) * 4'096 / 8);
  const double between =
      collective_time(h100(), Collective::AllReduce, {.size = 4, .per_node = 1}, part, Libraries::Current)
          .time.count();
  CHECK(time_of(sets.embedding.backward, "gradient_reduce") ==
        doctest::Approx(time_of(node.embedding.backward, "gradient_reduce") + between).epsilon(1e-6));
  // Megatron-FSDP sums between sets once an iteration.
  const LayerCosts megatron = layer_costs(model, {.is_sharded = true, .replicas = 32, .replicate = 4}, h100(),
                                          *find_stack("megatron-bridge"));
  CHECK(time_of(megatron.embedding.backward, "gradient_reduce") <
        time_of(sets.embedding.backward, "gradient_reduce"));
}

TEST_CASE(
    "torchtitan: embedding and output layer are gathered and reduced like layers, the former in sight") {
  TransformerModel model = llama();
  model.vocab_size = 100'000;
  model.tied_embeddings = false;
  const LayerKey key{.is_sharded = true, .replicas = 8};
  const auto time_ns = [&](Collective collective, double bytes) {
    const Bytes table(bytes * 100'000 * 4'096);
    return collective_time(h100(), collective, placed_group(h100(), 8, 1), table, Libraries::Current)
        .time.count();
  };
  const Stack stack = *find_stack("fsdp-eager");  // copies nothing
  const LayerCosts costs = layer_costs(model, key, h100(), stack);
  CHECK(costs.embedding.forward.front().name == "weight_gather");
  CHECK(time_of(costs.embedding.forward, "weight_gather") ==
        doctest::Approx(time_ns(Collective::AllGather, 2)).epsilon(1e-6));
  CHECK(costs.embedding.backward.back().name == "gradient_reduce");
  CHECK(time_of(costs.embedding.backward, "gradient_reduce") ==
        doctest::Approx(time_ns(Collective::ReduceScatter, 4)).epsilon(1e-6));
  CHECK(time_of(costs.head.forward, "weight_gather") > 0);
  CHECK(time_of(costs.head.backward, "gradient_reduce") > 0);
  CHECK(costs.embedding_gathers.count() == 0);
  // One table for both.
  model.tied_embeddings = true;
  const LayerCosts tied = layer_costs(model, key, h100(), stack);
  CHECK(time_of(tied.head.forward, "weight_gather") == 0);
  CHECK(time_of(tied.embedding.forward, "weight_gather") ==
        time_of(costs.embedding.forward, "weight_gather"));
  // With several stages both ends have a table, and do so once an iteration.
  const LayerKey stages{.is_sharded = true, .replicas = 8, .gather = WeightGather::EveryIteration};
  const LayerCosts once = layer_costs(model, stages, h100(), stack);
  CHECK(once.embedding_gathers.count() ==
        doctest::Approx(time_ns(Collective::AllGather, 2) + time_ns(Collective::ReduceScatter, 4)));
  CHECK(once.head_gathers == once.embedding_gathers);
  CHECK(time_of(once.embedding.forward, "weight_gather") == 0);
}

TEST_CASE("torchtitan: a single replica shares its experts among the GPUs of its tensor group") {
  TransformerModel model = llama();
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 14'336};
  const LayerKey key{.tensor = 8, .is_sharded = true, .sequence_parallel = true};
  const LayerCosts costs = layer_costs(model, key, h100(), *find_stack("torchtitan"));
  CHECK(time_of(costs.layers[1].forward, "weight_gather") > 0);
  CHECK(time_of(costs.layers[1].backward, "gather_reduce") > 0);
  CHECK(time_of(costs.embedding.forward, "weight_gather") == 0);
}

TEST_CASE("torchtitan-rowwise: both operands of a product are converted for it") {
  const GemmShape down{8'192, 4'096, 14'336};
  const auto memory_ns = [](double bytes, int kernels) {
    return memory_kernel_time(h100(), MemoryKernel::Elementwise, Bytes(bytes), kernels).count();
  };
  const PassCosts layer = h100_layer("torchtitan-rowwise", Precision::Fp8);
  // The table of products has 6 of the 7 bytes for the first operand.
  const double inputs = 8'192.0 * 14'336;
  const double outputs = 8'192.0 * 4'096;
  const double weights = 4'096.0 * 14'336;
  CHECK(time_of(layer.forward, "mlp_down_gemm") ==
        doctest::Approx(gemm_time(h100(), Precision::Fp8, down).time.count() / 0.95 +
                        memory_ns(inputs + 7 * weights, 4))
            .epsilon(1e-6));
  // Gradients are scaled after their products: 4 bytes an element.
  CHECK(time_of(layer.backward, "mlp_down_grad") ==
        doctest::Approx(input_gradient_time(h100(), Precision::Fp8, down).time.count() +
                        memory_ns(outputs + 7 * weights + 4 * inputs, 5) +
                        weight_gradient_time(h100(), Precision::Fp8, down).time.count() +
                        memory_ns(outputs + 7 * inputs + 4 * weights, 5))
            .epsilon(1e-6));
  // In 16 bits nothing is scaled.
  CHECK(time_of(h100_layer("torchtitan-rowwise", Precision::Bf16).forward, "mlp_down_gemm") ==
        time_of(h100_layer("torchtitan", Precision::Bf16).forward, "mlp_down_gemm"));
}

TEST_CASE("torchtitan-rowwise: so are those of the products of experts") {
  TransformerModel model = llama();
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 14'336};
  const LayerKey key{.micro_batch = 1, .precision = Precision::Fp8};
  const PassCosts layer = layer_costs(model, key, h100(), *find_stack("torchtitan-rowwise")).layers[1];
  const auto memory_ns = [](double bytes, int kernels) {
    return memory_kernel_time(h100(), MemoryKernel::Elementwise, Bytes(bytes), kernels).count();
  };
  const std::int64_t rows = 2 * model.sequence_length;
  const GroupedGemmShape down{rows, 4'096, 14'336, 8};
  const double inputs = static_cast<double>(rows) * 14'336;
  const double outputs = static_cast<double>(rows) * 4'096;
  const double weights = 8 * 4'096.0 * 14'336;
  CHECK(time_of(layer.forward, "expert_down_gemm") ==
        doctest::Approx(grouped_gemm_time(h100(), Precision::Fp8, down).time.count() / 0.95 +
                        memory_ns(inputs + 7 * weights, 4))
            .epsilon(1e-6));
  CHECK(time_of(layer.backward, "expert_down_grad") ==
        doctest::Approx(grouped_input_gradient_time(h100(), Precision::Fp8, down).time.count() +
                        memory_ns(outputs + 7 * weights + 4 * inputs, 5) +
                        grouped_weight_gradient_time(h100(), Precision::Fp8, down).time.count() +
                        memory_ns(outputs + 7 * inputs + 4 * weights, 5))
            .epsilon(1e-6));
}

TEST_CASE("torchtitan: the loss is compiled since 2025") {
  const auto loss_ns = [](const char* stack) {
    const PassCosts head = layer_costs(llama(), {}, h100(), *find_stack(stack)).head;
    return time_of(head.forward, "loss") + time_of(head.backward, "loss_grad");
  };
  // 8 bytes a logit instead of 40.
  CHECK(loss_ns("torchtitan") < 0.25 * loss_ns("torchtitan-2024"));
  CHECK(loss_ns("torchtitan-eager") == loss_ns("torchtitan-2024"));
  CHECK(loss_ns("torchtitan-rowwise") == loss_ns("torchtitan"));
  // The logits and their gradient in half precision, instead of 14 bytes.
  const ParallelPlan plan{.tensor = 1, .data = 1, .pipeline = 1, .global_batch = 8, .micro_batch = 8};
  const auto head_bytes = [&](const char* stack) {
    return stage_memory(llama(), plan, 0, h100(), find_stack(stack)->memory).working_set.value;
  };
  CHECK(head_bytes("torchtitan-2024") - head_bytes("torchtitan") ==
        doctest::Approx(10 * 8 * kTokens * static_cast<double>(llama().vocab_size)));
}

}  // namespace
}  // namespace vtrain
