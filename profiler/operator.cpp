#include "profiler/operator.hpp"

#include <stdexcept>

#include "profiler/error.hpp"

namespace vtrain::profiler {

std::string_view name_of(OperatorKind kind) {
  constexpr std::string_view kNames[] = {"gemm",     "attention", "softmax",       "layer_norm",   "rms_norm",
                                         "gelu",     "swiglu",    "dropout",       "residual_add", "rotary",
                                         "quantize", "embedding", "cross_entropy", "adam"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Pass pass) {
  constexpr std::string_view kNames[] = {"forward", "backward", "data_gradient", "weight_gradient", "update"};
  return kNames[static_cast<std::size_t>(pass)];
}

std::string_view name_of(Format format) {
  constexpr std::string_view kNames[] = {"bf16", "fp16", "fp8"};
  return kNames[static_cast<std::size_t>(format)];
}

Format parse_format(std::string_view name) {
  for (const Format format : {Format::Bf16, Format::Fp16, Format::Fp8}) {
    if (name == name_of(format)) return format;
  }
  throw expected_found("precision", "bf16, fp16 or fp8", name);
}

std::int64_t Operator::size(std::string_view name) const {
  for (const Size& size : sizes) {
    if (size.name == name) return size.value;
  }
  throw std::logic_error(std::string(name_of(kind)) + " has no size " + std::string(name));
}

Operator make_gemm(Pass pass, Format format, std::int64_t m, std::int64_t n, std::int64_t k,
                   Variant variant) {
  return {OperatorKind::Gemm, pass, format, variant, {{"m", m}, {"n", n}, {"k", k}}};
}

Operator make_attention(Pass pass, Format format, Variant variant, const AttentionSize& size) {
  return {OperatorKind::Attention,
          pass,
          format,
          variant,
          {{"batch", size.batch},
           {"heads", size.heads},
           {"key_value_heads", size.key_value_heads},
           {"sequence", size.sequence},
           {"head_size", size.head_size}}};
}

Operator make_rows(OperatorKind kind, Pass pass, Format format, std::int64_t rows, std::int64_t columns) {
  return {kind, pass, format, Variant::None, {{"rows", rows}, {"columns", columns}}};
}

Operator make_rotary(Format format, std::int64_t rows, std::int64_t columns, std::int64_t head_size) {
  return {OperatorKind::Rotary,
          Pass::Forward,
          format,
          Variant::None,
          {{"rows", rows}, {"columns", columns}, {"head_size", head_size}}};
}

Operator make_embedding(Pass pass, Format format, std::int64_t rows, std::int64_t columns,
                        std::int64_t vocabulary) {
  return {OperatorKind::Embedding,
          pass,
          format,
          Variant::None,
          {{"rows", rows}, {"columns", columns}, {"vocabulary", vocabulary}}};
}

Operator make_adam(Format format, std::int64_t elements) {
  return {OperatorKind::Adam, Pass::Update, format, Variant::None, {{"elements", elements}}};
}

std::string variant_name(const Operator& op) {
  switch (op.variant) {
    case Variant::None:
      return "";
    case Variant::SameOutput:
      return "out=" + std::string(name_of(op.format == Format::Fp8 ? Format::Bf16 : op.format));
    case Variant::Fp32Output:
      return "out=fp32";
    case Variant::Fused:
      return "fused";
    case Variant::Unfused:
      return "unfused";
  }
  throw std::logic_error("a variant without a name");
}

std::string key_of(const Operator& op) {
  std::string key;
  for (const std::string_view part : {name_of(op.kind), name_of(op.pass), name_of(op.format)}) {
    if (!key.empty()) key += ' ';
    key += part;
  }
  if (op.variant != Variant::None) key += ' ' + variant_name(op);
  for (const Size& size : op.sizes)
    key.append(" ").append(size.name).append("=").append(std::to_string(size.value));
  return key;
}

}  // namespace vtrain::profiler
