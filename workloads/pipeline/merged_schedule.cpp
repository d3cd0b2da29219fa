#include "workloads/pipeline/merged_schedule.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace vtrain {
namespace {

constexpr int kNumPasses = 3;

/// Position of a stage in its order.
class Cursor {
 public:
  explicit Cursor(StageOrder order) : order_(std::move(order)) { skip_finished(); }

  bool is_done() const { return loop_ == order_.size(); }
  std::size_t loop_index() const { return loop_; }
  const BlockLoop& loop() const { return order_[loop_]; }

  /// The next block, with its micro-batch counted from 0.
  StageBlock block() const {
    StageBlock next = loop().blocks[position_];
    next.micro_batch += static_cast<std::int32_t>(repeat_ * loop().stride);
    return next;
  }

  void advance() {
    if (++position_ == loop().blocks.size()) skip_repeats(1);
  }

  /// Number of whole passes through the loop from here to the same position.
  std::int64_t whole_repeats() const { return loop().repeats - repeat_ - (position_ > 0 ? 1 : 0); }

  void skip_repeats(std::int64_t count) {
    if (position_ == loop().blocks.size()) position_ = 0;
    repeat_ += count;
    skip_finished();
  }

 private:
  void skip_finished() {
    while (loop_ < order_.size() && (repeat_ >= order_[loop_].repeats || order_[loop_].blocks.empty())) {
      ++loop_;
      repeat_ = 0;
    }
  }

  StageOrder order_;
  std::size_t loop_ = 0;
  std::int64_t repeat_ = 0;
  std::size_t position_ = 0;
};

/// Runs all stages side by side, a block each in turn.
class ScheduleMaker {
 public:
  ScheduleMaker(Schedule schedule, const PipelineShape& shape)
      : shape_(shape), done_(static_cast<std::size_t>(shape.num_stages * shape.num_chunks * kNumPasses)) {
    if (shape.num_stages < 1 || shape.num_stages > UINT16_MAX || shape.num_chunks < 1 ||
        shape.num_chunks > UINT16_MAX || shape.num_micro_batches < 1 ||
        shape.num_micro_batches > std::numeric_limits<std::int32_t>::max()) {
      throw std::logic_error("pipeline schedule: a number of stages, chunks or micro-batches out of range");
    }
    for (std::int64_t stage = 0; stage < shape.num_stages; ++stage)
      cursors_.emplace_back(stage_order(schedule, shape, stage));
  }

  PipelineSchedule make() {
    ScheduleSection section = begin_section();
    while (!all_done()) {
      if (const std::int64_t repeats = steady_repeats(); repeats > 1) {
        end_section(std::move(section));
        add_loop(repeats);
        section = begin_section();
      } else if (!run_round(section, nullptr)) {
        throw std::logic_error("pipeline schedule: stages wait for each other in a circle");
      }
    }
    end_section(std::move(section));
    const std::int64_t passes = done(0, 0, Pass::Weight) > 0 ? 3 : 2;
    const std::int64_t expected = passes * shape_.num_stages * shape_.num_chunks * shape_.num_micro_batches;
    std::int64_t total = 0;
    for (const std::int64_t count : done_)
      total += count;
    if (total != expected) throw std::logic_error("pipeline schedule: a stage leaves blocks out");
    return std::move(made_);
  }

 private:
  std::int64_t& done(std::int64_t stage, std::int64_t chunk, Pass pass) {
    return done_[static_cast<std::size_t>((stage * shape_.num_chunks + chunk) * kNumPasses) +
                 static_cast<std::size_t>(pass)];
  }

  bool all_done() const {
    return std::all_of(cursors_.begin(), cursors_.end(), [](const Cursor& c) { return c.is_done(); });
  }

  bool is_ready(std::int64_t stage, const StageBlock& block) {
    const std::int64_t last_stage = shape_.num_stages - 1;
    const std::int64_t last_chunk = shape_.num_chunks - 1;
    const auto has_passed = [&](std::int64_t s, std::int64_t c, Pass pass) {
      return done(s, c, pass) > block.micro_batch;
    };
    if (block.pass == Pass::Weight) return has_passed(stage, block.chunk, Pass::Backward);
    if (block.pass == Pass::Forward) {
      if (stage > 0) return has_passed(stage - 1, block.chunk, Pass::Forward);
      return block.chunk == 0 || has_passed(last_stage, block.chunk - 1, Pass::Forward);
    }
    if (!has_passed(stage, block.chunk, Pass::Forward)) return false;
    if (stage < last_stage) return has_passed(stage + 1, block.chunk, Pass::Backward);
    return block.chunk == last_chunk || has_passed(0, block.chunk + 1, Pass::Backward);
  }

  /// Lets every stage do its next block if it is ready and, with `quotas`, the stage has some left. Last
  /// stage first, so that none runs through all stages in one round. False if there was nothing to do.
  bool run_round(ScheduleSection& section, std::vector<std::size_t>* quotas) {
    bool has_run = false;
    for (std::int64_t stage = shape_.num_stages - 1; stage >= 0; --stage) {
      const auto index = static_cast<std::size_t>(stage);
      Cursor& cursor = cursors_[index];
      if (cursor.is_done() || (quotas != nullptr && (*quotas)[index] == 0)) continue;
      const StageBlock block = cursor.block();
      if (!is_ready(stage, block)) continue;
      std::int64_t& count = done(stage, block.chunk, block.pass);
      if (count != block.micro_batch) throw std::logic_error("pipeline schedule: micro-batches out of order");
      ++count;
      cursor.advance();
      if (quotas != nullptr) --(*quotas)[index];
      const auto micro_batch = static_cast<std::int32_t>(block.micro_batch - section.first.of(block.pass));
      section.blocks.push_back({micro_batch, static_cast<std::uint16_t>(stage), block.chunk, block.pass});
      if (block.pass != Pass::Weight) {
        std::int64_t& window = block.pass == Pass::Forward ? made_.window.forward : made_.window.backward;
        window = std::max<std::int64_t>(window, micro_batch + 1);
      }
      has_run = true;
    }
    return has_run;
  }

  ScheduleSection begin_section() {
    const std::int64_t last_stage = shape_.num_stages - 1;
    const std::int64_t last_chunk = shape_.num_chunks - 1;
    ScheduleSection section;
    section.first = {done(last_stage, last_chunk, Pass::Forward), done(0, 0, Pass::Backward),
                     done(0, 0, Pass::Weight)};
    section.under_way = {done(0, 0, Pass::Forward) - section.first.forward,
                         done(last_stage, last_chunk, Pass::Backward) - section.first.backward, 0};
    return section;
  }

  void end_section(ScheduleSection section) {
    if (!section.blocks.empty()) made_.sections.push_back(std::move(section));
  }

  /// Number of repetitions that all stages can do in step. All of them are in the same loop.
  std::int64_t steady_repeats() const {
    std::int64_t repeats = std::numeric_limits<std::int64_t>::max();
    for (const Cursor& cursor : cursors_) {
      if (cursor.is_done() || cursor.loop_index() != cursors_.front().loop_index()) return 0;
      if (cursor.loop().stride != cursors_.front().loop().stride) return 0;
      repeats = std::min(repeats, cursor.whole_repeats());
    }
    return repeats;
  }

  /// Adds repetitions of a loop. Every stage has its own position in the loop; one pass through it from there
  /// is one repetition. The blocks that a block depends on are in no later repetition than the block itself.
  void add_loop(std::int64_t repeats) {
    ScheduleSection section = begin_section();
    const std::vector<std::int64_t> before = done_;
    std::vector<std::size_t> quotas;
    std::size_t num_blocks = 0;
    for (const Cursor& cursor : cursors_) {
      quotas.push_back(cursor.loop().blocks.size());
      num_blocks += quotas.back();
    }
    section.blocks.reserve(num_blocks);
    while (section.blocks.size() < num_blocks) {
      if (!run_round(section, &quotas)) {
        throw std::logic_error("pipeline schedule: loops of the same place do not fit together");
      }
    }
    section.repeats = repeats;
    const ScheduleSection after = begin_section();
    section.stride = {after.first.forward - section.first.forward,
                      after.first.backward - section.first.backward,
                      after.first.weight - section.first.weight};
    for (std::size_t i = 0; i < done_.size(); ++i)
      done_[i] += (repeats - 1) * (done_[i] - before[i]);
    for (Cursor& cursor : cursors_)
      cursor.skip_repeats(repeats - 1);
    made_.sections.push_back(std::move(section));
  }

  PipelineShape shape_;
  std::vector<Cursor> cursors_;
  std::vector<std::int64_t> done_;  ///< micro-batches that each pass of each chunk has done
  PipelineSchedule made_;
};

}  // namespace

PipelineSchedule make_schedule(Schedule schedule, const PipelineShape& shape) {
  return ScheduleMaker(schedule, shape).make();
}

}  // namespace vtrain
