/// Random iterations, and a second implementation of their timing, for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/rng.hpp"
#include "workloads/iteration/iteration_work.hpp"

namespace vtrain {

/// Makes random works of every shape that the schedules distinguish.
class WorkGenerator {
 public:
  /// Times are whole nanoseconds, or any times if `fractional`.
  WorkGenerator(std::uint64_t seed, Schedule schedule, bool interleaved, bool fractional)
      : random_(seed, "work"), schedule_(schedule), interleaved_(interleaved), fractional_(fractional) {}

  IterationWork next();

 private:
  double time(std::uint64_t bound);
  std::vector<Operator> chain(TaskKind kind, std::uint64_t longest);
  Send send();
  ChunkWork chunk();

  RandomStream random_;
  Schedule schedule_;
  bool interleaved_;
  bool fractional_;
  bool holds_ = false;        ///< true if sends of this work hold their stage
  bool has_latency_ = false;  ///< true if sends of this work have latency
};

/// End of each stage's last block, by running the stages against a clock. Uses only the order of each stage
/// and the inputs of each block.
std::vector<Nanoseconds> event_driven_ends(const IterationWork& work);

}  // namespace vtrain
