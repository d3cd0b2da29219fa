#include "tools/live/read_state.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/strings.hpp"
#include "core/io/input.hpp"
#include "tools/live/kubernetes_dump.hpp"
#include "tools/live/slurm_dump.hpp"
#include "tools/live/slurm_objects.hpp"

namespace vtrain {
namespace {

template <class Value>
void complete(Value& value, Value&& other) {
  if (value == Value{}) value = std::move(other);
}

/// Adds what another dump knows more of a job.
void complete_job(DumpedJob& job, DumpedJob&& other, LiveState& state) {
  if (job.state != other.state) {
    state.remark("jobs whose state differs between files: that of the first is taken");
    return;
  }
  complete(job.name, std::move(other.name));
  complete(job.user, std::move(other.user));
  complete(job.account, std::move(other.account));
  complete(job.qos, std::move(other.qos));
  complete(job.partitions, std::move(other.partitions));
  complete(job.reason, std::move(other.reason));
  complete(job.reason_text, std::move(other.reason_text));
  complete(job.gpus, std::move(other.gpus));
  complete(job.gpu_type, std::move(other.gpu_type));
  complete(job.nodes, std::move(other.nodes));
  complete(job.time_limit_s, std::move(other.time_limit_s));
  complete(job.submit, std::move(other.submit));
  complete(job.eligible, std::move(other.eligible));
  complete(job.evaluated, std::move(other.evaluated));
  complete(job.start, std::move(other.start));
  complete(job.start_estimate, std::move(other.start_estimate));
  complete(job.end, std::move(other.end));
  complete(job.priority, std::move(other.priority));
  complete(job.dependency, std::move(other.dependency));
  complete(job.reservation, std::move(other.reservation));
  complete(job.comment, std::move(other.comment));
  complete(job.model, std::move(other.model));
  if (!job.array) job.array = std::move(other.array);
  if (!job.part) job.part = std::move(other.part);
}

/// Joins jobs with those of files before. Error: an id that comes twice in one file.
Result<void> join_jobs(LiveState& state, LiveState&& added, const std::string& file) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < state.jobs.size(); ++i)
    places.emplace(state.jobs[i].id, i);
  const std::size_t before = state.jobs.size();
  for (DumpedJob& job : added.jobs) {
    const auto [found, is_new] = places.emplace(job.id, state.jobs.size());
    if (is_new) {
      state.jobs.push_back(std::move(job));
    } else if (found->second >= before) {
      return fail({.file = file, .message = fmt::format("two jobs have the id '{}'", job.id)});
    } else {
      complete_job(state.jobs[found->second], std::move(job), state);
    }
  }
  return {};
}

/// Counts jobs and nodes that contradict each other.
void check_use(LiveState& state) {
  std::unordered_map<std::string_view, const DumpedNode*> nodes;
  for (const DumpedNode& node : state.nodes) {
    nodes.emplace(node.name, &node);
    if (node.gpus_in_use > node.gpus) state.remark("nodes on which more GPUs are in use than there are");
  }
  for (const DumpedJob& job : state.jobs) {
    if (!job.is_running()) continue;
    if (!job.start) state.remark("running jobs without a start");
    // Kubernetes' objects do not tell the nodes of a job.
    if (!job.kind.empty()) continue;
    std::int64_t most = 0;
    bool is_known = !nodes.empty();
    for (const std::string& name : job.nodes) {
      const auto found = nodes.find(name);
      is_known &= found != nodes.end();
      if (found != nodes.end()) most += found->second->gpus;
    }
    if (!nodes.empty() && !is_known) state.remark("running jobs on nodes that no file has");
    if (is_known && job.gpus > most) state.remark("running jobs with more GPUs than their nodes have");
  }
}

/// Adds the records of a dump of Slurm.
Result<void> add_records(const LiveRecords& dump, const std::string& file, LiveState& state) {
  LiveState added;
  for (const LiveRecord& record : dump.records) {
    const auto done = dump.kind == LiveKind::Jobs         ? add_slurm_job(record, added)
                      : dump.kind == LiveKind::Nodes      ? add_slurm_node(record, state)
                      : dump.kind == LiveKind::Partitions ? add_slurm_partition(record, state)
                                                          : add_slurm_reservation(record, state);
    if (!done) return done;
  }
  return join_jobs(state, std::move(added), file);
}

}  // namespace

Result<void> add_dump(std::string text, const std::string& file, LiveState& state) {
  if (!trim(text).starts_with('{')) {
    const auto dump = read_slurm_dump(std::move(text), file);
    return dump ? add_records(*dump, file, state) : fail(dump.error());
  }
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  if (is_kubernetes_dump(*document)) return add_kubernetes_dump(*document, state);
  const auto dump = read_slurm_json(*document);
  return dump ? add_records(*dump, file, state) : fail(dump.error());
}

Result<LiveState> read_live_state(std::span<const std::string> files) {
  LiveState state;
  for (const std::string& file : files) {
    auto text = read_file(file, InputKind::Instance);
    if (!text) return fail(std::move(text.error()));
    if (auto added = add_dump(*std::move(text), file, state); !added) return fail(std::move(added.error()));
  }
  if (auto made = finish_kubernetes(state); !made) return fail(std::move(made.error()));
  if (state.jobs.empty() && state.nodes.empty())
    return fail({.message = "expected a job or a node in the files, found none"});
  check_use(state);
  return state;
}

}  // namespace vtrain
