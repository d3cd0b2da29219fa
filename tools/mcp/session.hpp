/// A session of the Model Context Protocol, without the bytes of its transport.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "tools/mcp/call_queue.hpp"
#include "tools/mcp/json_rpc.hpp"
#include "workloads/calibration/calibration.hpp"

namespace vtrain::mcp {

/// Answers the messages of one client, in the versions 2025-06-18 and 2025-03-26 of the protocol. Calls of
/// tools run in threads of their own; all else is answered at once.
class Session {
 public:
  /// `send` takes a response, a line without its end. Threads call it at the same time.
  Session(Calibration calibration, unsigned threads, std::function<void(std::string_view line)> send);

  /// Takes a line of the client.
  void receive(std::string_view line);
  /// Answers a line that is too long to read.
  void refuse_line(std::string_view why);
  /// Returns when all calls are answered.
  void finish() { queue_.wait_until_idle(); }

 private:
  using Json = nlohmann::ordered_json;
  /// A call that waits or runs.
  struct Call {
    std::atomic<bool> is_cancelled = false;
  };

  void receive_batch(const nlohmann::json& batch);
  /// The answer to what needs no tool; none for a notification. `tools/call` is left to the caller.
  Json answer(const Message& message);
  Json initialize(const Message& message);
  void take_notification(const Message& message);
  /// Runs a call and sends or collects its response.
  void start_call(const Message& message, std::function<void(Json response)> done);
  Json run_call(const Message& message, const Call& call) const;
  std::shared_ptr<Call> open_call(const Json& id);
  void close_call(const Json& id);

  const Calibration calibration_;
  const std::function<void(std::string_view)> send_;
  std::string version_{};                               ///< negotiated version; empty: not initialized
  std::mutex mutex_;                                    ///< guards `calls_`
  std::map<std::string, std::shared_ptr<Call>> calls_;  ///< by text of the id
  CallQueue queue_;
};

}  // namespace vtrain::mcp
