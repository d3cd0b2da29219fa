/// Single lines of logs: iterations, memory, marks of a start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "workloads/logs/training_log.hpp"

namespace vtrain {

/// Kinds of lines that report on an iteration.
enum class StepLineKind : std::uint8_t {
  Megatron,       ///< `iteration 10/ 500 | … | elapsed time per iteration (ms): 812.0 | …`
  BridgeStep,     ///< `Step Time : 2.34s GPU utilization: …`, without a number
  NeMo,           ///< `Training epoch 0, iteration 3/99 | … | train_step_timing in s: 2.1 | …`
  Torchtitan,     ///< `step: 10  loss: …  memory: …  tps: 6,344 …`; older ones have `wps`
  DeepSpeedPipe,  ///< `steps: 10 loss: … iter time (s): 0.936 samples/sec: …`
  DeepSpeed,      ///< `…global_step=10, RunningAvgSamplesPerSec=…, CurrSamplesPerSec=…`
};

/// Number of kinds of lines.
inline constexpr std::size_t kNumStepLineKinds = 6;

/// The report of a line.
struct StepLine {
  StepLineKind kind = StepLineKind::Megatron;
  std::optional<std::int64_t> iteration{};  ///< none: the line has no number
  double value = 0;                         ///< above 0
  std::int64_t global_batch = 0;            ///< sequences of the iteration; 0: the line has none
};

/// The unit of a kind's values.
StepUnit unit_of(StepLineKind kind);

/// Reads a line that reports on an iteration; none for another line.
std::optional<StepLine> read_step_line(std::string_view line);

/// Peaks of memory on one GPU.
struct MemoryLine {
  std::optional<Bytes> allocated{};
  std::optional<Bytes> reserved{};
};

/// Reads the memory that a line reports; nothing for another line.
MemoryLine read_memory_line(std::string_view line);

/// True for a line that frameworks print once, before the first iteration of a start.
bool marks_start(std::string_view line);

/// The line without the escape sequences of terminals.
std::string without_escapes(std::string_view line);

/// The label of a rank or process at the beginning of a line: `[rank0]:`, `3:`, `(pretraining, pid=4112)`;
/// empty without one.
std::string_view rank_label(std::string_view line);

}  // namespace vtrain
