#include "profiler/model_point.hpp"

#include <algorithm>

#include "profiler/error.hpp"

namespace vtrain::profiler {
namespace {

/// Collects the operators of one model.
class PartMaker {
 public:
  explicit PartMaker(const ModelPoint& point)
      : point_(point),
        tokens_(point.micro_batch * point.sequence),
        split_tokens_(point.sequence_parallel ? tokens_ / point.tensor : tokens_),
        key_value_heads_(std::max<std::int64_t>(1, point.key_value_heads / point.tensor)),
        plain_(point.format == Format::Fp8 ? Format::Bf16 : point.format) {}

  PartOperators embeddings() const {
    PartOperators part{.name = "embeddings", .forward = {}, .backward = {}, .update = {}};
    part.forward.push_back(embedding(Pass::Forward));
    if (is_gpt()) part.forward.push_back(rows(OperatorKind::Dropout, Pass::Forward));
    if (is_gpt()) part.backward.push_back(rows(OperatorKind::Dropout, Pass::Backward));
    part.backward.push_back(embedding(Pass::Backward));
    part.update.push_back(make_adam(plain_, vocabulary() * point_.hidden));
    return part;
  }

  PartOperators transformer() const {
    PartOperators part{.name = "transformer", .forward = {}, .backward = {}, .update = {}};
    add_attention_forward(part.forward);
    add_mlp_forward(part.forward);
    add_mlp_backward(part.backward);
    add_attention_backward(part.backward);
    part.update.push_back(make_adam(plain_, layer_weights()));
    return part;
  }

  PartOperators logit() const {
    PartOperators part{.name = "logit", .forward = {}, .backward = {}, .update = {}};
    part.forward.push_back(rows(norm(), Pass::Forward));
    part.forward.push_back(make_gemm(Pass::Forward, plain_, tokens_, vocabulary(), point_.hidden));
    part.backward.push_back(make_gemm(Pass::DataGradient, plain_, tokens_, point_.hidden, vocabulary()));
    part.backward.push_back(
        make_gemm(Pass::WeightGradient, plain_, vocabulary(), point_.hidden, tokens_, point_.gradients));
    part.backward.push_back(rows(norm(), Pass::Backward));
    // Models of the GPT family share these weights with the embedding, which updates them.
    if (!is_gpt()) part.update.push_back(make_adam(plain_, vocabulary() * point_.hidden));
    return part;
  }

  PartOperators loss() const {
    PartOperators part{.name = "loss", .forward = {}, .backward = {}, .update = {}};
    for (const Pass pass : {Pass::Forward, Pass::Backward}) {
      auto& operators = pass == Pass::Forward ? part.forward : part.backward;
      operators.push_back(make_rows(OperatorKind::CrossEntropy, pass, plain_, tokens_, vocabulary()));
    }
    return part;
  }

 private:
  bool is_gpt() const { return point_.family == Family::Gpt; }
  OperatorKind norm() const { return is_gpt() ? OperatorKind::LayerNorm : OperatorKind::RmsNorm; }
  std::int64_t vocabulary() const { return point_.vocabulary / point_.tensor; }
  std::int64_t head_size() const { return point_.hidden / point_.heads; }
  std::int64_t query_columns() const { return point_.hidden / point_.tensor; }
  std::int64_t qkv_columns() const { return query_columns() + 2 * key_value_heads_ * head_size(); }
  std::int64_t ffn_columns() const { return point_.ffn_hidden / point_.tensor; }
  std::int64_t up_columns() const { return (is_gpt() ? 1 : 2) * ffn_columns(); }

  std::int64_t layer_weights() const {
    return point_.hidden * (qkv_columns() + query_columns() + up_columns() + ffn_columns());
  }

  Operator rows(OperatorKind kind, Pass pass) const {
    return make_rows(kind, pass, plain_, split_tokens_, point_.hidden);
  }
  Operator activation(Pass pass) const {
    return make_rows(is_gpt() ? OperatorKind::Gelu : OperatorKind::Swiglu, pass, plain_, tokens_,
                     ffn_columns());
  }
  Operator embedding(Pass pass) const {
    return make_embedding(pass, plain_, tokens_, point_.hidden, vocabulary());
  }
  Operator attention(Pass pass) const {
    return make_attention(pass, plain_, point_.attention,
                          {.batch = point_.micro_batch,
                           .heads = point_.heads / point_.tensor,
                           .key_value_heads = key_value_heads_,
                           .sequence = point_.sequence,
                           .head_size = head_size()});
  }
  Operator rotary() const {
    return make_rotary(plain_, tokens_, query_columns() + key_value_heads_ * head_size(), head_size());
  }

  void add_quantize(std::vector<Operator>& to, std::int64_t columns) const {
    if (point_.format == Format::Fp8)
      to.push_back(make_rows(OperatorKind::Quantize, Pass::Forward, plain_, tokens_, columns));
  }

  void add_linear_forward(std::vector<Operator>& to, std::int64_t outputs, std::int64_t inputs) const {
    add_quantize(to, inputs);
    to.push_back(make_gemm(Pass::Forward, point_.format, tokens_, outputs, inputs));
  }

  void add_linear_backward(std::vector<Operator>& to, std::int64_t outputs, std::int64_t inputs) const {
    add_quantize(to, outputs);
    to.push_back(make_gemm(Pass::DataGradient, point_.format, tokens_, inputs, outputs));
    to.push_back(make_gemm(Pass::WeightGradient, point_.format, outputs, inputs, tokens_, point_.gradients));
  }

  void add_residual_forward(std::vector<Operator>& to) const {
    if (is_gpt()) to.push_back(rows(OperatorKind::Dropout, Pass::Forward));
    to.push_back(rows(OperatorKind::ResidualAdd, Pass::Forward));
  }

  void add_attention_forward(std::vector<Operator>& to) const {
    to.push_back(rows(norm(), Pass::Forward));
    add_linear_forward(to, qkv_columns(), point_.hidden);
    if (!is_gpt()) to.push_back(rotary());
    to.push_back(attention(Pass::Forward));
    add_linear_forward(to, point_.hidden, query_columns());
    add_residual_forward(to);
  }

  void add_mlp_forward(std::vector<Operator>& to) const {
    to.push_back(rows(norm(), Pass::Forward));
    add_linear_forward(to, up_columns(), point_.hidden);
    to.push_back(activation(Pass::Forward));
    add_linear_forward(to, point_.hidden, ffn_columns());
    add_residual_forward(to);
  }

  /// Adds the residual connection's gradient to the block's own.
  void add_norm_backward(std::vector<Operator>& to) const {
    to.push_back(rows(norm(), Pass::Backward));
    to.push_back(rows(OperatorKind::ResidualAdd, Pass::Forward));
  }

  void add_mlp_backward(std::vector<Operator>& to) const {
    if (is_gpt()) to.push_back(rows(OperatorKind::Dropout, Pass::Backward));
    add_linear_backward(to, point_.hidden, ffn_columns());
    to.push_back(activation(Pass::Backward));
    add_linear_backward(to, up_columns(), point_.hidden);
    add_norm_backward(to);
  }

  void add_attention_backward(std::vector<Operator>& to) const {
    if (is_gpt()) to.push_back(rows(OperatorKind::Dropout, Pass::Backward));
    add_linear_backward(to, point_.hidden, query_columns());
    to.push_back(attention(Pass::Backward));
    if (!is_gpt()) to.push_back(rotary());
    add_linear_backward(to, qkv_columns(), point_.hidden);
    add_norm_backward(to);
  }

  const ModelPoint& point_;
  std::int64_t tokens_ = 0;
  std::int64_t split_tokens_ = 0;
  std::int64_t key_value_heads_ = 0;  ///< key-value heads of one GPU
  Format plain_;
};

}  // namespace

std::string_view name_of(Family family) {
  return family == Family::Gpt ? "gpt" : "llama";
}

Family parse_family(std::string_view name) {
  if (name == "gpt") return Family::Gpt;
  if (name == "llama") return Family::Llama;
  throw expected_found("family", "gpt or llama", name);
}

std::vector<PartOperators> parts_of(const ModelPoint& point) {
  const PartMaker maker(point);
  return {maker.embeddings(), maker.transformer(), maker.logit(), maker.loss()};
}

std::string find_fault(const ModelPoint& point) {
  const auto divides = [](std::int64_t value, std::int64_t by) { return value % by == 0; };
  if (!divides(point.hidden, point.heads)) return "hidden does not divide by heads";
  if (!divides(point.heads, point.tensor)) return "heads do not divide by the tensor-parallel degree";
  if (!divides(point.heads, point.key_value_heads)) return "heads do not divide by key-value heads";
  if (point.key_value_heads > point.tensor && !divides(point.key_value_heads, point.tensor)) {
    return "key-value heads do not divide by the tensor-parallel degree";
  }
  if (!divides(point.ffn_hidden, point.tensor))
    return "the MLP's width does not divide by the tensor-parallel degree";
  if (!divides(point.vocabulary, point.tensor))
    return "the vocabulary does not divide by the tensor-parallel degree";
  if (point.sequence_parallel && !divides(point.micro_batch * point.sequence, point.tensor)) {
    return "the tokens do not divide by the tensor-parallel degree";
  }
  return "";
}

}  // namespace vtrain::profiler
