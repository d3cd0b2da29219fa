#include "policies/backfill/backfill_queue.hpp"

#include <bit>
#include <stdexcept>

namespace vtrain {

std::size_t ArrivalOrderQueue::size_class(GpuCount num_gpus) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(num_gpus.value)) - 1);
}

void ArrivalOrderQueue::push(const QueuedJob& job) {
  classes_[size_class(job.num_gpus)].insert(job.id, job.num_gpus, job.time_limit);
}

void ArrivalOrderQueue::remove(const QueuedJob& job) {
  WaitingQueue& queue = classes_[size_class(job.num_gpus)];
  const auto position = queue.find(job.id);
  if (!position) throw std::logic_error("ArrivalOrderQueue::remove: the job does not wait");
  queue.remove(*position);
}

std::optional<QueuedJob> ArrivalOrderQueue::first_fitting(const BackfillLimits& limits) const {
  std::optional<QueuedJob> first;
  if (limits.num_gpus.value < 1) return first;
  for (std::size_t i = 0; i <= size_class(limits.num_gpus); ++i) {
    const WaitingQueue& queue = classes_[i];
    const auto position = queue.first_fitting(0, limits.num_gpus, limits.time_limit);
    if (position && (!first || queue.job(*position) < first->id))
      first = QueuedJob{queue.job(*position), queue.num_gpus(*position), queue.time_limit(*position)};
  }
  return first;
}

std::optional<QueuedJob> TimeLimitOrderQueue::first_fitting(const BackfillLimits& limits) const {
  const auto position = jobs_.first_fitting({}, limits.num_gpus);
  if (!position) return std::nullopt;
  const ListedJob& first = jobs_.at(*position);
  const SimDuration time_limit(first.key.primary);
  if (time_limit > limits.time_limit) return std::nullopt;  // so have all that come after it
  return QueuedJob{first.job, first.num_gpus, time_limit};
}

}  // namespace vtrain
