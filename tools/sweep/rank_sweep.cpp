#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "tools/sweep/collector.hpp"
#include "tools/sweep/grid_replayer.hpp"
#include "tools/sweep/hand_out.hpp"
#include "tools/sweep/rank_message.hpp"
#include "tools/sweep/ranks.hpp"
#include "tools/sweep/sweep.hpp"

namespace vtrain {
namespace {

/// Batches that a rank has at a time: it works on one while the answer to the last one is on its way.
constexpr int kBatchesOfARank = 2;

/// Waits for the next message. MPI's own waiting would use a whole processor.
RankMessage await_message(Ranks& ranks) {
  constexpr auto kPause = std::chrono::microseconds(100);
  for (;;) {
    if (auto message = ranks.receive()) return *std::move(message);
    std::this_thread::sleep_for(kPause);
  }
}

/// Replays a batch and reports to rank 0, at the end and at least twice a second.
void replay_batch(const std::vector<std::int64_t>& batch, GridReplayer::Worker& worker, Ranks& ranks) {
  constexpr auto kLongestSilence = std::chrono::milliseconds(500);
  WorkerReport report;
  auto sent = std::chrono::steady_clock::now();
  for (const std::int64_t run : batch) {
    report.runs.push_back(worker.replay(run));
    report.wants_more = run == batch.back();
    const auto now = std::chrono::steady_clock::now();
    if (!report.wants_more && now - sent < kLongestSilence) continue;
    ranks.send(0, pack_report(report));
    report.runs.clear();
    sent = now;
  }
}

}  // namespace

void dismiss_ranks(Ranks& ranks) {
  for (int rank = 1; rank < ranks.size(); ++rank)
    ranks.send(rank, pack_batch({}));
  for (int ended = 0; ended < ranks.size() - 1;) {
    if (unpack_report(await_message(ranks).bytes).has_ended) ++ended;
  }
}

Result<SweepOutcome> run_on_ranks(const Grid& grid, const Shard& shard, const std::vector<bool>& finished,
                                  ResultStore& store, Ranks& ranks, const SweepOptions& options) {
  const auto workers = static_cast<std::size_t>(ranks.size() - 1);
  HandOut hand_out(grid, finished, shard, workers);
  Collector collector(grid, store, options);
  Result<void> done;
  int working = 0;
  const auto hand_to = [&](int rank) {
    const std::vector<std::int64_t> batch = done ? hand_out.next() : std::vector<std::int64_t>();
    if (batch.empty()) return;
    ranks.send(rank, pack_batch(batch));
    ++working;
  };
  for (int round = 0; round < kBatchesOfARank; ++round) {
    for (int rank = 1; rank < ranks.size(); ++rank)
      hand_to(rank);
  }
  while (working > 0) {
    const RankMessage message = await_message(ranks);
    const WorkerReport report = unpack_report(message.bytes);
    for (const ReplayedRun& run : report.runs) {
      const std::int64_t number = run.finished.run;
      hand_out.learn(number, run.seconds);
      if (auto taken = collector.take(run, hand_out.is_pilot(number)); !taken && done)
        done = std::move(taken);
    }
    if (report.refusal && done) done = fail(*report.refusal);
    if (report.wants_more) {
      --working;
      hand_to(message.from);
    }
    if (auto committed = collector.commit_in_time(); !committed && done) done = std::move(committed);
  }
  return collector.finish(std::move(done), workers);
}

void work_for_rank_0(const Result<const Grid*>& grid, Ranks& ranks, const SweepOptions& options) {
  std::optional<GridReplayer> replayer;
  if (grid) replayer.emplace(**grid, *options.registry);
  std::optional<GridReplayer::Worker> worker;
  if (grid) worker.emplace(*replayer);
  for (;;) {
    const std::vector<std::int64_t> batch = unpack_batch(await_message(ranks).bytes);
    if (batch.empty()) break;
    if (worker)
      replay_batch(batch, *worker, ranks);
    else
      ranks.send(0, pack_report({.wants_more = true, .refusal = grid.error()}));
  }
  ranks.send(0, pack_report({.has_ended = true}));
}

}  // namespace vtrain
