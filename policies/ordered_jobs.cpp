#include "policies/ordered_jobs.hpp"

#include <algorithm>

namespace vtrain {
namespace {

template <class Vector>
auto iterator_at(Vector& vector, std::size_t index) {
  return vector.begin() + static_cast<std::ptrdiff_t>(index);
}

}  // namespace

void OrderedJobs::insert(const ListedJob& job) {
  if (blocks_.empty()) {
    blocks_.push_back({job});
    smallest_gang_.push_back(job.num_gpus);
    return;
  }
  const std::size_t at = block_of(job);
  Block& block = blocks_[at];
  block.insert(std::upper_bound(block.begin(), block.end(), job), job);
  smallest_gang_[at] = std::min(smallest_gang_[at], job.num_gpus);
  if (block.size() <= kMaxBlock) return;
  const auto middle = iterator_at(block, block.size() / 2);
  Block upper(middle, block.end());
  block.erase(middle, block.end());
  blocks_.insert(iterator_at(blocks_, at + 1), std::move(upper));
  smallest_gang_.insert(iterator_at(smallest_gang_, at + 1), GpuCount(0));
  update_smallest(at);
  update_smallest(at + 1);
}

void OrderedJobs::erase(const ListedJob& job) {
  const std::size_t at = block_of(job);
  Block& block = blocks_[at];
  block.erase(std::lower_bound(block.begin(), block.end(), job));
  // Small neighbours become one, so that the number of blocks follows that of the jobs.
  if (at + 1 < blocks_.size() && block.size() + blocks_[at + 1].size() <= kMaxBlock / 2) {
    block.insert(block.end(), blocks_[at + 1].begin(), blocks_[at + 1].end());
    blocks_.erase(iterator_at(blocks_, at + 1));
    smallest_gang_.erase(iterator_at(smallest_gang_, at + 1));
  }
  if (blocks_[at].empty()) {
    blocks_.erase(iterator_at(blocks_, at));
    smallest_gang_.erase(iterator_at(smallest_gang_, at));
  } else {
    update_smallest(at);
  }
}

std::optional<OrderedJobs::Position> OrderedJobs::first_fitting(Position from, GpuCount max_gpus) const {
  for (; from.block < blocks_.size(); ++from.block, from.index = 0) {
    if (smallest_gang_[from.block] > max_gpus) continue;
    const Block& block = blocks_[from.block];
    for (; from.index < block.size(); ++from.index) {
      if (block[from.index].num_gpus <= max_gpus) return from;
    }
  }
  return std::nullopt;
}

/// The block that holds a job, or would: the last one that begins at or before it, or the first.
std::size_t OrderedJobs::block_of(const ListedJob& job) const {
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), job,
                       [](const ListedJob& value, const Block& block) { return value < block.front(); });
  return after == blocks_.begin() ? 0 : static_cast<std::size_t>(after - blocks_.begin()) - 1;
}

void OrderedJobs::update_smallest(std::size_t block) {
  smallest_gang_[block] =
      std::min_element(blocks_[block].begin(), blocks_[block].end(),
                       [](const ListedJob& a, const ListedJob& b) { return a.num_gpus < b.num_gpus; })
          ->num_gpus;
}

}  // namespace vtrain
