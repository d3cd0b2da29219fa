/// Properties of the reasons for which jobs wait: recording them changes no schedule, they follow each other
/// as waits do, and a job starts once its reason is taken away.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/unit/policies/policy_specs.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

constexpr SimDuration kTick = std::chrono::seconds(1);
/// Four nodes for the jobs, and four that are out of service.
constexpr const char* kCluster = "8x4";
constexpr std::int32_t kMaxGpus = 16;
constexpr std::uint32_t kFirstSpareNode = 4;
constexpr std::uint32_t kNumNodes = 8;

class Changes final : public ReasonObserver {
 public:
  void take(std::span<const ReasonChange> changes) override {
    all.insert(all.end(), changes.begin(), changes.end());
  }
  std::vector<ReasonChange> all;
};

/// A replay with the reasons of its jobs.
struct Explained {
  SimulationResult result;
  std::vector<ReasonChange> changes;
  std::vector<ReasonChange> watched;  ///< those of one job, if it is watched
};

struct Setting {
  std::string spec;
  PlacementKind placement = PlacementKind::Count;
  const Disruptions* disruptions = nullptr;
};

Explained explain(const Workload& workload, const std::string& cluster, const Setting& setting,
                  JobId watched = {}) {
  const auto policy = make_policy(setting.spec);
  REQUIRE(policy);
  Changes all;
  Changes one;
  auto result = simulate(workload, ClusterSpec::parse(cluster).value(), **policy,
                         {.placement = setting.placement,
                          .record_segments = true,
                          .policy_name = setting.spec,
                          .disruptions = setting.disruptions,
                          .reasons = {.all = &all, .watched = watched ? &one : nullptr, .job = watched}});
  if (!result) FAIL(result.error().describe());
  return {*std::move(result), std::move(all.all), std::move(one.all)};
}

/// The changes of one job.
std::vector<ReasonChange> changes_of(const std::vector<ReasonChange>& changes, JobId job) {
  std::vector<ReasonChange> own;
  std::ranges::copy_if(changes, std::back_inserter(own),
                       [job](const ReasonChange& change) { return change.job == job; });
  return own;
}

/// Segments of one job, in order.
std::vector<JobSegment> segments_of(const SimulationResult& result, JobId job) {
  std::vector<JobSegment> own;
  std::ranges::copy_if(result.segments, std::back_inserter(own),
                       [job](const JobSegment& segment) { return segment.job == job; });
  return own;
}

bool runs_at(const SimulationResult& result, JobId job, SimTime time) {
  return std::ranges::any_of(result.segments, [&](const JobSegment& segment) {
    return segment.job == job && segment.begin <= time && time < segment.end;
  });
}

/// True if a job has a segment that begins at an instant.
bool starts_at(const SimulationResult& result, JobId job, SimTime time) {
  return std::ranges::any_of(result.segments, [&](const JobSegment& segment) {
    return segment.job == job && segment.begin == time;
  });
}

bool has_run_before(const SimulationResult& result, JobId job, SimTime time) {
  return std::ranges::any_of(
      result.segments, [&](const JobSegment& segment) { return segment.job == job && segment.begin < time; });
}

bool is_refusal(WaitReason reason) {
  return reason == WaitReason::Rejected || reason == WaitReason::TooLarge;
}

/// A workload without some jobs. Their names tell which job is which.
Workload without(const Workload& workload, const std::set<JobId>& jobs) {
  Workload rest;
  for (const std::string& type : workload.gpu_types.names())
    rest.gpu_type(type);
  for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
    if (jobs.contains(JobId(i))) continue;
    rest.jobs.push_back(workload.jobs[i]);
    rest.jobs.back().name = rest.keep(workload.jobs[i].name);
  }
  return rest;
}

JobId find_job(const Workload& workload, std::string_view name) {
  const auto found = std::ranges::find(workload.jobs, name, &Job::name);
  REQUIRE(found != workload.jobs.end());
  return JobId(static_cast<std::uint32_t>(found - workload.jobs.begin()));
}

/// Compares what a policy does with and without a job's reason.
class Counterfactual {
 public:
  Counterfactual(const Workload& workload, const Setting& setting, const Explained& before,
                 const ReasonChange& change)
      : workload_(workload), setting_(setting), before_(before), change_(change) {}

  /// Jobs other than this one that wait after the pass. None if some of them ran before: taking these away
  /// would change what happened.
  std::optional<std::set<JobId>> others_waiting() const {
    std::set<JobId> others;
    for (std::uint32_t i = 0; i < workload_.jobs.size(); ++i) {
      const JobId job(i);
      const JobOutcome& outcome = before_.result.outcomes[i];
      if (job == change_.job || workload_.jobs[i].submit > change_.time) continue;
      if (runs_at(before_.result, job, change_.time)) continue;
      const bool has_left = outcome.state == JobState::Rejected ||
                            (outcome.state != JobState::Unfinished && outcome.end <= change_.time);
      if (has_left) continue;
      if (has_run_before(before_.result, job, change_.time)) return std::nullopt;
      others.insert(job);
    }
    return others;
  }

  /// True if the job starts at the instant of the change in a world without some jobs. None if that world is
  /// another one already before.
  std::optional<bool> starts_without(const std::set<JobId>& jobs, const Disruptions* disruptions = nullptr,
                                     bool on_any_type = false) const {
    Workload rest = without(workload_, jobs);
    const JobId job = find_job(rest, workload_.jobs[change_.job.value].name);
    if (on_any_type) rest.jobs[job.value].gpu_type = {};
    const Setting setting{setting_.spec, setting_.placement,
                          disruptions != nullptr ? disruptions : setting_.disruptions};
    const Explained after = explain(rest, cluster(), setting);
    if (!is_same_before(rest, after.result)) return std::nullopt;
    // `conservative` may start it a little later: at a reservation that it made while the others were there,
    // or while jobs ran that have ended. Then only that is its reason.
    if (setting_.spec.starts_with("conservative"))
      return next_start(after.result, job) < next_start(before_.result, change_.job) ||
             last_reason(after, job) == WaitReason::NextDecision;
    return starts_at(after.result, job, change_.time) ||
           (change_.reason == WaitReason::Preempted && runs_at(after.result, job, change_.time));
  }

  std::string cluster() const { return workload_.gpu_types.size() > 0 ? "2x4:a+2x4:b" : kCluster; }

 private:
  /// First start of a job from the instant on.
  SimTime next_start(const SimulationResult& result, JobId job) const {
    SimTime next = SimTime::max();
    for (const JobSegment& segment : segments_of(result, job)) {
      if (segment.begin >= change_.time) next = std::min(next, segment.begin);
    }
    return next;
  }

  /// Reason of a job at the instant.
  WaitReason last_reason(const Explained& world, JobId job) const {
    WaitReason reason = WaitReason::None;
    for (const ReasonChange& change : changes_of(world.changes, job)) {
      if (change.time <= change_.time) reason = change.reason;
    }
    return reason;
  }

  /// True if the jobs of both worlds held the same GPUs before the instant, and if of the others the same
  /// ones start at it.
  bool is_same_before(const Workload& rest, const SimulationResult& after) const {
    for (std::uint32_t i = 0; i < rest.jobs.size(); ++i) {
      const JobId job = find_job(workload_, rest.jobs[i].name);
      const auto a = segments_of(before_.result, job);
      const auto b = segments_of(after, JobId(i));
      const auto begins_before = [&](const JobSegment& each) {
        return each.begin < change_.time || (job != change_.job && each.begin == change_.time);
      };
      const auto num_a = std::ranges::count_if(a, begins_before);
      if (num_a != std::ranges::count_if(b, begins_before)) return false;
      for (std::size_t n = 0; n < static_cast<std::size_t>(num_a); ++n) {
        if (a[n].begin != b[n].begin || a[n].num_gpus != b[n].num_gpus || a[n].parts != b[n].parts)
          return false;
        if (std::min(a[n].end, change_.time) != std::min(b[n].end, change_.time)) return false;
      }
    }
    return true;
  }

  const Workload& workload_;
  const Setting& setting_;
  const Explained& before_;
  const ReasonChange& change_;
};

/// Outages of the spare nodes, until an instant or for good.
Disruptions spare_until(SimTime time) {
  Disruptions disruptions;
  for (std::uint32_t node = kFirstSpareNode; node < kNumNodes; ++node)
    disruptions.outages.push_back({NodeId(node), OutageKind::Failure, SimTime{}, time});
  return disruptions;
}

PolicySpecs all_policies() {
  return PolicySpecs({"las:queues=5;12,attained=time", "easy:order=asc-walltime", "easy:planning=hosts",
                      "conservative:planning=hosts"},
                     [](const Policy& policy) { return !policy.repeats_log(); });
}

/// True if a policy decides only at some instants.
bool works_in_slots(const std::string& spec) {
  return spec.starts_with("elasticflow") || spec.starts_with("chronus");
}

/// Gives some jobs a GPU type.
void ask_for_types(Workload& workload, std::uint64_t seed) {
  RandomStream random(seed, "types");
  const GpuTypeId types[] = {workload.gpu_type("a"), workload.gpu_type("b"), GpuTypeId()};
  for (Job& job : workload.jobs) {
    job.gpu_type = types[random.below(3)];
    job.num_gpus = GpuCount((job.num_gpus.value + 1) / 2);
  }
}

/// Checks that a job's reasons follow each other as its waits do.
void check_order(const Workload& workload, const Explained& run, bool is_exact) {
  for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
    CAPTURE(i);
    const std::vector<ReasonChange> own = changes_of(run.changes, JobId(i));
    const JobOutcome& outcome = run.result.outcomes[i];
    if (outcome.state == JobState::Rejected) {
      REQUIRE(!own.empty());
      REQUIRE(is_refusal(own.back().reason));
      continue;
    }
    const bool waits = outcome.state == JobState::Unfinished || outcome.start > workload.jobs[i].submit;
    if (waits && is_exact) {
      REQUIRE(!own.empty());
      REQUIRE(own.front().time == workload.jobs[i].submit);
    }
    for (std::size_t n = 0; n < own.size(); ++n) {
      REQUIRE(own[n].reason != (n == 0 ? WaitReason::None : own[n - 1].reason));
      REQUIRE(!is_refusal(own[n].reason));
      const bool runs = runs_at(run.result, JobId(i), own[n].time);
      if (own[n].reason == WaitReason::None && is_exact)
        REQUIRE(starts_at(run.result, JobId(i), own[n].time));
      if (own[n].reason != WaitReason::None && is_exact) REQUIRE(!runs);
    }
    if (!own.empty() && outcome.state != JobState::Unfinished) REQUIRE(own.back().reason == WaitReason::None);
  }
}

}  // namespace

TEST_CASE("reasons: recording them changes no schedule, and a watched job has the reasons of the file") {
  for (const std::string& spec : all_policies()) {
    for (const PlacementKind placement :
         {PlacementKind::Count, PlacementKind::Yarn, PlacementKind::Consolidate, PlacementKind::Buddy,
          PlacementKind::Fgd, PlacementKind::ConsolidateStrict}) {
      for (std::uint64_t seed = 0; seed < rounds(2); ++seed) {
        CAPTURE(spec);
        CAPTURE(static_cast<int>(placement));
        CAPTURE(seed);
        Workload workload = random_workload(seed, 80, kMaxGpus, kTick);
        if (seed % 2 > 0) ask_for_types(workload, seed);
        const std::string cluster = seed % 2 > 0 ? "2x4:a+2x4:b" : "4x4";
        const JobId watched(static_cast<std::uint32_t>(7 + seed * 13 % 60));
        const Explained with = explain(workload, cluster, {spec, placement}, watched);
        const auto plain = replay(workload, cluster, spec, {.placement = placement, .record_segments = true});
        check_same(with.result, plain);
        REQUIRE(with.result.fragmentation.size() == plain.fragmentation.size());
        for (std::size_t i = 0; i < plain.fragmentation.size(); ++i)
          REQUIRE(with.result.fragmentation[i].rate == plain.fragmentation[i].rate);
        check_order(workload, with, !spec.starts_with("elasticflow"));
        // The watched job also has changes of the job that its reason names.
        std::vector<ReasonChange> watched_words;
        for (const ReasonChange& change : with.watched) {
          if (watched_words.empty() || watched_words.back().reason != change.reason)
            watched_words.push_back(change);
        }
        const std::vector<ReasonChange> own = changes_of(with.changes, watched);
        REQUIRE(watched_words.size() == own.size());
        for (std::size_t i = 0; i < own.size(); ++i) {
          REQUIRE(watched_words[i].time == own[i].time);
          REQUIRE(watched_words[i].reason == own[i].reason);
          REQUIRE(watched_words[i].by == own[i].by);
        }
      }
    }
  }
}

TEST_CASE("reasons: a job starts once its reason is taken away") {
  std::map<WaitReason, int> checked;
  for (const std::string& spec : all_policies()) {
    if (works_in_slots(spec)) continue;
    for (std::uint64_t seed = 0; seed < rounds(6); ++seed) {
      const bool has_types = seed % 3 == 2;
      Workload workload = random_workload(seed, 24, kMaxGpus, kTick);
      if (has_types) ask_for_types(workload, seed);
      const Disruptions never = spare_until(Outage::kNeverEnds);
      const Setting setting{spec, seed % 2 > 0 ? PlacementKind::Yarn : PlacementKind::Consolidate,
                            has_types ? nullptr : &never};
      const Explained before = explain(workload, has_types ? "2x4:a+2x4:b" : kCluster, setting);
      for (const ReasonChange& change : before.changes) {
        CAPTURE(spec);
        CAPTURE(seed);
        CAPTURE(change.job.value);
        CAPTURE(to_seconds(change.time.time_since_epoch()));
        CAPTURE(info_of(change.reason).word);
        const Counterfactual world(workload, setting, before, change);
        const auto others = world.others_waiting();
        if (!others || change.reason == WaitReason::None) continue;
        std::optional<bool> starts;
        switch (change.reason) {
          case WaitReason::Gpus:
          case WaitReason::Placement:
          case WaitReason::OutOfService: {
            if (has_types) continue;
            // Alone it does not start; with as many more GPUs as it asks for, it does.
            const auto alone = world.starts_without(*others);
            if (alone && !spec.starts_with("conservative")) REQUIRE(!*alone);
            const Disruptions returns = spare_until(change.time);
            starts = world.starts_without(*others, &returns);
            break;
          }
          case WaitReason::Type:
            starts = world.starts_without(*others, nullptr, true);
            break;
          case WaitReason::Order:
          case WaitReason::Reservation: {
            starts = world.starts_without(*others);
            // The job that is named holds it back alone. Under `conservative`, and where each type has a
            // reservation, several may do so together.
            if (has_types || spec.starts_with("conservative")) break;
            std::set<JobId> all_but_one = *others;
            REQUIRE(all_but_one.erase(change.by) == 1);
            const auto held = world.starts_without(all_but_one);
            if (held) REQUIRE(!*held);
            break;
          }
          case WaitReason::Preempted: {
            // All jobs that start in this pass; the first of them is named.
            std::set<JobId> starting = *others;
            bool some_ran = false;
            for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
              if (!starts_at(before.result, JobId(i), change.time)) continue;
              some_ran = some_ran || has_run_before(before.result, JobId(i), change.time);
              starting.insert(JobId(i));
            }
            REQUIRE(starting.contains(change.by));
            if (some_ran) continue;
            starts = world.starts_without(starting);
            // `deadline` may have stopped it for a gang for which placement then had no room.
            if (spec.starts_with("deadline") && setting.placement == PlacementKind::Yarn && starts == false)
              continue;
            break;
          }
          case WaitReason::TooLarge:
            REQUIRE(change.asked.value > kMaxGpus);
            continue;
          case WaitReason::Rejected:
            continue;  // see admission tests
          case WaitReason::NextDecision:
            // It starts jobs at their reservations, although some would fit by now.
            REQUIRE(spec.starts_with("conservative"));
            REQUIRE(*change.at > change.time);
            continue;
          case WaitReason::Policy:
            // `deadline` keeps GPUs for jobs to which it has promised their deadlines, `kueue` quota for jobs
            // that wait for room.
            REQUIRE((spec.starts_with("deadline") || spec.starts_with("kueue")));
            continue;
          default:
            FAIL("a reason that these policies do not give");
        }
        if (!starts) continue;
        REQUIRE(*starts);
        ++checked[change.reason];
      }
    }
  }
  for (const WaitReason reason : {WaitReason::Gpus, WaitReason::Type, WaitReason::Placement,
                                  WaitReason::Order, WaitReason::Reservation, WaitReason::Preempted}) {
    CAPTURE(info_of(reason).word);
    if (rounds_factor() >= 1) CHECK(checked[reason] >= 10);  // some are rare
  }
}

TEST_CASE("reasons: a rejected job is admitted with the deadline that its reason names") {
  for (const std::string spec : {"edf-admission", "elasticflow"}) {
    int checked = 0;
    for (std::uint64_t seed = 0; seed < rounds(6); ++seed) {
      const Workload workload = random_workload(seed, 50, kMaxGpus, kTick);
      const Explained before = explain(workload, "1x16", {spec});
      for (const ReasonChange& change : before.changes) {
        if (change.reason != WaitReason::Rejected) continue;
        CAPTURE(spec);
        CAPTURE(seed);
        CAPTURE(change.job.value);
        REQUIRE(!change.at);
        const Explained watched = explain(workload, "1x16", {spec}, change.job);
        REQUIRE(!watched.watched.empty());
        const std::optional<SimTime> deadline = watched.watched.back().at;
        if (!deadline) continue;
        REQUIRE(*deadline > workload.jobs[change.job.value].deadline);
        Workload later = without(workload, {});
        later.jobs[change.job.value].deadline = *deadline;
        const Explained after = explain(later, "1x16", {spec});
        REQUIRE(after.result.outcomes[change.job.value].state != JobState::Rejected);
        ++checked;
      }
    }
    CAPTURE(spec);
    CHECK(checked >= enough(20));
  }
}

}  // namespace vtrain::testing
