#include "tools/serve/drift.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 8> kDriftNames = {
    "unknown", "gone", "started_earlier", "started_later", "runs_longer", "other_gpus", "node_state", "seen"};
constexpr UnixTime kSecond = 1'000'000'000;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// Run time of an unknown job without a limit.
constexpr std::int64_t kUnlimited_s = std::int64_t{30} * 24 * 3600;

/// The number behind `job=` in a comment of `vtrain:`; 0 without one.
std::int64_t id_in(std::string_view comment) {
  const std::size_t begin = comment.find("vtrain:");
  if (begin == std::string_view::npos) return 0;
  for (const std::string_view word : split(comment.substr(begin), ' ')) {
    if (!word.starts_with("job=")) continue;
    return parse_integer(word.substr(4), 1, kMost - 1).value_or(0);
  }
  return 0;
}

JobPhase phase_there(const DumpedJob& job) {
  if (job.is_running()) return JobPhase::Running;
  if (job.is_pending()) return JobPhase::Waiting;
  if (job.state == "COMPLETED" || job.state == "COMPLETING") return JobPhase::Completed;
  return job.state == "CANCELLED" ? JobPhase::Cancelled : JobPhase::Failed;
}

/// Finds what differs, job by job.
class DriftFinder {
 public:
  DriftFinder(const LiveState& state, std::span<const ServedJob> jobs, std::span<const ServedNode> nodes,
              bool names_are_known, UnixTime now)
      : state_(state), jobs_(jobs), nodes_(nodes), now_(now) {
    find_names(names_are_known);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      by_id_[jobs[i].job.id] = i;
      if (!jobs[i].external.empty()) by_external_[jobs[i].external] = i;
      if (jobs[i].external.empty() && jobs[i].is_live())
        by_name_[{jobs[i].job.name, jobs[i].job.tenant}].push_back(i);
    }
  }

  Drift find() {
    for (const DumpedJob& job : state_.jobs) {
      if (job.gpus > 0 && !job.id.empty()) compare(job);
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const ServedJob& known = jobs_[i];
      const bool is_missed = !known.external.empty() && known.is_live() && !seen_.contains(i);
      if (is_missed)
        drift_.jobs.push_back({.kind = DriftKind::Gone,
                               .id = known.job.id,
                               .external = known.external,
                               .phase = JobPhase::Completed});
    }
    if (!drift_.counts().empty()) {
      // Jobs that run as expected keep their GPUs when others move.
      for (JobDrift& job : as_expected_) {
        job.kind = DriftKind::Seen;
        drift_.jobs.push_back(std::move(job));
      }
    }
    for (const DumpedNode& node : state_.nodes) {
      const auto number = number_of_.find(node.name);
      if (number == number_of_.end()) continue;
      const NodeState there = node.takes_jobs        ? NodeState::Up
                              : node.gpus_in_use > 0 ? NodeState::Drains
                                                     : NodeState::Down;
      if (nodes_[number->second].state != there) drift_.nodes.push_back({number->second, there});
    }
    return std::move(drift_);
  }

 private:
  void find_names(bool names_are_known) {
    if (names_are_known) {
      for (std::uint32_t i = 0; i < nodes_.size(); ++i)
        number_of_[nodes_[i].name] = i;
      return;
    }
    // The scheduler's nodes take the places of the cluster's in their order, by type and GPUs.
    std::vector<std::string> names(nodes_.size());
    std::size_t num_named = 0;
    for (const DumpedNode& node : state_.nodes) {
      if (node.gpus == 0) continue;
      for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        const bool fits = names[i].empty() && nodes_[i].gpus == node.gpus &&
                          (node.gpu_type.empty() || nodes_[i].gpu_type.empty() ||
                           equal_in_any_case(nodes_[i].gpu_type, node.gpu_type));
        if (!fits) continue;
        names[i] = node.name;
        ++num_named;
        break;
      }
    }
    if (num_named < nodes_.size()) return;
    for (std::uint32_t i = 0; i < names.size(); ++i)
      number_of_[names[i]] = i;
    drift_.names = std::move(names);
  }

  std::optional<std::size_t> known_of(const DumpedJob& job) const {
    if (const auto found = by_external_.find(job.id); found != by_external_.end()) return found->second;
    if (const auto found = by_id_.find(id_in(job.comment)); found != by_id_.end()) return found->second;
    const auto found = by_name_.find({job.name, job.account});
    if (found != by_name_.end() && found->second.size() == 1) return found->second.front();
    return std::nullopt;
  }

  void compare(const DumpedJob& there) {
    const JobPhase phase = phase_there(there);
    JobDrift drift{.external = there.id, .phase = phase};
    if (phase == JobPhase::Running) {
      drift.since = there.start       ? *there.start * kSecond
                    : there.elapsed_s ? now_ - *there.elapsed_s * kSecond
                                      : now_;
      drift.since = std::min(drift.since, now_);
      drift.gpus = there.gpus;
      find_gang(there, drift);
    }
    const auto place = known_of(there);
    if (!place) {
      if (phase != JobPhase::Running && phase != JobPhase::Waiting) return;
      drift.job = unknown_job(there, drift);
      drift_.jobs.push_back(std::move(drift));
      return;
    }
    seen_.insert(*place);
    const ServedJob& known = jobs_[*place];
    drift.id = known.job.id;
    const auto kind = kind_of(known, drift);
    if (!kind && known.external == there.id) {
      if (phase == JobPhase::Running) as_expected_.push_back(std::move(drift));
      return;
    }
    drift.kind = kind.value_or(DriftKind::Seen);
    drift_.jobs.push_back(std::move(drift));
  }

  static std::optional<DriftKind> kind_of(const ServedJob& here, const JobDrift& there) {
    const bool is_over_there = there.phase != JobPhase::Running && there.phase != JobPhase::Waiting;
    if (is_over_there) return here.is_live() ? std::optional(DriftKind::Gone) : std::nullopt;
    if (here.phase == JobPhase::Cancelled || here.phase == JobPhase::Refused) return std::nullopt;
    if (!here.is_live()) return DriftKind::RunsLonger;
    if (there.phase == here.phase) {
      const bool is_same = there.phase == JobPhase::Waiting || there.gpus == here.held_gpus;
      return is_same ? std::nullopt : std::optional(DriftKind::OtherGpus);
    }
    return there.phase == JobPhase::Running ? DriftKind::StartedEarlier : DriftKind::StartedLater;
  }

  void find_gang(const DumpedJob& there, JobDrift& drift) const {
    std::vector<std::uint32_t> numbers;
    for (const std::string& name : there.nodes) {
      const auto found = number_of_.find(name);
      if (found == number_of_.end()) return;
      numbers.push_back(found->second);
    }
    const auto count = std::ssize(numbers);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const std::int64_t gpus = there.gpus / count + (i < there.gpus % count ? 1 : 0);
      if (gpus > 0) drift.gang.emplace_back(numbers[static_cast<std::size_t>(i)], gpus);
    }
  }

  LoggedJob unknown_job(const DumpedJob& there, const JobDrift& drift) const {
    LoggedJob job{
        .name = there.name.empty() ? there.id : there.name, .tenant = there.account, .gpus = there.gpus};
    const std::int64_t limit_s = there.time_limit_s.value_or(kUnlimited_s);
    job.time_limit_s = limit_s;
    // A job that has outlived its limit ends soon.
    constexpr UnixTime kSoon = 60 * kSecond;
    const UnixTime held = drift.since > 0 ? now_ - drift.since : 0;
    job.duration_ns = std::max(std::max<std::int64_t>(limit_s, 1) * kSecond, held + kSoon);
    return job;
  }

  const LiveState& state_;
  std::span<const ServedJob> jobs_;
  std::span<const ServedNode> nodes_;
  UnixTime now_;
  std::map<std::string, std::uint32_t, std::less<>> number_of_;
  std::map<std::int64_t, std::size_t> by_id_;
  std::map<std::string, std::size_t, std::less<>> by_external_;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_name_;
  std::set<std::size_t> seen_;
  std::vector<JobDrift> as_expected_;  ///< running jobs without a difference
  Drift drift_;
};

}  // namespace

std::span<const std::string_view> drift_kind_names() {
  return kDriftNames;
}

std::map<DriftKind, std::int64_t> Drift::counts() const {
  std::map<DriftKind, std::int64_t> counts;
  for (const JobDrift& job : jobs) {
    if (job.kind != DriftKind::Seen) ++counts[job.kind];
  }
  if (!nodes.empty()) counts[DriftKind::NodeState] = std::ssize(nodes);
  return counts;
}

Drift find_drift(const LiveState& state, std::span<const ServedJob> jobs, std::span<const ServedNode> nodes,
                 bool names_are_known, UnixTime now) {
  return DriftFinder(state, jobs, nodes, names_are_known, now).find();
}

ordered_json to_json(const Drift& drift) {
  ordered_json jobs = ordered_json::array();
  for (const JobDrift& job : drift.jobs) {
    ordered_json entry = {{"kind", kDriftNames[static_cast<std::size_t>(job.kind)]},
                          {"id", job.id},
                          {"external", job.external},
                          {"phase", name_of(job.phase)},
                          {"since", job.since},
                          {"gpus", job.gpus}};
    if (job.kind == DriftKind::Unknown) entry["job"] = to_json(job.job);
    for (const auto& [node, gpus] : job.gang)
      entry["gang"].push_back({node, gpus});
    jobs.push_back(std::move(entry));
  }
  ordered_json nodes = ordered_json::array();
  for (const NodeDrift& node : drift.nodes)
    nodes.push_back(
        {{"node", node.number}, {"state", node_state_names()[static_cast<std::size_t>(node.state)]}});
  return {{"jobs", std::move(jobs)}, {"nodes", std::move(nodes)}, {"names", drift.names}};
}

Result<Drift> drift_from(const JsonDocument& document, const nlohmann::json& object) {
  Drift drift;
  const auto list = [&](const nlohmann::json& of, const char* key) -> const nlohmann::json* {
    const auto found = of.find(key);
    return found != of.end() && found->is_array() ? &*found : nullptr;
  };
  if (list(object, "jobs") == nullptr || list(object, "nodes") == nullptr || list(object, "names") == nullptr)
    return fail(document.error_at(object, "", "expected jobs, nodes and names"));
  for (const nlohmann::json& each : object["jobs"]) {
    JsonFields fields(document, each);
    JobDrift job;
    job.kind = static_cast<DriftKind>(fields.choice_or("kind", kDriftNames, 0));
    job.id = fields.integer("id", 0, kMost - 1);
    job.external = fields.string_or("external", "");
    job.phase = static_cast<JobPhase>(fields.choice_or("phase", job_phase_names(), 0));
    job.since = fields.integer("since", 0, kMost);
    job.gpus = fields.integer("gpus", 0, kMaxClusterGpus);
    if (fields.error()) return fail(*fields.error());
    if (job.kind == DriftKind::Unknown) {
      if (!each.contains("job")) return fail(document.error_at(each, "job", "missing"));
      auto logged = logged_job_from(document, each["job"]);
      if (!logged) return fail(std::move(logged.error()));
      job.job = *std::move(logged);
    }
    if (const nlohmann::json* const gang = list(each, "gang"); gang != nullptr) {
      for (const nlohmann::json& part : *gang) {
        const bool is_pair = part.is_array() && part.size() == 2 && part[0].is_number_unsigned() &&
                             part[1].is_number_unsigned();
        if (!is_pair) return fail(document.error_at(each, "gang", "expected pairs of a node and GPUs"));
        job.gang.emplace_back(part[0].get<std::uint32_t>(), part[1].get<std::int64_t>());
      }
    }
    drift.jobs.push_back(std::move(job));
  }
  for (const nlohmann::json& each : object["nodes"]) {
    JsonFields fields(document, each);
    const auto number = static_cast<std::uint32_t>(fields.integer("node", 0, kMaxClusterGpus));
    const auto state = static_cast<NodeState>(fields.choice_or("state", node_state_names(), 0));
    if (fields.error()) return fail(*fields.error());
    drift.nodes.push_back({number, state});
  }
  for (const nlohmann::json& name : object["names"]) {
    if (!name.is_string()) return fail(document.error_at(object, "names", "expected texts"));
    drift.names.push_back(name.get<std::string>());
  }
  return drift;
}

}  // namespace vtrain::serve
