#include <doctest/doctest.h>

#include "tests/unit/workloads/release_a100.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/stack/kernel_cost.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

LayerCosts costs_of(const TransformerModel& model, const Stack& stack, Precision precision,
                    std::int64_t tensor = 1) {
  return layer_costs(model, {.tensor = tensor, .micro_batch = 4, .precision = precision}, a100(), stack);
}

/// Time of `bytes` at a fraction of the A100's bandwidth, plus the start of kernels.
double memory_ns(double bytes, double efficiency, int kernels) {
  return bytes / (2039 * efficiency) + 3000 * kernels;
}

// 4 sequences of 1024 tokens: 4,096 tokens of 2,048 columns.
const TransformerModel kModel{"", 24, 2048, 16, 1024};
constexpr double kElements = 4096.0 * 2048;
constexpr double kRounding = 3e-5;  // times are whole nanoseconds

Stack megatron_2021() {
  return find_stack("megatron-2021").value();
}

TEST_CASE("single_precision: activations, gradients and messages are twice as large") {
  const Stack megatron = megatron_2021();
  const LayerCosts half = costs_of(kModel, megatron, Precision::Fp16, 2);
  const LayerCosts single = costs_of(kModel, megatron, Precision::Fp32, 2);
  // A norm reads and writes every element.
  CHECK(time_of(half.layers[0].forward, "input_norm") ==
        doctest::Approx(memory_ns(4 * kElements, 0.55, 1)).epsilon(kRounding));
  CHECK(time_of(single.layers[0].forward, "input_norm") ==
        doctest::Approx(memory_ns(8 * kElements, 0.55, 1)).epsilon(kRounding));
  const auto all_reduce = [](double bytes) {
    return collective_time(a100(), Collective::AllReduce, {.size = 2, .per_node = 2}, Bytes(bytes),
                           Libraries::Old)
        .time.count();
  };
  CHECK(time_of(half.layers[0].forward, "all_reduce") ==
        doctest::Approx(2 * all_reduce(2 * kElements)).epsilon(kRounding));
  CHECK(time_of(single.layers[0].forward, "all_reduce") ==
        doctest::Approx(2 * all_reduce(4 * kElements)).epsilon(kRounding));
  CHECK(megatron.gradients(Precision::Fp16, 10).value == 20);
  CHECK(megatron.gradients(Precision::Fp32, 10).value == 40);
}

TEST_CASE("single_precision: the loss converts no logits") {
  const Stack megatron = megatron_2021();
  CHECK(megatron.loss_bytes(Precision::Fp16) == 54);
  CHECK(megatron.loss_bytes(Precision::Fp32) == 42);
  // 0.6 of the traffic in the forward pass.
  const double logits = 4096.0 * 50257;
  const LayerCosts single = costs_of(kModel, megatron, Precision::Fp32);
  CHECK(time_of(single.head.forward, "loss") ==
        doctest::Approx(memory_ns(0.6 * 42 * logits, 0.85, 1)).epsilon(kRounding));
}

TEST_CASE("single_precision: the output layer and attention run in it too") {
  const LayerCosts single = costs_of(kModel, find_stack("transformers-eager").value(), Precision::Fp32);
  CHECK(time_of(single.head.forward, "logits_gemm") ==
        doctest::Approx(gemm_time(a100(), Precision::Fp32, {4096, 50257, 2048}).time.count())
            .epsilon(kRounding));
  CHECK(time_of(single.layers[0].forward, "attn_scores") ==
        doctest::Approx(gemm_time(a100(), Precision::Fp32, {1024, 1024, 128, 64}).time.count())
            .epsilon(kRounding));
}

TEST_CASE("single_precision: attention for which there is no flash kernel keeps the share of the peak rate") {
  const Stack stack = find_stack("torchtitan").value();
  const LayerCosts half = costs_of(kModel, stack, Precision::Bf16);
  const LayerCosts single = costs_of(kModel, stack, Precision::Fp32);
  const double slower = a100().peak_rate.value / a100().peak_rate_fp32.value;
  CHECK(time_of(single.layers[0].forward, "attention") ==
        doctest::Approx(slower * time_of(half.layers[0].forward, "attention")).epsilon(kRounding));
  CHECK(time_of(single.layers[0].backward, "attention_grad") ==
        doctest::Approx(slower * time_of(half.layers[0].backward, "attention_grad")).epsilon(kRounding));
}

TEST_CASE("transformers-eager: every operator of the formulas is a kernel") {
  const Stack eager = find_stack("transformers-eager").value();
  TransformerModel model = kModel;
  const auto forward = [&] { return costs_of(model, eager, Precision::Fp16).layers[0].forward; };
  const auto backward = [&] { return costs_of(model, eager, Precision::Fp16).layers[0].backward; };
  // 64 heads of 1024^2 scores: scaled and masked (4 + 4 bytes), softmax (4), dropout (5); backward the same
  // with 6 bytes of the softmax.
  const double scores = 64.0 * 1024 * 1024;
  const double scaled = memory_ns(8 * scores, 0.85, 2);
  const double dropped = memory_ns(5 * scores, 0.66, 1);
  CHECK(time_of(forward(), "attn_softmax") ==
        doctest::Approx(scaled + dropped + memory_ns(4 * scores, 0.66, 1)).epsilon(kRounding));
  CHECK(time_of(backward(), "softmax_grad") ==
        doctest::Approx(scaled + dropped + memory_ns(6 * scores, 0.66, 1)).epsilon(kRounding));
  // GELU by tanh: 7 kernels of one input or a product with a constant (4 bytes), but for two with two inputs
  // (6): 6 x 4 + 2 x 6 = 36 bytes an element of the inner layer.
  const double inner = 4 * kElements;
  CHECK(time_of(forward(), "mlp_act") == doctest::Approx(memory_ns(36 * inner, 0.75, 8)).epsilon(kRounding));
  // An encoder's is one kernel, as ReLU is.
  model.is_bidirectional = true;
  CHECK(time_of(forward(), "mlp_act") == doctest::Approx(memory_ns(4 * inner, 0.75, 1)).epsilon(kRounding));
  model.is_bidirectional = false;
  model.activation = Activation::Relu;
  CHECK(time_of(forward(), "mlp_act") == doctest::Approx(memory_ns(4 * inner, 0.75, 1)).epsilon(kRounding));
  // Its gradient, and that of the bias.
  CHECK(time_of(backward(), "mlp_act_grad") ==
        doctest::Approx(memory_ns(8 * inner, 0.75, 2)).epsilon(kRounding));
  // Dropout and the residual connection are two.
  CHECK(time_of(forward(), "mlp_residual") ==
        doctest::Approx(memory_ns(5 * kElements, 0.66, 1) + memory_ns(6 * kElements, 0.85, 1))
            .epsilon(kRounding));
}

TEST_CASE("dropout: kernels are those of the model, of one that does not say those of the stack") {
  const auto time = [](const Stack& stack, std::optional<Dropout> dropout, std::string_view name) {
    TransformerModel model = kModel;
    model.dropout = dropout;
    return time_of(costs_of(model, stack, Precision::Fp16).layers[0].forward, name);
  };
  const Stack eager = find_stack("transformers-eager").value();
  const double scores = memory_ns(5 * 64.0 * 1024 * 1024, 0.66, 1);
  const double kernel = memory_ns(5 * kElements, 0.66, 1);
  for (const bool attention : {true, false}) {
    for (const bool hidden : {true, false}) {
      const Dropout dropout{.attention = attention, .hidden = hidden};
      CHECK(time(eager, {}, "attn_softmax") - time(eager, dropout, "attn_softmax") ==
            doctest::Approx(attention ? 0 : scores).epsilon(kRounding));
      CHECK(time(eager, {}, "mlp_residual") - time(eager, dropout, "mlp_residual") ==
            doctest::Approx(hidden ? 0 : kernel).epsilon(kRounding));
    }
  }
  // Where the stack has none: the fused kernel with the mask instead of the sum.
  const Stack fused = find_stack("megatron-core").value();
  CHECK(time(fused, {}, "mlp_residual") ==
        doctest::Approx(memory_ns(6 * kElements, 0.85, 1)).epsilon(kRounding));
  CHECK(time(fused, Dropout{.hidden = true}, "mlp_residual") ==
        doctest::Approx(memory_ns(7 * kElements, 0.66, 1)).epsilon(kRounding));
}

TEST_CASE("transformers-eager: fused kernels of Megatron-LM for scores are for half precision alone") {
  const Stack megatron = megatron_2021();
  const double scores = 64.0 * 1024 * 1024;
  const double half = time_of(costs_of(kModel, megatron, Precision::Fp16).layers[0].forward, "attn_softmax");
  const double single =
      time_of(costs_of(kModel, megatron, Precision::Fp32).layers[0].forward, "attn_softmax");
  CHECK(half == doctest::Approx(memory_ns(9 * scores, 0.66, 2)).epsilon(kRounding));
  CHECK(
      single ==
      doctest::Approx(memory_ns(18 * scores, 0.66, 2) + memory_ns(16 * scores, 0.85, 2)).epsilon(kRounding));
}

TEST_CASE("stack: an iteration without an update of the weights") {
  Stack stack = find_stack("transformers-eager").value();
  const ParallelPlan plan{.global_batch = 4, .micro_batch = 4, .precision = Precision::Fp32};
  const auto iteration = [&] {
    return fast_iteration_times(predict_physical(kModel, plan, a100(), stack)->work).iteration;
  };
  const Nanoseconds with = iteration();
  stack.updates_weights = false;
  // 44 bytes a weight at 0.85 of the bandwidth.
  CHECK((with - iteration()).count() ==
        doctest::Approx(memory_ns(44 * static_cast<double>(kModel.num_parameters()), 0.85, 1)).epsilon(1e-4));
}

}  // namespace
}  // namespace vtrain
