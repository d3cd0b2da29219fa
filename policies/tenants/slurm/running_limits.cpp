#include "policies/tenants/slurm/running_limits.hpp"

#include <algorithm>

namespace vtrain::slurm {
namespace {

/// True if `used` and `more` together are within limits. Resources in `covered` have a limit that takes
/// precedence; all in `limits` are added to them.
bool is_within(const TresList& limits, const TresList& used, const TresList& more, TresList& covered) {
  for (const TresAmount& limit : limits) {
    if (amount_of(covered, limit.tres) > 0) continue;
    if (amount_of(used, limit.tres) + amount_of(more, limit.tres) > limit.amount) return false;
  }
  for (const TresAmount& limit : limits)
    add_amount(covered, limit.tres, 1);
  return true;
}

/// True if one more job is within a limit. A limit takes precedence over later ones.
bool one_more(const std::optional<std::int64_t>& limit, std::int64_t count, bool& covered) {
  if (!limit || covered) return true;
  covered = true;
  return count < *limit;
}

TresList per_node(const LimitedJob& job) {
  TresList list = job.tres;
  for (TresAmount& each : list)
    each.amount /= job.nodes;
  return list;
}

TresList with_minutes(const LimitedJob& job) {
  TresList list = job.tres;
  for (TresAmount& each : list)
    each.amount *= static_cast<double>(job.limit_minutes);
  return list;
}

}  // namespace

RunningLimits::RunningLimits(const AssociationTree& tree, const std::vector<Qos>& qos, bool has_limits)
    : tree_(tree),
      qos_(qos),
      has_limits_(has_limits),
      associations_(tree.list().size()),
      by_qos_(qos.size()) {}

std::vector<std::uint32_t> RunningLimits::qos_of(const LimitedJob& job) const {
  std::vector<std::uint32_t> list;
  // The QOS of the partition goes first, unless that of the job says otherwise.
  if (job.partition_qos) list.push_back(*job.partition_qos);
  if (job.qos && job.qos != job.partition_qos) list.push_back(*job.qos);
  if (list.size() == 2 && qos_[*job.qos].overrides_partition_qos) std::swap(list[0], list[1]);
  return list;
}

bool RunningLimits::ever_fits(const LimitedJob& job) const {
  if (!has_limits_) return true;
  TresList tres;
  TresList on_node;
  TresList minutes;
  bool wall = false;
  const auto check = [&](const Limits& limits) {
    if (!is_within(limits.max_tres, {}, job.tres, tres)) return false;
    if (!is_within(limits.max_tres_per_node, {}, per_node(job), on_node)) return false;
    if (!is_within(limits.max_tres_minutes, {}, with_minutes(job), minutes)) return false;
    if (!limits.max_wall_minutes || wall) return true;
    wall = true;
    return job.limit_minutes <= *limits.max_wall_minutes;
  };
  for (const std::uint32_t position : qos_of(job)) {
    const Qos& qos = qos_[position];
    if (!check(qos.limits)) return false;
    for (const TresAmount& least : qos.min_tres) {
      if (amount_of(job.tres, least.tres) < least.amount) return false;
    }
  }
  return check(tree_[job.association].limits);
}

bool RunningLimits::fits_now(const LimitedJob& job) const {
  if (!has_limits_) return true;
  TresList group;
  TresList of_user;
  TresList of_account;
  bool jobs = false;
  bool jobs_of_user = false;
  bool jobs_of_account = false;
  static const Sums kNothing;
  for (const std::uint32_t position : qos_of(job)) {
    const Qos& qos = qos_[position];
    const QosSums& sums = by_qos_[position];
    const auto user = sums.by_user.find(job.user);
    const auto account = sums.by_account.find(job.account);
    const Sums& user_sums = user == sums.by_user.end() ? kNothing : user->second;
    const Sums& account_sums = account == sums.by_account.end() ? kNothing : account->second;
    if (!is_within(qos.limits.group_tres, sums.all.tres, job.tres, group)) return false;
    if (!one_more(qos.limits.group_jobs, sums.all.jobs, jobs)) return false;
    if (!is_within(qos.max_tres_per_user, user_sums.tres, job.tres, of_user)) return false;
    if (!one_more(qos.limits.max_jobs, user_sums.jobs, jobs_of_user)) return false;
    if (!is_within(qos.max_tres_per_account, account_sums.tres, job.tres, of_account)) return false;
    if (!one_more(qos.max_jobs_per_account, account_sums.jobs, jobs_of_account)) return false;
  }
  // The limits of one user or account cover those of an association, not those of accounts above it.
  const Limits& own = tree_[job.association].limits;
  bool covered = jobs_of_user || jobs_of_account;
  if (!one_more(own.max_jobs, associations_[job.association].jobs, covered)) return false;
  for (std::optional<std::uint32_t> at = job.association; at; at = tree_[*at].parent) {
    const Limits& limits = tree_[*at].limits;
    TresList covered_here = group;
    if (!is_within(limits.group_tres, associations_[*at].tres, job.tres, covered_here)) return false;
    bool jobs_here = jobs;
    if (!one_more(limits.group_jobs, associations_[*at].jobs, jobs_here)) return false;
  }
  return true;
}

bool RunningLimits::may_submit(const LimitedJob& job) const {
  if (!has_limits_) return true;
  for (const std::uint32_t position : qos_of(job)) {
    const Qos& qos = qos_[position];
    const QosSums& sums = by_qos_[position];
    const auto user = sums.by_user.find(job.user);
    const auto account = sums.by_account.find(job.account);
    const auto full = [](const std::optional<std::int64_t>& limit, std::int64_t count) {
      return limit && count >= *limit;
    };
    if (full(qos.limits.group_submit, sums.all.submitted)) return false;
    if (full(qos.limits.max_submit, user == sums.by_user.end() ? 0 : user->second.submitted)) return false;
    if (full(qos.max_submit_per_account, account == sums.by_account.end() ? 0 : account->second.submitted))
      return false;
    if (qos.denies_on_limit && !ever_fits(job)) return false;
  }
  const Limits& own = tree_[job.association].limits;
  if (own.max_submit && associations_[job.association].submitted >= *own.max_submit) return false;
  for (std::optional<std::uint32_t> at = job.association; at; at = tree_[*at].parent) {
    const std::optional<std::int64_t>& most = tree_[*at].limits.group_submit;
    if (most && associations_[*at].submitted >= *most) return false;
  }
  return true;
}

template <class Change>
void RunningLimits::change(const LimitedJob& job, Change change) {
  if (!has_limits_) return;
  for (std::optional<std::uint32_t> at = job.association; at; at = tree_[*at].parent)
    change(associations_[*at]);
  for (const std::uint32_t position : qos_of(job)) {
    QosSums& sums = by_qos_[position];
    change(sums.all);
    change(sums.by_user[job.user]);
    change(sums.by_account[job.account]);
  }
}

void RunningLimits::count_submitted(const LimitedJob& job, std::int32_t sign) {
  change(job, [sign](Sums& sums) { sums.submitted += sign; });
}

void RunningLimits::count_running(const LimitedJob& job, std::int32_t sign) {
  change(job, [&](Sums& sums) {
    sums.jobs += sign;
    for (const TresAmount& each : job.tres)
      add_amount(sums.tres, each.tres, sign * each.amount);
  });
}

}  // namespace vtrain::slurm
