#include "tests/unit/workloads/random_work.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "workloads/pipeline/schedule.hpp"

namespace vtrain {

IterationWork WorkGenerator::next() {
  IterationWork work;
  work.schedule = schedule_;
  work.stages.resize(1 + random_.below(9));
  const std::size_t num_chunks = interleaved_ ? 2 + random_.below(3) : 1;
  work.num_micro_batches = static_cast<std::int64_t>(1 + random_.below(random_.below(4) == 0 ? 120 : 14));
  if (interleaved_) {
    const auto num_groups = static_cast<std::int64_t>(1 + random_.below(random_.below(4) == 0 ? 20 : 4));
    work.num_micro_batches = num_groups * std::ssize(work.stages);
  }
  work.reduction_waits_for_first_stage = random_.below(2) == 0;
  holds_ = random_.below(3) != 0;
  has_latency_ = random_.below(3) != 0;
  const bool has_uniform_stages = random_.below(3) == 0;
  const bool has_data_parallel = random_.below(3) != 0;
  const bool has_optimizer = random_.below(5) != 0;
  for (std::size_t i = 0; i < work.stages.size(); ++i) {
    StageWork& stage = work.stages[i];
    // The first and the last stage may still differ from the rest.
    if (has_uniform_stages && i > 1 && (i + 1 < work.stages.size() || random_.below(2) == 0)) {
      stage = work.stages[1];
      continue;
    }
    for (std::size_t c = 0; c < num_chunks; ++c)
      stage.chunks.push_back(chunk());
    if (has_data_parallel && random_.below(8) != 0) stage.data_parallel = chain(TaskKind::DataComm, 2);
    if (has_optimizer && random_.below(8) != 0) stage.optimizer = chain(TaskKind::Optimizer, 2);
  }
  return work;
}

ChunkWork WorkGenerator::chunk() {
  ChunkWork made;
  made.forward = chain(TaskKind::Forward, 4);
  made.recompute = chain(TaskKind::Recompute, 3);
  made.backward = chain(TaskKind::Backward, 4);
  if (splits_backward(schedule_)) made.weight = chain(TaskKind::WeightGradient, 3);
  made.send_forward = send();
  made.send_backward = send();
  return made;
}

Send WorkGenerator::send() {
  Send made;
  if (holds_) made.hold = Nanoseconds(time(300));
  if (has_latency_) made.latency = Nanoseconds(time(random_.below(4) == 0 ? 3000 : 300));
  if (has_latency_ && random_.below(4) == 0) made.link_wait = Nanoseconds(time(300));
  return made;
}

double WorkGenerator::time(std::uint64_t bound) {
  return fractional_ ? random_.uniform(0, static_cast<double>(bound))
                     : static_cast<double>(random_.below(bound));
}

std::vector<Operator> WorkGenerator::chain(TaskKind kind, std::uint64_t longest) {
  std::vector<Operator> operators;
  // One in about six chains is empty.
  const std::uint64_t length = random_.below(6) == 0 ? 0 : 1 + random_.below(longest);
  for (std::uint64_t i = 0; i < length; ++i) {
    Operator op;
    op.kind = kind != TaskKind::DataComm && random_.below(4) == 0 ? TaskKind::TensorComm : kind;
    op.duration = Nanoseconds(time(1000));
    op.gap = Nanoseconds(random_.below(2) == 0 ? time(50) : -std::min(op.duration.count(), time(50)));
    operators.push_back(op);
  }
  return operators;
}

namespace {

double span(const std::vector<Operator>& operators) {
  double sum = 0;
  for (const Operator& op : operators)
    sum += op.duration.count() + op.gap.count();
  return sum;
}

/// State of a stage: its remaining blocks, and the end of its current work.
struct BusyStage {
  std::vector<StageBlock> blocks;
  std::size_t next = 0;
  bool has_recomputed = false;
  double busy_until = 0;
};

class EventSimulation {
 public:
  explicit EventSimulation(const IterationWork& work) : work_(work), stages_(work.stages.size()) {
    const PipelineShape shape{std::ssize(work.stages), std::ssize(work.stages.front().chunks),
                              work.num_micro_batches};
    for (std::int64_t stage = 0; stage < shape.num_stages; ++stage) {
      for (const BlockLoop& loop : stage_order(work.schedule, shape, stage)) {
        for (std::int64_t repeat = 0; repeat < loop.repeats; ++repeat) {
          for (StageBlock block : loop.blocks) {
            block.micro_batch += static_cast<std::int32_t>(repeat * loop.stride);
            stages_[static_cast<std::size_t>(stage)].blocks.push_back(block);
          }
        }
      }
    }
    instants_.insert(0);
  }

  std::vector<Nanoseconds> run() {
    while (!instants_.empty()) {
      const double now = *instants_.begin();
      bool has_started = true;
      while (has_started) {  // blocks may take no time
        has_started = false;
        for (std::size_t stage = 0; stage < stages_.size(); ++stage)
          has_started = start_next(stage, now) || has_started;
      }
      instants_.erase(instants_.begin());
    }
    std::vector<Nanoseconds> ends;
    for (const BusyStage& stage : stages_) {
      const bool is_stuck = stage.next < stage.blocks.size();
      ends.emplace_back(is_stuck ? std::numeric_limits<double>::infinity() : stage.busy_until);
    }
    return ends;
  }

 private:
  /// Arrival of a micro-batch at a part of the model, forward or backward.
  using Arrival = std::tuple<Pass, std::int64_t, std::int32_t>;

  bool start_next(std::size_t index, double now) {
    BusyStage& stage = stages_[index];
    if (stage.next == stage.blocks.size() || stage.busy_until > now) return false;
    const StageBlock& block = stage.blocks[stage.next];
    const ChunkWork& chunk = work_.stages[index].chunks[block.chunk];
    if (block.pass == Pass::Backward && !stage.has_recomputed) {
      stage.has_recomputed = true;
      keep_busy(stage, now + span(chunk.recompute));
      return true;
    }
    const std::int64_t part = block.chunk * std::ssize(stages_) + static_cast<std::int64_t>(index);
    const std::int64_t num_parts = std::ssize(stages_) * std::ssize(work_.stages.front().chunks);
    const bool waits =
        (block.pass == Pass::Forward && part > 0) || (block.pass == Pass::Backward && part + 1 < num_parts);
    if (waits) {
      const auto arrival = arrivals_.find({block.pass, part, block.micro_batch});
      if (arrival == arrivals_.end() || arrival->second > now) return false;
    }
    ++stage.next;
    stage.has_recomputed = false;
    if (block.pass == Pass::Weight) {
      keep_busy(stage, now + span(chunk.weight));
      return true;
    }
    const bool is_forward = block.pass == Pass::Forward;
    const Send& send = is_forward ? chunk.send_forward : chunk.send_backward;
    const double end = now + span(is_forward ? chunk.forward : chunk.backward) + send.stall().count();
    keep_busy(stage, end);
    const double arrival = end + send.latency.count();
    arrivals_[{block.pass, is_forward ? part + 1 : part - 1, block.micro_batch}] = arrival;
    instants_.insert(arrival);
    return true;
  }

  void keep_busy(BusyStage& stage, double until) {
    stage.busy_until = until;
    instants_.insert(until);
  }

  const IterationWork& work_;
  std::vector<BusyStage> stages_;
  std::map<Arrival, double> arrivals_;
  std::set<double> instants_;  ///< instants at which a block may start
};

}  // namespace

std::vector<Nanoseconds> event_driven_ends(const IterationWork& work) {
  return EventSimulation(work).run();
}

}  // namespace vtrain
