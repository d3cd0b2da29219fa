#include "sched/cluster/gpu_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

GpuTypes::GpuTypes(const ClusterSpec& cluster, const NameTable& asked) {
  for (const NodeGroup& group : cluster.groups) {
    named_ |= !group.gpu_type.empty();
    const auto number = static_cast<std::uint32_t>(names_.size());
    if (numbers_.try_emplace(lower_case(group.gpu_type), number).second) names_.push_back(group.gpu_type);
  }
  all_.resize(names_.size());
  std::iota(all_.begin(), all_.end(), 0);
  for (const std::string& name : asked.names()) {
    std::vector<std::uint32_t>& types = allowed_.emplace_back();
    for (const std::string_view alternative : split(name, '|')) {
      const auto type = alternative.empty() ? std::nullopt : find(alternative);
      if (type) types.push_back(*type);
    }
    std::sort(types.begin(), types.end());
    types.erase(std::unique(types.begin(), types.end()), types.end());
  }
}

std::optional<std::uint32_t> GpuTypes::find(std::string_view name) const {
  const auto found = numbers_.find(lower_case(name));
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::uint32_t GpuTypes::number_of(const NodeGroup& group) const {
  const auto number = find(group.gpu_type);
  if (!number) throw std::logic_error("GpuTypes: a group of another cluster");
  return *number;
}

std::string GpuTypes::complaint(const std::string& asked) const {
  std::vector<std::string_view> known;
  for (const std::string& name : names_) {
    if (!name.empty()) known.push_back(name);
  }
  const std::string expected = fmt::format("a GPU type of the cluster, which has {}", list_names(known));
  return with_guess(expected_found(expected, asked), asked, known);
}

}  // namespace vtrain
