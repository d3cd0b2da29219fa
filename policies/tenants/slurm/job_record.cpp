#include "policies/tenants/slurm/job_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/strings.hpp"

namespace vtrain::slurm {
namespace {

constexpr SimDuration kYear = std::chrono::hours(24 * 365);

bool allows(const std::vector<std::string>& allowed, const std::vector<std::string>& denied,
            std::string_view name) {
  const std::string lower = lower_case(name);
  if (!allowed.empty()) return std::ranges::find(allowed, lower) != allowed.end();
  return std::ranges::find(denied, lower) == denied.end();
}

}  // namespace

Result<JobRecord> JobTranslator::translate(const Job& job, const JobNames& names) const {
  JobRecord record{.submit = job.submit, .eligible = job.submit};
  if (auto found = find_partitions(names.partition, record); !found) return fail(std::move(found.error()));
  if (auto found = find_association(names, record); !found) return fail(std::move(found.error()));
  const std::string_view account = setup_.associations[record.limited.account].account;
  if (auto found = find_qos(names.qos, record); !found) return fail(std::move(found.error()));
  record.limited.user = names.user_number;
  find_time_limit(job, record);
  find_nodes(names.requirements, job, record);
  if (const JobRequirements* const requirements = names.requirements; requirements != nullptr) {
    record.nice = requirements->nice;
    record.eligible = std::max(record.eligible, requirements->begin);
    if (!requirements->reservation.empty()) {
      const auto found = std::ranges::find(reservations_, requirements->reservation, &Reservation::name);
      if (found == reservations_.end()) {
        return fail({.field = "reservation",
                     .message = expected_found("a known reservation", requirements->reservation)});
      }
      record.reservation = static_cast<std::uint32_t>(found - reservations_.begin());
      if (!found->admits(names.user, account)) record.is_refused = true;
    }
  }
  check_partition(account, record);
  record.billing = billing_of(record);
  return record;
}

Result<void> JobTranslator::find_partitions(std::string_view queue, JobRecord& record) const {
  const Configuration& conf = setup_.configuration;
  if (queue.empty()) {
    const auto position = conf.default_partition();
    if (!position)
      return fail({.field = "partition", .message = "missing, and slurm.conf has no default partition"});
    record.partitions.push_back(*position);
  } else {
    for (const std::string_view name : split(queue, ',')) {
      const auto position = conf.find_partition(name);
      if (!position)
        return fail({.field = "partition", .message = expected_found("a partition of slurm.conf", name)});
      record.partitions.push_back(*position);
    }
  }
  const std::string& qos = conf.partitions[record.partitions.front()].qos;
  if (qos.empty()) return {};
  const auto found = std::ranges::find(setup_.qos, qos, &Qos::name);
  if (found != setup_.qos.end())
    record.limited.partition_qos = static_cast<std::uint32_t>(found - setup_.qos.begin());
  return {};
}

Result<void> JobTranslator::find_association(const JobNames& names, JobRecord& record) const {
  const AssociationTree& tree = setup_.associations;
  const std::string_view user = names.user.empty() ? names.tenant : names.user;
  std::string name = lower_case(names.account);
  if (name.empty() && !names.user.empty()) name = tree.default_account(names.user).value_or("");
  if (name.empty()) name = lower_case(names.tenant);
  const std::string& partition = setup_.configuration.partitions[record.partitions.front()].name;
  const auto position = tree.find_user(name, user, partition);
  if (position) {
    record.limited.association = *position;
    record.limited.account = *tree[*position].parent;
    return {};
  }
  if (setup_.configuration.enforces_associations) {
    return fail(
        {.field = "account",
         .message = expected_found("an account that has the user, as slurm.conf enforces associations",
                                   fmt::format("{}/{}", name, user))});
  }
  record.limited.association = record.limited.account =
      tree.find_account(name).value_or(AssociationTree::kRoot);
  return {};
}

Result<void> JobTranslator::find_qos(std::string_view name, JobRecord& record) const {
  const Association& association = setup_.associations[record.limited.association];
  std::string qos = lower_case(name);
  if (qos.empty()) qos = association.default_qos.empty() ? "normal" : association.default_qos;
  const auto found = std::ranges::find(setup_.qos, qos, &Qos::name);
  if (found == setup_.qos.end()) {
    if (name.empty() || !setup_.configuration.enforces_qos) return {};
    return fail({.field = "qos", .message = expected_found("a known QOS", name)});
  }
  record.limited.qos = static_cast<std::uint32_t>(found - setup_.qos.begin());
  const bool may_use =
      association.qos.empty() || std::ranges::find(association.qos, qos) != association.qos.end();
  if (setup_.configuration.enforces_qos && !may_use) record.is_refused = true;
  return {};
}

void JobTranslator::find_nodes(const JobRequirements* requirements, const Job& job, JobRecord& record) const {
  const Configuration& conf = setup_.configuration;
  NodeRequest& request = record.request;
  const std::int32_t gpus = job.num_gpus.value;
  if (requirements != nullptr) {
    request.cpus_per_node = std::max(1, requirements->cpus_per_node);
    request.nodes = requirements->num_nodes;
    request.gpus_per_node = requirements->gpus_per_node.value;
  } else {
    request.nodes = 0;
  }
  if (request.gpus_per_node > 0 && request.nodes == 0)
    request.nodes = (gpus + request.gpus_per_node - 1) / request.gpus_per_node;
  if (request.nodes == 0) {
    // As few nodes as the GPUs fill.
    std::int64_t most = 1;
    for (const std::uint32_t node : conf.partitions[record.partitions.front()].nodes)
      most = std::max(most, conf.nodes[node].gpus);
    request.nodes = static_cast<std::int32_t>((gpus + most - 1) / most);
  }
  if (request.gpus_per_node == 0) request.gpus_per_node = (gpus + request.nodes - 1) / request.nodes;
  LimitedJob& limited = record.limited;
  limited.nodes = request.nodes;
  const double nodes = request.nodes;
  limited.tres = {{TresNames::kCpu, nodes * request.cpus_per_node},
                  {TresNames::kNode, nodes},
                  {TresNames::kGpu, static_cast<double>(gpus)}};
}

void JobTranslator::find_time_limit(const Job& job, JobRecord& record) const {
  const PartitionConf& partition = setup_.configuration.partitions[record.partitions.front()];
  record.limit = job.requested_time;
  if (record.limit.count() == 0) {
    const auto minutes = partition.default_minutes ? partition.default_minutes : partition.max_minutes;
    record.limit = minutes ? SimDuration(std::chrono::minutes(*minutes)) : kYear;
    // The job is not ended at a limit that the trace does not have.
    record.limit = std::max(record.limit, job.duration);
  }
  record.limited.limit_minutes = std::chrono::ceil<std::chrono::minutes>(record.limit).count();
}

void JobTranslator::check_partition(std::string_view account, JobRecord& record) const {
  const Configuration& conf = setup_.configuration;
  const Qos* const qos = record.limited.qos ? &setup_.qos[*record.limited.qos] : nullptr;
  std::vector<std::uint32_t> fitting_partitions;
  bool may_wait = false;
  for (const std::uint32_t position : record.partitions) {
    const PartitionConf& partition = conf.partitions[position];
    if (!allows(partition.allow_accounts, partition.deny_accounts, account)) continue;
    if (qos != nullptr && !allows(partition.allow_qos, partition.deny_qos, qos->name)) continue;
    const std::int64_t nodes = record.request.nodes;
    const auto size = static_cast<std::int64_t>(partition.nodes.size());
    const bool too_wide = nodes > size || (partition.max_nodes && nodes > *partition.max_nodes &&
                                           !(qos != nullptr && qos->partition_max_nodes));
    const bool too_narrow = nodes < partition.min_nodes && !(qos != nullptr && qos->partition_min_nodes);
    const bool too_long = partition.max_minutes && record.limited.limit_minutes > *partition.max_minutes &&
                          !(qos != nullptr && qos->partition_time_limit);
    const bool too_many_cpus =
        partition.max_cpus_per_node && record.request.cpus_per_node > *partition.max_cpus_per_node;
    if (too_wide || too_narrow || too_long || too_many_cpus) {
      may_wait = true;
      continue;
    }
    const auto fitting = std::ranges::count_if(partition.nodes, [&](std::uint32_t node) {
      return conf.nodes[node].cpus >= record.request.cpus_per_node &&
             conf.nodes[node].gpus >= record.request.gpus_per_node;
    });
    if (fitting >= nodes) fitting_partitions.push_back(position);
  }
  if (!fitting_partitions.empty()) {
    // It waits in vain in the others, where it holds up nobody.
    record.partitions = std::move(fitting_partitions);
    return;
  }
  if (may_wait && !conf.refuses_beyond_limits)
    record.stage = JobStage::Stuck;
  else
    record.is_refused = true;
}

double JobTranslator::billing_of(const JobRecord& record) const {
  const Configuration& conf = setup_.configuration;
  const PartitionConf& partition = conf.partitions[record.partitions.front()];
  double billing = amount_of(record.limited.tres, TresNames::kCpu);
  if (!partition.billing_weights.empty()) {
    billing = 0;
    for (const TresAmount& weight : partition.billing_weights) {
      const double part = weight.amount * amount_of(record.limited.tres, weight.tres);
      billing = conf.priority.max_tres ? std::max(billing, part) : billing + part;
    }
  }
  return billing * (record.limited.qos ? setup_.qos[*record.limited.qos].usage_factor : 1);
}

}  // namespace vtrain::slurm
