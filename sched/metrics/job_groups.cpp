#include "sched/metrics/job_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <vector>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"

namespace vtrain {
namespace {

constexpr std::array<std::string_view, 5> kGroupings = {"tenant", "user", "queue", "type", "size"};
constexpr std::size_t kNumSizeClasses = 32;

/// Names of the groups; null by size.
const NameTable* names_of(const Workload& workload, JobGrouping grouping) {
  switch (grouping) {
    case JobGrouping::Tenant:
      return &workload.tenants;
    case JobGrouping::User:
      return &workload.users;
    case JobGrouping::Queue:
      return &workload.queues;
    case JobGrouping::Type:
      return &workload.gpu_types;
    case JobGrouping::Size:
      break;
  }
  return nullptr;
}

template <class Id>
std::size_t number_of(Id id, const NameTable& names) {
  return id ? id.value : names.size();
}

}  // namespace

std::span<const std::string_view> grouping_names() {
  return kGroupings;
}

std::string_view name_of(JobGrouping grouping) {
  return kGroupings[static_cast<std::size_t>(grouping)];
}

std::size_t size_class(GpuCount num_gpus) {
  return static_cast<std::size_t>(
      std::bit_width(static_cast<std::uint32_t>(std::max(num_gpus.value, 1) - 1)));
}

std::string size_class_label(std::size_t index) {
  if (index < 2) return index == 0 ? "1" : "2";
  const std::int64_t most = std::int64_t{1} << index;
  return fmt::format("{}\u2013{}", with_thousands(most / 2 + 1), with_thousands(most));
}

JobGroups::JobGroups(const Workload& workload, JobGrouping grouping)
    : grouping_(grouping), names_(names_of(workload, grouping)) {}

std::size_t JobGroups::size() const {
  return names_ == nullptr ? kNumSizeClasses : names_->size() + 1;
}

std::size_t JobGroups::of(const Job& job) const {
  switch (grouping_) {
    case JobGrouping::Tenant:
      return number_of(job.tenant, *names_);
    case JobGrouping::User:
      return number_of(job.user, *names_);
    case JobGrouping::Queue:
      return number_of(job.queue, *names_);
    case JobGrouping::Type:
      return number_of(job.gpu_type, *names_);
    case JobGrouping::Size:
      break;
  }
  return size_class(job.num_gpus);
}

std::string JobGroups::name(std::size_t group) const {
  if (names_ == nullptr) return size_class_label(group);
  return group < names_->size() ? (*names_)[static_cast<std::uint32_t>(group)] : std::string();
}

Result<JobGrouping> parse_grouping(std::string_view name, const Workload& workload) {
  auto grouping = parse_name<JobGrouping>("--by", kGroupings, name);
  if (!grouping) return grouping;
  const auto is_known = [&](std::string_view other) {
    const auto index = std::ranges::find(kGroupings, other) - kGroupings.begin();
    const NameTable* const names = names_of(workload, static_cast<JobGrouping>(index));
    return names == nullptr || names->size() > 0;
  };
  if (is_known(name)) return grouping;
  std::vector<std::string_view> known;
  std::ranges::copy_if(kGroupings, std::back_inserter(known), is_known);
  return fail({.field = "--by",
               .message = expected_found(
                   fmt::format("what the trace says of its jobs, one of {}", list_names(known)), name)});
}

}  // namespace vtrain
