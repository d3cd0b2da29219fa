/// Processes that share a sweep, and the library that connects them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/result.hpp"

namespace vtrain {

/// A message from another rank.
struct RankMessage {
  int from = 0;
  std::string bytes;
};

/// Processes that were started together, and can send each other messages. For one thread.
class Ranks {
 public:
  virtual ~Ranks() = default;
  /// Number of this process, from 0.
  virtual int rank() const = 0;
  /// Number of processes.
  virtual int size() const = 0;
  /// Sends bytes, which arrive in the order in which they were sent. May wait for the receiver.
  virtual void send(int to, const std::string& bytes) = 0;
  /// The next message, if one has arrived.
  virtual std::optional<RankMessage> receive() = 0;
};

/// Opens the ranks of this process if `mpirun` or `srun --mpi=pmix` started several; null if it runs alone.
/// Errors: the program was built without MPI; `srun` started several tasks that do not know each other.
Result<std::unique_ptr<Ranks>> open_ranks();

}  // namespace vtrain
