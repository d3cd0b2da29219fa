#include "tests/unit/policies/tenants/slurm/random_site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace vtrain::testing {
namespace {

/// True one time in `times`.
bool one_in(RandomStream& random, std::uint64_t times) {
  return random.below(times) == 0;
}

std::int64_t from_to(RandomStream& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

/// Limits of few resources, none more often than not.
SiteTres random_tres(RandomStream& random, std::uint64_t times, std::int64_t least) {
  SiteTres tres;
  if (one_in(random, times)) tres["gres/gpu"] = from_to(random, least, 24);
  if (one_in(random, 3 * times)) tres["cpu"] = from_to(random, 8, 48);
  if (one_in(random, 3 * times)) tres["node"] = from_to(random, 1, 4);
  return tres;
}

std::string tres_text(const SiteTres& tres) {
  std::string text;
  for (const auto& [name, amount] : tres)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, amount);
  return text;
}

std::string count_text(const std::optional<std::int64_t>& count) {
  return count ? std::to_string(*count) : "";
}

/// Options of a line of a dump.
std::string dump_options(const SiteAssociation& association) {
  const SiteLimits& limits = association.own;
  std::string text = fmt::format(":Fairshare={}", association.share);
  const auto add = [&text](const char* key, const std::string& value) {
    if (!value.empty()) text += fmt::format(":{}='{}'", key, value);
  };
  add("GrpTRES", tres_text(limits.group_tres));
  add("GrpJobs", count_text(limits.group_jobs));
  add("GrpSubmitJobs", count_text(limits.group_submit));
  add("MaxJobs", count_text(limits.max_jobs));
  add("MaxSubmitJobs", count_text(limits.max_submit));
  add("MaxTRESPerJob", tres_text(limits.max_tres));
  add("MaxWallDurationPerJob", count_text(limits.max_wall));
  return text;
}

template <class T>
void shuffle_in_place(std::vector<T>& list, RandomStream& random) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[random.below(i)]);
}

/// True if each amount of the job is within the limit.
bool allows_alone(const SiteTres& tres, const SiteJob& job) {
  return std::ranges::all_of(tres,
                             [&job](const auto& limit) { return job.amount(limit.first) <= limit.second; });
}

}  // namespace

RandomSite::RandomSite(std::uint64_t seed) {
  RandomStream random(seed, "slurm-site");
  has_submit_limits_ = one_in(random, 4);
  rarity_ = one_in(random, 2) ? 1 : 5;
  constexpr const char* kSchedulers[] = {
      ("SchedulerType=sched/backfill\n"
       "SchedulerParameters=sched_interval=2,bf_interval=1,bf_resolution=1,bf_continue,bf_window=1440\n"),
      "SchedulerType=sched/backfill\nSchedulerParameters=bf_continue,bf_job_part_count_reserve=1\n",
      "SchedulerType=sched/builtin\nSchedulerParameters=sched_interval=2\n"};
  scheduler_ = kSchedulers[random.below(std::size(kSchedulers))];
  constexpr const char* kPreempt[] = {"preempt/none", "preempt/qos", "preempt/qos", "preempt/partition_prio",
                                      "preempt/partition_prio"};
  preempt_ = kPreempt[random.below(std::size(kPreempt))];
  if (preempt_ != "preempt/none") preempt_mode_ = one_in(random, 2) ? "REQUEUE" : "CANCEL";
  make_associations(random);
  make_qos(random);
  make_partitions(random);
  make_jobs(random);
}

void RandomSite::make_associations(RandomStream& random) {
  const auto draw_limits = [&](SiteAssociation& each) {
    SiteLimits& limits = each.own;
    limits.group_tres = random_tres(random, 3 * rarity_, 2);
    if (one_in(random, 5 * rarity_)) limits.group_jobs = from_to(random, 1, 4);
    if (one_in(random, 5 * rarity_)) limits.max_jobs = from_to(random, 1, 3);
    if (one_in(random, 8 * rarity_)) limits.max_wall = from_to(random, 2, 5);
    limits.max_tres = random_tres(random, 8 * rarity_, 4);
    if (has_submit_limits_ && one_in(random, 4)) limits.group_submit = from_to(random, 2, 8);
    if (has_submit_limits_ && one_in(random, 4)) limits.max_submit = from_to(random, 1, 6);
    each.limits = limits;
    if (!each.parent) return;
    // A child has the limits of one job and of one user that it does not set itself from its parent.
    const SiteLimits& above = associations_[*each.parent].limits;
    if (!limits.max_jobs) each.limits.max_jobs = above.max_jobs;
    if (!limits.max_submit) each.limits.max_submit = above.max_submit;
    if (!limits.max_wall) each.limits.max_wall = above.max_wall;
    if (limits.max_tres.empty()) each.limits.max_tres = above.max_tres;
  };
  const std::int64_t accounts = from_to(random, 1, 5);
  for (std::int64_t i = 0; i < accounts; ++i) {
    SiteAssociation account{.name = fmt::format("acct{}", i), .share = from_to(random, 0, 4)};
    if (i > 0 && one_in(random, 2)) account.parent = random.below(static_cast<std::uint64_t>(i));
    draw_limits(account);
    associations_.push_back(std::move(account));
  }
  const std::int64_t users = from_to(random, 1, 7);
  for (std::int64_t i = 0; i < users; ++i) {
    SiteAssociation user{.name = fmt::format("user{}", i % 5),
                         .parent = random.below(static_cast<std::uint64_t>(accounts)),
                         .is_user = true,
                         .share = from_to(random, 1, 4)};
    const auto is_same = [&user](const SiteAssociation& each) {
      return each.is_user && each.name == user.name && each.parent == user.parent;
    };
    if (std::ranges::any_of(associations_, is_same)) continue;
    draw_limits(user);
    users_.push_back(associations_.size());
    associations_.push_back(std::move(user));
  }
}

void RandomSite::make_qos(RandomStream& random) {
  const std::int64_t count = from_to(random, 1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    SiteQos qos{.name = fmt::format("qos{}", i), .priority = from_to(random, 0, 3) * 100};
    SiteLimits& limits = qos.limits;
    limits.group_tres = random_tres(random, 4 * rarity_, 2);
    limits.max_tres_per_user = random_tres(random, 4 * rarity_, 2);
    limits.max_tres_per_account = random_tres(random, 6 * rarity_, 2);
    limits.max_tres = random_tres(random, 6 * rarity_, 4);
    if (one_in(random, 5 * rarity_)) limits.group_jobs = from_to(random, 1, 5);
    if (one_in(random, 5 * rarity_)) limits.max_jobs = from_to(random, 1, 3);
    if (one_in(random, 8 * rarity_)) limits.max_jobs_per_account = from_to(random, 1, 3);
    if (one_in(random, 8 * rarity_)) limits.max_wall = from_to(random, 2, 5);
    qos.beyond_partition = one_in(random, 6);
    qos.over_partition = one_in(random, 4);
    if (preempt_ == "preempt/qos") {
      for (std::int64_t below = 0; below < i; ++below) {
        if (one_in(random, 2)) qos.preempts.push_back(fmt::format("qos{}", below));
      }
      constexpr const char* kModes[] = {"cluster", "cluster", "cluster", "off", "cancel", "requeue"};
      qos.preempt_mode = kModes[random.below(std::size(kModes))];
    }
    qos_.push_back(std::move(qos));
  }
}

void RandomSite::make_partitions(RandomStream& random) {
  const std::int64_t count = from_to(random, 1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    SitePartition partition{.name = fmt::format("part{}", i)};
    partition.first = i == 0 ? 0 : from_to(random, 0, kNodes - 1);
    partition.last = i == 0 ? kNodes - 1 : from_to(random, partition.first, kNodes - 1);
    if (one_in(random, 3 * rarity_)) partition.max_nodes = from_to(random, 1, 3);
    if (one_in(random, 6 * rarity_)) partition.min_nodes = 2;
    if (one_in(random, 3 * rarity_)) partition.max_minutes = from_to(random, 1, 6);
    if (one_in(random, 2)) partition.tier = from_to(random, 1, 4);
    if (preempt_ == "preempt/partition_prio" && one_in(random, 3)) partition.preempt_mode = "OFF";
    if (one_in(random, 4)) partition.qos = random.below(qos_.size());
    partitions_.push_back(std::move(partition));
  }
}

void RandomSite::make_jobs(RandomStream& random) {
  SimTime submit{};
  const std::int64_t count = from_to(random, 10, 45);
  for (std::int64_t i = 0; i < count; ++i) {
    SiteJob asked{.user = users_[random.below(users_.size())],
                  .qos = random.below(qos_.size()),
                  .partitions = {random.below(partitions_.size())},
                  .nodes = one_in(random, 2) ? 1 : from_to(random, 1, kNodes),
                  .cpus = from_to(random, 1, one_in(random, 3) ? kCpus : 6),
                  .gpus = from_to(random, 1, kGpus),
                  .minutes = from_to(random, 1, 6)};
    // A job in several partitions has the limits of the one where it is tried: here those without a QOS.
    const std::size_t other = random.below(partitions_.size());
    if (one_in(random, 3) && other != asked.partitions.front() && !partitions_[other].qos &&
        !partitions_[asked.partitions.front()].qos)
      asked.partitions.push_back(other);
    Job job;
    job.name = workload_.keep(fmt::format("j{}", i));
    submit += std::chrono::seconds(from_to(random, 0, 30));
    job.submit = submit;
    job.duration = std::chrono::seconds(one_in(random, 10) ? asked.minutes * 60 + 7
                                                           : from_to(random, 1, asked.minutes * 60));
    job.requested_time = std::chrono::minutes(asked.minutes);
    job.num_gpus = GpuCount(static_cast<std::int32_t>(asked.nodes * asked.gpus));
    job.user = workload_.user(associations_[asked.user].name);
    job.account = workload_.account(associations_[*associations_[asked.user].parent].name);
    job.tenant = workload_.tenant(associations_[*associations_[asked.user].parent].name);
    job.qos = workload_.qos(qos_[asked.qos].name);
    std::string queue;
    for (const std::size_t partition : asked.partitions)
      queue += (queue.empty() ? "" : ",") + partitions_[partition].name;
    job.queue = workload_.queue(queue);
    JobRequirements& requirements = workload_.add_requirements(job);
    requirements.num_nodes = static_cast<std::int32_t>(asked.nodes);
    requirements.cpus_per_node = static_cast<std::int32_t>(asked.cpus);
    requirements.gpus_per_node = GpuCount(static_cast<std::int32_t>(asked.gpus));
    workload_.jobs.push_back(job);
    jobs_.push_back(std::move(asked));
  }
}

void RandomSite::write(const std::filesystem::path& folder, std::uint64_t seed) const {
  RandomStream random(seed, "slurm-order");
  std::string conf = fmt::format(
      "ClusterName=test\nSlurmctldHost=head\nSelectType=select/cons_tres\nGresTypes=gpu\n"
      "AccountingStorageTRES=gres/gpu\nAccountingStorageEnforce=associations,limits,qos\n{}PreemptType={}\n"
      "PreemptMode={}\nPriorityType=priority/multifactor\nPriorityWeightAge=1000\n"
      "PriorityWeightFairshare=10000\nPriorityWeightQOS=5000\nPriorityCalcPeriod=1\n"
      "NodeName=n[0-{}] CPUs={} RealMemory=64000 Gres=gpu:a100:{}\n",
      scheduler_, preempt_, preempt_mode_, kNodes - 1, kCpus, kGpus);
  for (const SitePartition& each : partitions_) {
    conf += fmt::format("PartitionName={} Nodes=n[{}-{}] PriorityTier={}", each.name, each.first, each.last,
                        each.tier);
    if (each.max_nodes) conf += fmt::format(" MaxNodes={}", *each.max_nodes);
    if (each.min_nodes > 0) conf += fmt::format(" MinNodes={}", each.min_nodes);
    if (each.max_minutes) conf += fmt::format(" MaxTime={}", *each.max_minutes);
    if (!each.preempt_mode.empty()) conf += " PreemptMode=" + each.preempt_mode;
    if (each.qos) conf += " QOS=" + qos_[*each.qos].name;
    conf += "\n";
  }
  std::ofstream(folder / "slurm.conf") << conf;

  // Sections of a dump: the children of one account each.
  std::vector<std::optional<std::size_t>> parents = {std::nullopt};
  for (std::size_t i = 0; i < associations_.size(); ++i) {
    if (!associations_[i].is_user) parents.emplace_back(i);
  }
  shuffle_in_place(parents, random);
  std::ofstream dump(folder / "associations-dump.cfg");
  dump << "Cluster - 'test':Fairshare=1\n";
  for (const auto& parent : parents) {
    std::vector<std::string> lines;
    for (const SiteAssociation& each : associations_) {
      if (each.parent == parent)
        lines.push_back(
            fmt::format("{} - '{}'{}\n", each.is_user ? "User" : "Account", each.name, dump_options(each)));
    }
    shuffle_in_place(lines, random);
    dump << fmt::format("Parent - '{}'\n", parent ? associations_[*parent].name : "root");
    for (const std::string& line : lines)
      dump << line;
  }

  std::vector<std::string> rows;
  for (const SiteQos& each : qos_) {
    const SiteLimits& limits = each.limits;
    std::string flags = each.beyond_partition ? "PartitionMaxNodes,PartitionTimeLimit" : "";
    if (each.over_partition) flags += flags.empty() ? "OverPartQOS" : ",OverPartQOS";
    std::string preempts;
    for (const std::string& other : each.preempts)
      preempts += (preempts.empty() ? "" : ",") + other;
    rows.push_back(fmt::format(
        "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}\n", each.name, each.priority, preempts, each.preempt_mode,
        flags, tres_text(limits.group_tres), count_text(limits.group_jobs), tres_text(limits.max_tres),
        count_text(limits.max_wall), tres_text(limits.max_tres_per_user), count_text(limits.max_jobs),
        tres_text(limits.max_tres_per_account), count_text(limits.max_jobs_per_account)));
  }
  shuffle_in_place(rows, random);
  std::ofstream table(folder / "qos.txt");
  table << "Name|Priority|Preempt|PreemptMode|Flags|GrpTRES|GrpJobs|MaxTRES|MaxWall|MaxTRESPU|MaxJobsPU|"
           "MaxTRESPA|MaxJobsPA\n";
  for (const std::string& row : rows)
    table << row;
}

std::vector<std::size_t> RandomSite::qos_of(const SiteJob& job) const {
  const std::optional<std::size_t> partition = partitions_[job.partitions.front()].qos;
  if (!partition || *partition == job.qos) return {job.qos};
  if (qos_[job.qos].over_partition) return {job.qos, *partition};
  return {*partition, job.qos};
}

bool RandomSite::is_below(std::size_t association, std::size_t ancestor) const {
  for (std::optional<std::size_t> at = association; at; at = associations_[*at].parent) {
    if (*at == ancestor) return true;
  }
  return false;
}

bool RandomSite::is_covered(const SiteJob& job, std::size_t qos, const std::string& tres,
                            SiteTres SiteLimits::*list) const {
  for (const std::size_t first : qos_of(job)) {
    if (first == qos) return false;
    if ((qos_[first].limits.*list).contains(tres)) return true;
  }
  return false;
}

bool RandomSite::is_covered(const SiteJob& job, std::size_t qos,
                            std::optional<std::int64_t> SiteLimits::*count) const {
  for (const std::size_t first : qos_of(job)) {
    if (first == qos) return false;
    if (qos_[first].limits.*count) return true;
  }
  return false;
}

std::vector<SiteRule> RandomSite::rules() const {
  std::vector<SiteRule> rules;
  // `counts(job)`: it is of the group; `is_bound(job)`: the limit holds for it.
  const auto add = [&](std::string text, std::int64_t limit, std::string tres, const auto& counts,
                       const auto& is_bound) {
    SiteRule rule{.text = std::move(text), .limit = limit, .tres = std::move(tres)};
    rule.bound.resize(jobs_.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (!counts(jobs_[i])) continue;
      rule.counted.push_back(i);
      rule.bound[i] = is_bound(jobs_[i]);
    }
    rules.push_back(std::move(rule));
  };
  const std::size_t no_qos = qos_.size();
  for (std::size_t at = 0; at < associations_.size(); ++at) {
    const SiteAssociation& each = associations_[at];
    const auto counts = [&](const SiteJob& job) { return is_below(job.user, at); };
    for (const auto& group : each.limits.group_tres) {
      const auto& name = group.first;
      const auto& limit = group.second;
      add(each.name + " GrpTRES " + name, limit, name, counts,
          [&](const SiteJob& job) { return !is_covered(job, no_qos, name, &SiteLimits::group_tres); });
    }
    if (each.limits.group_jobs) {
      add(each.name + " GrpJobs", *each.limits.group_jobs, "", counts,
          [&](const SiteJob& job) { return !is_covered(job, no_qos, &SiteLimits::group_jobs); });
    }
    if (each.is_user && each.limits.max_jobs) {
      add(each.name + " MaxJobs", *each.limits.max_jobs, "", counts, [&](const SiteJob& job) {
        return !is_covered(job, no_qos, &SiteLimits::max_jobs) &&
               !is_covered(job, no_qos, &SiteLimits::max_jobs_per_account);
      });
    }
  }
  for (std::size_t at = 0; at < qos_.size(); ++at) {
    const SiteQos& qos = qos_[at];
    const auto has = [&](const SiteJob& job) {
      const std::vector<std::size_t> list = qos_of(job);
      return std::ranges::find(list, at) != list.end();
    };
    const auto add_list = [&](const char* name, SiteTres SiteLimits::*list, const auto& counts) {
      for (const auto& entry : qos.limits.*list) {
        const auto& tres = entry.first;
        const auto& limit = entry.second;
        add(fmt::format("{} {} {}", qos.name, name, tres), limit, tres, counts,
            [&](const SiteJob& job) { return !is_covered(job, at, tres, list); });
      }
    };
    const auto add_count = [&](const char* name, std::optional<std::int64_t> SiteLimits::*count,
                               const auto& counts) {
      if (!(qos.limits.*count)) return;
      add(qos.name + " " + name, *(qos.limits.*count), "", counts,
          [&](const SiteJob& job) { return !is_covered(job, at, count); });
    };
    add_list("GrpTRES", &SiteLimits::group_tres, has);
    add_count("GrpJobs", &SiteLimits::group_jobs, has);
    for (std::size_t other = 0; other < associations_.size(); ++other) {
      const SiteAssociation& each = associations_[other];
      if (!each.is_user) {
        const auto of_account = [&](const SiteJob& job) {
          return has(job) && associations_[job.user].parent == other;
        };
        add_list("MaxTRESPA", &SiteLimits::max_tres_per_account, of_account);
        add_count("MaxJobsPA", &SiteLimits::max_jobs_per_account, of_account);
        continue;
      }
      // A user in several accounts is one person.
      const auto of_user = [&](const SiteJob& job) {
        return has(job) && associations_[job.user].name == each.name;
      };
      add_list("MaxTRESPU", &SiteLimits::max_tres_per_user, of_user);
      add_count("MaxJobsPU", &SiteLimits::max_jobs, of_user);
    }
  }
  return rules;
}

std::vector<std::size_t> RandomSite::partitions_of(const SiteJob& job) const {
  const bool beyond = qos_[job.qos].beyond_partition;
  std::vector<std::size_t> list;
  for (const std::size_t at : job.partitions) {
    const SitePartition& partition = partitions_[at];
    const bool is_allowed = job.nodes <= partition.last - partition.first + 1 &&
                            (!partition.max_nodes || job.nodes <= *partition.max_nodes || beyond) &&
                            job.nodes >= partition.min_nodes &&
                            (!partition.max_minutes || job.minutes <= *partition.max_minutes || beyond);
    if (is_allowed) list.push_back(at);
  }
  return list;
}

std::uint32_t RandomSite::nodes_of(const std::vector<std::size_t>& partitions) const {
  std::uint32_t nodes = 0;
  for (const std::size_t at : partitions) {
    for (std::int64_t node = partitions_[at].first; node <= partitions_[at].last; ++node)
      nodes |= 1U << static_cast<unsigned>(node);
  }
  return nodes;
}

bool RandomSite::is_within_own_limits(const SiteJob& job) const {
  SiteTres most;
  std::optional<std::int64_t> wall;
  const auto take = [&](const SiteLimits& limits) {
    most.insert(limits.max_tres.begin(), limits.max_tres.end());
    if (!wall) wall = limits.max_wall;
  };
  for (const std::size_t qos : qos_of(job))
    take(qos_[qos].limits);
  take(associations_[job.user].limits);
  return allows_alone(most, job) && (!wall || job.minutes <= *wall);
}

bool RandomSite::can_start(std::size_t job) const {
  const SiteJob& asked = jobs_[job];
  if (partitions_of(asked).empty() || !is_within_own_limits(asked)) return false;
  const std::vector<SiteRule> all = rules();
  return std::ranges::all_of(all, [&](const SiteRule& rule) {
    if (!rule.bound[job]) return true;
    return (rule.tres.empty() ? 1 : asked.amount(rule.tres)) <= rule.limit;
  });
}

bool RandomSite::is_preemptible(const SiteJob& job) const {
  if (preempt_ == "preempt/none") return false;
  if (preempt_ == "preempt/qos") {
    if (qos_[job.qos].preempt_mode == "off") return false;
    return std::ranges::any_of(qos_, [&](const SiteQos& other) {
      return std::ranges::find(other.preempts, qos_[job.qos].name) != other.preempts.end();
    });
  }
  std::int64_t highest = 0;
  for (const SitePartition& each : partitions_)
    highest = std::max(highest, each.tier);
  return std::ranges::any_of(job.partitions, [&](std::size_t at) {
    return partitions_[at].preempt_mode.empty() && partitions_[at].tier < highest;
  });
}

bool RandomSite::may_stop_without_end() const {
  return preempt_ == "preempt/qos" && std::ranges::any_of(qos_, [&](const SiteQos& taking) {
           return std::ranges::any_of(qos_, [&](const SiteQos& other) {
             return std::ranges::find(taking.preempts, other.name) != taking.preempts.end() &&
                    other.preempt_mode != "off" && taking.priority < other.priority;
           });
         });
}

}  // namespace vtrain::testing
