#include "policies/tenants/kueue/waiting_queue.hpp"

#include <algorithm>

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
  return shapes_.try_emplace(cache_->workload(id).shape, ShapeQueue{.workloads = Ordered(order_)})
      .first->second;
}

void WaitingQueue::show_head(ShapeQueue& shape) {
  if (!shape.is_parked && !shape.workloads.empty()) heads_.insert(*shape.workloads.begin());
}

void WaitingQueue::hide_head(ShapeQueue& shape) {
  if (!shape.is_parked && !shape.workloads.empty()) heads_.erase(*shape.workloads.begin());
}

void WaitingQueue::push(WorkloadId id) {
  ShapeQueue& shape = shape_queue(id);
  hide_head(shape);
  shape.workloads.insert(id);
  show_head(shape);
  ++(shape.is_parked ? num_parked_ : num_queued_);
}

void WaitingQueue::erase(WorkloadId id) {
  if (sticky_ == id) sticky_ = kNone;
  if (parked_alone_.erase(id) > 0) {
    --num_parked_;
    return;
  }
  const auto found = shapes_.find(cache_->workload(id).shape);
  if (found == shapes_.end() || !found->second.workloads.contains(id)) return;
  ShapeQueue& shape = found->second;
  hide_head(shape);
  shape.workloads.erase(id);
  show_head(shape);
  --(shape.is_parked ? num_parked_ : num_queued_);
}

void WaitingQueue::park(WorkloadId id, bool with_its_shape) {
  ShapeQueue& shape = shape_queue(id);
  if (shape.is_parked || !shape.workloads.contains(id)) return;
  hide_head(shape);
  if (with_its_shape) {
    shape.is_parked = true;
    parked_shapes_.push_back(cache_->workload(id).shape);
    num_queued_ -= shape.workloads.size();
    num_parked_ += shape.workloads.size();
    return;
  }
  shape.workloads.erase(id);
  parked_alone_.insert(id);
  --num_queued_;
  ++num_parked_;
  show_head(shape);
}

bool WaitingQueue::return_parked() {
  const bool had_any = num_parked_ > 0;
  for (const ShapeId id : parked_shapes_) {
    ShapeQueue& shape = shapes_.at(id);
    shape.is_parked = false;
    num_queued_ += shape.workloads.size();
    num_parked_ -= shape.workloads.size();
    show_head(shape);
  }
  parked_shapes_.clear();
  for (const WorkloadId id : std::exchange(parked_alone_, {})) {
    --num_parked_;
    push(id);
  }
  return had_any;
}

std::optional<WorkloadId> WaitingQueue::head() const {
  if (sticky_ != kNone && !is_parked(sticky_)) return sticky_;
  return heads_.empty() ? std::nullopt : std::optional(*heads_.begin());
}

bool WaitingQueue::is_parked(WorkloadId id) const {
  if (parked_alone_.contains(id)) return true;
  const auto found = shapes_.find(cache_->workload(id).shape);
  return found != shapes_.end() && found->second.is_parked && found->second.workloads.contains(id);
}

std::vector<WorkloadId> WaitingQueue::queued() const {
  std::vector<WorkloadId> all;
  for (const auto& [id, shape] : shapes_) {
    if (!shape.is_parked) all.insert(all.end(), shape.workloads.begin(), shape.workloads.end());
  }
  std::ranges::sort(all, order_);
  return all;
}

std::vector<WorkloadId> WaitingQueue::parked() const {
  std::vector<WorkloadId> all(parked_alone_.begin(), parked_alone_.end());
  for (const auto& [id, shape] : shapes_) {
    if (shape.is_parked) all.insert(all.end(), shape.workloads.begin(), shape.workloads.end());
  }
  std::ranges::sort(all, order_);
  return all;
}

}  // namespace vtrain::kueue
