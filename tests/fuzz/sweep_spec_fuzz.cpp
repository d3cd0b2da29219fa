/// Specs of sweeps: one that was read has the same grid after conversion to JSON and back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tools/sweep/grid.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = vtrain::parse_sweep_spec({reinterpret_cast<const char*>(data), size}, "grid.json");
  if (!read) return 0;
  const vtrain::Grid& grid = read->grid;
  const auto again = vtrain::parse_sweep_spec(grid.text(), "grid.json");
  if (!again || again->grid.text() != grid.text() || again->grid.num_runs() != grid.num_runs()) std::abort();
  vtrain::RunKeys keys(grid);
  vtrain::RunKeys keys_again(again->grid);
  constexpr std::int64_t kRuns = 20;
  for (std::int64_t run = 1; run <= std::min(grid.num_runs(), kRuns); ++run) {
    const vtrain::GridPlace place = grid.place(run);
    if (grid.first_run(place.scenario) + static_cast<std::int64_t>(place.policy) != run) std::abort();
    if (!grid.variant_spec(place.variant) || keys.of(run) != keys_again.of(run)) std::abort();
    if (grid.values(place.variant) != again->grid.values(place.variant)) std::abort();
  }
  return 0;
}
