#include "policies/fcfs/waiting_queue.hpp"

#include <algorithm>
#include <bit>

namespace vtrain {

void WaitingQueue::push_back(JobId job, GpuCount num_gpus, SimDuration time_limit) {
  if (tail_ == capacity_) repack();
  jobs_[tail_] = job;
  set_leaf(tail_, {num_gpus.value, time_limit});
  ++tail_;
  ++num_jobs_;
}

void WaitingQueue::insert(JobId job, GpuCount num_gpus, SimDuration time_limit) {
  if (tail_ == 0 || jobs_[tail_ - 1] < job) return push_back(job, num_gpus, time_limit);
  // Empty places keep their former ids, so the ids ascend over all places.
  const auto place = std::lower_bound(jobs_.begin(), jobs_.begin() + tail_, job);
  if (*place != job) return repack_with(job, {num_gpus.value, time_limit});
  const auto position = static_cast<Position>(place - jobs_.begin());
  set_leaf(position, {num_gpus.value, time_limit});
  head_ = std::min(head_, position);
  ++num_jobs_;
}

void WaitingQueue::remove(Position position) {
  set_leaf(position, {});
  if (--num_jobs_ == 0) {
    head_ = tail_ = 0;
    return;
  }
  while (!taken(head_))
    ++head_;
}

std::optional<WaitingQueue::Position> WaitingQueue::first_fitting(Position from, GpuCount max_gpus,
                                                                  SimDuration max_time_limit) const {
  from = std::max(from, head_);
  if (from >= tail_) return std::nullopt;
  const std::int32_t limit = std::min(max_gpus.value, kNoJob - 1);
  std::size_t node = capacity_ + from;
  while (true) {
    if (tree_[node].num_gpus <= limit && tree_[node].time_limit <= max_time_limit) {
      if (node >= capacity_) return static_cast<Position>(node - capacity_);
      node *= 2;
      continue;
    }
    // Continue with the next stretch: up while this one ends its parent's, then to the right.
    while (node % 2 == 1)
      node /= 2;
    if (node == 0) return std::nullopt;
    ++node;
  }
}

std::optional<WaitingQueue::Position> WaitingQueue::find(JobId job) const {
  // Empty places keep their former ids, so the ids ascend over all places in use.
  const auto place = std::lower_bound(jobs_.begin() + head_, jobs_.begin() + tail_, job);
  const auto position = static_cast<Position>(place - jobs_.begin());
  if (position == tail_ || jobs_[position] != job || !taken(position)) return std::nullopt;
  return position;
}

void WaitingQueue::set_leaf(Position position, Minima value) {
  std::size_t node = capacity_ + position;
  tree_[node] = value;
  for (node /= 2; node >= 1; node /= 2) {
    const Minima& left = tree_[2 * node];
    const Minima& right = tree_[2 * node + 1];
    const Minima both{std::min(left.num_gpus, right.num_gpus), std::min(left.time_limit, right.time_limit)};
    if (both.num_gpus == tree_[node].num_gpus && both.time_limit == tree_[node].time_limit) return;
    tree_[node] = both;
  }
}

void WaitingQueue::repack_with(JobId extra, Minima minima) {
  std::vector<JobId> jobs;
  std::vector<Minima> leaves;
  jobs.reserve(num_jobs_ + 1);
  leaves.reserve(num_jobs_ + 1);
  for (Position position = head_; position < tail_; ++position) {
    if (!taken(position)) continue;
    jobs.push_back(jobs_[position]);
    leaves.push_back(tree_[capacity_ + position]);
  }
  if (extra) {
    const auto place = std::lower_bound(jobs.begin(), jobs.end(), extra);
    leaves.insert(leaves.begin() + (place - jobs.begin()), minima);
    jobs.insert(place, extra);
    ++num_jobs_;
  }
  // At least as many free places as waiting jobs, so that re-packing costs O(1) per job.
  capacity_ = std::bit_ceil(static_cast<Position>(std::max<std::size_t>(2 * num_jobs_, 64)));
  head_ = 0;
  tail_ = static_cast<Position>(num_jobs_);
  jobs_ = std::move(jobs);
  jobs_.resize(capacity_);
  tree_.assign(2 * std::size_t{capacity_}, Minima{});
  tree_.shrink_to_fit();
  std::copy(leaves.begin(), leaves.end(), tree_.begin() + capacity_);
  for (std::size_t node = capacity_ - 1; node >= 1; --node) {
    const Minima& left = tree_[2 * node];
    const Minima& right = tree_[2 * node + 1];
    tree_[node] = {std::min(left.num_gpus, right.num_gpus), std::min(left.time_limit, right.time_limit)};
  }
}

}  // namespace vtrain
