/// What was measured of a run: the time of its iterations and its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain {

/// Figures of a measured run.
struct MeasuredFigures {
  Seconds iteration{0};                ///< 0: not measured
  std::optional<Bytes> allocated{};    ///< peak of the tensors of the fullest GPU
  std::optional<Bytes> reserved{};     ///< peak of the allocator
  std::vector<std::string> missing{};  ///< reasons why the time is of no use, but for its absence
};

/// Reads `iteration_s`, `tokens_per_s` and `tokens_per_s_per_gpu`, of which the first counts and none may
/// contradict it, and the peaks `mem_alloc_gib` and `mem_reserved_gib`. An iteration trains `tokens` on
/// `num_gpus`. Errors stay in `measured`.
MeasuredFigures read_figures(JsonFields& measured, double tokens, std::int64_t num_gpus);

/// The reason why a case without an iteration time cannot be used.
inline constexpr const char* kNoIterationTime =
    "the iteration time: iteration_s, tokens_per_s or tokens_per_s_per_gpu";

}  // namespace vtrain
