#include "sched/metrics/tenant_shares.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "sched/cluster/gpu_types.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/tenants/share_account.hpp"

namespace vtrain {
namespace {

/// Order of the changes of one instant.
enum class ShareStage : std::uint8_t { EndOrSubmission, Preemption, Start };

/// A change of what a job holds or waits for.
struct ShareChange {
  SimTime time{};
  JobId job{};
  std::int32_t held = 0;    ///< change of GPUs held
  std::int8_t waiting = 0;  ///< 1: it waits from now on, -1: no longer
  ShareStage stage = ShareStage::EndOrSubmission;
  std::uint32_t pool = 0;
  double gpu_hours = 0;  ///< of a segment that a policy ended
};

/// Values with the time for which they held.
class TimedValues {
 public:
  void add(double value, double seconds) { values_.emplace_back(value, seconds); }
  /// Least value that covers this part of the time together with all below it; NaN without time.
  double percentile(double percent) {
    std::sort(values_.begin(), values_.end());
    double all = 0;
    for (const auto& [value, seconds] : values_)
      all += seconds;
    double so_far = 0;
    for (const auto& [value, seconds] : values_) {
      so_far += seconds;
      if (so_far >= all * percent / 100) return value;
    }
    return kNoValue;
  }

 private:
  std::vector<std::pair<double, double>> values_;
};

/// GPUs of one node of the tree at an instant, over all pools.
struct NodeShares {
  double due = 0;
  double held = 0;
  double borrowed = 0;
  double lent = 0;
};

/// Walks through a replay and adds up the shares of tenants.
class ShareSweep {
 public:
  ShareSweep(const Workload& workload, const ClusterSpec& cluster, const TenantTree& tenants,
             const SimulationResult& result)
      : workload_(workload),
        tenants_(tenants),
        result_(result),
        types_(cluster, workload.gpu_types),
        pools_(share_pools(tenants, cluster, workload.gpu_types, !result.holdings_by_type)),
        tree_(tenants, pools_),
        account_(tree_, pools_),
        leaves_(tree_.leaves_by_name(tenants, workload.tenants)),
        figures_(tree_.size()),
        deficits_(tree_.size()),
        states_(tree_.size()),
        dues_(tree_.size()) {}

  TenantShareSummary run() {
    if (workload_.jobs.empty()) return {};
    collect_changes();
    begin_ = workload_.jobs.front().submit;
    end_ = std::max(result_.last_release, begin_);
    summary_.begin = begin_;
    summary_.interval = std::max((end_ - begin_) / kShareIntervals, SimDuration(1));
    for (TenantShareFigures& each : figures_) {
      each.due.resize(kShareIntervals);
      each.received.resize(kShareIntervals);
    }
    choose_distance();
    walk();
    take_figures();
    return std::move(summary_);
  }

 private:
  std::uint32_t leaf_of(const Job& job) const {
    return job.tenant ? leaves_[job.tenant.value] : leaves_.back();
  }

  void collect_changes() {
    changes_.reserve(workload_.jobs.size() + 2 * result_.holdings.size());
    for (std::uint32_t i = 0; i < workload_.jobs.size(); ++i) {
      if (result_.outcomes[i].state != JobState::Rejected)
        changes_.push_back({.time = workload_.jobs[i].submit, .job = JobId(i), .waiting = 1});
    }
    for (const JobHolding& each : result_.holdings) {
      const std::uint32_t pool = pools_.of_type[each.type];
      const bool goes_on = each.how != SegmentEnd::Done;
      const std::int32_t gpus = each.gpus.value;
      const std::int8_t once = each.is_first_part ? 1 : 0;
      changes_.push_back({.time = each.begin,
                          .job = each.job,
                          .held = gpus,
                          .waiting = static_cast<std::int8_t>(-once),
                          .stage = ShareStage::Start,
                          .pool = pool});
      changes_.push_back(
          {.time = each.end,
           .job = each.job,
           .held = -gpus,
           .waiting = goes_on ? once : std::int8_t{0},
           .stage = each.how == SegmentEnd::Preempted ? ShareStage::Preemption : ShareStage::EndOrSubmission,
           .pool = pool,
           .gpu_hours = to_seconds(each.end - each.begin) * gpus / kSecondsPerHour});
    }
    std::stable_sort(changes_.begin(), changes_.end(), [](const ShareChange& a, const ShareChange& b) {
      return a.time != b.time ? a.time < b.time : a.stage < b.stage;
    });
  }

  void choose_distance() {
    std::int64_t instants = 0;
    for (std::size_t i = 0; i < changes_.size(); ++i)
      instants += i == 0 || changes_[i].time != changes_[i - 1].time ? 1 : 0;
    const auto nodes = static_cast<std::int64_t>(tree_.size());
    if (instants <= kMostShareValues / nodes) return;
    summary_.is_sampled = true;
    const std::int64_t samples = std::max<std::int64_t>(kMostShareValues / nodes, kShareIntervals);
    distance_ = std::max((end_ - begin_) / samples, SimDuration(1));
  }

  void walk() {
    SimTime now = begin_;
    for (std::size_t i = 0; i < changes_.size();) {
      const SimTime time = changes_[i].time;
      if (distance_.count() == 0) {
        add_time(now, std::min(time, end_));
        now = time;
      } else {
        // The state in force at each sample stands for the time until the next.
        for (; now < time && now < end_; now += distance_)
          add_time(now, std::min(now + distance_, end_));
      }
      // Preemptions follow from the demand of this instant, after ends and submissions.
      bool is_known = distance_.count() > 0;
      for (; i < changes_.size() && changes_[i].time == time; ++i) {
        if (changes_[i].stage == ShareStage::Preemption) {
          if (!is_known) find_states();
          is_known = true;
          note_reclaim(changes_[i]);
        }
        apply(changes_[i]);
      }
    }
  }

  void note_reclaim(const ShareChange& change) {
    const std::uint32_t leaf = leaf_of(workload_.jobs[change.job.value]);
    if (static_cast<double>(held(leaf)) <= dues_[leaf] + 1e-9) return;
    for (std::uint32_t node = leaf; node != ShareTree::kNone; node = tree_.node(node).parent)
      figures_[node].reclaimed_gpu_hours += change.gpu_hours;
  }

  std::int64_t held(std::uint32_t node) const {
    std::int64_t sum = 0;
    for (std::size_t pool = 0; pool < pools_.size(); ++pool)
      sum += account_.use(pool).of(node);
    return sum;
  }

  void apply(const ShareChange& change) {
    const Job& job = workload_.jobs[change.job.value];
    const std::uint32_t leaf = leaf_of(job);
    if (change.waiting != 0) {
      const std::size_t kind = job.gpu_type && result_.holdings_by_type ? job.gpu_type.value + 1 : 0;
      account_.add_waiting(leaf, kind, types_.allowed(job.gpu_type),
                           std::int64_t{change.waiting} * job.num_gpus.value);
    }
    if (change.held != 0) account_.add_held(leaf, change.pool, change.held);
  }

  void find_states() {
    std::fill(states_.begin(), states_.end(), NodeShares{});
    for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
      const ShareDivision& shares = account_.shares(pool);
      const ShareUse& use = account_.use(pool);
      for (std::uint32_t node = 0; node < tree_.size(); ++node) {
        states_[node].due += shares.due(node);
        states_[node].held += static_cast<double>(use.of(node));
        states_[node].borrowed +=
            static_cast<double>(std::max<std::int64_t>(use.of(node) - use.limits(node).nominal, 0));
        add_lent(use, node);
      }
    }
    for (std::uint32_t node = 0; node < tree_.size(); ++node)
      dues_[node] = states_[node].due;
  }

  /// Of the GPUs that the children of a node hold beyond their quotas, those of no child's quota count first.
  /// The rest is lent by the others, in proportion to what they have left to lend.
  void add_lent(const ShareUse& use, std::uint32_t parent) {
    const ShareTree::Node& node = tree_.node(parent);
    std::int64_t borrowed = -use.limits(parent).nominal;
    std::int64_t unused = 0;
    const auto left = [&](std::uint32_t child) {
      const ShareTree::Limits& limits = use.limits(child);
      return std::max<std::int64_t>(limits.nominal - std::max(use.of(child), limits.reserve), 0);
    };
    for (std::uint32_t child = node.first_child; child < node.end_child; ++child) {
      borrowed += std::max(use.of(child), use.limits(child).nominal);
      unused += left(child);
    }
    if (borrowed <= 0 || unused == 0) return;
    const double part = std::min(1.0, static_cast<double>(borrowed) / static_cast<double>(unused));
    for (std::uint32_t child = node.first_child; child < node.end_child; ++child)
      states_[child].lent += static_cast<double>(left(child)) * part;
  }

  /// Counts the present state from one instant to another.
  void add_time(SimTime from, SimTime until) {
    if (until <= from) return;
    find_states();
    const double seconds = to_seconds(until - from);
    const double hours = seconds / kSecondsPerHour;
    double due = 0;
    double missing = 0;
    for (std::uint32_t number = 1; number < tree_.size(); ++number) {
      const NodeShares& state = states_[number];
      TenantShareFigures& figures = figures_[number];
      figures.due_gpu_hours += state.due * hours;
      figures.received_gpu_hours += state.held * hours;
      figures.borrowed_gpu_hours += state.borrowed * hours;
      figures.lent_gpu_hours += state.lent * hours;
      if (state.due <= 0) continue;
      const double deficit = std::max(0.0, state.due - state.held);
      deficits_[number].add(deficit / state.due, seconds);
      if (!tree_.node(number).is_leaf()) continue;
      due += state.due;
      missing += deficit;
    }
    if (due > 0) all_deficits_.add(missing / due, seconds);
    add_to_intervals(from, until);
  }

  void add_to_intervals(SimTime from, SimTime until) {
    while (from < until) {
      const auto interval =
          std::min<std::int64_t>((from - begin_) / summary_.interval, std::int64_t{kShareIntervals} - 1);
      const SimTime next = interval + 1 == kShareIntervals
                               ? until
                               : std::min(until, begin_ + summary_.interval * (interval + 1));
      const double part = to_seconds(next - from) / to_seconds(summary_.interval);
      const auto at = static_cast<std::size_t>(interval);
      for (std::uint32_t number = 1; number < tree_.size(); ++number) {
        figures_[number].due[at] += states_[number].due * part;
        figures_[number].received[at] += states_[number].held * part;
      }
      from = next;
    }
  }

  /// True if a node stands for a tenant, and not only for the jobs of one with tenants below it.
  bool is_tenant(std::uint32_t number) const {
    const std::uint32_t tenant = tree_.node(number).tenant;
    return tenant == ShareTree::kNone || tree_.node_of(tenant) == number;
  }

  void count_preemptions() {
    for (std::size_t i = 0; i < workload_.jobs.size(); ++i) {
      const std::int64_t preemptions = result_.outcomes[i].preemptions;
      if (preemptions == 0) continue;
      for (std::uint32_t node = leaf_of(workload_.jobs[i]); node != ShareTree::kNone;
           node = tree_.node(node).parent)
        figures_[node].preemptions += preemptions;
    }
  }

  void take_figures() {
    count_preemptions();
    summary_.deficit_p95 = all_deficits_.percentile(95);
    double sum = 0;
    double sum_of_squares = 0;
    double count = 0;
    for (std::uint32_t number = 1; number < tree_.size(); ++number) {
      const TenantShareFigures& figures = figures_[number];
      if (!tree_.node(number).is_leaf() || figures.due_gpu_hours <= 0) continue;
      const double part = figures.received_gpu_hours / figures.due_gpu_hours;
      sum += part;
      sum_of_squares += part * part;
      ++count;
    }
    if (sum > 0) summary_.jain_index = sum * sum / (count * sum_of_squares);
    const bool has_quotas = std::ranges::any_of(tenants_.tenants, [](const Tenant& tenant) {
      return std::ranges::any_of(tenant.quotas, [](const Quota& quota) { return quota.nominal > 0; });
    });
    if (has_quotas) {
      summary_.borrowed_gpu_hours = summary_.lent_gpu_hours = summary_.reclaimed_gpu_hours = 0;
      for (std::uint32_t top = tree_.node(0).first_child; top < tree_.node(0).end_child; ++top) {
        summary_.borrowed_gpu_hours += figures_[top].borrowed_gpu_hours;
        summary_.lent_gpu_hours += figures_[top].lent_gpu_hours;
        summary_.reclaimed_gpu_hours += figures_[top].reclaimed_gpu_hours;
      }
    }
    std::map<std::string, TenantShareFigures> by_name;
    for (std::uint32_t number = 1; number < tree_.size(); ++number) {
      TenantShareFigures& figures = figures_[number];
      if (!is_tenant(number) || figures.due_gpu_hours <= 0) continue;
      figures.deficit_p95 = deficits_[number].percentile(95);
      const ShareTree::Node& node = tree_.node(number);
      if (node.tenant != ShareTree::kNone) {
        const Tenant& tenant = tenants_.tenants[node.tenant];
        figures.tenant = tenant.name;
        if (tenant.parent) figures.parent = tenants_.tenants[*tenant.parent].name;
        figures.has_jobs = figures_[tree_.leaf_of(node.tenant)].due_gpu_hours > 0;
      } else {
        figures.has_jobs = true;
      }
      by_name.emplace(figures.tenant, std::move(figures));
    }
    for (auto& [name, figures] : by_name)
      summary_.tenants.push_back(std::move(figures));
  }

  const Workload& workload_;
  const TenantTree& tenants_;
  const SimulationResult& result_;
  GpuTypes types_;
  SharePools pools_;
  ShareTree tree_;
  ShareAccount account_;
  std::vector<std::uint32_t> leaves_;        ///< [tenants of jobs], then jobs without one
  std::vector<TenantShareFigures> figures_;  ///< [nodes]
  std::vector<TimedValues> deficits_;        ///< [nodes]
  TimedValues all_deficits_;
  std::vector<NodeShares> states_;  ///< [nodes], now
  std::vector<double> dues_;        ///< [nodes], when shares were last found
  std::vector<ShareChange> changes_;
  SimTime begin_{};
  SimTime end_{};
  SimDuration distance_{0};  ///< time between samples; 0: shares are found at each change
  TenantShareSummary summary_;
};

}  // namespace

TenantShareSummary summarize_tenant_shares(const Workload& workload, const ClusterSpec& cluster,
                                           const TenantTree& tenants, const SimulationResult& result) {
  return ShareSweep(workload, cluster, tenants, result).run();
}

}  // namespace vtrain
