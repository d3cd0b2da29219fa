// The first byte chooses the kind of table. Any other bytes give an error with a message, or positive times.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/kernels/published_samples.hpp"

namespace {

template <class Samples>
void check(const Samples& samples) {
  if (!samples) {
    if (samples.error().message.empty()) std::abort();
    return;
  }
  for (const auto& sample : *samples) {
    if (!(sample.time.count() > 0)) std::abort();
  }
}

void check_operators(std::string_view text) {
  const auto samples = vtrain::parse_operator_table(text, "input");
  if (!samples) return;
  for (const vtrain::OperatorSample& sample : *samples) {
    if (!(sample.efficiency > 0) || sample.size("seq_len") < 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'g':
      check(vtrain::parse_gemm_table(text, "input"));
      break;
    case 'a':
      check(vtrain::parse_attention_table(text, "input"));
      break;
    case 'n':
      check(vtrain::parse_nccl_table(text, "input"));
      break;
    case 'r':
      check(vtrain::parse_all_reduce_table(text, "AR_GPU4_input"));
      break;
    default:
      check_operators(text);
  }
  return 0;
}
