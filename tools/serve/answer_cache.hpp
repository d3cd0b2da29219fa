/// Answers that need not be computed again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vtrain::serve {

/// Keeps the answers of the requests that were asked last, by the bytes of the request. Threads may share it.
class AnswerCache {
 public:
  /// `max_bytes` of requests and answers together.
  explicit AnswerCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// The answer, if it is kept.
  std::optional<std::string> find(std::string_view request);
  /// Keeps an answer; forgets those that were not asked for the longest time. One of more than a sixteenth
  /// of all room is not kept.
  void keep(std::string request, std::string answer);

  /// Requests that `find` answered, and others.
  struct Figures {
    std::uint64_t found = 0;
    std::uint64_t missing = 0;
  };
  Figures figures() const;

 private:
  struct Entry {
    std::string request;
    std::string answer;

    std::size_t size() const { return request.size() + answer.size(); }
  };

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< asked last at the front
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_request_;
  std::size_t num_bytes_ = 0;
  Figures figures_;
};

}  // namespace vtrain::serve
