#include "policies/tenants/kueue/waiting_queue.hpp"

#include <algorithm>
#include <utility>

namespace vtrain::kueue {

RequeuePlace place_after(QueueingStrategy strategy, RequeueReason reason, bool has_more, const Gates& gates) {
  if (reason == RequeueReason::NamespaceMismatch) return {.is_parked = true};
  if (strategy == QueueingStrategy::StrictFIFO) return {};
  switch (reason) {
    case RequeueReason::NamespaceMismatch:
    case RequeueReason::FailedAfterNomination:
    case RequeueReason::PreemptionFailed:
      return {};
    case RequeueReason::PendingPreemption:
      return {.stays_head = true};
    case RequeueReason::Generic:
      return {.is_parked = !has_more};
    case RequeueReason::NoFit:
    case RequeueReason::PreemptionNoCandidates:
      return {.is_parked = !has_more, .parks_same_shape = !has_more && gates.scheduling_equivalence_hashing};
  }
  return {};
}

bool WaitingOrder::operator()(WorkloadId a, WorkloadId b) const {
  const WorkloadInfo& left = cache->workload(a);
  const WorkloadInfo& right = cache->workload(b);
  if (left.priority != right.priority) return left.priority > right.priority;
  if (left.queue_time != right.queue_time) return left.queue_time < right.queue_time;
  if (const int order = left.uid.compare(right.uid); order != 0) return order < 0;
  return a < b;
}

WaitingQueue::ShapeQueue& WaitingQueue::shape_queue(WorkloadId id) {
  const ShapeId shape = cache_->workload(id).shape;
  const auto found = shapes_.find(shape);
  if (found != shapes_.end()) return found->second;
  return shapes_.emplace(shape, ShapeQueue{.workloads = Ordered(order_)}).first->second;
}

std::vector<WaitingQueue::Head>::iterator WaitingQueue::find_head(WorkloadId id) {
  return std::ranges::lower_bound(heads_, id, order_, &Head::workload);
}

void WaitingQueue::skip_parked() {
  while (first_open_ < heads_.size() && is_parked(*heads_[first_open_].shape))
    ++first_open_;
}

void WaitingQueue::show_head(ShapeQueue& shape) {
  if (shape.workloads.empty()) return;
  const WorkloadId first = *shape.workloads.begin();
  const auto place = heads_.insert(find_head(first), Head{first, &shape});
  const auto position = static_cast<std::size_t>(place - heads_.begin());
  if (!is_parked(shape))
    first_open_ = std::min(first_open_, position);
  else if (position <= first_open_)
    ++first_open_;
}

void WaitingQueue::hide_head(ShapeQueue& shape) {
  if (shape.workloads.empty()) return;
  const auto place = find_head(*shape.workloads.begin());
  if (place - heads_.begin() < static_cast<std::ptrdiff_t>(first_open_)) --first_open_;
  heads_.erase(place);
  skip_parked();
}

void WaitingQueue::push(WorkloadId id) {
  ShapeQueue& shape = shape_queue(id);
  if (shape.workloads.empty() || order_(id, *shape.workloads.begin())) {
    hide_head(shape);
    shape.workloads.insert(id);
    show_head(shape);
  } else {
    shape.workloads.insert(id);
  }
  ++(is_parked(shape) ? num_parked_ : num_queued_);
}

void WaitingQueue::take(ShapeQueue& shape, WorkloadId id) {
  if (*shape.workloads.begin() != id) {
    shape.workloads.erase(id);
    return;
  }
  hide_head(shape);
  shape.workloads.erase(id);
  show_head(shape);
}

void WaitingQueue::erase(WorkloadId id) {
  if (sticky_ == id) sticky_ = kNone;
  if (parked_alone_.erase(id) > 0) {
    --num_parked_;
    return;
  }
  const auto found = shapes_.find(cache_->workload(id).shape);
  if (found == shapes_.end() || !found->second.workloads.contains(id)) return;
  take(found->second, id);
  --(is_parked(found->second) ? num_parked_ : num_queued_);
}

void WaitingQueue::park(WorkloadId id, bool with_its_shape) {
  const bool is_head = first_open_ < heads_.size() && heads_[first_open_].workload == id;
  ShapeQueue& shape = is_head ? *heads_[first_open_].shape : shape_queue(id);
  if (!is_head && (is_parked(shape) || !shape.workloads.contains(id))) return;
  if (with_its_shape) {
    shape.parked_in = round_;
    num_queued_ -= shape.workloads.size();
    num_parked_ += shape.workloads.size();
    skip_parked();
    return;
  }
  take(shape, id);
  parked_alone_.insert(id);
  --num_queued_;
  ++num_parked_;
}

bool WaitingQueue::return_parked() {
  const bool had_any = num_parked_ > 0;
  ++round_;
  first_open_ = 0;
  num_queued_ += num_parked_ - parked_alone_.size();
  num_parked_ = 0;
  for (const WorkloadId id : std::exchange(parked_alone_, {}))
    push(id);
  return had_any;
}

std::optional<WorkloadId> WaitingQueue::head() const {
  if (sticky_ != kNone && !is_parked(sticky_)) return sticky_;
  return first_open_ == heads_.size() ? std::nullopt : std::optional(heads_[first_open_].workload);
}

bool WaitingQueue::is_parked(WorkloadId id) const {
  if (parked_alone_.contains(id)) return true;
  const auto found = shapes_.find(cache_->workload(id).shape);
  return found != shapes_.end() && is_parked(found->second) && found->second.workloads.contains(id);
}

std::vector<WorkloadId> WaitingQueue::queued() const {
  std::vector<WorkloadId> all;
  for (const auto& [id, shape] : shapes_) {
    if (!is_parked(shape)) all.insert(all.end(), shape.workloads.begin(), shape.workloads.end());
  }
  std::ranges::sort(all, order_);
  return all;
}

std::vector<WorkloadId> WaitingQueue::parked() const {
  std::vector<WorkloadId> all(parked_alone_.begin(), parked_alone_.end());
  for (const auto& [id, shape] : shapes_) {
    if (is_parked(shape)) all.insert(all.end(), shape.workloads.begin(), shape.workloads.end());
  }
  std::ranges::sort(all, order_);
  return all;
}

}  // namespace vtrain::kueue
