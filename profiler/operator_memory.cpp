// Arithmetic, traffic and device memory of every operator. Bytes an element: 2 in 16 bits, 1 in fp8, 4 in
// fp32, 1 for a mask, 8 for a token.
#include <stdexcept>

#include "profiler/operator.hpp"

namespace vtrain::profiler {
namespace {

double real(std::int64_t value) {
  return static_cast<double>(value);
}

double elements_of(const Operator& op) {
  return real(op.size("rows")) * real(op.size("columns"));
}

/// Elements of attention's tensors.
struct AttentionElements {
  double queries = 0;  ///< elements of queries, and of outputs
  double keys = 0;     ///< elements of keys, and of values
  double rows = 0;     ///< rows of the scores
  double scores = 0;
};

AttentionElements attention_elements(const Operator& op) {
  const double tokens = real(op.size("batch")) * real(op.size("sequence"));
  const double rows = tokens * real(op.size("heads"));
  const double head_size = real(op.size("head_size"));
  return {rows * head_size, tokens * real(op.size("key_value_heads")) * head_size, rows,
          rows * real(op.size("sequence"))};
}

double gemm_traffic(const Operator& op) {
  const double m = real(op.size("m"));
  const double n = real(op.size("n"));
  const double k = real(op.size("k"));
  const double input = op.format == Format::Fp8 ? 1 : 2;
  const double output = op.variant == Variant::Fp32Output ? 8 : 2;  // fp32 gradients are read and written
  return input * (m * k + k * n) + output * m * n;
}

double attention_traffic(const Operator& op) {
  const AttentionElements at = attention_elements(op);
  const bool is_forward = op.pass == Pass::Forward;
  // Forward: queries, keys and values in, outputs out. Backward reads the outputs and their gradient as well,
  // and writes three gradients.
  const double tensors = is_forward ? 4 * at.queries + 4 * at.keys : 8 * at.queries + 8 * at.keys;
  if (op.variant == Variant::Fused) return tensors + 4 * at.rows;
  // Scores written, turned into probabilities, read; backward: the probabilities read, their gradient
  // written, turned into that of the scores, and read twice.
  return tensors + (is_forward ? 8 : 14) * at.scores;
}

/// Bytes for each element of the operators that work on rows and columns, forward and backward.
double bytes_per_element(OperatorKind kind, bool is_forward) {
  switch (kind) {
    case OperatorKind::Softmax:
    case OperatorKind::LayerNorm:
    case OperatorKind::RmsNorm:
    case OperatorKind::Gelu:
      return is_forward ? 4 : 6;
    case OperatorKind::Swiglu:
      return is_forward ? 6 : 10;
    case OperatorKind::Dropout:
      return 5;
    case OperatorKind::ResidualAdd:
      return 6;
    case OperatorKind::Rotary:
    case OperatorKind::Quantize:
      return 4;
    case OperatorKind::CrossEntropy:
      return is_forward ? 2 : 4;
    case OperatorKind::Embedding:
      return is_forward ? 4 : 10;
    case OperatorKind::Gemm:
    case OperatorKind::Attention:
    case OperatorKind::Adam:
      break;
  }
  throw std::logic_error("not an operator on rows and columns");
}

std::size_t bytes(double value) {
  return static_cast<std::size_t>(value);
}

std::vector<std::size_t> attention_buffers(const Operator& op) {
  const AttentionElements at = attention_elements(op);
  const std::size_t queries = bytes(2 * at.queries);
  const std::size_t keys = bytes(2 * at.keys);
  // Queries, keys, values, outputs; statistics of the rows or the probabilities.
  std::vector<std::size_t> buffers{queries, keys, keys, queries,
                                   op.variant == Variant::Fused ? bytes(4 * at.rows) : bytes(2 * at.scores)};
  if (op.pass == Pass::Forward) return buffers;
  // Gradients of outputs, queries, keys and values; of the scores.
  for (const std::size_t size : {queries, queries, keys, keys})
    buffers.push_back(size);
  if (op.variant == Variant::Unfused) buffers.push_back(bytes(2 * at.scores));
  return buffers;
}

std::vector<std::size_t> row_buffers(const Operator& op) {
  const bool is_forward = op.pass == Pass::Forward;
  const double rows = real(op.size("rows"));
  const double columns = real(op.size("columns"));
  const double all = rows * columns;
  const std::size_t tensor = bytes(2 * all);
  const std::size_t statistics = bytes(8 * rows);
  switch (op.kind) {
    case OperatorKind::Softmax:  // in, out; backward: probabilities, their gradient, that of the scores
      return is_forward ? std::vector{tensor, tensor} : std::vector{tensor, tensor, tensor};
    case OperatorKind::LayerNorm:
    case OperatorKind::RmsNorm: {  // in, out, weight and bias, statistics; backward: gradients of all of them
      const std::size_t weights = bytes(8 * columns);
      if (is_forward) return {tensor, tensor, weights, statistics};
      return {tensor, tensor, weights, statistics, tensor, weights};
    }
    case OperatorKind::Gelu:  // in, out; backward: in, gradient of the output, of the input
      return is_forward ? std::vector{tensor, tensor} : std::vector{tensor, tensor, tensor};
    case OperatorKind::Swiglu:
      return is_forward ? std::vector{2 * tensor, tensor} : std::vector{2 * tensor, tensor, 2 * tensor};
    case OperatorKind::Dropout:  // in, out, mask
      return {tensor, tensor, bytes(all)};
    case OperatorKind::ResidualAdd:
      return {tensor, tensor, tensor};
    case OperatorKind::Rotary:  // in place; the table of sines and cosines
      return {tensor, bytes(8 * rows * real(op.size("head_size")))};
    case OperatorKind::Quantize:  // in, out, transposed
      return {tensor, bytes(all), bytes(all)};
    case OperatorKind::CrossEntropy:  // logits, labels, maximum and sum of each row, losses
      return {tensor, statistics, statistics, bytes(4 * rows)};
    case OperatorKind::Embedding: {  // tokens, table or its gradient, rows
      const double table = real(op.size("vocabulary")) * columns;
      return {statistics, bytes((is_forward ? 2 : 4) * table), tensor};
    }
    default:
      throw std::logic_error("not an operator on rows and columns");
  }
}

}  // namespace

double flops_of(const Operator& op) {
  if (op.kind == OperatorKind::Gemm) return 2 * real(op.size("m")) * real(op.size("n")) * real(op.size("k"));
  if (op.kind != OperatorKind::Attention) return 0;
  // Scores and context are a product each, of which causal attention needs one half; backward has five
  // products.
  const AttentionElements at = attention_elements(op);
  return (op.pass == Pass::Forward ? 2 : 5) * at.scores * real(op.size("head_size"));
}

double traffic_of(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::Gemm:
      return gemm_traffic(op);
    case OperatorKind::Attention:
      return attention_traffic(op);
    case OperatorKind::Adam:
      return 30 *
             real(op.size("elements"));  // gradient 4; weight and two moments 8 each; copy of the weight 2
    default:
      return bytes_per_element(op.kind, op.pass == Pass::Forward) * elements_of(op);
  }
}

std::vector<std::size_t> buffers_of(const Operator& op) {
  if (op.kind == OperatorKind::Gemm) {  // left, right, result
    const double input = op.format == Format::Fp8 ? 1 : 2;
    const double output = op.variant == Variant::Fp32Output ? 4 : 2;
    return {bytes(input * real(op.size("m")) * real(op.size("k"))),
            bytes(input * real(op.size("k")) * real(op.size("n"))),
            bytes(output * real(op.size("m")) * real(op.size("n")))};
  }
  if (op.kind == OperatorKind::Attention) return attention_buffers(op);
  if (op.kind == OperatorKind::Adam) {  // gradient, weight, two moments, copy of the weight
    const std::size_t single = bytes(4 * real(op.size("elements")));
    return {single, single, single, single, single / 2};
  }
  return row_buffers(op);
}

}  // namespace vtrain::profiler
