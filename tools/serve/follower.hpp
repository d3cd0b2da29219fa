/// Follows the cluster's own scheduler: runs its commands now and then, and takes over what they show.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/base/result.hpp"
#include "tools/live/read_state.hpp"

namespace vtrain::serve {

/// Runs commands in a thread of its own, from its construction to its end.
class Follower {
 public:
  /// Runs all commands by the shell `every` so often, each for at most as long, and hands on what they print.
  /// A command that fails is logged, and nothing is handed on.
  Follower(std::vector<std::string> commands, std::chrono::seconds every,
           std::function<void(std::vector<DumpText>)> take);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

 private:
  void run(const std::stop_token& stop);

  std::vector<std::string> commands_;
  std::chrono::seconds every_;
  std::function<void(std::vector<DumpText>)> take_;
  std::mutex mutex_;
  std::condition_variable_any stops_;
  std::jthread thread_;
};

}  // namespace vtrain::serve
