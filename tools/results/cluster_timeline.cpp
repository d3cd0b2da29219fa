/// A run as a timeline of Chrome trace events.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/json_reader.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

/// Builds the list of Chrome trace events (the "Trace Event Format" that Perfetto reads), one event a line.
class TraceEvents {
 public:
  void name_process(std::size_t process, std::string_view name) {
    add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", process,
                    json_string(name)));
  }
  void name_thread(std::size_t process, std::size_t thread, std::string_view name) {
    add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process,
                    thread, json_string(name)));
  }
  /// A job on GPUs.
  void slice(std::size_t process, std::size_t thread, std::string_view name, const JobSegment& run) {
    slice(process, thread, "job", name, {run.begin, run.end},
          fmt::format(R"({{"num_gpus":{}}})", run.num_gpus.value));
  }
  /// A job on the GPUs that it holds of one node. `gpus_here` counts only the part of a GPU that is shared,
  /// so that the jobs of an instant add up to at most what the node has.
  void slice(std::size_t process, std::size_t thread, std::string_view name, const JobSegment& run,
             GpuCount gpus) {
    slice(process, thread, "job", name, {run.begin, run.end},
          fmt::format(R"({{"num_gpus":{},"gpus_here":{}}})", run.num_gpus.value,
                      static_cast<double>(gpus.value) * run.gpu_share / kWholeGpu));
  }
  /// A node out of service, until `last` where it does not come back.
  void slice(std::size_t process, std::size_t thread, const Outage& outage, SimTime last) {
    const std::string_view cause = outage.kind == OutageKind::Drain ? "drain" : "failure";
    const bool returns = outage.end != Outage::kNeverEnds;
    slice(process, thread, "outage", cause, {outage.begin, returns ? outage.end : last},
          fmt::format(R"({{"node":{},"cause":"{}","returns":{}}})", outage.node.value, cause, returns));
  }
  std::string finish() && { return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events_ + "\n]}\n"; }

 private:
  void slice(std::size_t process, std::size_t thread, std::string_view category, std::string_view name,
             std::pair<SimTime, SimTime> span, std::string_view arguments) {
    add(fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{}}})",
                    json_string(name), category, process, thread, microseconds(span.first.time_since_epoch()),
                    microseconds(span.second - span.first), arguments));
  }
  static std::string microseconds(SimDuration duration) {
    return fmt::format("{}.{:03}", duration.count() / 1000, duration.count() % 1000);
  }
  void add(std::string_view event) {
    if (!events_.empty()) events_ += ",\n";
    events_ += event;
  }
  std::string events_;
};

/// The tracks of one node. Slices of one track must not overlap in time.
class NodeTracks {
 public:
  /// The first track, from 1, that is free from `begin` on; it is taken until `end`.
  std::size_t take(SimTime begin, SimTime end) {
    const auto free =
        std::find_if(ends_.begin(), ends_.end(), [begin](SimTime taken) { return taken <= begin; });
    const auto index = static_cast<std::size_t>(free - ends_.begin());
    if (free == ends_.end()) {
      ends_.push_back(end);
    } else {
      *free = end;
    }
    return index + 1;
  }
  std::size_t size() const { return ends_.size(); }

 private:
  std::vector<SimTime> ends_;
};

/// When the last run ends, or the last outage begins.
SimTime last_instant(const std::vector<const JobSegment*>& runs, const std::vector<Outage>& outages) {
  SimTime last{};
  for (const JobSegment* run : runs)
    last = std::max(last, run->end);
  for (const Outage& outage : outages)
    last = std::max(last, outage.begin);
  return last;
}

/// A process per node. Jobs that share a node overlap in time, so a node has as many tracks as it ever held
/// jobs at once, and below these as many as it had outages at once.
void add_node_tracks(TraceEvents& events, const Workload& workload, std::size_t num_nodes,
                     const std::vector<const JobSegment*>& runs, const std::vector<Outage>& outages) {
  std::vector<NodeTracks> job_tracks(num_nodes);
  std::vector<NodeTracks> outage_tracks(num_nodes);
  for (std::size_t node = 0; node < num_nodes; ++node)
    events.name_process(node + 1, fmt::format("node {}", node));
  for (const JobSegment* run : runs) {
    const Job& job = workload.jobs[run->job.value];
    for (const GangPart& part : run->parts) {
      const std::size_t node = part.node.value;
      events.slice(node + 1, job_tracks[node].take(run->begin, run->end), job.name, *run, part.gpus);
    }
  }
  const SimTime last = last_instant(runs, outages);
  for (const Outage& outage : outages) {
    const std::size_t node = outage.node.value;
    const std::size_t num_tracks = outage_tracks[node].size();
    const std::size_t track = job_tracks[node].size() + outage_tracks[node].take(outage.begin, outage.end);
    if (outage_tracks[node].size() > num_tracks) events.name_thread(node + 1, track, "out of service");
    events.slice(node + 1, track, outage, last);
  }
}

void add_job_tracks(TraceEvents& events, const Workload& workload,
                    const std::vector<const JobSegment*>& runs) {
  events.name_process(1, "jobs");
  std::vector<bool> named(workload.jobs.size(), false);
  for (const JobSegment* run : runs) {
    const Job& job = workload.jobs[run->job.value];
    const std::size_t track = run->job.value + std::size_t{1};
    if (!named[run->job.value]) events.name_thread(1, track, fmt::format("job {}", job.name));
    named[run->job.value] = true;
    events.slice(1, track, job.name, *run);
  }
}

}  // namespace

std::string cluster_timeline(const Workload& workload, std::int32_t num_nodes,
                             const SimulationResult& result) {
  std::vector<const JobSegment*> runs;
  for (const JobSegment& segment : result.segments)
    runs.push_back(&segment);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const JobSegment* a, const JobSegment* b) { return a->begin < b->begin; });
  TraceEvents events;
  if (num_nodes > 0) {
    add_node_tracks(events, workload, static_cast<std::size_t>(num_nodes), runs, result.outages);
  } else {
    add_job_tracks(events, workload, runs);
  }
  return std::move(events).finish();
}

}  // namespace vtrain
