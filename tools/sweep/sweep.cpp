#include "tools/sweep/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "tools/experiment/in_parallel.hpp"
#include "tools/sweep/collector.hpp"
#include "tools/sweep/grid_replayer.hpp"
#include "tools/sweep/hand_out.hpp"

namespace vtrain {
namespace {

/// The writer takes runs that have ended at once if they are many, and otherwise after a pause, so that short
/// replays are not interrupted by it.
constexpr std::size_t kManyRuns = 200;
constexpr auto kPause = std::chrono::milliseconds(20);

/// State that the threads of a sweep share.
struct Exchange {
  std::mutex mutex;
  std::condition_variable arrived;
  HandOut hand_out;
  std::vector<std::pair<ReplayedRun, bool>> runs{};  ///< runs for the writer, and whether they are pilots
  std::size_t working = 0;                           ///< threads that have not ended
  bool stops = false;                                ///< nothing more is to be begun
};

void work(GridReplayer& replayer, Exchange& exchange) {
  GridReplayer::Worker worker(replayer);
  std::unique_lock lock(exchange.mutex);
  while (!exchange.stops) {
    const std::vector<std::int64_t> batch = exchange.hand_out.next();
    if (batch.empty()) break;
    for (const std::int64_t run : batch) {
      lock.unlock();
      ReplayedRun replayed = worker.replay(run);
      lock.lock();
      exchange.hand_out.learn(run, replayed.seconds);
      exchange.runs.emplace_back(std::move(replayed), exchange.hand_out.is_pilot(run));
      if (exchange.runs.size() >= kManyRuns) exchange.arrived.notify_one();
      if (exchange.stops) break;
    }
  }
  --exchange.working;
  exchange.arrived.notify_one();
}

}  // namespace

Result<SweepOutcome> run_on_threads(const Grid& grid, const Shard& shard, const std::vector<bool>& finished,
                                    ResultStore& store, const SweepOptions& options) {
  const std::size_t threads = num_threads(options.threads);
  GridReplayer replayer(grid, *options.registry);
  Exchange exchange{{}, {}, HandOut(grid, finished, shard, threads)};
  const std::size_t workers =
      std::min<std::size_t>(threads, static_cast<std::size_t>(exchange.hand_out.num_runs()));
  exchange.working = workers;
  Collector collector(grid, store, options);
  std::vector<std::jthread> pool;
  for (std::size_t i = 0; i < workers; ++i)
    pool.emplace_back([&] { work(replayer, exchange); });

  Result<void> done;
  std::unique_lock lock(exchange.mutex);
  while (exchange.working > 0 || !exchange.runs.empty()) {
    exchange.arrived.wait_for(lock, kPause,
                              [&] { return exchange.runs.size() >= kManyRuns || exchange.working == 0; });
    auto runs = std::exchange(exchange.runs, {});
    lock.unlock();
    // After an error runs that have ended meanwhile are kept if they can be.
    for (const auto& [run, is_pilot] : runs) {
      if (auto taken = collector.take(run, is_pilot); !taken && done) done = std::move(taken);
    }
    if (done) done = collector.commit_in_time();
    lock.lock();
    if (!done) exchange.stops = true;
  }
  lock.unlock();
  pool.clear();
  return collector.finish(std::move(done), workers);
}

Result<SweepEstimate> estimate_sweep(const Grid& grid, const Shard& shard,
                                     const std::vector<bool>& finished) {
  GridReplayer replayer(grid);
  SweepEstimate estimate;
  // The first time predicts iteration times, which later scenarios share: what the second takes counts.
  for (const bool is_first : {true, false}) {
    HandOut hand_out(grid, finished, shard, 1);
    GridReplayer::Worker worker(replayer);
    std::vector<std::int64_t> batch = hand_out.next();
    for (std::size_t runs = 0; runs < grid.policies().size() && !batch.empty(); batch = hand_out.next()) {
      for (const std::int64_t run : batch) {
        ReplayedRun replayed = worker.replay(run);
        if (replayed.error) return fail(*std::move(replayed.error));
        hand_out.learn(run, replayed.seconds);
        if (is_first) estimate.pilot_s += replayed.seconds;
      }
      runs += batch.size();
    }
    estimate.total_s = estimate.pilot_s + hand_out.remaining_s();
  }
  return estimate;
}

}  // namespace vtrain
