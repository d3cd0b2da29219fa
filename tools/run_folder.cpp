#include "tools/run_folder.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "core/csv.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "sched/metrics.hpp"
#include "tools/file_hash.hpp"
#include "tools/json_output.hpp"
#include "tools/trace_description.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kProvenance = "run.json";
constexpr const char* kWallOfPolicies = "simulation_wall_s";

/// What `write_run` may write.
constexpr std::array<std::string_view, 5> kRunFiles = {"jobs.csv", "interruptions.csv", "outages.csv",
                                                       "timeline.json", "summary.json"};

std::string_view state_name(JobState state) {
  switch (state) {
    case JobState::Completed:
      return "completed";
    case JobState::Rejected:
      return "rejected";
    case JobState::Failed:
      return "failed";
    case JobState::NotSubmitted:
    case JobState::Waiting:
    case JobState::Running:
    case JobState::Unfinished:
      return "unfinished";
  }
  throw std::logic_error("a job state without a name");
}

void append_job(std::string& out, const Workload& workload, const Job& job, const JobOutcome& outcome) {
  const auto comma_then_seconds = [&out](bool known, std::int64_t nanoseconds) {
    out += ',';
    if (known) append_ns_as_seconds(out, nanoseconds);
  };
  const bool ended = has_ended(outcome);
  const bool started = has_started(outcome);
  append_csv_field(out, job.name);
  out += ',';
  if (job.tenant) append_csv_field(out, workload.tenants[job.tenant.value]);
  out += ',';
  if (job.model) append_csv_field(out, workload.models[job.model.value]);
  comma_then_seconds(true, job.submit.time_since_epoch().count());
  comma_then_seconds(started, outcome.start.time_since_epoch().count());
  comma_then_seconds(ended, outcome.end.time_since_epoch().count());
  out += ',';
  out += state_name(outcome.state);
  out += ',';
  out += std::to_string(job.num_gpus.value);
  comma_then_seconds(ended, ended ? job_completion_time(job, outcome).count() : 0);
  comma_then_seconds(started, started ? queueing_delay(job, outcome).count() : 0);
  comma_then_seconds(job.has_deadline(), job.deadline.time_since_epoch().count());
  out += ',';
  if (job.has_deadline()) out += deadline_met(job, outcome) ? "true" : "false";
  out += ',';
  out += std::to_string(outcome.preemptions);
  out += ',';
  outcome.gpu_time.append_to(out);
  out += '\n';
}

Result<void> write_jobs_csv(const std::filesystem::path& path, const Workload& workload,
                            const SimulationResult& result) {
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  // Written row by row: a million rows need no second copy in memory.
  file->write(
      "job_id,tenant,model,submit_s,start_s,end_s,state,num_gpus,jct_s,queueing_delay_s,deadline_s,deadline_"
      "met,preemptions,gpu_seconds\n");
  std::string row;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    row.clear();
    append_job(row, workload, workload.jobs[i], result.outcomes[i]);
    file->write(row);
  }
  return file->commit();
}

/// What jobs lost, a row for each that was interrupted or lost something.
std::string interruptions_to_csv(const Workload& workload, const SimulationResult& result) {
  std::string rows = "job_id,failures,preemptions,resizes,gpu_seconds";
  for (const std::string_view cause : kLossCauseNames)
    rows += fmt::format(",{}_gpu_seconds", cause);
  rows += '\n';
  for (std::size_t i = 0; i < result.losses.size(); ++i) {
    const JobOutcome& outcome = result.outcomes[i];
    const LostGpuTime& lost = result.losses[i];
    if (outcome.failures + outcome.preemptions + outcome.resizes == 0 && lost.none()) continue;
    append_csv_field(rows, workload.jobs[i].name);
    rows += fmt::format(",{},{},{},", outcome.failures, outcome.preemptions, outcome.resizes);
    outcome.gpu_time.append_to(rows);
    for (std::size_t cause = 0; cause < kNumLossCauses; ++cause) {
      rows += ',';
      lost[static_cast<LossCause>(cause)].append_to(rows);
    }
    rows += '\n';
  }
  return rows;
}

/// Writes a file that not every run has. One that is left from another run in the same folder goes.
template <class Content>
Result<void> write_or_remove(const std::filesystem::path& path, bool wanted, Content content) {
  if (wanted) return write_file(path, content());
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return {};
}

/// The files that only a disrupted replay has.
Result<void> write_disruptions(const std::filesystem::path& folder, const Workload& workload,
                               const SimulationResult& result) {
  auto written = write_or_remove(folder / "interruptions.csv", !result.losses.empty(),
                                 [&] { return interruptions_to_csv(workload, result); });
  if (!written) return written;
  return write_or_remove(folder / "outages.csv", !result.losses.empty() && !result.outages.empty(),
                         [&] { return outages_to_csv(result.outages); });
}

ordered_json disruption_summary_to_json(const DisruptionSummary& summary) {
  ordered_json lost = ordered_json::object();
  for (std::size_t cause = 0; cause < kNumLossCauses; ++cause)
    lost[std::string(kLossCauseNames[cause])] = summary.lost_gpu_hours[cause];
  return {{"outages", summary.outages},
          {"interruptions", summary.interruptions},
          {"interrupted_jobs", summary.interrupted_jobs},
          {"resizes", summary.resizes},
          {"useful_gpu_hours", summary.useful_gpu_hours},
          {"lost_gpu_hours", lost},
          {"out_of_service_gpu_hours", summary.out_of_service_gpu_hours},
          {"goodput", summary.goodput}};
}

/// Builds the list of Chrome trace events (the "Trace Event Format" that Perfetto reads), one event a line.
class TraceEvents {
 public:
  void name_process(std::size_t process, std::string_view name) {
    add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", process,
                    quoted(name)));
  }
  void name_thread(std::size_t process, std::size_t thread, std::string_view name) {
    add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process,
                    thread, quoted(name)));
  }
  /// A job on GPUs.
  void slice(std::size_t process, std::size_t thread, std::string_view name, const JobRun& run) {
    slice(process, thread, "job", name, {run.begin, run.end},
          fmt::format(R"({{"num_gpus":{}}})", run.num_gpus.value));
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
                    quoted(name), category, process, thread, microseconds(span.first.time_since_epoch()),
                    microseconds(span.second - span.first), arguments));
  }
  static std::string quoted(std::string_view text) {
    return ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
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
SimTime last_instant(const std::vector<const JobRun*>& runs, const std::vector<Outage>& outages) {
  SimTime last{};
  for (const JobRun* run : runs)
    last = std::max(last, run->end);
  for (const Outage& outage : outages)
    last = std::max(last, outage.begin);
  return last;
}

/// A process per node. Jobs that share a node overlap in time, so a node has as many tracks as it ever held
/// jobs at once, and below these as many as it had outages at once.
void add_node_tracks(TraceEvents& events, const Experiment& experiment,
                     const std::vector<const JobRun*>& runs, const std::vector<Outage>& outages) {
  const auto num_nodes = static_cast<std::size_t>(experiment.cluster.total_nodes());
  std::vector<NodeTracks> job_tracks(num_nodes);
  std::vector<NodeTracks> outage_tracks(num_nodes);
  for (std::size_t node = 0; node < num_nodes; ++node)
    events.name_process(node + 1, fmt::format("node {}", node));
  for (const JobRun* run : runs) {
    const Job& job = experiment.workload.jobs[run->job.value];
    for (const NodeId node : run->nodes)
      events.slice(node.value + 1, job_tracks[node.value].take(run->begin, run->end), job.name, *run);
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

void add_job_tracks(TraceEvents& events, const Experiment& experiment,
                    const std::vector<const JobRun*>& runs) {
  events.name_process(1, "jobs");
  std::vector<bool> named(experiment.workload.jobs.size(), false);
  for (const JobRun* run : runs) {
    const Job& job = experiment.workload.jobs[run->job.value];
    const std::size_t track = run->job.value + std::size_t{1};
    if (!named[run->job.value]) events.name_thread(1, track, fmt::format("job {}", job.name));
    named[run->job.value] = true;
    events.slice(1, track, job.name, *run);
  }
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// What the policy told, by name.
ordered_json figures_to_json(const std::vector<PolicyFigure>& figures) {
  ordered_json json = ordered_json::object();
  for (const PolicyFigure& figure : figures) {
    const bool whole = figure.value == std::trunc(figure.value) && std::abs(figure.value) < 1e15;
    if (whole)
      json[std::string(figure.name)] = static_cast<std::int64_t>(figure.value);
    else
      json[std::string(figure.name)] = figure.value;
  }
  return json;
}

ordered_json numbers_to_json(const Summary& summary) {
  const auto number_or_null = [](double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json();
  };
  ordered_json json = {
      {"policy", summary.policy},
      {"jobs", summary.jobs},
      {"completed", summary.completed},
      {"failed", summary.failed},
      {"rejected", summary.rejected},
      {"unfinished", summary.unfinished},
      {"deadline_jobs", summary.deadline_jobs},
      {"deadline_met", summary.deadline_met},
      {"deadline_satisfactory_ratio",
       number_or_null(summary.deadline_satisfactory_ratio.value_or(std::nan("")))},
      {"avg_jct_s", number_or_null(summary.avg_jct_s)},
      {"p50_jct_s", number_or_null(summary.p50_jct_s)},
      {"p99_jct_s", number_or_null(summary.p99_jct_s)},
      {"avg_queueing_delay_s", number_or_null(summary.avg_queueing_delay_s)},
      {"makespan_s", number_or_null(summary.makespan_s)},
      {"gpu_utilization", number_or_null(summary.gpu_utilization)},
      {"finish_time_fairness_max", number_or_null(summary.finish_time_fairness_max)},
      {"jain_index", number_or_null(summary.jain_index)},
      {"preemptions", summary.preemptions},
      {"events", summary.events},
  };
  if (summary.disruptions) json["disruptions"] = disruption_summary_to_json(*summary.disruptions);
  return json;
}

ordered_json to_json(const FragmentationSummary& fragmentation) {
  return {{"definition",
           "sum of F_n over the nodes / free GPUs, F_n being the free GPUs of a node that are of no use to a "
           "job, in the mean over the sizes of jobs (FGD, USENIX ATC'23); means over time"},
          {"mean_rate", fragmentation.mean_rate},
          {"max_rate", fragmentation.max_rate},
          {"interval_s", fragmentation.interval_s},
          {"mean_rate_by_interval", fragmentation.mean_rate_by_interval}};
}

}  // namespace

ordered_json summary_to_json(const Summary& summary) {
  ordered_json json = numbers_to_json(summary);
  if (!summary.figures.empty()) json["policy_figures"] = figures_to_json(summary.figures);
  if (summary.fragmentation) json["fragmentation"] = to_json(*summary.fragmentation);
  return json;
}

std::string cluster_timeline(const Experiment& experiment, const ExperimentRun& run) {
  std::vector<const JobRun*> runs;
  for (const JobRun& job_run : run.result.runs)
    runs.push_back(&job_run);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const JobRun* a, const JobRun* b) { return a->begin < b->begin; });
  TraceEvents events;
  if (experiment.placement == PlacementKind::Count) {
    add_job_tracks(events, experiment, runs);
  } else {
    add_node_tracks(events, experiment, runs, run.result.outages);
  }
  return std::move(events).finish();
}

Result<void> write_run(const std::filesystem::path& folder, const Experiment& experiment,
                       const ExperimentRun& run) {
  if (auto made = create_output_folder(folder); !made) return made;
  if (auto jobs = write_jobs_csv(folder / "jobs.csv", experiment.workload, run.result); !jobs) return jobs;
  if (auto written = write_disruptions(folder, experiment.workload, run.result); !written) return written;
  if (auto timeline = write_or_remove(folder / "timeline.json", run.result.runs_recorded,
                                      [&] { return cluster_timeline(experiment, run); });
      !timeline) {
    return timeline;
  }
  return write_file(folder / "summary.json", json_text(summary_to_json(run.summary)));
}

std::vector<std::string> policy_folders(const std::vector<std::string>& specs) {
  constexpr std::size_t kLongest = 100;
  constexpr std::size_t kHashDigits = 12;
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const std::string& spec : specs) {
    std::string name = spec;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == ':' || c == '/' || c == ';'; }, '-');
    if (name.size() > kLongest || !taken.insert(name).second) {
      name = name.substr(0, kLongest - kHashDigits - 1) + "-" + sha256_of_text(spec).substr(0, kHashDigits);
      taken.insert(name);
    }
    names.push_back(std::move(name));
  }
  return names;
}

void remove_previous_run(const std::filesystem::path& folder, const std::vector<std::string>& kept) {
  const auto text = read_file(folder / kProvenance);
  const auto run = ordered_json::parse(text.value_or(""), nullptr, false);
  if (!run.is_object() || !run.contains(kWallOfPolicies)) return;
  std::vector<std::string> specs;
  for (const auto& policy : run[kWallOfPolicies].items())
    specs.push_back(policy.key());
  std::vector<std::string> places = policy_folders(specs);
  // A folder with a run.json is that of another run.
  std::error_code ignored;  // of what is not there, or not empty
  std::erase_if(places, [&](const std::string& place) {
    return place.starts_with('.') || std::filesystem::exists(folder / place / kProvenance, ignored);
  });
  places.emplace_back();
  for (const std::string& place : places) {
    if (std::find(kept.begin(), kept.end(), place) != kept.end()) continue;
    for (const std::string_view file : kRunFiles)
      std::filesystem::remove(folder / place / file, ignored);
    std::filesystem::remove(folder / place, ignored);
  }
}

Result<void> write_run_provenance(const std::filesystem::path& folder, const ExperimentArguments& arguments,
                                  const Experiment& experiment, const std::vector<ExperimentRun>& runs) {
  ordered_json inputs = ordered_json::object();
  for (const auto& [label, value] : experiment.provenance)
    inputs[label] = value;
  ordered_json wall = ordered_json::object();
  for (const ExperimentRun& run : runs)
    wall[run.summary.policy] = run.wall_s;
  const ordered_json document = {
      {"version", VTRAIN_VERSION},
      {"command", arguments.command_line},
      {"written_at", fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::now()))},
      {"host", host_name()},
      {"seed", arguments.transformations.seed},
      {"transformations", transformations_to_json(arguments.transformations)},
      {"disruptions", disruptions_to_json(arguments.disruptions)},
      {"inputs", inputs},
      {"skipped_rows", experiment.skipped.total()},
      {"skipped", skipped_to_json(experiment.skipped)},
      {"assumptions", experiment.assumptions},
      {"read_s", experiment.read_s},
      {kWallOfPolicies, wall},
  };
  return write_file(folder / kProvenance, json_text(document));
}

}  // namespace vtrain
