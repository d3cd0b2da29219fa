#include "tools/serve/live_jobs.hpp"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/rounds.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/live/read_state.hpp"

namespace vtrain::serve {
namespace {

using testing::TemporaryFolder;

constexpr UnixTime kSecond = 1'000'000'000;
constexpr UnixTime kHour = 3600 * kSecond;
constexpr UnixTime kBegin = 1'795'000'000 * kSecond;
constexpr std::int64_t kMostOver = 5;

JobsSetup setup_of(const std::string& policy, const std::string& placement = "consolidate") {
  const auto cluster = ClusterSpec::parse("4x8:a100");
  REQUIRE(cluster);
  return {.cluster = cluster->groups, .policy = policy, .placement = placement};
}

/// Live jobs on a store of their own, with a clock that the test moves.
struct Served {
  UnixTime now = kBegin;
  std::unique_ptr<Store> store{};
  std::unique_ptr<LiveJobs> jobs{};

  Served(const std::filesystem::path& file, const JobsSetup& setup) {
    PricingArguments pricing;
    pricing.no_cache = true;
    auto setting = JobSetting::read(setup, pricing);
    REQUIRE(setting);
    auto opened = Store::open(file);
    REQUIRE(opened);
    store = *std::move(opened);
    auto live = LiveJobs::open(
        {.setting = *setting, .pricing = pricing, .clock = [this] { return now; }, .most_over = kMostOver},
        *store);
    REQUIRE_MESSAGE(live, (live ? "" : live.error().describe()));
    jobs = *std::move(live);
  }

  ServedJob submit(const JobRequest& request, const std::string& tenant = "lab",
                   const std::string& key = {}) {
    auto job = jobs->submit(request, tenant, key);
    REQUIRE_MESSAGE(job, (job ? "" : job.error().describe()));
    return *std::move(job);
  }
  ServedJob find(std::int64_t id) {
    const auto job = jobs->find(id);
    REQUIRE(job);
    return *job;
  }
  /// All that clients can ask, as text.
  std::string all() {
    nlohmann::ordered_json json;
    const auto list = jobs->list({.below = INT64_MAX, .limit = 10'000});
    REQUIRE(list);
    for (const ServedJob& job : *list) {
      nlohmann::ordered_json entry = to_kept_json(job);
      entry["held"] = job.held_gpus;
      const auto forecast = jobs->forecast(job.job.id);
      REQUIRE(forecast);
      if (*forecast) entry["forecast"] = {(*forecast)->start.value_or(0), (*forecast)->end.value_or(0)};
      json.push_back(std::move(entry));
    }
    const auto cluster = jobs->cluster();
    REQUIRE(cluster);
    for (const ServedNode& node : cluster->nodes)
      json.push_back({node.name, static_cast<int>(node.state)});
    json.push_back(
        {cluster->counts.promises.open, cluster->counts.promises.kept, cluster->counts.promises.broken});
    return json.dump(1);
  }
};

JobRequest small_job(const std::string& deadline, std::int64_t gpus = 0, bool rigid = false) {
  return {.model = "gpt3-1.3b", .tokens = "1B", .deadline = deadline, .gpus = gpus, .rigid = rigid};
}

LiveState state_of(const std::string& jobs, const std::string& nodes = {}) {
  std::vector<DumpText> texts = {{"jobs", jobs}};
  if (!nodes.empty()) texts.push_back({"nodes", nodes});
  auto state = read_live_texts(std::move(texts));
  REQUIRE_MESSAGE(state, (state ? "" : state.error().describe()));
  return *std::move(state);
}

std::string dumped_job(int id, const std::string& state, int gpus, const std::string& node,
                       const std::string& comment = {}) {
  return fmt::format(
      "JobId={} JobName=j{} UserId=ann(1) Account=lab Partition=gpu JobState={} TimeLimit=10:00:00 "
      "SubmitTime=2026-11-18T00:00:00 {}NumNodes=1 TRES=cpu=8,gres/gpu={}{}\n",
      id, id, state,
      node.empty() ? "Reason=Resources Priority=1 " : "StartTime=2026-11-18T00:00:00 NodeList=" + node + " ",
      gpus, comment.empty() ? "" : " Comment=" + comment);
}

constexpr const char* kNodes =
    "NodeName=a CPUTot=8 Gres=gpu:a100:8 State=ALLOCATED\n\nNodeName=b CPUTot=8 Gres=gpu:a100:8 "
    "State=IDLE\n\n"
    "NodeName=c CPUTot=8 Gres=gpu:a100:8 State=IDLE\n\nNodeName=d CPUTot=8 Gres=gpu:a100:8 State=DOWN\n";

}  // namespace

TEST_CASE("live jobs: a promise, a refusal, and the deadline that would do") {
  const TemporaryFolder work;
  Served served(work / "state", setup_of("deadline:unpromised=reject"));
  const ServedJob fits = served.submit(small_job("2d"));
  CHECK(fits.phase == JobPhase::Running);
  CHECK(fits.promised);
  const ServedJob late = served.submit(small_job("1m"));
  CHECK(late.phase == JobPhase::Refused);
  CHECK(late.reason.find("the deadline is too early: alone on 32 GPUs it would take") == 0);
  const auto earliest = served.jobs->earliest_deadline(late.job.id, {});
  REQUIRE(earliest);
  const auto ask = [&](UnixTime deadline) {
    JobRequest request = small_job("");
    request.deadline = fmt::format("{}s", (deadline - served.now) / kSecond);
    return served.submit(request).phase != JobPhase::Refused;
  };
  // Simulations end when nobody waits for them any more.
  const auto is_late = [] { return true; };
  CHECK_FALSE(served.jobs->earliest_deadline(late.job.id, is_late));
  const auto times = served.jobs->likely_times({}, is_late);
  REQUIRE_FALSE(times);
  CHECK(times.error().kind == ErrorKind::Failed);
  CHECK(served.jobs->likely_times({}, {}));
  CHECK_FALSE(ask(*earliest - 60 * kSecond));
  CHECK(ask(*earliest));
  const ServedJob free = served.submit(small_job(""));
  CHECK(free.phase != JobPhase::Refused);
  CHECK_FALSE(free.promised);
}

TEST_CASE("live jobs: a key gives the first job again") {
  const TemporaryFolder work;
  Served served(work / "state", setup_of("deadline:unpromised=reject"));
  const ServedJob first = served.submit(small_job("2d"), "lab", "k");
  CHECK(served.submit(small_job("3d"), "lab", "k").job.id == first.job.id);
  CHECK(served.submit(small_job("3d"), "other", "k").job.id != first.job.id);
}

TEST_CASE("live jobs: progress corrects the end by the pace so far") {
  const TemporaryFolder work;
  Served served(work / "state", setup_of("deadline:unpromised=reject"));
  const ServedJob job = served.submit(small_job("30d", 8, true));
  const UnixTime run_time = job.job.duration_ns;
  served.now = kBegin + run_time / 2;
  // Half of the time has done a quarter of the work, so all of it takes twice as long.
  REQUIRE(served.jobs->report_progress(job.job.id, 0.25));
  const auto forecast = served.jobs->forecast(job.job.id);
  REQUIRE(forecast);
  REQUIRE(*forecast);
  CHECK((*forecast)->end.value() ==
        doctest::Approx(static_cast<double>(kBegin + 2 * run_time)).epsilon(1e-9));
  CHECK(served.find(job.job.id).progress == doctest::Approx(0.25));
  const auto ended = served.jobs->report_end(job.job.id, ReportedEnd::Completed);
  REQUIRE(ended);
  CHECK(ended->ended.value() == served.now);
  CHECK(ended->kept_promise());
  CHECK(served.jobs->counts().gpus_in_use == 0);
}

TEST_CASE("live jobs: what is over for long is known, and changes no more") {
  const TemporaryFolder work;
  Served served(work / "state", setup_of("deadline:unpromised=reject"));
  const ServedJob kept = served.submit(small_job("2d", 8, true), "lab", "first");
  REQUIRE(served.jobs->report_end(kept.job.id, ReportedEnd::Completed));
  for (std::int64_t i = 0; i <= kMostOver; ++i) {
    served.now += kSecond;
    REQUIRE(served.submit(small_job("1m")).phase == JobPhase::Refused);
  }
  const std::string before = served.all();
  REQUIRE(served.jobs->keep_snapshot());
  CHECK(served.all() == before);
  CHECK(served.jobs->counts().promises.kept == 1);
  // The first two are in the past, the others are not.
  const auto past = served.store->past({.below = INT64_MAX, .limit = 10});
  REQUIRE(past);
  REQUIRE(past->size() == 2);
  CHECK(past->front().id == kept.job.id + 1);
  for (const std::int64_t id : {kept.job.id, kept.job.id + 1, kept.job.id + 2}) {
    const auto cancelled = served.jobs->cancel(id);
    REQUIRE_FALSE(cancelled);
    CHECK(cancelled.error().kind == ErrorKind::Failed);
    CHECK(cancelled.error().message.find("is over: ") != std::string::npos);
  }
  const auto unknown = served.jobs->cancel(kept.job.id + 100);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().kind == ErrorKind::NotFound);
  CHECK(served.submit(small_job("2d", 8, true), "lab", "first").job.id == kept.job.id);
}

TEST_CASE("live jobs: what the scheduler does is taken over") {
  const TemporaryFolder work;
  Served served(work / "state", setup_of("deadline:unpromised=reject,running=keep"));
  served.now = kBegin + kHour;
  const ServedJob mine = served.submit(small_job("2d", 8, true));
  REQUIRE(mine.phase == JobPhase::Running);
  const std::string jobs = dumped_job(101, "RUNNING", 8, "b", fmt::format("vtrain: job={}", mine.job.id)) +
                           dumped_job(102, "RUNNING", 8, "a") + dumped_job(103, "PENDING", 16, "");
  const auto drift = served.jobs->reconcile(state_of(jobs, kNodes));
  REQUIRE_MESSAGE(drift, (drift ? "" : drift.error().describe()));
  CHECK(drift->found.at(DriftKind::Unknown) == 2);
  CHECK(drift->found.at(DriftKind::NodeState) == 1);
  CHECK(served.find(mine.job.id).phase == JobPhase::Running);
  CHECK(served.find(mine.job.id).external == "101");
  CHECK(served.find(mine.job.id).promised);
  const auto list = served.jobs->list({.below = INT64_MAX, .limit = 10});
  REQUIRE(list);
  REQUIRE(list->size() == 3);
  CHECK((*list)[0].external == "103");
  CHECK((*list)[0].is_foreign);
  CHECK((*list)[1].phase == JobPhase::Running);
  CHECK(served.jobs->cluster()->nodes[3].name == "d");
  CHECK(served.jobs->cluster()->nodes[3].state == NodeState::Down);
  // Equal states differ no more.
  const auto again = served.jobs->reconcile(state_of(jobs, kNodes));
  REQUIRE(again);
  CHECK(std::ranges::all_of(again->found,
                            [](const auto& each) { return each.first == DriftKind::StartedLater; }));

  const auto gone = served.jobs->reconcile(state_of(dumped_job(103, "RUNNING", 16, "a,b")));
  REQUIRE(gone);
  CHECK(gone->found.at(DriftKind::Gone) == 2);
  CHECK(served.find(mine.job.id).phase == JobPhase::Completed);

  // The job outlives its prediction.
  const ServedJob longer = served.submit(small_job("20d", 8, true));
  const std::string comment = fmt::format("vtrain: job={}", longer.job.id);
  served.now += longer.job.duration_ns + kHour;
  CHECK(served.find(longer.job.id).phase == JobPhase::Completed);
  const auto runs = served.jobs->reconcile(state_of(dumped_job(104, "RUNNING", 8, "c", comment)));
  REQUIRE(runs);
  CHECK(runs->found.at(DriftKind::RunsLonger) == 1);
  CHECK(served.find(longer.job.id).phase == JobPhase::Running);
  CHECK(served.find(longer.job.id).promised);
}

TEST_CASE("live jobs: a restart at any instant goes on as if there had been none") {
  const std::vector<JobsSetup> setups = {
      setup_of("deadline:unpromised=reject"),
      setup_of("deadline:unpromised=reject,running=keep,margin=0.1", "count"), setup_of("elasticflow")};
  const auto rounds = static_cast<int>(testing::rounds(3));
  for (int round = 0; round < rounds; ++round) {
    const JobsSetup& setup = setups[static_cast<std::size_t>(round) % setups.size()];
    CAPTURE(setup.policy);
    CAPTURE(round);
    const TemporaryFolder work;
    std::mt19937 random(static_cast<unsigned>(round));
    const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    auto served = std::make_unique<Served>(work / "state", setup);
    std::int64_t last = 0;
    for (int step = 0; step < 60; ++step) {
      served->now += below(3) == 0 ? 0 : static_cast<UnixTime>(below(7200)) * kSecond + below(1000);
      const std::int64_t id = last == 0 ? 1 : 1 + below(static_cast<int>(last));
      switch (below(9)) {
        case 0:
          static_cast<void>(served->jobs->cancel(id));
          break;
        case 1:
          static_cast<void>(served->jobs->report_progress(id, below(100) / 100.0));
          break;
        case 2:
          static_cast<void>(
              served->jobs->report_end(id, below(2) == 0 ? ReportedEnd::Completed : ReportedEnd::Failed));
          break;
        case 3:
          static_cast<void>(served->jobs->report_node(fmt::format("node-{}", 1 + below(4)),
                                                      static_cast<NodeState>(below(3))));
          break;
        case 4: {
          std::string dump;
          for (int i = 0; i < 3; ++i)
            dump += dumped_job(200 + below(6) * 3 + i, below(2) == 0 ? "RUNNING" : "PENDING", 1 + below(8),
                               "", below(2) == 0 ? "" : fmt::format("vtrain: job={}", id));
          static_cast<void>(served->jobs->reconcile(state_of(dump)));
          break;
        }
        case 5:
          REQUIRE(served->jobs->keep_snapshot());
          break;
        default: {
          JobRequest request = small_job(fmt::format("{}m", 10 + below(4000)),
                                         below(2) == 0 ? 0 : 1 << below(5), below(3) == 0);
          if (below(5) == 0) request.deadline.clear();
          if (const auto job = served->jobs->submit(request, below(2) == 0 ? "a" : "b", ""); job)
            last = job->job.id;
        }
      }
      if (below(6) != 0) continue;
      const std::string before = served->all();
      const UnixTime now = served->now;
      served.reset();
      served = std::make_unique<Served>(work / "state", setup);
      served->now = now;
      REQUIRE(served->all() == before);
      CHECK(served->jobs->num_redecided() == 0);
    }
  }
}

}  // namespace vtrain::serve
