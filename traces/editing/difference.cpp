#include "traces/editing/difference.hpp"

#include <algorithm>
#include <array>

namespace vtrain {
namespace {

/// Two jobs, and the workloads with their names.
struct JobPair {
  const Workload& workload_a;
  const Workload& workload_b;
  const Job& a;
  const Job& b;
};

template <class NameId>
bool same_name(const NameTable& names_a, NameId a, const NameTable& names_b, NameId b) {
  if (!a || !b) return static_cast<bool>(a) == static_cast<bool>(b);
  return names_a[a.value] == names_b[b.value];
}

bool same_curve(const JobPair& pair) {
  if (!pair.a.curve || !pair.b.curve) return !pair.a.curve && !pair.b.curve;
  return pair.workload_a.curves[pair.a.curve.value] == pair.workload_b.curves[pair.b.curve.value];
}

bool same_requirements(const JobPair& pair) {
  const JobRequirements* const a = pair.workload_a.requirements_of(pair.a);
  const JobRequirements* const b = pair.workload_b.requirements_of(pair.b);
  return (a != nullptr ? *a : JobRequirements()) == (b != nullptr ? *b : JobRequirements());
}

struct ComparedField {
  std::string_view name;
  bool (*same)(const JobPair&);
};

// clang-format off
constexpr std::array kFields = {
    ComparedField{"job ids", [](const JobPair& p) { return p.a.name == p.b.name; }},
    ComparedField{"submissions", [](const JobPair& p) { return p.a.submit == p.b.submit; }},
    ComparedField{"durations", [](const JobPair& p) { return p.a.duration == p.b.duration; }},
    ComparedField{"numbers of GPUs", [](const JobPair& p) { return p.a.num_gpus == p.b.num_gpus; }},
    ComparedField{"requested times", [](const JobPair& p) { return p.a.requested_time == p.b.requested_time; }},
    ComparedField{"deadlines", [](const JobPair& p) { return p.a.deadline == p.b.deadline; }},
    ComparedField{"tenants", [](const JobPair& p) { return same_name(p.workload_a.tenants, p.a.tenant, p.workload_b.tenants, p.b.tenant); }},
    ComparedField{"users", [](const JobPair& p) { return same_name(p.workload_a.users, p.a.user, p.workload_b.users, p.b.user); }},
    ComparedField{"accounts", [](const JobPair& p) { return same_name(p.workload_a.accounts, p.a.account, p.workload_b.accounts, p.b.account); }},
    ComparedField{"queues", [](const JobPair& p) { return same_name(p.workload_a.queues, p.a.queue, p.workload_b.queues, p.b.queue); }},
    ComparedField{"QoS", [](const JobPair& p) { return same_name(p.workload_a.qos_names, p.a.qos, p.workload_b.qos_names, p.b.qos); }},
    ComparedField{"priorities", [](const JobPair& p) { return p.a.priority == p.b.priority; }},
    ComparedField{"requirements", same_requirements},
    ComparedField{"models", [](const JobPair& p) { return same_name(p.workload_a.models, p.a.model, p.workload_b.models, p.b.model); }},
    ComparedField{"global batches", [](const JobPair& p) { return p.a.global_batch == p.b.global_batch; }},
    ComparedField{"iterations", [](const JobPair& p) { return p.a.iterations == p.b.iterations; }},
    ComparedField{"GPU types", [](const JobPair& p) { return same_name(p.workload_a.gpu_types, p.a.gpu_type, p.workload_b.gpu_types, p.b.gpu_type); }},
    ComparedField{"shares of a GPU", [](const JobPair& p) { return p.a.gpu_share == p.b.gpu_share; }},
    ComparedField{"most GPUs", [](const JobPair& p) { return p.a.max_gpus == p.b.max_gpus; }},
    ComparedField{"measured speeds", same_curve},
    ComparedField{"recorded starts", [](const JobPair& p) { return p.a.original_start == p.b.original_start; }},
    ComparedField{"statuses", [](const JobPair& p) { return p.a.status == p.b.status; }},
};
// clang-format on

}  // namespace

std::vector<FieldDifference> compare_workloads(const Workload& a, const Workload& b) {
  const std::size_t common = std::min(a.jobs.size(), b.jobs.size());
  std::vector<FieldDifference> differences;
  if (const std::size_t longer = std::max(a.jobs.size(), b.jobs.size()); longer > common) {
    differences.push_back({"jobs", static_cast<std::int64_t>(longer - common)});
  }
  for (const ComparedField& field : kFields) {
    std::int64_t jobs = 0;
    for (std::size_t i = 0; i < common; ++i)
      jobs += field.same({a, b, a.jobs[i], b.jobs[i]}) ? 0 : 1;
    if (jobs > 0) differences.push_back({field.name, jobs});
  }
  return differences;
}

}  // namespace vtrain
