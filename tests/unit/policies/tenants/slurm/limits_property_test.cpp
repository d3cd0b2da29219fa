/// Properties of `slurm` on random clusters: limits by brute force, preemption, starvation, order of files.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/tenants/slurm/random_site.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {
namespace {

SimulationResult replay_site(const RandomSite& site, const std::filesystem::path& folder) {
  return replay(site.workload(), "4x8", "slurm:folder=" + folder.string(), {.record_segments = true});
}

/// Calls `check(running, started)` after each instant at which jobs start: positions of jobs.
template <class Check>
void each_start(const SimulationResult& result, const Check& check) {
  std::map<SimTime, std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>> changes;
  for (const JobSegment& segment : result.segments) {
    if (segment.begin == segment.end) continue;
    changes[segment.end].first.push_back(segment.job.value);
    changes[segment.begin].second.push_back(segment.job.value);
  }
  std::set<std::uint32_t> running;
  for (const auto& [time, jobs] : changes) {
    for (const std::uint32_t job : jobs.first)
      running.erase(job);
    for (const std::uint32_t job : jobs.second)
      running.insert(job);
    if (!jobs.second.empty()) check(running, jobs.second);
  }
}

void check_rule(const RandomSite& site, const SiteRule& rule, const std::set<std::uint32_t>& running,
                const std::vector<std::uint32_t>& started) {
  const auto is_started = [&](std::size_t job) { return std::ranges::find(started, job) != started.end(); };
  std::int64_t used = 0;
  bool is_tried = false;
  for (const std::size_t job : rule.counted) {
    if (!running.contains(static_cast<std::uint32_t>(job))) continue;
    // Jobs of other limits may have started after those of this one.
    if (is_started(job) && !rule.bound[job]) continue;
    is_tried = is_tried || is_started(job);
    used += rule.tres.empty() ? 1 : site.jobs()[job].amount(rule.tres);
  }
  if (is_tried) CHECK_MESSAGE(used <= rule.limit, rule.text);
}

/// Jobs find room: in each set of nodes, those that may run nowhere else.
void check_nodes(const RandomSite& site, const std::set<std::uint32_t>& running) {
  for (std::uint32_t set = 1; set < 1U << RandomSite::kNodes; ++set) {
    std::int64_t nodes = 0;
    for (std::uint32_t rest = set; rest != 0; rest &= rest - 1)
      ++nodes;
    std::int64_t cpus = 0;
    std::int64_t gpus = 0;
    for (const std::uint32_t job : running) {
      const SiteJob& asked = site.jobs()[job];
      if ((site.nodes_of(site.partitions_of(asked)) & ~set) != 0) continue;
      cpus += asked.amount("cpu");
      gpus += asked.amount("gres/gpu");
    }
    CHECK(cpus <= nodes * RandomSite::kCpus);
    CHECK(gpus <= nodes * RandomSite::kGpus);
  }
}

}  // namespace

TEST_CASE("slurm: no limit is exceeded at any instant, and every job that may start does") {
  std::int64_t preempted = 0;
  std::int64_t stuck = 0;
  const TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < rounds(400); ++seed) {
    CAPTURE(seed);
    const RandomSite site(seed);
    site.write(folder.path(), seed);
    const SimulationResult result = replay_site(site, folder.path());
    check_gpus_in_use(result, RandomSite::kNodes * RandomSite::kGpus);
    const std::vector<SiteRule> rules = site.rules();
    each_start(result,
               [&](const std::set<std::uint32_t>& running, const std::vector<std::uint32_t>& started) {
                 for (const SiteRule& rule : rules)
                   check_rule(site, rule, running, started);
                 check_nodes(site, running);
               });
    if (result.stopped_early) {
      CHECK(site.may_stop_without_end());
      continue;
    }
    std::set<std::uint32_t> has_run;
    for (const JobSegment& segment : result.segments)
      has_run.insert(segment.job.value);
    for (std::uint32_t i = 0; i < site.jobs().size(); ++i) {
      CAPTURE(i);
      const JobOutcome& outcome = result.outcomes[i];
      const bool is_preemptible = site.is_preemptible(site.jobs()[i]);
      if (!is_preemptible) CHECK(outcome.preemptions == 0);
      if (outcome.state == JobState::Cancelled) CHECK(is_preemptible);
      if (outcome.preemptions > 0 || outcome.state == JobState::Cancelled) ++preempted;
      // What has run was allowed to, and has come to its end.
      if (!site.can_start(i)) {
        CHECK(!has_run.contains(i));
        CHECK((outcome.state == JobState::Unfinished || outcome.state == JobState::Rejected));
        ++stuck;
      } else if (!site.has_submit_limits() || outcome.state != JobState::Rejected) {
        // A job may be stopped in the instant of its start.
        CHECK((has_run.contains(i) || outcome.state == JobState::Cancelled));
        CHECK((outcome.state == JobState::Completed || outcome.state == JobState::Failed ||
               outcome.state == JobState::Cancelled));
      }
    }
  }
  CHECK(preempted >= enough(100));
  CHECK(stuck >= enough(400));
}

TEST_CASE("slurm: a partition that a job may not use neither runs it nor waits for it") {
  const TemporaryFolder folder;
  folder.write("slurm.conf",
               "ClusterName=test\nSlurmctldHost=head\nSelectType=select/cons_tres\nGresTypes=gpu\n"
               "PriorityType=priority/basic\nSchedulerType=sched/backfill\n"
               "NodeName=n[0-3] CPUs=16 RealMemory=64000 Gres=gpu:a100:8\n"
               "PartitionName=short Nodes=n0 MaxTime=2\nPartitionName=long Nodes=n[0-3] Default=YES\n");
  Workload workload = make_workload({{.submit_s = 0, .duration_s = 100, .num_gpus = 32, .requested_s = 120},
                                     {.submit_s = 1, .duration_s = 200, .num_gpus = 8, .requested_s = 240},
                                     {.submit_s = 2, .duration_s = 30, .num_gpus = 8, .requested_s = 60}});
  workload.jobs[1].queue = workload.queue("short,long");
  workload.jobs[2].queue = workload.queue("short");
  const SimulationResult result =
      replay(workload, "4x8", "slurm:folder=" + folder.path().string(), {.record_segments = true});
  // Both start with the first end; the short one has its partition's only node, as nobody else may use it.
  for (const JobOutcome& outcome : result.outcomes)
    CHECK(outcome.state == JobState::Completed);
  CHECK(to_seconds(result.outcomes[1].start.time_since_epoch()) < 103);
  CHECK(to_seconds(result.outcomes[2].end.time_since_epoch()) < 335);
}

TEST_CASE("slurm: limits on submitted jobs hold, and refuse no other job") {
  std::int64_t refused = 0;
  const TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < rounds(400); ++seed) {
    CAPTURE(seed);
    const RandomSite site(seed);
    if (!site.has_submit_limits()) continue;
    site.write(folder.path(), seed);
    const SimulationResult result = replay_site(site, folder.path());
    const auto& jobs = site.workload().jobs;
    const auto is_below = [&](std::size_t job, std::size_t ancestor) {
      for (std::optional<std::size_t> at = site.jobs()[job].user; at; at = site.associations()[*at].parent) {
        if (*at == ancestor) return true;
      }
      return false;
    };
    // Jobs of an association that are there when `job` comes. A job counts for a moment after its end.
    const auto count = [&](std::size_t job, std::size_t association, SimDuration late) {
      std::int64_t there = 0;
      for (std::size_t other = 0; other < job; ++other) {
        const JobOutcome& outcome = result.outcomes[other];
        if (outcome.state == JobState::Rejected || !is_below(other, association)) continue;
        const bool has_left = outcome.state != JobState::Unfinished && outcome.end + late <= jobs[job].submit;
        there += has_left ? 0 : 1;
      }
      return there;
    };
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      CAPTURE(job);
      const bool is_refused = result.outcomes[job].state == JobState::Rejected;
      bool is_full = false;
      for (std::size_t at = 0; at < site.associations().size(); ++at) {
        const SiteAssociation& each = site.associations()[at];
        if (!is_below(job, at)) continue;
        std::optional<std::int64_t> limit = each.limits.group_submit;
        if (each.is_user && each.limits.max_submit)
          limit = std::min(limit.value_or(*each.limits.max_submit), *each.limits.max_submit);
        if (!limit) continue;
        if (!is_refused) CHECK(count(job, at, SimDuration(0)) < *limit);
        // A job that was stopped leaves after `KillWait`, 30 s.
        is_full = is_full || count(job, at, std::chrono::seconds(31)) >= *limit;
      }
      if (is_refused) CHECK((is_full || !site.can_start(job)));
      refused += is_refused ? 1 : 0;
    }
  }
  CHECK(refused >= enough(100));
}

TEST_CASE("slurm: the order of accounts, users and QOS in the files changes nothing") {
  const TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < rounds(150); ++seed) {
    CAPTURE(seed);
    const RandomSite site(seed);
    site.write(folder.path(), seed);
    const SimulationResult first = replay_site(site, folder.path());
    site.write(folder.path(), seed + 1000);
    check_same(first, replay_site(site, folder.path()));
  }
}

}  // namespace vtrain::testing
