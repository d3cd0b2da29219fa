#include "workloads/jobs/job.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace vtrain {
namespace {

constexpr std::array<std::string_view, 6> kStatusNames = {"unknown",   "completed", "failed",
                                                          "cancelled", "timeout",   "running"};

/// The positions of the jobs in the order of submission, equal ones as they stand. Jobs are dealt to spans of
/// time, a few hundred each, which are sorted one after the other: 4 bytes a job, up to 20 where all come in
/// one span.
std::vector<std::uint32_t> order_of_submission(const std::vector<Job>& jobs) {
  constexpr std::size_t kJobsOfSpan = 256;
  const auto earlier = [](const Job& a, const Job& b) { return a.submit < b.submit; };
  const auto [first, last] = std::minmax_element(jobs.begin(), jobs.end(), earlier);
  std::vector<std::uint32_t> order(jobs.size());
  if (jobs.empty()) return order;
  const SimTime begin = first->submit;
  const std::size_t num_spans = jobs.size() / kJobsOfSpan + 1;
  const double spans_per_ns =
      static_cast<double>(num_spans - 1) / std::max(1.0, static_cast<double>((last->submit - begin).count()));
  const auto span_of = [&](const Job& job) {
    return static_cast<std::size_t>(static_cast<double>((job.submit - begin).count()) * spans_per_ns);
  };
  std::vector<std::uint32_t> ends(num_spans + 1);
  for (const Job& job : jobs)
    ++ends[span_of(job) + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  for (std::uint32_t i = 0; i < jobs.size(); ++i)
    order[ends[span_of(jobs[i])]++] = i;
  std::vector<std::pair<SimTime, std::uint32_t>> of_span;
  for (std::size_t span = 0; span < num_spans; ++span) {
    const auto from = order.begin() + (span == 0 ? 0 : ends[span - 1]);
    const auto to = order.begin() + ends[span];
    of_span.clear();
    std::transform(from, to, std::back_inserter(of_span),
                   [&](std::uint32_t i) { return std::pair(jobs[i].submit, i); });
    std::sort(of_span.begin(), of_span.end());
    std::transform(of_span.begin(), of_span.end(), from, [](const auto& entry) { return entry.second; });
  }
  return order;
}

/// Moves the job at `order[i]` to `i`. Jobs are large: each is moved once, along the cycles.
void apply_order(std::vector<Job>& jobs, std::vector<std::uint32_t> order) {
  for (std::uint32_t start = 0; start < order.size(); ++start) {
    if (order[start] == start) continue;
    const Job moved = jobs[start];
    std::uint32_t to = start;
    for (std::uint32_t from = order[to]; from != start; from = order[to]) {
      jobs[to] = jobs[from];
      order[to] = to;
      to = from;
    }
    jobs[to] = moved;
    order[to] = to;
  }
}

}  // namespace

std::span<const std::string_view> status_names() {
  return kStatusNames;
}

std::string_view status_name(JobStatus status) {
  return kStatusNames[static_cast<std::size_t>(status)];
}

std::uint32_t NameTable::add(std::string_view name) {
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  numbers_.emplace(name, number);
  return number;
}

JobRequirements& Workload::add_requirements(Job& job) {
  if (!job.requirements) {
    job.requirements = RequirementsId(static_cast<std::uint32_t>(requirements.size()));
    requirements.emplace_back();
  }
  return requirements[job.requirements.value];
}

std::string_view Workload::keep(std::string_view text) {
  constexpr std::size_t kChunk = 1 << 16;
  if (!text_) text_ = std::make_unique<TextChunks>();
  if (text.size() > text_->room) {
    text_->room = std::max(kChunk, text.size());
    text_->chunks.push_back(std::make_unique_for_overwrite<char[]>(text_->room));
    text_->free = text_->chunks.back().get();
  }
  char* const copy = text_->free;
  std::copy(text.begin(), text.end(), copy);
  text_->free += text.size();
  text_->room -= text.size();
  return {copy, text.size()};
}

Workload Workload::copy_with_texts_of_this() const {
  Workload copy = copy_without_jobs();
  copy.jobs = jobs;
  return copy;
}

Workload Workload::copy_without_jobs() const {
  Workload copy;
  copy.tenants = tenants;
  copy.models = models;
  copy.users = users;
  copy.accounts = accounts;
  copy.queues = queues;
  copy.qos_names = qos_names;
  copy.gpu_types = gpu_types;
  copy.curves = curves;
  copy.requirements = requirements;
  copy.sources = sources;
  return copy;
}

Job Workload::adopt(const Workload& from, const Job& job) {
  const auto rename = [](auto& id, NameTable& to, const NameTable& names) {
    if (id) id = std::decay_t<decltype(id)>(to.add(names[id.value]));
  };
  Job adopted = job;
  adopted.name = keep(job.name);
  adopted.line = 0;
  rename(adopted.tenant, tenants, from.tenants);
  rename(adopted.model, models, from.models);
  rename(adopted.user, users, from.users);
  rename(adopted.account, accounts, from.accounts);
  rename(adopted.queue, queues, from.queues);
  rename(adopted.qos, qos_names, from.qos_names);
  rename(adopted.gpu_type, gpu_types, from.gpu_types);
  if (job.requirements) {
    adopted.requirements = {};
    add_requirements(adopted) = from.requirements[job.requirements.value];
  }
  if (job.curve) {
    const SpeedByGpus& curve = from.curves[job.curve.value];
    const auto known = std::ranges::find(curves, curve);
    adopted.curve = CurveId(static_cast<std::uint32_t>(known - curves.begin()));
    if (known == curves.end()) curves.push_back(curve);
  }
  return adopted;
}

void Workload::sort_by_submission() {
  apply_order(jobs, order_of_submission(jobs));
}

Error job_error(const Workload& workload, const Job& job, Error error) {
  error.message = fmt::format("job '{}': {}", job.name, error.message);
  const std::vector<SourceFile>& files = workload.sources;
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const SourceFile& each) { return job.line <= each.last_line; });
  if (job.line == 0 || file == files.end()) return error;
  error.file = file->name;
  error.line = job.line - (file == files.begin() ? 0 : std::prev(file)->last_line);
  return error;
}

Error job_error(const Workload& workload, const Job& job, std::string field, std::string message) {
  return job_error(workload, job, {.field = std::move(field), .message = std::move(message)});
}

}  // namespace vtrain
