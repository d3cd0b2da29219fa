#include "workloads/job.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace vtrain {
namespace {

constexpr std::array<std::string_view, 6> kStatusNames = {"unknown",   "completed", "failed",
                                                          "cancelled", "timeout",   "running"};

}  // namespace

std::span<const std::string_view> status_names() {
  return kStatusNames;
}

std::string_view status_name(JobStatus status) {
  return kStatusNames[static_cast<std::size_t>(status)];
}

std::string_view Workload::keep(std::string_view text) {
  constexpr std::size_t kChunk = 1 << 16;
  if (!text_) text_ = std::make_unique<TextChunks>();
  if (text.size() > text_->room) {
    text_->room = std::max(kChunk, text.size());
    text_->chunks.push_back(std::make_unique_for_overwrite<char[]>(text_->room));
    text_->free = text_->chunks.back().get();
  }
  char* const copy = text_->free;
  std::copy(text.begin(), text.end(), copy);
  text_->free += text.size();
  text_->room -= text.size();
  return {copy, text.size()};
}

void Workload::sort_by_submission() {
  // Where each job comes from. Jobs are large: each is moved once, along the cycles of the permutation.
  std::vector<std::pair<SimTime, std::uint32_t>> order(jobs.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    order[i] = {jobs[i].submit, i};
  std::sort(order.begin(), order.end());
  for (std::uint32_t start = 0; start < order.size(); ++start) {
    if (order[start].second == start) continue;
    const Job first = jobs[start];
    std::uint32_t to = start;
    for (std::uint32_t from = order[to].second; from != start; from = order[to].second) {
      jobs[to] = jobs[from];
      order[to].second = to;
      to = from;
    }
    jobs[to] = first;
    order[to].second = to;
  }
}

}  // namespace vtrain
