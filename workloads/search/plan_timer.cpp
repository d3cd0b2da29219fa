#include "workloads/search/plan_timer.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "workloads/iteration/stage_times.hpp"
#include "workloads/physical/physical_predictor.hpp"

namespace vtrain {

PlanTimer::PlanTimer(TransformerModel model, const GpuProfile& profile, Stack stack)
    : model_(std::move(model)), profile_(profile), stack_(std::move(stack)) {}

PlanTimer::PassSpans PlanTimer::spans_of(const PassCosts& costs) {
  PassSpans spans;
  const auto add = [](const std::vector<Operator>& operators, Breakdown& parts) {
    for (const Operator& op : operators)
      add_operator(parts, op);
    return total_span(operators);
  };
  spans.forward = add(costs.forward, spans.parts);
  spans.recompute = add(costs.recompute, spans.recomputed_parts);
  spans.backward = add(costs.backward, spans.parts);
  spans.weight = add(costs.weight, spans.parts);
  return spans;
}

const PlanTimer::LayerSpans& PlanTimer::spans(const ParallelPlan& plan) {
  const LayerKey key = layer_key(plan);
  if (const auto found = spans_.find(key); found != spans_.end()) return found->second;
  LayerSpans spans{.costs = layer_costs(model_, key, profile_, stack_)};
  spans.embedding = spans_of(spans.costs.embedding);
  spans.head = spans_of(spans.costs.head);
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind)
    spans.layers[kind] = spans_of(spans.costs.layers[kind]);
  return spans_.emplace(key, std::move(spans)).first->second;
}

BlockTimes PlanTimer::passes_of(const ChunkLayers& layers, const LayerSpans& spans) const {
  const auto sum = [&](Nanoseconds PassSpans::*pass) {
    Nanoseconds span(0);
    for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
      if (layers.counts[kind] > 0)
        span += spans.layers[kind].*pass * static_cast<double>(layers.counts[kind]);
    }
    if (layers.is_first) span += spans.embedding.*pass;
    if (layers.is_last) span += spans.head.*pass;
    return span;
  };
  BlockTimes times{.forward = sum(&PassSpans::forward), .backward = sum(&PassSpans::backward)};
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
    if (layers.recomputed[kind] > 0)
      times.backward += spans.layers[kind].recompute * static_cast<double>(layers.recomputed[kind]);
  }
  if (splits_backward(plan_.schedule)) times.weight = sum(&PassSpans::weight);
  return times;
}

void PlanTimer::select(const ParallelPlan& plan) {
  if (plan.attention != AttentionChoice::Stack)
    throw std::logic_error("plan timer: a plan that names kernels of attention");
  const LayerSpans& spans = this->spans(plan);
  const StageCosts stages(model(), plan, profile(), stack(), spans.costs);
  plan_ = plan;
  layers_ = &spans;
  shape_ = {plan.pipeline, plan.virtual_stages, plan.num_micro_batches()};
  chunks_.clear();
  first_chunk_.clear();
  blocks_.clear();
  once_.clear();
  iteration_.reset();
  for (std::int64_t stage = 0; stage < plan.pipeline; ++stage) {
    const std::size_t first = blocks_.size();
    if (stage > 0 && stages.alike(stage - 1, stage)) {
      blocks_.resize(first + static_cast<std::size_t>(plan.virtual_stages));
      std::copy_n(blocks_.begin() + static_cast<std::ptrdiff_t>(first) - plan.virtual_stages,
                  plan.virtual_stages, blocks_.begin() + static_cast<std::ptrdiff_t>(first));
      once_.push_back(once_.back());
      first_chunk_.push_back(first_chunk_.back());
      continue;
    }
    first_chunk_.push_back(chunks_.size());
    for (std::int64_t number = 0; number < plan.virtual_stages; ++number) {
      const ChunkLayers layers = stages.layers(stage, number);
      const StageCosts::ChunkTimes& chunk =
          chunks_.emplace_back(stages.chunk_times(stage, layers, passes_of(layers, spans)));
      blocks_.push_back(chunk.block(Messages::TakeTime));
    }
    const StageCosts::OnceTimes once = stages.once_times(stage, chunks_of(static_cast<std::size_t>(stage)));
    once_.push_back({.reduction = once.communication(), .optimizer = once.optimizer});
  }
}

Nanoseconds PlanTimer::lower_bound() const {
  const auto num_chunks = static_cast<std::size_t>(shape_.num_chunks);
  const auto n = static_cast<double>(shape_.num_micro_batches);
  Nanoseconds way_in(0);   // of the first micro-batch, forward through all earlier stages
  Nanoseconds way_out(0);  // of the last one, back through them
  Nanoseconds longest(0);
  Nanoseconds slowest_round(0);
  Nanoseconds optimizer(0);
  for (std::size_t stage = 0; stage < once_.size(); ++stage) {
    const BlockTimes* const chunks = blocks_.data() + stage * num_chunks;
    Nanoseconds round(0);
    Nanoseconds weights(0);
    for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
      round += chunks[chunk].forward + chunks[chunk].recompute + chunks[chunk].backward;
      weights += chunks[chunk].weight;
    }
    // Weight gradients that may not wait until after the last backward pass: of ZB-H1 these are known.
    const double before_last =
        plan_.schedule == Schedule::ZeroBubble ? std::max(0.0, n - 1 - static_cast<double>(stage)) : 0;
    if (stage > 0) way_out += chunks[0].backward_latency;
    longest = std::max({longest, way_in + n * (round + weights) + once_[stage].reduction,
                        way_in + n * round + before_last * weights + way_out + once_[0].reduction});
    slowest_round = std::max(slowest_round, round);
    way_in += chunks[0].forward + chunks[0].forward_latency;
    way_out += chunks[0].backward;
    optimizer = std::max(optimizer, once_[stage].optimizer);
  }
  const bool is_plain = plan_.schedule == Schedule::OneForwardOneBackward && num_chunks == 1;
  if (is_plain && shape_.num_stages > 1) {
    // 1F1B: micro-batch i + stages enters when micro-batch i has come back, so that there are that many ways
    // through the pipeline and back one after the other, and rounds of one stage in what is left.
    const Nanoseconds trip = way_in + way_out;
    const std::int64_t trips = (shape_.num_micro_batches - 1) / shape_.num_stages;
    const std::int64_t rest = (shape_.num_micro_batches - 1) % shape_.num_stages;
    const Nanoseconds& last = blocks_.back().forward;
    const Nanoseconds round =
        trips > 0 ? slowest_round : last + blocks_.back().recompute + blocks_.back().backward;
    longest = std::max(longest, static_cast<double>(1 + trips) * trip + static_cast<double>(rest) * round +
                                    once_[0].reduction);
  }
  return longest + optimizer;
}

Nanoseconds PlanTimer::iteration() {
  if (!iteration_) iteration_ = iteration_of(blocks_);
  return *iteration_;
}

Nanoseconds PlanTimer::iteration_of(std::span<const BlockTimes> blocks) {
  const std::span<const Nanoseconds> ends = pipelines_.stage_ends(plan_.schedule, shape_, blocks);
  Nanoseconds all_done(0);
  Nanoseconds optimizer(0);
  for (std::size_t stage = 0; stage < once_.size(); ++stage) {
    all_done = std::max(all_done, ends[stage] + once_[stage].reduction);
    optimizer = std::max(optimizer, once_[stage].optimizer);
  }
  return all_done + optimizer;
}

void PlanTimer::add_chunk(Breakdown& breakdown, const ChunkLayers& layers, const LayerSpans& spans) const {
  const auto n = static_cast<double>(shape_.num_micro_batches);
  const auto add = [&](const Breakdown& parts, double times) {
    for (const auto member : {&Breakdown::compute, &Breakdown::tensor_comm, &Breakdown::data_comm,
                              &Breakdown::products, &Breakdown::attention, &Breakdown::cpu_wait})
      breakdown.*member += times * parts.*member;
  };
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
    if (layers.counts[kind] == 0) continue;
    add(spans.layers[kind].parts, n * static_cast<double>(layers.counts[kind]));
    add(spans.layers[kind].recomputed_parts, n * static_cast<double>(layers.recomputed[kind]));
  }
  if (layers.is_first) add(spans.embedding.parts, n);
  if (layers.is_last) add(spans.head.parts, n);
}

Breakdown PlanTimer::breakdown() {
  std::vector<Breakdown> breakdowns;
  std::vector<Nanoseconds> busy;
  std::vector<BlockTimes> without_latency;
  for (std::size_t stage = 0; stage < once_.size(); ++stage) {
    if (stage == 0 || first_chunk_[stage] != first_chunk_[stage - 1]) {
      breakdowns.push_back(stage_breakdown(stage));
      busy.push_back(busy_time(breakdowns.back()));
    }
    for (const StageCosts::ChunkTimes& chunk : chunks_of(stage))
      without_latency.push_back(chunk.block(Messages::AreInstant));
  }
  const std::size_t slowest = busiest_stage(busy);
  Breakdown breakdown = breakdowns[slowest];
  divide_idle_time(breakdown, busy[slowest], iteration(),
                   without_latency == blocks_ ? iteration() : iteration_of(without_latency));
  return breakdown;
}

bool PlanTimer::has_fallbacks() const {
  const LayerCosts& costs = layers_->costs;
  return !costs.extrapolated.empty() || !find_fallbacks(model(), plan_, profile(), stack(), costs).empty();
}

std::span<const StageCosts::ChunkTimes> PlanTimer::chunks_of(std::size_t stage) const {
  return {chunks_.data() + first_chunk_[stage], static_cast<std::size_t>(shape_.num_chunks)};
}

Breakdown PlanTimer::stage_breakdown(std::size_t stage) const {
  Breakdown breakdown{.data_comm = once_[stage].reduction, .optimizer = once_[stage].optimizer};
  const auto num_micro_batches = static_cast<double>(shape_.num_micro_batches);
  for (const StageCosts::ChunkTimes& chunk : chunks_of(stage)) {
    add_chunk(breakdown, chunk.layers, *layers_);
    breakdown.compute += num_micro_batches * (chunk.forward_wait + chunk.backward_wait);
    breakdown.cpu_wait += num_micro_batches * (chunk.forward_wait + chunk.backward_wait);
    breakdown.pipeline_comm += num_micro_batches * (chunk.sends.forward.hold + chunk.sends.backward.hold);
  }
  return breakdown;
}

}  // namespace vtrain
