#include "profiler/grid.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "profiler/error.hpp"

namespace vtrain::profiler {
namespace {

GridSpec small_grid() {
  GridSpec spec;
  spec.widths = {{.hidden = 1024, .heads = 8}};
  spec.sequences = {2048};
  spec.micro_batches = {1};
  spec.tensors = {1};
  spec.formats = {Format::Bf16};
  spec.gradients = {Variant::Fp32Output};
  spec.attentions = {Variant::Fused};
  return spec;
}

bool has(const std::vector<Operator>& operators, std::string_view key) {
  return std::any_of(operators.begin(), operators.end(),
                     [&](const Operator& op) { return key_of(op) == key; });
}

TEST_CASE("grid: the operators of one GPT layer on one GPU") {
  const auto operators = necessary_operators(points_of(small_grid()).points);
  // Queries, keys and values; projection; both halves of the MLP; logits: forward and both gradients of each.
  for (const char* const key :
       {"gemm forward bf16 m=2048 n=3072 k=1024", "gemm data_gradient bf16 m=2048 n=1024 k=3072",
        "gemm weight_gradient bf16 out=fp32 m=3072 n=1024 k=2048", "gemm forward bf16 m=2048 n=1024 k=1024",
        "gemm forward bf16 m=2048 n=4096 k=1024", "gemm forward bf16 m=2048 n=1024 k=4096",
        "gemm forward bf16 m=2048 n=51200 k=1024", "gemm weight_gradient bf16 out=fp32 m=51200 n=1024 k=2048",
        "attention forward bf16 fused batch=1 heads=8 key_value_heads=8 sequence=2048 head_size=128",
        "attention backward bf16 fused batch=1 heads=8 key_value_heads=8 sequence=2048 head_size=128",
        "layer_norm forward bf16 rows=2048 columns=1024", "layer_norm backward bf16 rows=2048 columns=1024",
        "gelu forward bf16 rows=2048 columns=4096", "dropout backward bf16 rows=2048 columns=1024",
        "residual_add forward bf16 rows=2048 columns=1024",
        "embedding forward bf16 rows=2048 columns=1024 vocabulary=51200",
        "cross_entropy backward bf16 rows=2048 columns=51200", "adam update bf16 elements=52428800",
        // 12 h^2 weights of a layer
        "adam update bf16 elements=12582912"}) {
    CAPTURE(key);
    CHECK(has(operators, key));
  }
  // 5 linear layers x 3, but forward of the MLP's halves and data gradients coincide: forward 1024 <- 4096 is
  // the data gradient's shape of 4096 <- 1024, which has another pass and so stays distinct.
  const auto gemms = std::count_if(operators.begin(), operators.end(),
                                   [](const Operator& op) { return op.kind == OperatorKind::Gemm; });
  CHECK(gemms == 15);
  CHECK(!has(operators, "swiglu forward bf16 rows=2048 columns=4096"));
}

TEST_CASE("grid: a shard of a Llama layer") {
  GridSpec spec = small_grid();
  spec.family = Family::Llama;
  spec.widths = {{.hidden = 4096, .heads = 32}};
  spec.sequences = {8192};
  spec.tensors = {4};
  const auto operators = necessary_operators(points_of(spec).points);
  // 8 of 32 query heads and 2 of 8 key-value heads of 128: 1024 + 2 * 256 columns; the MLP's 14336 / 4
  // columns twice.
  for (const char* const key :
       {"gemm forward bf16 m=8192 n=1536 k=4096", "gemm forward bf16 m=8192 n=4096 k=1024",
        "gemm forward bf16 m=8192 n=7168 k=4096", "gemm forward bf16 m=8192 n=4096 k=3584",
        "swiglu forward bf16 rows=8192 columns=3584",
        "rotary forward bf16 rows=8192 columns=1280 head_size=128",
        "attention forward bf16 fused batch=1 heads=8 key_value_heads=2 sequence=8192 head_size=128",
        "gemm forward bf16 m=8192 n=32064 k=4096",
        // whole, and a quarter of the tokens with sequence parallelism
        "rms_norm forward bf16 rows=8192 columns=4096", "rms_norm forward bf16 rows=2048 columns=4096"}) {
    CAPTURE(key);
    CHECK(has(operators, key));
  }
  CHECK(!has(operators, "dropout forward bf16 rows=8192 columns=4096"));
}

TEST_CASE("grid: operators are distinct, and few compared with the models that need them") {
  const GridPoints grid = points_of(default_grid());
  CHECK(grid.left_out.empty());
  // 7 widths x 4 degrees x 4 sequences x 4 micro-batches; degrees above 1 with and without sequence
  // parallelism.
  CHECK(grid.points.size() == 7 * (1 + 2 * 3) * 16);
  const auto operators = necessary_operators(grid.points);
  std::set<std::string> keys;
  for (const Operator& op : operators)
    keys.insert(key_of(op));
  CHECK(keys.size() == operators.size());
  // Sequences and micro-batches meet in 7 numbers of tokens: a GPT layer has 12 products of linear layers and
  // 3 of the logits, some of which coincide between degrees.
  const auto gemms = std::count_if(operators.begin(), operators.end(),
                                   [](const Operator& op) { return op.kind == OperatorKind::Gemm; });
  CHECK(gemms <= 7 * 4 * 7 * 15);
  CHECK(gemms > 7 * 4 * 7 * 10);
}

TEST_CASE("grid: fp8 keeps everything but the layers' products in bf16") {
  GridSpec spec = small_grid();
  spec.formats = {Format::Fp8};
  const auto operators = necessary_operators(points_of(spec).points);
  CHECK(has(operators, "gemm forward fp8 m=2048 n=3072 k=1024"));
  CHECK(has(operators, "gemm forward bf16 m=2048 n=51200 k=1024"));
  CHECK(has(operators, "quantize forward bf16 rows=2048 columns=1024"));
  CHECK(has(operators, "layer_norm forward bf16 rows=2048 columns=1024"));
}

TEST_CASE("grid: unfused attention brings softmax on its own") {
  GridSpec spec = small_grid();
  spec.attentions = {Variant::Unfused};
  CHECK(has(necessary_operators(points_of(spec).points), "softmax backward bf16 rows=16384 columns=2048"));
}

TEST_CASE("grid: combinations that are no model are left out and named") {
  GridSpec spec = small_grid();
  spec.tensors = {1, 3};
  const GridPoints grid = points_of(spec);
  CHECK(grid.points.size() == 1);
  REQUIRE(grid.left_out.size() == 1);
  CHECK(grid.left_out[0].find("heads do not divide by the tensor-parallel degree") != std::string::npos);
  spec.widths = {{.hidden = 1000, .heads = 7}};
  CHECK(points_of(spec).points.empty());
}

TEST_CASE("grid: fewer key-value heads than GPUs leave each GPU one") {
  GridSpec spec = small_grid();
  spec.family = Family::Llama;
  spec.key_value_heads = 2;
  spec.tensors = {8};
  CHECK(has(necessary_operators(points_of(spec).points),
            "attention forward bf16 fused batch=1 heads=1 key_value_heads=1 sequence=2048 head_size=128"));
}

TEST_CASE("grid: names of families") {
  CHECK(parse_family("llama") == Family::Llama);
  CHECK_THROWS_AS(parse_family("bert"), InputError);
}

}  // namespace
}  // namespace vtrain::profiler
