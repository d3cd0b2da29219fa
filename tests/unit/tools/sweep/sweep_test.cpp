#include "tools/sweep/sweep.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <deque>
#include <mutex>
#include <thread>

#include "sched/simulation/policy.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/sweep/rank_message.hpp"
#include "tools/sweep/ranks.hpp"

using vtrain::testing::TemporaryFolder;
using namespace vtrain;  // NOLINT: a test of most of the folder

namespace {

/// Starts jobs as they arrive. If its fifth pass is in an odd second, it breaks a rule.
class BreaksInOddSeconds : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    constexpr auto kSecond = std::chrono::seconds(1);
    const bool is_odd = pass.now().time_since_epoch() / kSecond % 2 == 1;
    if (++passes_ == 5 && is_odd) pass.try_start(JobId{1'000'000});
    for (const JobId job : pass.arrived())
      pass.try_start(job);
  }

 private:
  int passes_ = 0;
};

/// Ranks within this process: a queue of messages for each.
class Post {
 public:
  explicit Post(int size) : boxes_(static_cast<std::size_t>(size)) {}

  class Rank : public Ranks {
   public:
    Rank(Post& post, int rank) : post_(post), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(post_.boxes_.size()); }
    void send(int to, const std::string& bytes) override {
      const std::lock_guard lock(post_.mutex_);
      post_.boxes_[static_cast<std::size_t>(to)].push_back({rank_, bytes});
    }
    std::optional<RankMessage> receive() override {
      const std::lock_guard lock(post_.mutex_);
      auto& box = post_.boxes_[static_cast<std::size_t>(rank_)];
      if (box.empty()) return std::nullopt;
      RankMessage message = std::move(box.front());
      box.pop_front();
      return message;
    }

   private:
    Post& post_;
    int rank_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::deque<RankMessage>> boxes_;
};

/// A grid under `fifo` and the policy that breaks, and where its results go.
class Sweeps {
 public:
  Sweeps() : grid_(*Grid::make(spec())) {
    REQUIRE(registry_
                .add({.name = "breaks",
                      .summary = "breaks a rule in odd seconds",
                      .make = [](const PolicyArguments&) -> Result<std::unique_ptr<Policy>> {
                        return std::make_unique<BreaksInOddSeconds>();
                      }})
                .has_value());
  }

  static ScenarioSpec spec() {
    ScenarioSpec spec;
    spec.cluster = "2x8:a100";
    spec.seeds = "1-12";
    spec.policies = {"fifo", "breaks"};
    spec.pricing.no_cache = true;
    return spec;
  }

  const Grid& grid() const { return grid_; }
  SweepOptions options(unsigned threads) const { return {.threads = threads, .registry = &registry_}; }
  ResultStore open(const std::string& name) const {
    auto store = ResultStore::open(work_ / name, grid_, {.spec = grid_.text(), .program = "1"}, false);
    REQUIRE(store.has_value());
    return *std::move(store);
  }
  /// All rows of a file.
  std::string rows(const std::string& name) const {
    const auto results = open_results(work_ / name);
    REQUIRE(results.has_value());
    std::string rows;
    for (const std::string table : {"runs", "errors"}) {
      auto query = results->prepare("SELECT * FROM " + table + " ORDER BY run");
      while (query->step().value()) {
        for (int column = 0; column < query->num_columns(); ++column)
          rows += query->text(column) + "|";
        rows += "\n";
      }
    }
    return rows;
  }

 private:
  TemporaryFolder work_;
  Grid grid_;
  PolicyRegistry registry_;
};

}  // namespace

TEST_CASE("sweep: runs that fail are kept with their message, and the rest goes on") {
  const Sweeps sweeps;
  const Grid& grid = sweeps.grid();
  {
    ResultStore store = sweeps.open("one");
    const auto outcome = run_on_threads(grid, {}, *store.finished(), store, sweeps.options(1));
    REQUIRE(outcome.has_value());
    CHECK(outcome->done == 24);
    CHECK(outcome->failed > 0);
    CHECK(outcome->failed < 12);
    CHECK(store.num_errors() == outcome->failed);
    const auto again = run_on_threads(grid, {}, *store.finished(), store, sweeps.options(1));
    CHECK(again->done == 0);
  }
  const std::string rows = sweeps.rows("one");
  CHECK(rows.find("policy 'breaks'") != std::string::npos);
  {
    ResultStore store = sweeps.open("four");
    REQUIRE(run_on_threads(grid, {}, *store.finished(), store, sweeps.options(4)).has_value());
  }
  CHECK(sweeps.rows("four") == rows);
  ResultStore store = sweeps.open("one");
  REQUIRE(store.drop_errors().has_value());
  const auto retried = run_on_threads(grid, {}, *store.finished(), store, sweeps.options(2));
  CHECK(retried->done == retried->failed);
  CHECK(sweeps.rows("one") == rows);
}

TEST_CASE("sweep: ranks give the rows of threads, and end when they are dismissed") {
  const Sweeps sweeps;
  const Grid& grid = sweeps.grid();
  {
    ResultStore store = sweeps.open("threads");
    REQUIRE(run_on_threads(grid, {}, *store.finished(), store, sweeps.options(2)).has_value());
  }
  for (const int size : {2, 5}) {
    CAPTURE(size);
    Post post(size);
    std::vector<std::jthread> workers;
    for (int rank = 1; rank < size; ++rank) {
      workers.emplace_back([&, rank] {
        Post::Rank ranks(post, rank);
        work_for_rank_0(&grid, ranks, sweeps.options(1));
      });
    }
    const std::string name = "ranks-" + std::to_string(size);
    Post::Rank ranks(post, 0);
    {
      ResultStore store = sweeps.open(name);
      const auto outcome = run_on_ranks(grid, {}, *store.finished(), store, ranks, sweeps.options(1));
      REQUIRE(outcome.has_value());
      CHECK(outcome->done == 24);
    }
    dismiss_ranks(ranks);
    CHECK(sweeps.rows(name) == sweeps.rows("threads"));
  }
}

TEST_CASE("sweep: a rank that cannot read the spec ends the sweep with its error") {
  const Sweeps sweeps;
  Post post(3);
  std::vector<std::jthread> workers;
  for (int rank = 1; rank < 3; ++rank) {
    workers.emplace_back([&, rank] {
      Post::Rank ranks(post, rank);
      if (rank == 1)
        work_for_rank_0(fail({.file = "grid.json", .message = "no such file"}), ranks, sweeps.options(1));
      else
        work_for_rank_0(&sweeps.grid(), ranks, sweeps.options(1));
    });
  }
  Post::Rank ranks(post, 0);
  ResultStore store = sweeps.open("r");
  const auto outcome = run_on_ranks(sweeps.grid(), {}, *store.finished(), store, ranks, sweeps.options(1));
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().file == "grid.json");
  dismiss_ranks(ranks);
}

TEST_CASE("sweep: options that no run can use end it, before anything else of their combination") {
  ScenarioSpec spec = Sweeps::spec();
  spec.policies = {"fifo"};
  spec.vary = {"profile=a100,none-such"};
  const Grid grid = *Grid::make(spec);
  const TemporaryFolder work;
  auto store = ResultStore::open(work / "r", grid, {.spec = grid.text(), .program = "1"}, false);
  const auto outcome = run_on_threads(grid, {}, *store->finished(), *store, {.threads = 2});
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().message.find("none-such") != std::string::npos);
  CHECK(outcome.error().message.find("profile=none-such, seed 1, policy fifo") != std::string::npos);
  CHECK(store->num_errors() == 0);
}

TEST_CASE("sweep: messages between ranks keep everything") {
  ReplayedRun run{.finished = {.run = 7, .metrics = {1.5, 2}, .error = "broke"}, .seconds = 0.25};
  run.error = Error{.kind = ErrorKind::Failed, .file = "f", .line = 3, .field = "g", .message = "m"};
  run.inputs = {{.name = "n", .path = "p", .sha256 = "s"}};
  run.warnings = {"w", ""};
  WorkerReport report{.wants_more = true};
  report.runs = {run, {}};
  const WorkerReport got = unpack_report(pack_report(report));
  CHECK(got.wants_more);
  CHECK_FALSE(got.has_ended);
  REQUIRE(got.runs.size() == 2);
  const ReplayedRun& same = got.runs.front();
  CHECK(same.finished.run == 7);
  CHECK(same.finished.metrics == run.finished.metrics);
  CHECK(same.finished.error == "broke");
  CHECK(same.seconds == 0.25);
  CHECK(same.error->describe() == run.error->describe());
  CHECK(same.error->kind == ErrorKind::Failed);
  CHECK(same.inputs.front().sha256 == "s");
  CHECK(same.warnings == run.warnings);
  CHECK(unpack_batch(pack_batch({3, 1, 2})) == std::vector<std::int64_t>{3, 1, 2});
  CHECK_THROWS(unpack_report("short"));
}
