#include "tools/live/slurm_objects.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/text/calendar.hpp"
#include "core/text/slurm_lists.hpp"
#include "policies/tenants/slurm/configuration.hpp"

namespace vtrain {
namespace {

using Names = std::initializer_list<std::string_view>;

constexpr std::int64_t kMostCount = 1'000'000'000;
constexpr std::size_t kMostHosts = 100'000;

/// Takes values out of a record. The first error is remembered.
class RecordReader {
 public:
  RecordReader(const LiveRecord& record, const LiveState& state) : record_(record), zone_(state.zone) {}

  std::string text(Names names) const { return std::string(record_[names]); }

  std::vector<std::string> words(Names names, char separator = ',') const {
    std::vector<std::string> list;
    for (const std::string_view word : split(record_[names], separator)) {
      if (!word.empty()) list.emplace_back(word);
    }
    return list;
  }

  /// An instant: seconds since 1970, or a date and time. 0 is none.
  std::optional<std::int64_t> instant(Names names) {
    const std::string_view found = record_[names];
    if (found.empty() || found == "0") return std::nullopt;
    if (const auto time = parse_civil_time(found))
      return std::chrono::floor<std::chrono::seconds>(time->utc(zone_)).time_since_epoch().count();
    const auto seconds = parse_seconds_since_1970(found);
    if (seconds) return *seconds;
    complain(names, seconds.error().message);
    return std::nullopt;
  }

  /// A time limit: minutes, or `1-12:30:00`; none if unlimited.
  std::optional<std::int64_t> time_limit(Names names) {
    const std::string_view found = record_[names];
    if (found.empty() || equal_in_any_case(found, "Partition_Limit") || equal_in_any_case(found, "NOT_SET") ||
        equal_in_any_case(found, "INVALID"))
      return std::nullopt;
    const auto seconds = slurm::parse_slurm_seconds(found);
    if (!seconds) {
      complain(names, seconds.error().message);
      return std::nullopt;
    }
    return *seconds;
  }

  /// A whole number; of a range as `3-8` the first.
  std::optional<std::int64_t> integer(Names names, std::int64_t most = kMostCount, std::int64_t least = 0) {
    const std::string_view found = record_[names];
    if (found.empty() || equal_in_any_case(found, "UNLIMITED")) return std::nullopt;
    const auto number = parse_integer(found.substr(0, found.find('-', 1)), least, most);
    if (!number) {
      complain(names, number.error().message);
      return std::nullopt;
    }
    return *number;
  }

  std::vector<std::string> hosts(Names names) {
    const std::string_view found = record_[names];
    if (found.empty()) return {};
    auto list = expand_host_list(found, kMostHosts);
    if (list) return *std::move(list);
    complain(names, list.error().message);
    return {};
  }

  /// GPUs of a list of generic or trackable resources, with their type if it has just one.
  std::pair<std::int64_t, std::string> gpus(Names names, bool trackable) {
    std::string_view found = record_[names];
    if (found.starts_with("gres:")) found.remove_prefix(5);
    const auto parsed = trackable ? parse_tres(found) : parse_gres(found);
    if (!parsed) {
      complain(names, parsed.error().message);
      return {};
    }
    std::int64_t sum = 0;
    for (const SlurmGpus& part : *parsed)
      sum += part.count;
    return {std::min(sum, kMostCount), parsed->size() == 1 ? std::string(parsed->front().type) : ""};
  }

  void complain(Names names, std::string message) {
    if (!error_) error_ = record_.error_at(names, std::move(message));
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const LiveRecord& record_;
  const TimeZone& zone_;
  std::optional<Error> error_;
};

/// The number of a resource in a list as `cpu=4,node=2`.
std::optional<std::int64_t> amount_in(std::string_view list, std::string_view name) {
  for (const std::string_view part : split(list, ',')) {
    const auto [key, value] = split_once(part, '=');
    if (key != name || !value) continue;
    if (const auto number = parse_integer(*value, 0, kMostCount)) return *number;
  }
  return std::nullopt;
}

/// The one word for a reason that Slurm writes as a text.
std::string reason_word(std::string_view text) {
  if (text.find("Reserved_for_maintenance") != std::string_view::npos) return "Reservation";
  if (text.starts_with("Nodes_required_for_job")) return "Resources";
  return std::string(text.substr(0, text.find(',')));
}

/// Words of a text joined by underscores, as `scontrol` prints reasons.
std::string underscored(std::string_view text) {
  std::string joined(trim(text));
  std::ranges::replace(joined, ' ', '_');
  return joined;
}

/// A state in capital letters; the first of several, as newer versions list them. Short ones of squeue become
/// long.
std::string state_word(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {
      {"PD", "PENDING"},   {"R", "RUNNING"},    {"CG", "COMPLETING"},   {"CF", "CONFIGURING"},
      {"S", "SUSPENDED"},  {"CD", "COMPLETED"}, {"F", "FAILED"},        {"TO", "TIMEOUT"},
      {"CA", "CANCELLED"}, {"NF", "NODE_FAIL"}, {"PR", "PREEMPTED"},    {"OOM", "OUT_OF_MEMORY"},
      {"BF", "BOOT_FAIL"}, {"DL", "DEADLINE"},  {"RQ", "REQUEUED"},     {"RH", "REQUEUE_HOLD"},
      {"ST", "STOPPED"},   {"SO", "STAGE_OUT"}, {"SE", "SPECIAL_EXIT"}, {"RS", "RESIZING"}};
  const std::string upper = upper_case(text);
  std::string word = upper.substr(0, upper.find_first_of(", "));
  for (const auto& [letters, state] : kShort) {
    if (word == letters) return std::string(state);
  }
  return word;
}

/// True for a word as a state of Slurm is: capital letters, joined by underscores.
bool is_state_word(std::string_view word) {
  return std::ranges::all_of(word, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

const Names kJobId = {"JobId", "JobIDRaw", "job_id", "JOBID", "JobID"};
const Names kRequested = {"ReqTRES", "TRES", "tres_req_str", "tres/requested", "tres-alloc", "TRES_ALLOC"};
const Names kAllocated = {"AllocTRES", "tres_alloc_str", "tres/allocated"};
const Names kPerNode = {"TresPerNode", "tres_per_node", "TRES_PER_NODE"};
const Names kPerJob = {"TresPerJob", "tres_per_job"};

/// Nodes, CPUs and GPUs that a job asks for or holds.
void read_size(const LiveRecord& record, RecordReader& reader, DumpedJob& job) {
  const std::string_view requested = record[kRequested];
  const std::string_view allocated = record[kAllocated];
  const std::string_view list = allocated.empty() ? requested : allocated;
  const auto in_list = amount_in(list, "node");
  const auto told = reader.integer({"NumNodes", "NNodes", "node_count", "NODES", "allocation_nodes"});
  job.nodes_wanted = std::max<std::int64_t>(in_list ? *in_list : told.value_or(1), 1);
  const auto cpus = reader.integer({"NumCPUs", "NCPUS", "cpus", "CPUS", "required/CPUs"});
  job.cpus = amount_in(list, "cpu").value_or(cpus.value_or(0));
  const auto [per_node, type_per_node] = reader.gpus(kPerNode, false);
  const auto [per_job, type_per_job] = reader.gpus(kPerJob, false);
  job.gpu_type = !type_per_node.empty() ? type_per_node : type_per_job;
  job.tells_gpus =
      record.has(kRequested) || record.has(kAllocated) || record.has(kPerNode) || record.has(kPerJob);
  if (list.empty()) {
    job.gpus = per_job > 0 ? per_job : std::min(per_node * job.nodes_wanted, kMostCount);
    return;
  }
  const auto [sum, type] = reader.gpus(allocated.empty() ? kRequested : kAllocated, true);
  job.gpus = sum;
  if (job.gpu_type.empty() && !type.empty()) job.gpu_type = type;
}

void read_array(const LiveRecord& record, RecordReader& reader, DumpedJob& job) {
  const std::string_view of = record[{"ArrayJobId", "array_job_id", "array/job_id", "ARRAY_JOB_ID"}];
  const std::string_view tasks = record[{"ArrayTaskId", "array_task_string", "array_task_id", "array/task",
                                         "array/task_id", "ARRAY_TASK_ID"}];
  const std::string_view shown = record[{"JOBID shown", "JobID"}];
  if (!of.empty() && of != "0" && !tasks.empty()) {
    job.array = DumpedArray{.job_id = std::string(of), .tasks = std::string(tasks)};
  } else if (const auto [first, rest] = split_once(shown, '_'); rest) {
    std::string_view numbers = *rest;
    if (numbers.starts_with('[')) numbers = numbers.substr(1, numbers.size() - 2);
    job.array = DumpedArray{.job_id = std::string(first), .tasks = std::string(numbers)};
  }
  if (!job.array) return;
  job.array->most_running =
      reader.integer({"ArrayTaskThrottle", "array_max_tasks", "array/limits/max/running/tasks"});
  if (job.array->most_running == 0) job.array->most_running.reset();
  if (const auto [numbers, most] = split_once(job.array->tasks, '%'); most && !job.array->most_running) {
    if (const auto number = parse_integer(*most, 1, kMostCount)) job.array->most_running = *number;
  }
}

/// The object with a name; null if there is none.
template <class Object>
Object* known_by_name(std::vector<Object>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &Object::name);
  return found == list.end() ? nullptr : &*found;
}

/// Adds what another row or file knows more of a node.
void complete_node(DumpedNode& node, const DumpedNode& other, LiveState& state) {
  if (node.takes_jobs != other.takes_jobs && !node.state.empty() && !other.state.empty())
    state.remark("nodes whose state differs between files: that of the first is taken");
  if (node.state.empty()) {
    node.state = other.state;
    node.takes_jobs = other.takes_jobs;
  }
  const auto complete = [](auto& value, const auto& more) {
    if (value == std::remove_cvref_t<decltype(value)>{}) value = more;
  };
  complete(node.cpus, other.cpus);
  complete(node.cpus_in_use, other.cpus_in_use);
  complete(node.memory_mb, other.memory_mb);
  complete(node.gpu_type, other.gpu_type);
  complete(node.gpus, other.gpus);
  complete(node.gpus_in_use, other.gpus_in_use);
  complete(node.reason, other.reason);
}

}  // namespace

Result<void> add_slurm_job(const LiveRecord& record, LiveState& state) {
  RecordReader reader(record, state);
  DumpedJob job{.id = reader.text(kJobId)};
  // Of 9_[2-9] the array has the number 9.
  if (job.id.empty()) job.id = reader.text({"JOBID shown"});
  if (const std::size_t open = job.id.find("_["); open != std::string::npos) job.id.resize(open);
  if (job.id.empty()) return fail(record.error_at(kJobId, "missing"));
  // A step of a job, as `17.batch`.
  if (job.id.find('.') != std::string::npos) return {};
  job.name = reader.text({"JobName", "name", "NAME"});
  job.user = reader.text({"UserId", "User", "user_name", "USER", "association/user", "user"});
  job.user.resize(std::min(job.user.find('('), job.user.size()));
  job.account = reader.text({"Account", "account", "ACCOUNT"});
  job.qos = reader.text({"QOS", "qos"});
  job.partitions = reader.words({"Partition", "partition", "PARTITION"});
  job.state = state_word(record[{"JobState", "State", "job_state", "STATE", "state/current", "ST"}]);
  if (!is_state_word(job.state))
    return fail(record.error_at({"JobState", "State", "job_state", "STATE", "state/current", "ST"},
                                expected_found("a state of a job", job.state)));
  if (job.state.empty()) return fail(record.error_at({"JobState", "State", "job_state", "STATE"}, "missing"));
  read_size(record, reader, job);
  job.time_limit_s = reader.time_limit(
      {"TimeLimit", "Timelimit", "TimelimitRaw", "time_limit", "TIME_LIMIT", "TIME_LIMI", "time/limit"});
  job.submit = reader.instant({"SubmitTime", "Submit", "submit_time", "SUBMIT_TIME", "time/submission"});
  job.eligible = reader.instant({"EligibleTime", "Eligible", "eligible_time", "time/eligible"});
  job.evaluated = reader.instant({"LastSchedEval", "last_sched_evaluation"});
  const auto start = reader.instant({"StartTime", "Start", "start_time", "START_TIME", "time/start"});
  (job.is_pending() ? job.start_estimate : job.start) = start;
  const auto printed = reader.instant({"printed"});
  if (printed) state.note_time(*printed);
  if (!job.is_pending() && !start) {
    job.elapsed_s = reader.time_limit({"TIME"});
    if (printed && job.elapsed_s) job.start = *printed - *job.elapsed_s;
  }
  const bool has_ended = !job.is_pending() && job.state != "RUNNING" && job.state != "SUSPENDED" &&
                         job.state != "COMPLETING" && job.state != "CONFIGURING";
  if (has_ended) job.end = reader.instant({"EndTime", "End", "end_time", "END_TIME", "time/end"});
  if (!job.is_pending()) job.nodes = reader.hosts({"NodeList", "nodes", "NODELIST"});
  job.priority = reader.integer({"Priority", "priority", "PRIORITY"}, std::int64_t{1} << 32);
  job.nice = reader.integer({"Nice", "nice", "NICE"}, kMostCount, -kMostCount).value_or(0);
  if (job.is_pending()) {
    const std::string text =
        underscored(record[{"state_description", "Reason", "state_reason", "REASON", "state/reason"}]);
    const std::string word = reader.text({"state_reason"});
    job.reason = word.empty() ? reason_word(text) : word;
    if (text != job.reason) job.reason_text = text;
  }
  job.dependency = reader.text({"Dependency", "dependency", "DEPENDENCY"});
  job.reservation = reader.text({"Reservation", "resv_name", "RESERVATION"});
  job.comment = reader.text({"Comment", "comment", "COMMENT", "comment/job"});
  read_array(record, reader, job);
  const std::string_view part_of = record[{"HetJobId", "het_job_id", "het/job_id"}];
  if (!part_of.empty() && part_of != "0") {
    const auto offset = reader.integer({"HetJobOffset", "het_job_offset", "het/job_offset"});
    job.part = DumpedPart{.job_id = std::string(part_of), .offset = offset.value_or(0)};
  } else if (const auto [first, offset] = split_once(record[{"JOBID shown", "JobID"}], '+'); offset) {
    if (const auto number = parse_integer(*offset, 0, kMostCount))
      job.part = DumpedPart{.job_id = std::string(first), .offset = *number};
  }
  if (reader.error()) return fail(*reader.error());
  state.jobs.push_back(std::move(job));
  return {};
}

Result<void> add_slurm_node(const LiveRecord& record, LiveState& state) {
  RecordReader reader(record, state);
  const Names kName = {"NodeName", "name", "NODELIST", "HOSTNAMES"};
  DumpedNode node{.name = reader.text(kName)};
  if (node.name.empty()) return fail(record.error_at(kName, "missing"));
  node.state = upper_case(record[{"State", "state", "STATE"}]);
  std::ranges::replace(node.state, ',', '+');
  for (const std::string& flag : reader.words({"state_flags"}))
    node.state += "+" + upper_case(flag);
  node.takes_jobs = !keeps_jobs_away(node.state);
  node.cpus = reader.integer({"CPUTot", "cpus", "CPUS"}).value_or(0);
  node.cpus_in_use = reader.integer({"CPUAlloc", "alloc_cpus"}).value_or(0);
  node.memory_mb = reader.integer({"RealMemory", "real_memory", "MEMORY"}).value_or(0);
  const auto [gpus, type] = reader.gpus({"Gres", "gres", "GRES"}, false);
  node.gpus = gpus;
  node.gpu_type = type;
  if (record[{"Gres", "gres", "GRES"}].empty()) node.gpus = reader.gpus({"CfgTRES", "tres"}, true).first;
  const Names in_use = {"AllocTRES", "tres_used"};
  node.gpus_in_use = reader.gpus(in_use, true).first;
  if (node.gpus_in_use == 0) node.gpus_in_use = reader.gpus({"gres_used", "GRES_USED"}, false).first;
  node.reason = reader.text({"Reason", "reason", "REASON"});
  node.reason.resize(std::min(node.reason.find(" ["), node.reason.size()));
  if (node.reason == "none") node.reason.clear();
  if (reader.error()) return fail(*reader.error());
  if (DumpedNode* const known = known_by_name(state.nodes, node.name))
    complete_node(*known, node, state);
  else
    state.nodes.push_back(std::move(node));
  return {};
}

Result<void> add_sinfo_row(const LiveRecord& record, LiveState& state) {
  RecordReader reader(record, state);
  const std::vector<std::string> names =
      record[{"NODELIST"}].empty() ? reader.words({"HOSTNAMES"}) : reader.hosts({"NODELIST"});
  DumpedNode node{.state = upper_case(record[{"STATE"}])};
  node.takes_jobs = !keeps_jobs_away(node.state);
  // Nodes of one row that differ have the smallest number with a plus.
  const auto number_in = [&](Names column) {
    const std::string_view text = record[column];
    const auto number = parse_integer(text.substr(0, text.find('+')), 0, kMostCount);
    return number.value_or(0);
  };
  node.cpus = number_in({"CPUS"});
  node.memory_mb = number_in({"MEMORY"});
  std::tie(node.gpus, node.gpu_type) = reader.gpus({"GRES"}, false);
  node.reason = reader.text({"REASON"});
  if (node.reason == "none") node.reason.clear();
  std::string partition_name = reader.text({"PARTITION"});
  if (partition_name.ends_with('*')) partition_name.pop_back();
  const auto limit =
      equal_in_any_case(record[{"TIMELIMIT"}], "infinite") ? std::nullopt : reader.time_limit({"TIMELIMIT"});
  const auto tier = reader.integer({"PRIO_TIER"});
  const auto factor = reader.integer({"PRIO_JOB_FACTOR"});
  if (reader.error()) return fail(*reader.error());
  for (const std::string& name : names) {
    node.name = name;
    if (DumpedNode* const known = known_by_name(state.nodes, name))
      complete_node(*known, node, state);
    else
      state.nodes.push_back(node);
  }
  if (partition_name.empty()) return {};
  DumpedPartition* partition = known_by_name(state.partitions, partition_name);
  if (partition == nullptr) {
    partition = &state.partitions.emplace_back(DumpedPartition{.name = partition_name});
    partition->state = upper_case(record[{"AVAIL"}]);
    partition->most_time_s = limit;
    partition->priority_tier = tier.value_or(1);
    partition->priority_factor = factor.value_or(1);
  }
  for (const std::string& name : names) {
    if (std::ranges::find(partition->nodes, name) == partition->nodes.end()) partition->nodes.push_back(name);
  }
  return {};
}

Result<void> add_priority(const LiveRecord& record, LiveState& state) {
  RecordReader reader(record, state);
  const std::string id = record[{"JOBID"}].empty() ? reader.text({"JOBID shown"}) : reader.text({"JOBID"});
  if (id.empty()) return fail(record.error_at({"JOBID"}, "missing"));
  const std::string_view text = record[{"PRIORITY"}];
  if (text.find('.') != std::string_view::npos) {
    state.remark("normalised priorities (`sprio -n`) are not used");
    return {};
  }
  const auto priority = parse_integer(text, 0, std::int64_t{1} << 32);
  if (!priority) return fail(record.error_at({"PRIORITY"}, priority.error().message));
  std::int64_t& known = state.priorities[id];
  known = std::max(known, *priority);
  return {};
}

Result<void> add_slurm_partition(const LiveRecord& record, LiveState& state) {
  RecordReader reader(record, state);
  DumpedPartition partition{.name = reader.text({"PartitionName", "name"})};
  if (partition.name.empty()) return fail(record.error_at({"PartitionName", "name"}, "missing"));
  if (known_by_name(state.partitions, partition.name) != nullptr) return {};
  partition.state = upper_case(record[{"State", "partition/state"}]);
  partition.nodes = reader.hosts({"Nodes", "nodes/configured"});
  partition.most_time_s = reader.time_limit({"MaxTime", "maximums/time"});
  partition.most_nodes = reader.integer({"MaxNodes", "maximums/nodes"});
  partition.priority_tier = reader.integer({"PriorityTier", "priority/tier"}).value_or(1);
  partition.priority_factor = reader.integer({"PriorityJobFactor", "priority/job_factor"}).value_or(1);
  if (reader.error()) return fail(*reader.error());
  state.partitions.push_back(std::move(partition));
  return {};
}

Result<void> add_slurm_reservation(const LiveRecord& record, LiveState& state) {
  RecordReader reader(record, state);
  DumpedReservation reservation{.name = reader.text({"ReservationName", "name"})};
  if (reservation.name.empty()) return fail(record.error_at({"ReservationName", "name"}, "missing"));
  if (known_by_name(state.reservations, reservation.name) != nullptr) return {};
  const auto start = reader.instant({"StartTime", "start_time"});
  const auto end = reader.instant({"EndTime", "end_time"});
  reservation.nodes = reader.hosts({"Nodes", "node_list"});
  reservation.flags = reader.words({"Flags", "flags"});
  reservation.users = reader.words({"Users", "users"});
  reservation.accounts = reader.words({"Accounts", "accounts"});
  if (!start) reader.complain({"StartTime", "start_time"}, "missing");
  if (!end) reader.complain({"EndTime", "end_time"}, "missing");
  if (reader.error()) return fail(*reader.error());
  reservation.start = *start;
  reservation.end = *end;
  if (reservation.end < reservation.start)
    return fail(record.error_at({"EndTime", "end_time"}, "before the reservation's start"));
  state.reservations.push_back(std::move(reservation));
  return {};
}

}  // namespace vtrain
