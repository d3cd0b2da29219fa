#include "policies/tenants/slurm/priority.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace vtrain::slurm {
namespace {

/// Amount of a resource that the nodes of a partition have.
double total_of(const Configuration& configuration, const PartitionConf& partition, std::string_view name) {
  constexpr std::string_view kGpuPrefix = "gres/gpu:";
  double sum = 0;
  for (const std::uint32_t position : partition.nodes) {
    const NodeConf& node = configuration.nodes[position];
    if (name == "cpu") sum += static_cast<double>(node.cpus);
    if (name == "mem") sum += node.memory_mb;
    if (name == "node") sum += 1;
    if (name == "gres/gpu") sum += static_cast<double>(node.gpus);
    if (!name.starts_with(kGpuPrefix)) continue;
    for (const auto& [type, count] : node.gpus_by_type) {
      if (type == name.substr(kGpuPrefix.size())) sum += static_cast<double>(count);
    }
  }
  return sum;
}

/// A number of priority as a factor: itself, or its part of the largest one.
double normalised(std::int64_t value, double largest, bool leave) {
  if (leave) return static_cast<double>(value);
  return largest > 0 ? static_cast<double>(value) / largest : 0;
}

}  // namespace

MultifactorPriority::MultifactorPriority(const Configuration& configuration, const TresNames& names,
                                         const AssociationTree& tree, const std::vector<Qos>& qos)
    : configuration_(&configuration),
      max_assoc_(static_cast<double>(tree.max_priority())),
      num_cpus_(static_cast<double>(configuration.total_cpus())) {
  for (const Qos& each : qos)
    max_qos_ = std::max(max_qos_, static_cast<double>(each.priority));
  for (const PartitionConf& partition : configuration.partitions) {
    max_partition_ = std::max(max_partition_, static_cast<double>(partition.priority_job_factor));
    TresList& totals = totals_.emplace_back();
    for (const TresAmount& weight : configuration.priority.weight_tres)
      totals.push_back({weight.tres, total_of(configuration, partition, names[weight.tres])});
  }
}

double MultifactorPriority::job_size(const PriorityRequest& request) const {
  const PriorityConf& conf = configuration_->priority;
  const double nodes = static_cast<double>(request.nodes) / static_cast<double>(configuration_->nodes.size());
  const double cpus = static_cast<double>(request.cpus) / num_cpus_;
  double size = 0;
  if (conf.small_relative_to_time) {
    // CPUs at the average of all nodes, or those that the job asks for if they are more.
    const double minutes =
        static_cast<double>(std::max<std::int64_t>(request.limit_minutes.value_or(525600), 1));
    size = std::max(nodes, cpus) / minutes;
    if (conf.favor_small) size = 1 - size;
  } else if (conf.favor_small) {
    size = ((1 - nodes) + (1 - cpus)) / 2;
  } else {
    size = (nodes + cpus) / 2;
  }
  return std::clamp(size, 0.0, 1.0);
}

PriorityFactors MultifactorPriority::factors(const PriorityRequest& request) const {
  const PriorityConf& conf = configuration_->priority;
  PriorityFactors factors{.fair_share = request.fair_share};
  if (request.age_s > 0 && conf.max_age_s > 0)
    factors.age = std::min(1.0, request.age_s / static_cast<double>(conf.max_age_s));
  factors.assoc = normalised(request.assoc_priority, max_assoc_, conf.no_normal_assoc);
  factors.job_size = job_size(request);
  factors.partition = normalised(configuration_->partitions[request.partition].priority_job_factor,
                                 max_partition_, conf.no_normal_part);
  factors.qos = normalised(request.qos_priority, max_qos_, conf.no_normal_qos);
  for (const TresAmount& total : totals_[request.partition]) {
    const double amount = amount_of(request.tres, total.tres);
    const double factor = conf.no_normal_tres ? amount : total.amount > 0 ? amount / total.amount : 0;
    factors.tres.push_back({total.tres, factor});
  }
  return factors;
}

std::int64_t MultifactorPriority::priority(const PriorityFactors& factors, std::int64_t nice) const {
  const PriorityConf& conf = configuration_->priority;
  double sum = factors.age * conf.weight_age + factors.assoc * conf.weight_assoc +
               factors.fair_share * conf.weight_fair_share + factors.job_size * conf.weight_job_size +
               factors.partition * conf.weight_partition + factors.qos * conf.weight_qos;
  for (std::size_t i = 0; i < factors.tres.size(); ++i)
    sum += factors.tres[i].amount * conf.weight_tres[i].amount;
  constexpr double kMost = 4294967295.0;
  return static_cast<std::int64_t>(std::clamp(sum - static_cast<double>(nice), 1.0, kMost));
}

}  // namespace vtrain::slurm
