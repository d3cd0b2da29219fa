/// GPU profiles from measurements of `vtrain profile record`.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/kernels/kernel_recording.hpp"

namespace vtrain {

/// Profile of a recording as JSON text. It extends the embedded profile `base` and replaces these parts by
/// measurements:
///
/// - matrix products in bf16 (or, without any, fp16) and fp8: the measured time of every measured shape, and
///   the table of `base`, moved by the differences of neighbouring measured shapes from it;
/// - fused attention, forward and backward, as the generation that such GPUs run: `flash3` from compute
///   capability 9 on, `flash2` before;
/// - the share of the memory's bandwidth that norms, activations, dropout, softmax, sums and the optimizer
///   reach, of sizes for which L2 does not matter;
/// - collectives within a node.
///
/// Times are those of a warm L2 in back-to-back launches, as in training. `made_by` is the command that
/// repeats the conversion. Errors: `base` is no embedded profile; the recording has no measurement that a
/// profile can hold.
Result<std::string> recording_to_profile(const KernelRecording& recording, const std::string& base,
                                         const std::string& made_by);

}  // namespace vtrain
