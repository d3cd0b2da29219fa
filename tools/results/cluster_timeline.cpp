/// A run as a timeline of Chrome trace events.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/json_reader.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/results/results.hpp"

namespace vtrain {
namespace {

/// Looks of a job's slices: arguments in JSON, and a colour of the trace viewer's palette.
struct JobLook {
  std::string arguments;    ///< JSON without the braces
  std::string_view colour;  ///< colour that tells if the deadline was met
};

/// Seconds in JSON; `null` for no deadline.
std::string seconds_or_null(SimTime time) {
  if (time == Job::kNoDeadline) return "null";
  return fmt::format("{}", to_seconds(time.time_since_epoch()));
}

/// The tenant's position in the workload's names; one past the last for a job without a tenant.
std::uint32_t tenant_place(const Workload& workload, const Job& job) {
  return std::min(job.tenant.value, static_cast<std::uint32_t>(workload.tenants.size()));
}

/// The tenant's name; empty for a job without a tenant.
std::string_view tenant_of(const Workload& workload, const Job& job) {
  const std::uint32_t place = tenant_place(workload, job);
  return place < workload.tenants.size() ? std::string_view(workload.tenants[place]) : std::string_view();
}

JobLook look_of(const Workload& workload, const Job& job, const JobOutcome& outcome) {
  const bool has_deadline = job.deadline != Job::kNoDeadline;
  const bool is_met = has_deadline && deadline_met(job, outcome);
  const std::string_view model =
      job.model.value < workload.models.size() ? workload.models[job.model.value] : std::string_view();
  const std::string_view deadline = !has_deadline ? "none" : is_met ? "met" : "missed";
  return {fmt::format(R"("tenant":{},"model":{},"deadline":"{}","deadline_s":{},"submit_s":{})",
                      json_string(tenant_of(workload, job)), json_string(model), deadline,
                      seconds_or_null(job.deadline), to_seconds(job.submit.time_since_epoch())),
          !has_deadline ? "grey"
          : is_met      ? "good"
                        : "terrible"};
}

/// Builds the list of Chrome trace events (the "Trace Event Format" that Perfetto reads), one event a line.
class TraceEvents {
 public:
  TraceEvents(const Workload& workload, const SimulationResult& result) {
    for (std::size_t i = 0; i < workload.jobs.size(); ++i)
      looks_.push_back(look_of(workload, workload.jobs[i], result.outcomes[i]));
  }
  void name_process(std::size_t process, std::string_view name) {
    add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", process,
                    json_string(name)));
    add(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
                    process));
  }
  void name_thread(std::size_t process, std::size_t thread, std::string_view name) {
    add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process,
                    thread, json_string(name)));
  }
  /// Adds the value of a counter from an instant on.
  void counter(std::size_t process, std::string_view name, SimTime time, std::int64_t value) {
    add(fmt::format(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"value":{}}}}})", json_string(name),
                    process, microseconds(time.time_since_epoch()), value));
  }
  /// Adds a job on GPUs. `ends` is the reason that its segment ended.
  void slice(std::size_t process, std::size_t thread, std::string_view name, const JobSegment& run,
             std::string_view ends) {
    job_slice(process, thread, name, run,
              fmt::format(R"("num_gpus":{},"ends":"{}")", run.num_gpus.value, ends));
  }
  /// Adds a job on its GPUs of one node. `gpus_here` counts a shared GPU by the used part, so that concurrent
  /// jobs sum to at most the node's GPUs.
  void slice(std::size_t process, std::size_t thread, std::string_view name, const JobSegment& run,
             std::string_view ends, GpuCount gpus) {
    job_slice(process, thread, name, run,
              fmt::format(R"("num_gpus":{},"gpus_here":{},"ends":"{}")", run.num_gpus.value,
                          static_cast<double>(gpus.value) * run.gpu_share / kWholeGpu, ends));
  }
  /// Adds a waiting job, with the reason.
  void wait(std::size_t process, std::size_t thread, std::string_view name, JobId job,
            std::pair<SimTime, SimTime> span, std::string_view reason) {
    const JobLook& look = looks_[job.value];
    slice(process, thread, "wait", name, span, fmt::format(R"({{"reason":"{}",{}}})", reason, look.arguments),
          look.colour);
  }
  /// Adds a node out of service, until `last` if it does not come back.
  void slice(std::size_t process, std::size_t thread, const Outage& outage, SimTime last) {
    const std::string_view cause = outage.kind == OutageKind::Drain ? "drain" : "failure";
    const bool returns = outage.end != Outage::kNeverEnds;
    slice(process, thread, "outage", cause, {outage.begin, returns ? outage.end : last},
          fmt::format(R"({{"node":{},"cause":"{}","returns":{}}})", outage.node.value, cause, returns),
          "black");
  }
  std::string finish() && { return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events_ + "\n]}\n"; }

 private:
  void job_slice(std::size_t process, std::size_t thread, std::string_view name, const JobSegment& run,
                 std::string_view arguments) {
    const JobLook& look = looks_[run.job.value];
    slice(process, thread, "job", name, {run.begin, run.end},
          fmt::format("{{{},{}}}", arguments, look.arguments), look.colour);
  }
  void slice(std::size_t process, std::size_t thread, std::string_view category, std::string_view name,
             std::pair<SimTime, SimTime> span, std::string_view arguments, std::string_view colour) {
    add(fmt::format(
        R"({{"ph":"X","name":{},"cat":"{}","cname":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{}}})",
        json_string(name), category, colour, process, thread, microseconds(span.first.time_since_epoch()),
        microseconds(span.second - span.first), arguments));
  }
  static std::string microseconds(SimDuration duration) {
    return fmt::format("{}.{:03}", duration.count() / 1000, duration.count() % 1000);
  }
  void add(std::string_view event) {
    if (!events_.empty()) events_ += ",\n";
    events_ += event;
  }
  std::vector<JobLook> looks_;  ///< looks by `JobId`
  std::string events_;
};

/// The tracks of one node or tenant. Slices of one track must not overlap in time.
class Tracks {
 public:
  /// Takes the first track, from 1, that is free from `begin` on, until `end`.
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

/// A job's time on GPUs, and the reason for its end.
struct Stretch {
  const JobSegment* run;
  std::string_view ends;  ///< `completed`, `resized`, `stopped` or another state
};

/// A job's time without GPUs, and the reason for its begin.
struct Wait {
  JobId job;
  SimTime begin{};
  SimTime end{};
  std::string_view reason;
};

/// Reason for the end of a job's last segment.
std::string_view last_end(const JobOutcome& outcome) {
  switch (outcome.state) {
    case JobState::Completed:
      return "completed";
    case JobState::Failed:
      return "stopped at its requested time";
    default:
      return "stopped";
  }
}

/// Segments of all jobs in order of begin, and the waits between them, also in order of begin.
struct JobTimes {
  std::vector<Stretch> stretches;
  std::vector<Wait> waits;
};

JobTimes times_of(const Workload& workload, const SimulationResult& result) {
  std::vector<const JobSegment*> runs;
  for (const JobSegment& segment : result.segments)
    runs.push_back(&segment);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const JobSegment* a, const JobSegment* b) { return a->begin < b->begin; });
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> last(workload.jobs.size(), kNone);
  JobTimes times;
  for (const JobSegment* run : runs) {
    const Job& job = workload.jobs[run->job.value];
    const std::size_t before = std::exchange(last[run->job.value], times.stretches.size());
    const SimTime since = before == kNone ? job.submit : times.stretches[before].run->end;
    if (since < run->begin)
      times.waits.push_back({run->job, since, run->begin, before == kNone ? "not started yet" : "stopped"});
    if (before != kNone) times.stretches[before].ends = since < run->begin ? "stopped" : "resized";
    times.stretches.push_back({run, last_end(result.outcomes[run->job.value])});
  }
  std::stable_sort(times.waits.begin(), times.waits.end(),
                   [](const Wait& a, const Wait& b) { return a.begin < b.begin; });
  return times;
}

/// End of the last segment, or begin of the last outage if later.
SimTime last_instant(const std::vector<Stretch>& stretches, const std::vector<Outage>& outages) {
  SimTime last{};
  for (const Stretch& stretch : stretches)
    last = std::max(last, stretch.run->end);
  for (const Outage& outage : outages)
    last = std::max(last, outage.begin);
  return last;
}

/// Adds a process for each node. Jobs that share a node overlap in time, so its number of tracks is its
/// largest number of concurrent jobs. Below are tracks for its concurrent outages.
void add_node_tracks(TraceEvents& events, const Workload& workload, std::size_t num_nodes,
                     const std::vector<Stretch>& stretches, const std::vector<Outage>& outages) {
  std::vector<Tracks> job_tracks(num_nodes);
  std::vector<Tracks> outage_tracks(num_nodes);
  for (std::size_t node = 0; node < num_nodes; ++node)
    events.name_process(node + 1, fmt::format("node {}", node));
  for (const auto& [run, ends] : stretches) {
    const Job& job = workload.jobs[run->job.value];
    for (const GangPart& part : run->parts) {
      const std::size_t node = part.node.value;
      events.slice(node + 1, job_tracks[node].take(run->begin, run->end), job.name, *run, ends, part.gpus);
    }
  }
  const SimTime last = last_instant(stretches, outages);
  for (const Outage& outage : outages) {
    const std::size_t node = outage.node.value;
    const std::size_t num_tracks = outage_tracks[node].size();
    const std::size_t track = job_tracks[node].size() + outage_tracks[node].take(outage.begin, outage.end);
    if (outage_tracks[node].size() > num_tracks) events.name_thread(node + 1, track, "out of service");
    events.slice(node + 1, track, outage, last);
  }
}

JobId job_of(const Stretch& stretch) {
  return stretch.run->job;
}
JobId job_of(const Wait& wait) {
  return wait.job;
}
std::pair<SimTime, SimTime> span_of(const Stretch& stretch) {
  return {stretch.run->begin, stretch.run->end};
}
std::pair<SimTime, SimTime> span_of(const Wait& wait) {
  return {wait.begin, wait.end};
}

/// Adds a process for each tenant, from number `first` on, with a track for each concurrent job.
template <class Item, class Add>
void add_tenant_tracks(TraceEvents& events, const Workload& workload, std::size_t first,
                       std::string_view what, const std::vector<Item>& items, const Add& add) {
  std::vector<Tracks> tracks(workload.tenants.size() + 1);
  for (const Item& item : items) {
    const JobId id = job_of(item);
    const Job& job = workload.jobs[id.value];
    const std::uint32_t tenant = tenant_place(workload, job);
    if (tracks[tenant].size() == 0) {
      const std::string_view name = tenant_of(workload, job);
      events.name_process(first + tenant, fmt::format("{}{}{}", what, name.empty() ? "" : " of ", name));
    }
    const auto [begin, end] = span_of(item);
    add(first + tenant, tracks[tenant].take(begin, end), job.name, item);
  }
}

/// Adds the queue and the GPUs in use over time.
void add_counters(TraceEvents& events, const SimulationResult& result) {
  events.name_process(0, "cluster");
  for (const ClusterSample& sample : result.samples) {
    events.counter(0, "waiting jobs", sample.time, sample.waiting_jobs);
    events.counter(0, "GPUs in use", sample.time, sample.gpus_in_use.value);
  }
}

}  // namespace

std::string cluster_timeline(const Workload& workload, std::int32_t num_nodes,
                             const SimulationResult& result) {
  const JobTimes times = times_of(workload, result);
  TraceEvents events(workload, result);
  add_counters(events, result);
  std::size_t next_process = 1;
  if (num_nodes > 0) {
    add_node_tracks(events, workload, static_cast<std::size_t>(num_nodes), times.stretches, result.outages);
    next_process += static_cast<std::size_t>(num_nodes);
  } else {
    add_tenant_tracks(events, workload, next_process, "jobs", times.stretches,
                      [&](std::size_t process, std::size_t track, std::string_view name,
                          const Stretch& each) { events.slice(process, track, name, *each.run, each.ends); });
    next_process += workload.tenants.size() + 1;
  }
  add_tenant_tracks(events, workload, next_process, "waiting jobs", times.waits,
                    [&](std::size_t process, std::size_t track, std::string_view name, const Wait& each) {
                      events.wait(process, track, name, each.job, {each.begin, each.end}, each.reason);
                    });
  return std::move(events).finish();
}

}  // namespace vtrain
