#include "tools/live/read_state.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/strings.hpp"
#include "core/io/input.hpp"
#include "tools/live/kubernetes_dump.hpp"
#include "tools/live/slurm_dump.hpp"
#include "tools/live/slurm_files_now.hpp"
#include "tools/live/slurm_objects.hpp"
#include "tools/live/slurm_tables.hpp"

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
  constexpr std::int64_t kQuarterHour = 900;
  if (job.submit && other.submit && *job.submit != *other.submit &&
      (*job.submit - *other.submit) % kQuarterHour == 0)
    state.remark("jobs whose times differ by whole quarters of an hour between files (--time-zone NAME)");
  complete(job.name, std::move(other.name));
  complete(job.user, std::move(other.user));
  complete(job.account, std::move(other.account));
  complete(job.qos, std::move(other.qos));
  complete(job.partitions, std::move(other.partitions));
  complete(job.reason, std::move(other.reason));
  complete(job.reason_text, std::move(other.reason_text));
  complete(job.gpus, std::move(other.gpus));
  complete(job.tells_gpus, std::move(other.tells_gpus));
  complete(job.gpu_type, std::move(other.gpu_type));
  complete(job.nodes, std::move(other.nodes));
  complete(job.time_limit_s, std::move(other.time_limit_s));
  complete(job.submit, std::move(other.submit));
  complete(job.eligible, std::move(other.eligible));
  complete(job.evaluated, std::move(other.evaluated));
  complete(job.elapsed_s, std::move(other.elapsed_s));
  complete(job.start, std::move(other.start));
  complete(job.start_estimate, std::move(other.start_estimate));
  complete(job.end, std::move(other.end));
  complete(job.priority, std::move(other.priority));
  complete(job.nice, std::move(other.nice));
  complete(job.dependency, std::move(other.dependency));
  complete(job.reservation, std::move(other.reservation));
  complete(job.comment, std::move(other.comment));
  complete(job.model, std::move(other.model));
  if (!job.array) job.array = std::move(other.array);
  if (!job.part) job.part = std::move(other.part);
}

/// Names under which other files may have a job: its id, its place in an array or a heterogeneous job.
std::vector<std::string> names_of(const DumpedJob& job) {
  std::vector<std::string> names = {job.id};
  if (job.array) names.push_back(fmt::format("{}_{}", job.array->job_id, job.array->tasks));
  if (job.part) names.push_back(fmt::format("{}+{}", job.part->job_id, job.part->offset));
  return names;
}

/// True if a job of an earlier file is the array whose task a job is.
bool waits_as_array(const LiveState& state, const std::unordered_map<std::string, std::size_t>& places,
                    const DumpedJob& job, std::size_t before) {
  const auto found = places.find(job.array->job_id);
  if (found == places.end() || found->second >= before) return false;
  const DumpedJob& whole = state.jobs[found->second];
  return whole.array && whole.is_pending();
}

/// Joins jobs with those of files before. Error: an id that comes twice in one file.
Result<void> join_jobs(LiveState& state, LiveState&& added, const std::string& file) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < state.jobs.size(); ++i)
    for (std::string& name : names_of(state.jobs[i]))
      places.emplace(std::move(name), i);
  const std::size_t before = state.jobs.size();
  for (DumpedJob& job : added.jobs) {
    // A waiting task of an array that another file lists as a whole is known.
    const bool is_known_task = job.array && job.id != job.array->job_id && job.is_pending() &&
                               !places.contains(job.id) && waits_as_array(state, places, job, before);
    if (is_known_task) continue;
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

/// Gives all jobs of an array the throttle that one of them tells.
void share_throttles(LiveState& state) {
  std::map<std::string, std::int64_t> most;
  for (const DumpedJob& job : state.jobs) {
    if (job.array && job.array->most_running) most[job.array->job_id] = *job.array->most_running;
  }
  for (DumpedJob& job : state.jobs) {
    const auto found = job.array ? most.find(job.array->job_id) : most.end();
    if (found != most.end()) job.array->most_running = found->second;
  }
}

/// Gives jobs the priorities that sprio tells.
void set_priorities(LiveState& state) {
  std::int64_t unknown = std::ssize(state.priorities);
  for (DumpedJob& job : state.jobs) {
    const auto found = state.priorities.find(job.id);
    if (found == state.priorities.end()) continue;
    --unknown;
    // Held jobs are not in sprio; one that has just been held has priority 0.
    if (job.is_pending() && job.priority != 0) job.priority = found->second;
  }
  if (unknown > 0) state.remark("jobs of sprio that no other file has", unknown);
}

/// Gives nodes whose use no file tells the GPUs of the jobs on them, in equal parts.
void infer_use(LiveState& state) {
  std::unordered_map<std::string_view, std::int64_t> held;
  for (const DumpedJob& job : state.jobs) {
    if (!job.is_running()) continue;
    for (const std::string& name : job.nodes)
      held[name] += job.gpus / std::ssize(job.nodes);
  }
  for (DumpedNode& node : state.nodes) {
    const auto found = held.find(node.name);
    if (node.gpus_in_use == 0 && found != held.end()) node.gpus_in_use = std::min(found->second, node.gpus);
  }
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
  added.zone = state.zone;
  for (const LiveRecord& record : dump.records) {
    const auto done = dump.kind == LiveKind::Jobs         ? add_slurm_job(record, added)
                      : dump.kind == LiveKind::Nodes      ? add_slurm_node(record, state)
                      : dump.kind == LiveKind::Partitions ? add_slurm_partition(record, state)
                      : dump.kind == LiveKind::NodeRows   ? add_sinfo_row(record, state)
                      : dump.kind == LiveKind::Priorities ? add_priority(record, state)
                                                          : add_slurm_reservation(record, state);
    if (!done) return done;
  }
  if (added.printed) state.note_time(*added.printed);
  return join_jobs(state, std::move(added), file);
}

}  // namespace

Result<void> add_dump(std::string text, const std::string& file, LiveState& state) {
  if (trim(text).starts_with('{')) {
    const auto document = JsonDocument::parse(std::move(text), file);
    if (!document) return fail(document.error());
    if (is_kubernetes_dump(*document)) return add_kubernetes_dump(*document, state);
    const auto dump = read_slurm_json(*document);
    return dump ? add_records(*dump, file, state) : fail(dump.error());
  }
  const auto is_file = add_slurm_file(text, file, state);
  if (!is_file) return fail(is_file.error());
  if (*is_file) return {};
  const auto dump = read_slurm_dump(std::move(text), file);
  return dump ? add_records(*dump, file, state) : fail(dump.error());
}

Result<LiveState> read_live_state(std::span<const std::string> files, const TimeZone& zone) {
  std::vector<DumpText> texts;
  for (const std::string& file : files) {
    auto text = read_file(file, InputKind::Instance);
    if (!text) return fail(std::move(text.error()));
    texts.push_back({file, *std::move(text)});
  }
  return read_live_texts(std::move(texts), zone);
}

Result<LiveState> read_live_texts(std::vector<DumpText> texts, const TimeZone& zone) {
  LiveState state;
  state.zone = zone;
  // Tables that name tasks of arrays by their place complete the jobs of others.
  std::stable_partition(texts.begin(), texts.end(),
                        [](const DumpText& each) { return !has_only_shown_ids(each.text); });
  for (auto& [file, text] : texts) {
    if (auto added = add_dump(std::move(text), file, state); !added) return fail(std::move(added.error()));
  }
  if (auto made = finish_kubernetes(state); !made) return fail(std::move(made.error()));
  if (state.jobs.empty() && state.nodes.empty())
    return fail({.message = "expected a job or a node in the files, found none"});
  share_throttles(state);
  set_priorities(state);
  check_use(state);
  infer_use(state);
  return state;
}

Result<RunTimeBook> read_run_times(const LiveState& state, std::span<const std::string> past_files,
                                   const TimeZone& zone) {
  RunTimeBook book;
  for (const DumpedJob& job : state.jobs)
    book.add(job);
  if (past_files.empty()) return book;
  const auto past = read_live_state(past_files, zone);
  if (!past) return fail(past.error());
  for (const DumpedJob& job : past->jobs)
    book.add(job);
  return book;
}

}  // namespace vtrain
