#include "tools/live/cluster_now.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/text/slurm_lists.hpp"
#include "sched/cluster/node_table.hpp"
#include "workloads/jobs/requirements.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kMostTasks = 100'000;
constexpr std::int64_t kMostGpus = kMaxClusterGpus;

/// Words of Slurm for jobs that somebody must set free, with what to say of them.
struct StuckReason {
  std::string_view word;
  std::string_view text;
};
constexpr std::array kStuck = std::to_array<StuckReason>(
    {{"JobHeldUser", "held by its user"},
     {"JobHeldAdmin", "held by an operator"},
     {"DependencyNeverSatisfied", "waits for a job that did not end as it must"},
     {"PartitionDown", "its partition is down"},
     {"PartitionInactive", "its partition takes no jobs"},
     {"PartitionNodeLimit", "asks for more nodes than its partition allows"},
     {"PartitionTimeLimit", "its time limit is above that of its partition"},
     {"QOSMaxWallDurationPerJobLimit", "its time limit is above that of its QOS"},
     {"AssocMaxWallDurationPerJobLimit", "its time limit is above that of its account"},
     {"QOSMaxGRESPerJob", "asks for more GPUs than its QOS allows"},
     {"AssocMaxGRESPerJob", "asks for more GPUs than its account allows"},
     {"ReqNodeNotAvail", "asks for a node that is not available"},
     {"BadConstraints", "no node has what it asks for"},
     {"Inactive", "deactivated (spec.active is false)"},
     {"JobSuspended", "suspended, and no queue manages it"}});

/// True for `MAINT` and `IDLE+MAINT`: no other flag keeps jobs away.
bool is_in_maintenance_only(std::string_view state) {
  const std::vector<std::string_view> flags = split(state, '+');
  return std::ranges::none_of(flags, [](std::string_view flag) {
    return keeps_jobs_away(flag) && !flag.starts_with("MAINT") && !flag.ends_with('$');
  });
}

/// Numbers of the tasks in `2-9%2`, `1,3,5-9:2`. The error carries only the message.
Result<std::vector<std::int64_t>> task_numbers(std::string_view text) {
  text = text.substr(0, text.find('%'));
  const auto bad = [text] { return fail({.message = expected_found("tasks as 1,3,5-9:2", text)}); };
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : split(text, ',')) {
    const auto [range, step] = split_once(part, ':');
    const auto [first, last] = split_once(range, '-');
    const auto from = parse_integer(first, 0, 4'000'000'000);
    const auto to = last ? parse_integer(*last, 0, 4'000'000'000) : from;
    const auto by = step ? parse_integer(*step, 1, 4'000'000'000) : Result<std::int64_t>(1);
    if (!from || !to || !by || *to < *from) return bad();
    for (std::int64_t task = *from; task <= *to; task += *by) {
      if (std::ssize(numbers) >= kMostTasks) return bad();
      numbers.push_back(task);
    }
  }
  return numbers;
}

/// Builds the question job by job.
class Builder {
 public:
  Builder(const LiveState& state, const RunTimeBook& book, const ClusterNowOptions& options)
      : state_(state), book_(book), options_(options) {}

  Result<ClusterNow> build() {
    if (auto done = find_now(); !done) return fail(std::move(done.error()));
    if (auto done = make_cluster(); !done) return fail(std::move(done.error()));
    for (const auto& [text, count] : state_.remarks)
      made_.assumed[text] += count;
    add_reservations();
    for (const DumpedJob& job : state_.jobs) {
      if (auto added = add(job); !added) return fail(std::move(added.error()));
    }
    place_by_type();
    put_in_order();
    if (options_.models != nullptr && options_.models->num_unused() > 0)
      made_.assumed["rows of --models that no job matches"] += options_.models->num_unused();
    made_.question.placement = options_.placement;
    if (!info_of(options_.placement).knows_nodes) count_by_type();
    return std::move(made_);
  }

 private:
  struct Entry {
    Job job{};
    LiveJob live{};
    RunTimeGuess guess{};
    std::optional<TrainingWork> work{};
    std::string reason{};
    bool is_later = false;  ///< may start only later
  };

  Result<void> find_now() {
    std::optional<std::int64_t> latest;
    std::optional<std::int64_t> first;
    const auto see = [&](const std::optional<std::int64_t>& time, bool has_passed) {
      if (!time) return;
      if (has_passed && (!latest || *time > *latest)) latest = time;
      if (!first || *time < *first) first = time;
    };
    for (const DumpedJob& job : state_.jobs) {
      see(job.submit, true);
      see(job.evaluated, true);
      see(job.start, true);
    }
    if (state_.printed) latest = std::max(latest.value_or(*state_.printed), *state_.printed);
    see(state_.kubernetes.latest, true);
    if (!options_.now) {
      if (!latest)
        return fail(
            {.message = "expected a job with a time in the files of --now, found none; say --at TIME"});
      ++made_.assumed["now is the latest time in the files (--at TIME sets another)"];
    }
    made_.now = options_.now ? *options_.now : *latest;
    made_.origin = std::min(first.value_or(made_.now), made_.now);
    return {};
  }

  Result<void> make_cluster() {
    ClusterSpec& cluster = made_.question.cluster;
    if (options_.cluster) {
      cluster = *options_.cluster;
      return {};
    }
    for (const DumpedNode& node : state_.nodes) {
      if (node.gpus == 0) continue;
      if (node.gpus_in_use > node.gpus || node.gpus > kMostGpus)
        return fail({.field = node.name,
                     .message = fmt::format("{} of {} GPUs are in use", node.gpus_in_use, node.gpus)});
      const bool is_whole = info_of(options_.placement).knows_nodes || options_.policy_names_nodes;
      // Without places a node that takes no jobs is as large as what jobs hold of it.
      const std::int64_t gpus = node.takes_jobs || is_whole ? node.gpus : node.gpus_in_use;
      if (!node.takes_jobs && !comes_back(node)) {
        ++made_.assumed["nodes that take no jobs stay as they are"];
        if (info_of(options_.placement).knows_nodes)
          made_.question.state.out_of_service.emplace_back(num_nodes_);
        made_.question.calendar.out_of_service.push_back(node.name);
      }
      if (gpus == 0) continue;
      const NodeGroup group{.num_nodes = 1,
                            .gpus_per_node = GpuCount(static_cast<std::int32_t>(gpus)),
                            .gpu_type = is_gpu_type_name(node.gpu_type) ? node.gpu_type : ""};
      if (!cluster.groups.empty() && same_nodes(cluster.groups.back(), group))
        ++cluster.groups.back().num_nodes;
      else
        cluster.groups.push_back(group);
      nodes_.emplace(node.name, num_nodes_++);
      types_.insert(lower_case(node.gpu_type));
      type_of_node_.emplace(node.name, lower_case(node.gpu_type));
    }
    if (cluster.groups.empty())
      return fail({.message = "expected nodes with GPUs (`scontrol show node -o`, `sinfo --json`) in the "
                              "files of --now, found none; say --cluster SPEC"});
    return {};
  }

  /// True if a node is only in maintenance, until the end of a reservation that the policy keeps.
  bool comes_back(const DumpedNode& node) const {
    if (!options_.policy_names_nodes || !is_in_maintenance_only(node.state)) return false;
    return std::ranges::any_of(state_.reservations, [&](const DumpedReservation& each) {
      return each.start <= made_.now && made_.now < each.end &&
             std::ranges::find(each.nodes, node.name) != each.nodes.end();
    });
  }

  void add_reservations() {
    for (const DumpedReservation& each : state_.reservations) {
      if (each.end <= made_.now) continue;
      if (each.nodes.empty()) {
        ++made_.assumed["reservations without nodes are not kept"];
        continue;
      }
      constexpr std::array<std::string_view, 6> kFollowed = {"MAINT",      "IGNORE_JOBS", "OVERLAP",
                                                             "SPEC_NODES", "ALL_NODES",   "ANY_NODES"};
      for (const std::string& flag : each.flags) {
        if (std::ranges::find(kFollowed, flag) == kFollowed.end())
          ++made_.assumed[fmt::format("flags of reservations that are not followed: {}", flag)];
      }
      made_.question.calendar.reservations.push_back({.name = each.name,
                                                      .start = time_of(each.start),
                                                      .end = time_of(each.end),
                                                      .nodes = each.nodes,
                                                      .users = each.users,
                                                      .accounts = each.accounts});
    }
  }

  SimTime time_of(std::int64_t seconds) const {
    return SimTime(std::chrono::seconds(std::max<std::int64_t>(seconds - made_.origin, 0)));
  }

  Result<void> add(const DumpedJob& job) {
    if (!job.is_pending() && !job.is_running()) return {};
    if (job.gpus == 0) {
      ++made_.assumed[job.tells_gpus ? "jobs without GPUs are left out"
                                     : "jobs whose GPUs no file tells are left out"];
      return {};
    }
    if (job.gpus > kMostGpus)
      return fail({.field = job.id, .message = expected_found("a number of GPUs", std::to_string(job.gpus))});
    if (job.part) ++made_.assumed["parts of heterogeneous jobs start one by one"];
    if (job.is_running()) return add_one(job, job.id);
    if (const auto stuck = stuck_reason(job)) {
      // Its row counts as used.
      if (options_.models != nullptr) options_.models->find(job, job.id);
      made_.stuck.push_back({job.id, std::string(*stuck)});
      return {};
    }
    if (!job.array) return add_one(job, job.id);
    const auto tasks = task_numbers(job.array->tasks);
    if (!tasks) return fail({.field = job.id, .message = tasks.error().message});
    for (const std::int64_t task : *tasks) {
      if (auto added = add_one(job, fmt::format("{}_{}", job.array->job_id, task)); !added) return added;
    }
    return {};
  }

  std::optional<std::string_view> stuck_reason(const DumpedJob& job) const {
    const auto found = std::ranges::find(kStuck, job.reason, &StuckReason::word);
    if (found != kStuck.end()) return found->text;
    if (job.priority == 0 && job.kind.empty()) return "held";
    return std::nullopt;
  }

  /// The time limit of a job, or that of its partition; 0: none.
  std::int64_t limit_of(const DumpedJob& job) {
    if (job.time_limit_s) return *job.time_limit_s;
    for (const std::string& name : job.partitions) {
      const auto found = std::ranges::find(state_.partitions, name, &DumpedPartition::name);
      if (found != state_.partitions.end() && found->most_time_s) return *found->most_time_s;
    }
    return 0;
  }

  /// The type of GPUs that a job must have: its own, or the only one of its partitions.
  std::string type_of(const DumpedJob& job) {
    if (!job.gpu_type.empty() || types_.size() < 2) return lower_case(job.gpu_type);
    std::set<std::string> allowed;
    for (const std::string& name : job.partitions) {
      const auto found = std::ranges::find(state_.partitions, name, &DumpedPartition::name);
      if (found == state_.partitions.end()) return "";
      for (const std::string& node : found->nodes) {
        if (const auto type = type_of_node_.find(node); type != type_of_node_.end())
          allowed.insert(type->second);
      }
    }
    if (allowed.size() == 1) return *allowed.begin();
    if (allowed.size() > 1 && allowed.size() < types_.size())
      ++made_.assumed["jobs may use GPU types that none of their partitions has"];
    return "";
  }

  Result<void> add_one(const DumpedJob& listed, const std::string& id) {
    Workload& workload = made_.question.workload;
    Entry entry;
    Job& job = entry.job;
    job.name = workload.keep(id);
    if (!listed.user.empty()) job.user = workload.user(listed.user);
    if (!listed.account.empty()) {
      job.account = workload.account(listed.account);
      job.tenant = workload.tenant(listed.account);
    }
    if (!listed.qos.empty()) job.qos = workload.qos(listed.qos);
    if (!listed.partitions.empty())
      job.queue = workload.queue(fmt::format("{}", fmt::join(listed.partitions, ",")));
    // Under Kueue a job that runs may come back on another type.
    const std::string type = listed.is_running() && !listed.kind.empty() ? "" : type_of(listed);
    if (!type.empty() && types_.size() > 1) job.gpu_type = workload.gpu_type(type);
    job.num_gpus = GpuCount(static_cast<std::int32_t>(listed.gpus));
    const std::int64_t limit = limit_of(listed);
    job.requested_time = std::chrono::seconds(limit);
    entry.work = work_of(listed, id);
    if (auto predicted = predict(listed, job, type, entry.work); !predicted)
      return fail(std::move(predicted.error()));
    else if (entry.work)
      entry.guess = {.times = std::move(*predicted), .source = RunTimeSource::Model};
    else
      entry.guess =
          book_.guess({.user = listed.user, .name = listed.name, .gpus = listed.gpus, .limit_s = limit});
    job.duration = entry.guess.times.values.back();
    if (listed.priority) job.priority = std::min(*listed.priority, Job::kMaxPriority);
    add_requirements(listed, job);
    const std::int64_t submit = std::min(listed.submit.value_or(made_.now), made_.now);
    job.submit = time_of(submit);
    LiveJob& live = entry.live;
    if (listed.is_running()) {
      const std::int64_t since = listed.start.value_or(made_.now - listed.elapsed_s.value_or(0));
      const std::int64_t start = std::clamp(since, std::min(submit, since), made_.now);
      live.outcome.state = JobState::Running;
      live.outcome.start = live.resumed = time_of(start);
      live.num_gpus = job.num_gpus;
      live.has_started = true;
      if (listed.kind.empty())
        place(listed, live);
      else
        unplaced_.emplace_back(entries_.size(), lower_case(listed.gpu_type));
    } else {
      live.outcome.state = JobState::Waiting;
      entry.reason = listed.reason;
      const bool begins_later = listed.reason == "BeginTime" || !listed.kind.empty();
      const auto begin = listed.start_estimate ? listed.start_estimate : listed.eligible;
      if (begins_later && begin && *begin > made_.now) {
        job.submit = time_of(*begin);
        entry.is_later = true;
      }
    }
    entries_.push_back(std::move(entry));
    return {};
  }

  /// The work that a file or the job itself names.
  std::optional<TrainingWork> work_of(const DumpedJob& listed, const std::string& id) {
    if (options_.models != nullptr) {
      if (const TrainingWork* const work = options_.models->find(listed, id)) return *work;
    }
    const auto text = model_text(listed);
    if (!text) return std::nullopt;
    auto work = parse_training_work(*text);
    if (work) return *std::move(work);
    const Error& error = work.error();
    ++made_.assumed[fmt::format("jobs whose model is not understood: {}{}{}", error.field,
                                error.field.empty() ? "" : ": ", error.message)];
    return std::nullopt;
  }

  /// Run times of a job's work, none above its limit. Resets the work where nothing predicts it.
  Result<RunTimes> predict(const DumpedJob& listed, const Job& job, std::string type,
                           std::optional<TrainingWork>& work) {
    if (!work) return RunTimes{};
    if (!made_.training) {
      std::vector<std::string> warnings;
      auto opened = TrainingTimes::open(options_.pricing, made_.question.cluster, warnings);
      if (!opened) return fail(std::move(opened.error()));
      for (const std::string& warning : warnings)
        ++made_.assumed[warning];
      made_.training = std::make_shared<TrainingTimes>(*std::move(opened));
    }
    for (const std::string& node : listed.nodes) {
      if (const auto known = type_of_node_.find(node); type.empty() && known != type_of_node_.end())
        type = known->second;
    }
    if (type.empty() && types_.size() > 1)
      ++made_.assumed["jobs with a model that may use several types are predicted on the first"];
    auto time = made_.training->predict(*work, job.num_gpus, type);
    if (!time) {
      ++made_.assumed[fmt::format("jobs whose model tells no run time: {}", time.error().message)];
      work.reset();
      return RunTimes{};
    }
    if (job.requested_time.count() > 0) {
      if (time->total(work->iterations) > job.requested_time)
        ++made_.assumed["jobs that end at their limits before the predicted end"];
      for (SimDuration& value : time->times.values)
        value = std::min(value, job.requested_time);
    }
    return std::move(time->times);
  }

  void add_requirements(const DumpedJob& listed, Job& job) {
    JobRequirements& needs = made_.question.workload.add_requirements(job);
    needs.num_nodes = static_cast<std::int32_t>(std::min<std::int64_t>(listed.nodes_wanted, kMostGpus));
    if (listed.gpus % listed.nodes_wanted == 0)
      needs.gpus_per_node = GpuCount(static_cast<std::int32_t>(listed.gpus / listed.nodes_wanted));
    needs.cpus_per_node =
        static_cast<std::int32_t>(std::min<std::int64_t>(listed.cpus / listed.nodes_wanted, kMostGpus));
    if (!listed.reservation.empty()) {
      const auto& known = made_.question.calendar.reservations;
      if (std::ranges::find(known, listed.reservation, &NodeReservation::name) != known.end())
        needs.reservation = listed.reservation;
      else
        ++made_.assumed["jobs of reservations that no file has wait as others do"];
    }
    needs.nice = listed.nice;
    if (listed.is_running()) needs.held_nodes = listed.nodes;
    // Its age counts from there on.
    if (listed.eligible && listed.submit && *listed.eligible > *listed.submit &&
        *listed.eligible <= made_.now)
      needs.begin = time_of(*listed.eligible);
    if (listed.array) {
      needs.array = listed.array->job_id;
      needs.array_limit = static_cast<std::int32_t>(
          std::min<std::int64_t>(listed.array->most_running.value_or(0), kMostGpus));
    }
    // Of `afterok:20(unfulfilled)` the state is dropped; dependencies that no longer hold anything up go.
    std::string text = listed.dependency;
    for (std::size_t open = text.find('('); open != std::string::npos; open = text.find('('))
      text.erase(open, text.find(')', open) + 1 - open);
    if (text.empty()) return;
    if (auto parsed = parse_dependencies(text))
      needs.dependencies = *std::move(parsed);
    else
      ++made_.assumed["dependencies that are not understood are taken as met"];
  }

  /// Gives a running job its place on nodes, as evenly as its GPUs divide.
  void place(const DumpedJob& listed, LiveJob& live) {
    if (nodes_.empty()) return;
    std::vector<std::uint32_t> nodes;
    for (const std::string& name : listed.nodes) {
      if (const auto found = nodes_.find(name); found != nodes_.end()) nodes.push_back(found->second);
    }
    if (nodes.empty()) return;
    const auto count = std::ssize(nodes);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const std::int64_t gpus = listed.gpus / count + (i < listed.gpus % count ? 1 : 0);
      if (gpus > 0)
        live.gang.push_back({.node = NodeId(nodes[static_cast<std::size_t>(i)]),
                             .gpus = GpuCount(static_cast<std::int32_t>(gpus))});
    }
  }

  /// Gives places on nodes to jobs whose nodes are unknown, those with a GPU type first.
  void place_by_type() {
    if (nodes_.empty()) return;
    std::vector<std::pair<std::string, std::int32_t>> free;  // type and GPUs, by node
    for (const NodeGroup& group : made_.question.cluster.groups)
      free.insert(free.end(), static_cast<std::size_t>(group.num_nodes),
                  {lower_case(group.gpu_type), group.gpus_per_node.value});
    std::ranges::stable_sort(unplaced_, {}, [](const auto& each) { return each.second.empty(); });
    for (const auto& [number, type] : unplaced_) {
      LiveJob& live = entries_[number].live;
      std::int32_t left = live.num_gpus.value;
      for (std::uint32_t node = 0; node < free.size() && left > 0; ++node) {
        const std::int32_t gpus = std::min(left, free[node].second);
        if (gpus == 0 || (!type.empty() && type != free[node].first)) continue;
        live.gang.push_back({.node = NodeId(node), .gpus = GpuCount(gpus)});
        free[node].second -= gpus;
        left -= gpus;
      }
    }
  }

  /// Puts types in place of nodes, as `count` has it. GPUs are counted by type if some job asks for one.
  void count_by_type() {
    EtaQuestion& question = made_.question;
    const NodeTable nodes(question.cluster, question.workload);
    const bool tells_types =
        nodes.types().names().size() > 1 && (options_.counts_types || question.workload.gpu_types.size() > 0);
    for (LiveJob& live : question.state.jobs) {
      std::map<std::uint32_t, std::int32_t> held;
      for (const NodeShare& share : live.gang)
        held[nodes[share.node.value].type] += share.gpus.value;
      live.gang.clear();
      if (!tells_types) continue;
      for (const auto& [type, gpus] : held)
        live.gang.push_back({.node = NodeId(type), .gpus = GpuCount(gpus)});
    }
  }

  /// Orders jobs by submission; those that may start only later come after all others.
  void put_in_order() {
    std::ranges::stable_sort(entries_, {},
                             [](const Entry& each) { return std::pair(each.is_later, each.job.submit); });
    EtaQuestion& question = made_.question;
    question.state.now = time_of(made_.now);
    for (Entry& entry : entries_) {
      question.workload.jobs.push_back(std::move(entry.job));
      if (!entry.is_later) question.state.jobs.push_back(std::move(entry.live));
      question.run_times.push_back(std::move(entry.guess.times));
      made_.sources.push_back(entry.guess.source);
      made_.works.push_back(std::move(entry.work));
      made_.reasons.push_back(std::move(entry.reason));
    }
  }

  const LiveState& state_;
  const RunTimeBook& book_;
  const ClusterNowOptions& options_;
  ClusterNow made_;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::size_t, std::string>> unplaced_;  ///< entries on unknown nodes, with their type
  std::unordered_map<std::string, std::uint32_t> nodes_;
  std::unordered_map<std::string, std::string> type_of_node_;
  std::set<std::string> types_;
  std::uint32_t num_nodes_ = 0;
};

}  // namespace

Result<ClusterNow> make_cluster_now(const LiveState& state, const RunTimeBook& book,
                                    const ClusterNowOptions& options) {
  return Builder(state, book, options).build();
}

}  // namespace vtrain
