#include "core/kernels/precision.hpp"

#include <array>

#include "core/base/names.hpp"

namespace vtrain {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"fp32", "fp16", "bf16", "fp8", "fp4"};

}  // namespace

std::string_view name_of(Precision precision) {
  return kNames[static_cast<std::size_t>(precision)];
}

std::span<const std::string_view> precision_names() {
  return kNames;
}

Result<Precision> parse_precision(std::string_view name) {
  return parse_name<Precision>("precision", kNames, name);
}

}  // namespace vtrain
