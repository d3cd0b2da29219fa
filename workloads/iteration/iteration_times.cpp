#include "workloads/iteration/iteration_times.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/graph/execution_graph.hpp"
#include "workloads/iteration/graph_builder.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/iteration/stage_times.hpp"
#include "workloads/pipeline/block_times.hpp"
#include "workloads/pipeline/pipeline_times.hpp"
#include "workloads/pipeline/schedule.hpp"

namespace vtrain {
namespace {

// The fast path is the exact collapse of the graph simulation: operators of a block are summed up, and the
// blocks are timed as a pipeline.

/// Ends of the passes of a pipeline, stage by stage.
struct PipelineEnds {
  std::vector<Nanoseconds> done;        ///< the last block
  std::vector<Nanoseconds> collective;  ///< the last collective in a block, or 0
};

/// Sums over all chunks, [stages][chunks].
std::vector<ChunkTotals> total_chunks(const IterationWork& work) {
  std::vector<ChunkTotals> chunks;
  chunks.reserve(work.stages.size() * work.stages.front().chunks.size());
  for (const StageWork& stage : work.stages) {
    for (const ChunkWork& chunk : stage.chunks)
      chunks.push_back(total_chunk(chunk));
  }
  return chunks;
}

/// The blocks of all chunks, [stages][chunks].
std::vector<BlockTimes> block_times(const IterationWork& work, const std::vector<ChunkTotals>& chunks,
                                    Messages messages) {
  std::vector<BlockTimes> times;
  times.reserve(chunks.size());
  for (const StageWork& stage : work.stages) {
    for (const ChunkWork& chunk : stage.chunks) {
      const ChunkTotals& totals = chunks[times.size()];
      const BlockTimes passes{.forward = Nanoseconds(totals.forward.pass),
                              .recompute = Nanoseconds(totals.recompute.pass),
                              .backward = Nanoseconds(totals.backward.pass),
                              .weight = Nanoseconds(totals.weight.pass)};
      times.push_back(with_sends(passes, chunk.send_forward, chunk.send_backward, messages));
    }
  }
  return times;
}

/// True if the last collective of every chunk, if any, belongs to the last backward pass or follows it.
bool ends_in_backward(const std::vector<ChunkTotals>& chunks) {
  return std::all_of(chunks.begin(), chunks.end(), [](const ChunkTotals& totals) {
    return totals.backward.has_collective || totals.weight.has_collective ||
           (!totals.forward.has_collective && !totals.recompute.has_collective);
  });
}

/// End of a chain's last collective if the chain ended at `end`; 0 without one.
Nanoseconds collective_end(const ChainTotals& chain, Nanoseconds end) {
  return chain.has_collective ? end - Nanoseconds(chain.after_collective) : Nanoseconds(0);
}

/// The end of the last collective in a block of a chunk, or 0.
Nanoseconds last_collective(const PipelineTimer& timer, std::size_t stage, std::size_t chunk,
                            const ChunkTotals& totals) {
  const Nanoseconds latest =
      std::max(collective_end(totals.backward, timer.last_end(stage, chunk, Pass::Backward)),
               collective_end(totals.weight, timer.last_end(stage, chunk, Pass::Weight)));
  if (!timer.knows_all_passes()) return latest;
  return std::max({latest, collective_end(totals.forward, timer.last_end(stage, chunk, Pass::Forward)),
                   collective_end(totals.recompute, timer.last_ready(stage, chunk))});
}

PipelineEnds end_passes(PipelineTimer& timer, const IterationWork& work,
                        const std::vector<ChunkTotals>& chunks, Messages messages) {
  const PipelineShape shape = pipeline_shape(work);
  const std::span<const Nanoseconds> done =
      timer.stage_ends(work.schedule, shape, block_times(work, chunks, messages),
                       ends_in_backward(chunks) ? PassEnds::Last : PassEnds::All);
  PipelineEnds ends{.done = {done.begin(), done.end()}, .collective = {}};
  ends.collective.resize(done.size());
  const auto num_chunks = static_cast<std::size_t>(shape.num_chunks);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Nanoseconds& latest = ends.collective[i / num_chunks];
    latest = std::max(latest, last_collective(timer, i / num_chunks, i % num_chunks, chunks[i]));
  }
  return ends;
}

std::vector<OnceTotals> total_all_once(const IterationWork& work) {
  std::vector<OnceTotals> once;
  once.reserve(work.stages.size());
  for (const StageWork& stage : work.stages)
    once.push_back(total_once(stage));
  return once;
}

/// The ends of stages and of communication, and with them the iteration.
IterationTimes end_stages(const IterationWork& work, const PipelineEnds& passes,
                          const std::vector<OnceTotals>& once) {
  IterationTimes times;
  times.stages.resize(work.stages.size());
  Nanoseconds all_done{0};
  for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
    const ChainTotals& reduction = once[stage].data_parallel;
    Nanoseconds done = passes.done[stage];
    Nanoseconds collective = passes.collective[stage];
    if (!work.stages[stage].data_parallel.empty()) {
      if (work.reduction_waits_for_first_stage) done = std::max(done, passes.done.front());
      done += Nanoseconds(reduction.span);
      if (reduction.has_collective) collective = done - Nanoseconds(reduction.after_collective);
    }
    times.stages[stage].end = done;
    times.communication_end = std::max(times.communication_end, collective);
    all_done = std::max(all_done, done);
  }
  for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
    const ChainTotals& optimizer = once[stage].optimizer;
    if (work.stages[stage].optimizer.empty()) continue;
    const Nanoseconds end = all_done + Nanoseconds(optimizer.span);
    times.stages[stage].end = end;
    if (optimizer.has_collective) {
      times.communication_end =
          std::max(times.communication_end, end - Nanoseconds(optimizer.after_collective));
    }
  }
  for (const StageTimes& stage : times.stages)
    times.iteration = std::max(times.iteration, stage.end);
  return times;
}

/// Iteration time if messages were instant.
Nanoseconds without_latency(PipelineTimer& timer, const IterationWork& work,
                            const std::vector<ChunkTotals>& chunks, const std::vector<OnceTotals>& once) {
  return end_stages(work, end_passes(timer, work, chunks, Messages::AreInstant), once).iteration;
}

bool any_latency(const IterationWork& work) {
  const auto waits = [](const Send& send) { return send.latency.count() > 0 || send.link_wait.count() > 0; };
  const auto has_latency = [&waits](const ChunkWork& chunk) {
    return waits(chunk.send_forward) || waits(chunk.send_backward);
  };
  return std::any_of(work.stages.begin(), work.stages.end(), [&](const StageWork& stage) {
    return std::any_of(stage.chunks.begin(), stage.chunks.end(), has_latency);
  });
}

/// Sums of busy times, and from them the slowest stage, once the ends of all stages are known.
void add_sums(IterationTimes& times, const std::vector<ChunkTotals>& chunks,
              const std::vector<OnceTotals>& once, double num_micro_batches, Nanoseconds latency_free) {
  const std::size_t num_chunks = chunks.size() / once.size();
  std::vector<Breakdown> breakdowns(once.size());
  for (std::size_t stage = 0; stage < once.size(); ++stage) {
    const auto add = [&](const ChainTotals& chain, double repeats) {
      times.stages[stage].compute += Nanoseconds(repeats * chain.kernel_time);
      times.communication_sum += Nanoseconds(repeats * chain.collective_time);
      for (const auto part :
           {&Breakdown::compute, &Breakdown::tensor_comm, &Breakdown::pipeline_comm, &Breakdown::data_comm,
            &Breakdown::optimizer, &Breakdown::products, &Breakdown::attention, &Breakdown::cpu_wait}) {
        breakdowns[stage].*part += repeats * (chain.breakdown.*part);
      }
    };
    for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
      const ChunkTotals& totals = chunks[stage * num_chunks + chunk];
      for (const ChainTotals* chain : {&totals.forward, &totals.recompute, &totals.backward, &totals.weight})
        add(*chain, num_micro_batches);
    }
    add(once[stage].data_parallel, 1);
    add(once[stage].optimizer, 1);
  }
  set_breakdown(times, breakdowns, latency_free);
}

}  // namespace

IterationTimes fast_iteration_times(const IterationWork& work) {
  const std::vector<ChunkTotals> chunks = total_chunks(work);
  const std::vector<OnceTotals> once = total_all_once(work);
  PipelineTimer timer;
  IterationTimes times = end_stages(work, end_passes(timer, work, chunks, Messages::TakeTime), once);
  const Nanoseconds latency_free =
      any_latency(work) ? without_latency(timer, work, chunks, once) : times.iteration;
  add_sums(times, chunks, once, static_cast<double>(work.num_micro_batches), latency_free);
  return times;
}

Nanoseconds iteration_without_latency(const IterationWork& work) {
  PipelineTimer timer;
  return without_latency(timer, work, total_chunks(work), total_all_once(work));
}

IterationTimes simulated_iteration_times(const IterationWork& work, const ExecutionGraph& graph) {
  const std::vector<double> start = simulate_graph(graph);
  IterationTimes times;
  times.stages.resize(work.stages.size());
  for (TaskId id = 0; id < graph.num_tasks(); ++id) {
    const Task& task = graph[id];
    if (task.kind == TaskKind::PipelineComm) continue;  // on its way, not on the stage
    StageTimes& stage = times.stages[task.stage];
    const Nanoseconds end(start[id] + task.duration_ns + task.gap_ns);
    stage.end = std::max(stage.end, end);
    if (is_collective(task.kind)) {
      times.communication_end = std::max(times.communication_end, end);
      times.communication_sum += Nanoseconds(task.duration_ns);
    } else {
      stage.compute += Nanoseconds(task.duration_ns);
    }
  }
  std::vector<Breakdown> breakdowns(work.stages.size());
  for (TaskId id = 0; id < graph.num_tasks(); ++id) {
    const Task& task = graph[id];
    if (task.kind == TaskKind::PipelineComm) continue;
    Breakdown& breakdown = breakdowns[task.stage];
    part_of(breakdown, task.kind) += Nanoseconds(task.duration_ns + task.gap_ns);
    if (const Send* const send = send_after(work.stages[task.stage], task)) {
      part_of(breakdown, task.kind) -= send->stall();
      breakdown.pipeline_comm += send->hold;
    }
  }
  // Tasks do not know the kinds of their kernels.
  for (std::size_t stage = 0; stage < breakdowns.size(); ++stage) {
    for (const ChunkWork& chunk : work.stages[stage].chunks) {
      const ChunkTotals totals = total_chunk(chunk);
      for (const ChainTotals* chain :
           {&totals.forward, &totals.recompute, &totals.backward, &totals.weight}) {
        for (const auto part : {&Breakdown::products, &Breakdown::attention, &Breakdown::cpu_wait})
          breakdowns[stage].*part += static_cast<double>(work.num_micro_batches) * (chain->breakdown.*part);
      }
    }
  }
  for (const StageTimes& stage : times.stages)
    times.iteration = std::max(times.iteration, stage.end);
  set_breakdown(times, breakdowns, iteration_without_latency(work));
  return times;
}

}  // namespace vtrain
