/// Measurements of `vtrain profile record` on one GPU. Format: profiler/SCHEMA.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/kernels/collective_table.hpp"
#include "core/kernels/precision.hpp"

namespace vtrain {

/// The recorded GPU.
struct RecordedDevice {
  std::string name;  ///< name in the driver: `NVIDIA H200`
  std::string compute_capability;
  std::int64_t num_multiprocessors = 0;
  double clock_hz = 0;
  Bytes memory{};
  BytesPerSecond memory_bandwidth{};
  Bytes l2{};
};

/// One GPU kernel of a recorded operator.
struct RecordedKernel {
  std::size_t name = 0;  ///< position in `kernel_names`
  std::int64_t duration_ns = 0;
  std::optional<std::int64_t> gap_ns{};  ///< gap to the start of the next kernel; negative if they overlap
};

/// Duration of an operator in one state of the L2 cache.
struct RecordedTiming {
  std::int64_t repetitions = 0;
  Nanoseconds time{0};  ///< median, from the start of the first to the end of the last kernel
  Nanoseconds low{0};   ///< 10th percentile
  Nanoseconds high{0};  ///< 90th percentile
  std::vector<RecordedKernel> kernels{};
};

/// One measured operator. Names of operators, passes, variants and sizes are the schema's; unknown ones are
/// kept unchanged.
struct RecordedOperator {
  std::string key;
  std::string operation;  ///< `gemm`, `attention`, `layer_norm`, ...
  std::string pass;       ///< `forward`, `backward`, `data_gradient`, `weight_gradient`, `update`
  std::string variant;    ///< empty if the operator has none
  Precision precision = Precision::Bf16;
  /// Sizes by name. Every `gemm` has m, n and k, every `attention` batch, heads, sequence and head_size.
  std::map<std::string, std::int64_t, std::less<>> shape{};
  double flops = 0;
  Bytes traffic{};  ///< bytes of every input and output, counted once
  std::size_t session = 0;
  RecordedTiming warm{};  ///< inputs are in L2, as far as they fit
  RecordedTiming cold{};  ///< L2 is overwritten before

  /// A size of the shape by name, or 0 without it.
  std::int64_t size(std::string_view name) const;
};

/// One measured collective. Messages from one GPU to the next (`send_recv`) have no `collective`.
struct RecordedCollective {
  std::string key;
  std::optional<Collective> collective{};
  std::int64_t num_gpus = 2;
  std::int64_t num_nodes = 1;
  Bytes bytes{};  ///< size of the whole tensor
  Nanoseconds time{0};
};

/// One run of the recorder.
struct RecordingSession {
  std::string started;
  std::string ended;
  std::optional<double> sm_clock_hz{};  ///< median clock, Hz
  std::optional<double> temperature_c{};
  std::optional<double> power_w{};
  std::optional<double> throttled{};  ///< throttled part of the samples, 0 to 1
};

/// A whole recording.
struct KernelRecording {
  std::string made_by;
  RecordedDevice device;
  /// Driver and libraries with their versions, as written; absent ones are left out.
  std::vector<std::pair<std::string, std::string>> software;
  std::vector<RecordingSession> sessions;
  std::vector<std::string> kernel_names;
  std::vector<RecordedOperator> operators;
  std::vector<RecordedCollective> collectives;
  std::vector<std::pair<std::string, std::string>> skipped;  ///< key and reason
};

/// The recording in a folder, or the path itself if it is no folder.
std::filesystem::path recording_file(const std::filesystem::path& path);

/// True if JSON text names the schema of a recording (`vtrain-kernel-table`), of any version.
bool is_kernel_recording(std::string_view text);

/// Reads a recording, version 1. Unknown keys are ignored, as later versions may add some. Errors name the
/// line and the row: another schema or a higher version, a missing key, a time or size out of range, a
/// repeated key, an invalid position.
Result<KernelRecording> parse_kernel_recording(std::string text, const std::string& file);

}  // namespace vtrain
