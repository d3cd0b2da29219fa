// Whatever a profile says, reading it ends in an error or in a profile that predicts finite times.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/profile/gpu_profile.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/stack/kernel_cost.hpp"
#include "workloads/stack/stack.hpp"

namespace {

using namespace vtrain;

void check(Nanoseconds time) {
  if (!(std::isfinite(time.count()) && time.count() > 0)) std::abort();
}

/// Checks every kind of kernel and message at small, usual and large sizes.
void check_kernels(const GpuProfile& profile) {
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{4096}, std::int64_t{1} << 20}) {
    for (std::size_t i = 0; i < kNumPrecisions; ++i)
      check(gemm_time(profile, static_cast<Precision>(i), {size, size, size}).time);
    const AttentionShape shape{.sequence = size, .queries = size, .heads = size};
    for (const auto kernel : {AttentionKernel::Flash1, AttentionKernel::Flash2, AttentionKernel::Flash3}) {
      check(attention_forward_time(profile, kernel, shape).time);
      check(attention_backward_time(profile, kernel, shape).time);
    }
    for (const Collective collective : kCollectives) {
      for (const GpuGroup group : {GpuGroup{2, 8}, GpuGroup{5, 8}, GpuGroup{64, 8}})
        check(
            collective_time(profile, collective, group, Bytes(static_cast<double>(size)), Libraries::Current)
                .time);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto profile = parse_gpu_profile(std::string(reinterpret_cast<const char*>(data), size), "fuzz.json");
  if (!profile) {
    if (profile.error().message.empty()) std::abort();
    return 0;
  }
  check_kernels(*profile);
  const TransformerModel model{"", 4, 1024, 16, 512};
  const ParallelPlan plan{.tensor = 2, .data = 2, .pipeline = 2, .global_batch = 16, .micro_batch = 2};
  const auto prediction = predict_physical(model, plan, *profile, default_stack(*profile));
  if (!prediction) std::abort();
  const double iteration = fast_iteration_times(prediction->work).iteration.count();
  if (!std::isfinite(iteration) || iteration < 0 || !(prediction->memory.peak.value > 0)) std::abort();
  return 0;
}
