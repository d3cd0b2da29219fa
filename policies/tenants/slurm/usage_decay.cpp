#include "policies/tenants/slurm/usage_decay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/strings.hpp"
#include "core/io/csv.hpp"

namespace vtrain::slurm {

UsageDecay::UsageDecay(const PriorityConf& priority, double last_pass_s)
    : last_s_(last_pass_s), shares_lag_(priority.fair_share != FairShareKind::FairTree) {
  // The constant is Slurm's, a little more than the logarithm of 2.
  constexpr double kLogTwo = 0.693;
  if (priority.half_life_s > 0)
    factor_ = std::max(0.0, 1 - kLogTwo / static_cast<double>(priority.half_life_s));
}

void UsageDecay::add(AssociationTree& tree, const UsedTime& used, double until_s) const {
  const double span = until_s - std::max(last_s_, used.start_s);
  if (span > 0) tree.add_usage(used.association, used.billing * span * std::pow(factor_, span));
}

void UsageDecay::end(AssociationTree& tree, std::uint32_t job, double end_s) {
  const auto found = std::ranges::find(running_, job, &Running::job);
  if (found == running_.end()) return;
  add(tree, found->used, end_s);
  *found = running_.back();
  running_.pop_back();
}

void UsageDecay::decay(AssociationTree& tree, double now_s) {
  std::erase_if(running_, [&](const Running& each) {
    if (each.used.end_s > now_s) return false;
    add(tree, each.used, each.used.end_s);
    return true;
  });
  const double decay = std::pow(factor_, std::max(0.0, now_s - last_s_));
  for (std::uint32_t i = 0; i < tree.list().size(); ++i) {
    tree[i].usage *= decay;
    tree[i].wall_minutes *= decay;
  }
}

void UsageDecay::add_running(AssociationTree& tree, double now_s) {
  for (const Running& each : running_)
    add(tree, each.used, now_s);
  last_s_ = std::max(last_s_, now_s);
}

Result<std::vector<UsedTime>> parse_history(std::string_view text, const std::string& file,
                                            const AssociationTree& tree) {
  auto rows = CsvReader::open(text, file);
  if (!rows) return fail(std::move(rows.error()));
  int at[5] = {};
  constexpr std::string_view kNames[] = {"user", "account", "billing", "start", "end"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const auto found = rows->require_column(kNames[i]);
    if (!found) return fail(found.error());
    at[i] = *found;
  }
  std::vector<UsedTime> list;
  for (;;) {
    const auto more = rows->next();
    if (!more) return fail(more.error());
    if (!*more) return list;
    constexpr double kMost = 1e10;
    const auto position = tree.find_user(lower_case(rows->field(at[1])), rows->field(at[0]));
    if (!position)
      return fail(rows->error_at(at[0], expected_found("a user of the account", rows->field(at[0]))));
    const auto billing = rows->number(at[2], 0, 1e15);
    if (!billing) return fail(billing.error());
    const auto start = rows->number(at[3], -kMost, kMost);
    if (!start) return fail(start.error());
    const auto end = rows->number(at[4], *start, kMost);
    if (!end) return fail(end.error());
    list.push_back({*position, *billing, *start, *end});
  }
}

Result<SimDuration> first_pass_in(std::string_view text, const std::string& file) {
  auto rows = CsvReader::open(text, file);
  if (!rows) return fail(std::move(rows.error()));
  const auto at = rows->require_column("at");
  if (!at) return fail(at.error());
  for (;;) {
    const auto more = rows->next();
    if (!more) return fail(more.error());
    if (!*more) return SimDuration(0);
    const auto seconds = rows->number(*at, 0, 1e9);
    if (!seconds) return fail(seconds.error());
    if (*seconds > 0) return to_sim_duration(Seconds(*seconds));
  }
}

}  // namespace vtrain::slurm
