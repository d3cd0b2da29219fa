/// Replays of one spec under several seeds.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "sched/metrics/seed_study.hpp"
#include "tools/experiment/scenario.hpp"

namespace vtrain {

/// Options of `replay_seeds`. Results do not depend on them.
struct SeedOptions {
  unsigned threads = 0;                               ///< threads; 0: one per processor
  std::atomic<std::int64_t>* replays_done = nullptr;  ///< counter for progress displays; may be null
  /// Finished runs of the scenario under all its policies, taken for its seed where jobs are the same; may be
  /// empty.
  std::span<const RunResult> finished{};
};

/// Reads `1-20`, `7` or `1,4,9-12`: up to 10,000 seeds, ascending. The error carries only the message.
Result<std::vector<std::uint64_t>> parse_seeds(std::string_view text);

/// Error if a scenario has an input that can be read only once, as its jobs are to be made anew.
Result<void> check_can_repeat(const Scenario& scenario);

/// Part of a scenario's trace that several seeds draw anew: `none`, `days` or `weeks`.
std::string resampling_of(const Scenario& scenario);

/// Replays the spec of a scenario under all its policies and these seeds. Generated jobs are made anew, and
/// the blocks of a trace that fit (`fitting_blocks`) drawn anew. Errors: an input that can be read only once;
/// those of `Scenario::prepare` and `Scenario::run`.
Result<SeedStudy> replay_seeds(const Scenario& scenario, std::span<const std::uint64_t> seeds,
                               const SeedOptions& options = {});

}  // namespace vtrain
