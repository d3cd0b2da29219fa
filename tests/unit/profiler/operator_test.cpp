#include "profiler/operator.hpp"

#include <numeric>
#include <stdexcept>

#include <doctest/doctest.h>

#include "profiler/error.hpp"

namespace vtrain::profiler {
namespace {

TEST_CASE("operator: keys say everything that defines a measurement") {
  CHECK(key_of(make_gemm(Pass::WeightGradient, Format::Bf16, 12288, 4096, 8192, Variant::Fp32Output)) ==
        "gemm weight_gradient bf16 out=fp32 m=12288 n=4096 k=8192");
  CHECK(key_of(make_gemm(Pass::WeightGradient, Format::Fp8, 1, 2, 3, Variant::SameOutput)) ==
        "gemm weight_gradient fp8 out=bf16 m=1 n=2 k=3");
  CHECK(key_of(make_attention(
            Pass::Backward, Format::Fp16, Variant::Fused,
            {.batch = 2, .heads = 32, .key_value_heads = 8, .sequence = 4096, .head_size = 128})) ==
        "attention backward fp16 fused batch=2 heads=32 key_value_heads=8 sequence=4096 head_size=128");
  CHECK(key_of(make_adam(Format::Bf16, 10)) == "adam update bf16 elements=10");
}

TEST_CASE("operator: arithmetic and traffic") {
  // 2 x 4 x 8 matrices: 2 * 64 operations; inputs 2 (4 * 8 + 8 * 2)... with m = 4, n = 2, k = 8: 2 (32 + 16)
  // + 2 * 8.
  const Operator gemm = make_gemm(Pass::Forward, Format::Bf16, 4, 2, 8);
  CHECK(flops_of(gemm) == 128);
  CHECK(traffic_of(gemm) == 112);
  // fp8 inputs are half, fp32 gradients are read and written: 48 + 8 * 8.
  CHECK(traffic_of(make_gemm(Pass::WeightGradient, Format::Fp8, 4, 2, 8, Variant::Fp32Output)) == 112);
  // Causal attention: two products of half of 3 x 16 x 16 scores, head size 4: 2 * 2 * 768 * 4 / 2.
  const AttentionSize size{.batch = 1, .heads = 3, .key_value_heads = 1, .sequence = 16, .head_size = 4};
  const Operator attention = make_attention(Pass::Forward, Format::Bf16, Variant::Fused, size);
  CHECK(flops_of(attention) == 6144);
  CHECK(flops_of(make_attention(Pass::Backward, Format::Bf16, Variant::Fused, size)) == 2.5 * 6144);
  // Queries and outputs 192 elements, keys and values 64, in 2 bytes; 4 bytes for each of 48 rows.
  CHECK(traffic_of(attention) == 2 * (2 * 192 + 2 * 64) + 4 * 48);
  CHECK(traffic_of(make_adam(Format::Bf16, 100)) == 3000);
  CHECK(flops_of(make_adam(Format::Bf16, 100)) == 0);
}

TEST_CASE("operator: the tensors of an operator cover its traffic") {
  // Whatever is moved once lies in a buffer: the traffic counts each buffer once or twice (read and written).
  const AttentionSize size{.batch = 2, .heads = 4, .key_value_heads = 2, .sequence = 64, .head_size = 32};
  std::vector<Operator> operators;
  for (const Pass pass : {Pass::Forward, Pass::Backward}) {
    for (const OperatorKind kind :
         {OperatorKind::Softmax, OperatorKind::LayerNorm, OperatorKind::RmsNorm, OperatorKind::Gelu,
          OperatorKind::Swiglu, OperatorKind::Dropout, OperatorKind::ResidualAdd, OperatorKind::Quantize,
          OperatorKind::CrossEntropy})
      operators.push_back(make_rows(kind, pass, Format::Bf16, 128, 1024));
    for (const Variant variant : {Variant::Fused, Variant::Unfused})
      operators.push_back(make_attention(pass, Format::Bf16, variant, size));
  }
  operators.push_back(make_rotary(Format::Bf16, 128, 1024, 128));
  operators.push_back(make_adam(Format::Bf16, 1000));
  operators.push_back(make_gemm(Pass::Forward, Format::Fp8, 64, 32, 16));
  for (const Operator& op : operators) {
    CAPTURE(key_of(op));
    const auto buffers = buffers_of(op);
    const auto total = static_cast<double>(std::accumulate(buffers.begin(), buffers.end(), std::size_t{0}));
    CHECK(total >= traffic_of(op) / 3);
    CHECK(total <= traffic_of(op) * 1.5);
  }
}

TEST_CASE("operator: unknown names") {
  CHECK(parse_format("fp8") == Format::Fp8);
  CHECK_THROWS_AS(parse_format("fp4"), InputError);
  CHECK_THROWS_AS(make_adam(Format::Bf16, 1).size("rows"), std::logic_error);
}

}  // namespace
}  // namespace vtrain::profiler
