/// Work on every combination of a study, on several threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tools/experiment/in_parallel.hpp"
#include "tools/studies/study_results.hpp"

namespace vtrain {

/// Combinations from `first` up to `end`.
struct VariantRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

/// Reads the combinations of a range, block by block. `work` turns a block's first combination and its runs
/// into a value, on any thread; `take` gets the values in the order of the combinations. Returns the first
/// error.
template <class Work, class Take>
Result<void> for_each_block(const StudyResults& results, std::span<const Metric* const> metrics,
                            VariantRange range, unsigned threads, const Work& work, const Take& take) {
  using Value = decltype(work(std::int64_t{}, std::vector<VariantRuns>()));
  constexpr std::int64_t kRunsOfBlock = 8192;
  const std::int64_t size =
      std::max<std::int64_t>(1, kRunsOfBlock / std::max<std::int64_t>(1, results.grid().runs_of_variant()));
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  if (!results.subject().is_sweep) threads = 1;  // its database is in memory
  std::vector<VariantReader> readers;
  for (unsigned i = 0; i < threads; ++i) {
    auto reader = VariantReader::make(results, metrics);
    if (!reader) return fail(std::move(reader.error()));
    readers.push_back(*std::move(reader));
  }
  while (range.first < range.end) {
    std::vector<std::optional<Result<Value>>> values(threads);
    do_in_parallel(threads, threads, [&](std::size_t i) {
      const std::int64_t first = range.first + static_cast<std::int64_t>(i) * size;
      std::vector<VariantRuns> block;
      for (std::int64_t variant = first; variant < std::min(first + size, range.end); ++variant) {
        auto runs = readers[i].read(variant);
        if (!runs) {
          values[i] = fail(std::move(runs.error()));
          return true;
        }
        block.push_back(*std::move(runs));
      }
      if (!block.empty()) values[i] = work(first, std::move(block));
      return true;
    });
    for (auto& value : values) {
      if (!value) continue;
      if (!*value) return fail(std::move(value->error()));
      take(**std::move(value));
    }
    range.first += static_cast<std::int64_t>(threads) * size;
  }
  return {};
}

}  // namespace vtrain
