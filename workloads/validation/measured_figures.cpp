#include "workloads/validation/measured_figures.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace vtrain {
namespace {

std::optional<Bytes> gibibytes(JsonFields& measured, std::string_view key) {
  if (!measured.has(key)) return std::nullopt;
  return Bytes(measured.number(key, 0, 1e6) * kGibibyte);
}

}  // namespace

MeasuredFigures read_figures(JsonFields& measured, double tokens, std::int64_t num_gpus) {
  constexpr double kMost = 1e12;
  const auto gpus = static_cast<double>(std::max<std::int64_t>(num_gpus, 1));
  const double rate = measured.number_or("tokens_per_s", 0, kMost, 0);
  const double rate_of_one = measured.number_or("tokens_per_s_per_gpu", 0, kMost, 0);
  MeasuredFigures figures;
  // Rounding and clocks explain less.
  constexpr double kMostApart = 1.1;
  double seconds = 0;
  for (const double said : {measured.number_or("iteration_s", 0, kMost, 0), rate > 0 ? tokens / rate : 0,
                            rate_of_one > 0 ? tokens / (rate_of_one * gpus) : 0}) {
    if (seconds == 0) seconds = said;
    if (said > 0 && std::max(said / seconds, seconds / said) > kMostApart) {
      figures.missing.push_back(
          fmt::format("one iteration time: iteration_s, tokens_per_s and tokens_per_s_per_gpu say {:.4g} s "
                      "and {:.4g} s",
                      seconds, said));
    }
  }
  figures.iteration = Seconds(seconds);
  figures.allocated = gibibytes(measured, "mem_alloc_gib");
  figures.reserved = gibibytes(measured, "mem_reserved_gib");
  return figures;
}

}  // namespace vtrain
