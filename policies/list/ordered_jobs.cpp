#include "policies/list/ordered_jobs.hpp"

#include <algorithm>

namespace vtrain {
namespace {

constexpr GpuCount kNoGang{INT32_MAX};

template <class Vector>
auto iterator_at(Vector& vector, std::size_t index) {
  return vector.begin() + static_cast<std::ptrdiff_t>(index);
}

}  // namespace

void OrderedJobs::insert(const ListedJob& job) {
  if (blocks_.empty()) return add_block(0, {job});
  const std::size_t at = block_of(job);
  Block& block = blocks_[at];
  block.insert(std::upper_bound(block.begin(), block.end(), job), job);
  GpuCount& smallest_gang = smallest(at)[job.kind];
  smallest_gang = std::min(smallest_gang, job.num_gpus);
  sizes_[at] |= size_in_block(job.num_gpus);
  if (block.size() <= kMaxBlock) return;
  const auto middle = iterator_at(block, block.size() / 2);
  Block upper(middle, block.end());
  block.erase(middle, block.end());
  update_smallest(at);
  add_block(at + 1, std::move(upper));
}

void OrderedJobs::erase(const ListedJob& job) {
  const std::size_t at = block_of(job);
  Block& block = blocks_[at];
  block.erase(std::lower_bound(block.begin(), block.end(), job));
  // Small neighbours are merged, so that the number of blocks follows that of the jobs.
  if (at + 1 < blocks_.size() && block.size() + blocks_[at + 1].size() <= kMaxBlock / 2) {
    block.insert(block.end(), blocks_[at + 1].begin(), blocks_[at + 1].end());
    erase_block(at + 1);
  }
  if (blocks_[at].empty()) {
    erase_block(at);
  } else {
    update_smallest(at);
  }
}

void OrderedJobs::add_block(std::size_t at, Block block) {
  blocks_.insert(iterator_at(blocks_, at), std::move(block));
  smallest_gang_.insert(iterator_at(smallest_gang_, at * num_kinds_), num_kinds_, kNoGang);
  sizes_.insert(iterator_at(sizes_, at), Sizes{0});
  update_smallest(at);
}

void OrderedJobs::erase_block(std::size_t at) {
  blocks_.erase(iterator_at(blocks_, at));
  sizes_.erase(iterator_at(sizes_, at));
  const auto first = iterator_at(smallest_gang_, at * num_kinds_);
  smallest_gang_.erase(first, first + static_cast<std::ptrdiff_t>(num_kinds_));
}

bool OrderedJobs::may_fit(std::size_t block, std::span<const GpuCount> max_gpus) const {
  for (std::size_t kind = 0; kind < num_kinds_; ++kind) {
    if (smallest_gang_[block * num_kinds_ + kind] <= max_gpus[kind]) return true;
  }
  return false;
}

std::optional<OrderedJobs::Position> OrderedJobs::first_fitting(Position from,
                                                                std::span<const GpuCount> max_gpus,
                                                                Sizes without) const {
  for (; from.block < blocks_.size(); ++from.block, from.index = 0) {
    if (!may_fit(from.block, max_gpus) || (sizes_[from.block] & ~without) == 0) continue;
    const Block& block = blocks_[from.block];
    for (; from.index < block.size(); ++from.index) {
      const ListedJob& job = block[from.index];
      if (job.num_gpus <= max_gpus[job.kind] && (size(job.num_gpus) & without) == 0) return from;
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
  const std::span<GpuCount> gangs = smallest(block);
  std::fill(gangs.begin(), gangs.end(), kNoGang);
  sizes_[block] = 0;
  for (const ListedJob& job : blocks_[block]) {
    gangs[job.kind] = std::min(gangs[job.kind], job.num_gpus);
    sizes_[block] |= size_in_block(job.num_gpus);
  }
}

}  // namespace vtrain
