#include "tools/serve/answer_cache.hpp"

#include <utility>

namespace vtrain::serve {

std::optional<std::string> AnswerCache::find(std::string_view request) {
  const std::lock_guard lock(mutex_);
  const auto found = by_request_.find(request);
  if (found == by_request_.end()) {
    ++figures_.missing;
    return std::nullopt;
  }
  ++figures_.found;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->answer;
}

void AnswerCache::keep(std::string request, std::string answer) {
  constexpr std::size_t kLargestPart = 16;
  Entry entry{std::move(request), std::move(answer)};
  if (entry.size() > max_bytes_ / kLargestPart) return;
  const std::lock_guard lock(mutex_);
  if (by_request_.contains(entry.request)) return;  // two threads computed it
  num_bytes_ += entry.size();
  entries_.push_front(std::move(entry));
  by_request_.emplace(entries_.front().request, entries_.begin());
  while (num_bytes_ > max_bytes_) {
    num_bytes_ -= entries_.back().size();
    by_request_.erase(entries_.back().request);
    entries_.pop_back();
  }
}

AnswerCache::Figures AnswerCache::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace vtrain::serve
