#include "tools/experiment/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "core/text/quantities.hpp"
#include "policies/chronus/lease_book.hpp"
#include "policies/registry.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr double kMostInstanceSeconds = 1e9;
constexpr std::int64_t kMostInstanceGpus = 10'000'000;

constexpr std::array<std::string_view, 10> kInstanceKeys = {
    "lease_s",   "current_lease", "gpus", "gpus_by_lease", "mode",
    "tie_break", "jobs",          "name", "note",          "expected"};
constexpr std::array<std::string_view, 5> kJobKeys = {"name", "note", "gpus", "remaining_s", "deadlines"};
constexpr std::array<std::string_view, 3> kDeadlineKeys = {"deadline_s", "value", "note"};
constexpr std::array<std::string_view, 3> kModes = {"must_serve", "may_reject", "may-reject"};
constexpr std::array<std::string_view, 3> kTieBreaks = {"none", "early", "late"};

std::int64_t to_nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

/// Reads one instance. Functions return false after the first error, which `error` then has.
class LeaseInstanceReader {
 public:
  explicit LeaseInstanceReader(const JsonDocument& document) : document_(document) {}

  Result<LeaseProgram> read() {
    if (!read_root(document_.root())) return fail(*std::move(error_));
    return std::move(program_);
  }

 private:
  bool keep(std::optional<Error> error) {
    error_ = std::move(error);
    return !error_;
  }
  bool complain(const json& object, std::string_view key, std::string message) {
    return keep(document_.error_at(object, key, std::move(message)));
  }

  /// A list with at least one element, or null after an error.
  const json* list(const json& object, std::string_view key) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_array() && !found->empty()) return &*found;
    complain(object, key,
             expected_found("a list with at least one element", found == object.end() ? "nothing"
                                                                : found->is_array()   ? "[]"
                                                                                      : found->dump()));
    return nullptr;
  }

  bool read_root(const json& root) {
    JsonFields fields(document_, root);
    fields.allow_only(kInstanceKeys);
    lease_ = to_nanoseconds(fields.number("lease_s", 1, kMostInstanceSeconds));
    current_lease_ = fields.integer_or("current_lease", 0, std::int64_t{1'000'000'000}, 0);
    program_.gpus = GpuCount(static_cast<std::int32_t>(fields.integer("gpus", 0, kMostInstanceGpus)));
    program_.must_serve = fields.choice_or("mode", kModes, 0) == 0;
    program_.tie_break = static_cast<LeaseTieBreak>(fields.choice_or("tie_break", kTieBreaks, 0));
    if (!keep(fields.error())) return false;
    return read_capacities(root) && read_jobs(root);
  }

  bool read_capacities(const json& root) {
    const auto found = root.find("gpus_by_lease");
    if (found == root.end()) return true;
    if (!found->is_array() || std::ssize(*found) > kLeaseHorizon) {
      return complain(
          root, "gpus_by_lease",
          expected_found(fmt::format("a list of at most {} numbers of GPUs", kLeaseHorizon),
                         found->is_array() ? fmt::format("{} numbers", found->size()) : found->dump()));
    }
    for (const json& entry : *found) {
      const std::string text = entry.dump();
      const auto gpus = parse_integer(entry.is_number() ? text : "", 0, kMostInstanceGpus);
      if (!gpus) {
        return complain(entry, "",
                        expected_found(fmt::format("a whole number from 0 to {}", kMostInstanceGpus), text));
      }
      program_.gpus_by_lease.emplace_back(static_cast<std::int32_t>(*gpus));
    }
    return true;
  }

  bool read_jobs(const json& root) {
    const json* const jobs = list(root, "jobs");
    if (jobs == nullptr) return false;
    for (const json& job : *jobs) {
      if (!read_job(job)) return false;
      ++num_jobs_;
    }
    return true;
  }

  bool read_job(const json& job) {
    JsonFields fields(document_, job);
    fields.allow_only(kJobKeys);
    LeaseOption option{.job = num_jobs_};
    option.num_gpus = GpuCount(static_cast<std::int32_t>(fields.integer("gpus", 1, kMostInstanceGpus)));
    constexpr double kShortest = 1e-9;
    const std::int64_t remaining =
        to_nanoseconds(fields.number("remaining_s", kShortest, kMostInstanceSeconds));
    if (!keep(fields.error())) return false;
    option.required_leases = (remaining - 1) / lease_ + 1;
    const json* const deadlines = list(job, "deadlines");
    if (deadlines == nullptr) return false;
    for (const json& deadline : *deadlines) {
      if (!read_deadline(deadline, option)) return false;
    }
    return true;
  }

  bool read_deadline(const json& deadline, LeaseOption option) {
    JsonFields fields(document_, deadline);
    fields.allow_only(kDeadlineKeys);
    const std::int64_t end = to_nanoseconds(fields.number("deadline_s", 0, kMostInstanceSeconds));
    option.value = fields.number_or("value", 0, 1e9, 1);
    if (!keep(fields.error())) return false;
    option.max_lease = end / lease_ - current_lease_;
    if (option.max_lease > kLeaseHorizon) {
      return complain(deadline, "deadline_s",
                      expected_found(fmt::format("at most {} leases ahead", kLeaseHorizon),
                                     fmt::format("{} leases", option.max_lease)));
    }
    num_variables_ += 1 + std::max<std::int64_t>(option.max_lease, 0);
    if (num_variables_ > kMostDecisionVariables) {
      return complain(deadline, "deadline_s",
                      fmt::format("expected at most {} deadlines and leases before them in all, found more",
                                  kMostDecisionVariables));
    }
    program_.options.push_back(option);
    return true;
  }

  const JsonDocument& document_;
  LeaseProgram program_;
  std::int64_t lease_ = 1;  ///< in nanoseconds
  std::int64_t current_lease_ = 0;
  std::uint32_t num_jobs_ = 0;
  std::int64_t num_variables_ = 0;
  std::optional<Error> error_;
};

/// The limits that a policy's spec sets. What it leaves at its default is exact here: one decision can wait
/// for its proof.
Result<LeaseSolverLimits> limits_of(const PolicyArguments& arguments) {
  // Checks all values.
  if (auto made = arguments.policy().make(arguments); !made) return fail(std::move(made.error()));
  LeaseSolverLimits limits{.gap = 0, .nodes = 0};
  for (const PolicyParameter& parameter : arguments.policy().parameters) {
    const std::string_view value = arguments[parameter.name];
    if (value == parameter.default_value) continue;
    if (parameter.name == "nodes")
      limits.nodes = *parse_integer(value, 1, 1'000'000);
    else if (parameter.name == "gap")
      limits.gap = *parse_number(value, 0, 100) / 100;
    else if (parameter.name == "time_limit")
      limits.time = Seconds(*parse_time_span(value));
    else
      return fail(
          arguments.bad_value(parameter.name, "its default, since the instance states the situation"));
  }

  return limits;
}

void find_what_binds(LeaseDecision& decision) {
  const LeaseProgram& program = decision.program;
  const LeasePlan& plan = decision.solution.plan;
  FreeLeases free(program, plan);
  for (std::int64_t lease = 0; lease < program.num_leases(); ++lease) {
    // Full is a lease in which an option that could use it finds no room.
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const LeaseOption& option = program.options[i];
      const bool is_held = std::binary_search(plan[i].begin(), plan[i].end(), lease);
      if (is_held || lease >= option.max_lease || free.at(lease) >= option.num_gpus) continue;
      decision.full_leases.push_back(lease);
      break;
    }
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const LeaseOption& option = program.options[i];
    if (!plan[i].empty() && option.required_leases == option.max_lease) decision.tight_options.push_back(i);
  }
}

}  // namespace

Result<LeaseProgram> parse_lease_instance(std::string text, std::string file) {
  const auto document = JsonDocument::parse(std::move(text), std::move(file));
  if (!document) return fail(document.error());
  return LeaseInstanceReader(*document).read();
}

Result<LeaseDecision> decide_leases(const std::string& file, std::string_view policy) {
  const auto arguments = PolicyRegistry::built_in().parse(policy);
  if (!arguments) return fail(arguments.error());
  if (arguments->policy().name != "chronus") {
    return fail({.field = "--policy",
                 .message = expected_found("a policy that decides stated situations: chronus",
                                           arguments->policy().name)});
  }
  const auto limits = limits_of(*arguments);
  if (!limits) return fail(limits.error());
  auto text = read_file(file, InputKind::Instance);
  if (!text) return fail(std::move(text.error()));
  auto program = parse_lease_instance(*std::move(text), file);
  if (!program) return fail(std::move(program.error()));

  LeaseDecision decision{.program = *std::move(program), .solution = {}};
  const LeasePlan greedy = pack_leases(decision.program);
  const bool is_start = is_feasible(decision.program, greedy);
  decision.solution = solve_leases(decision.program, *limits, is_start ? &greedy : nullptr);
  if (!decision.solution.plan.empty()) find_what_binds(decision);
  return decision;
}

}  // namespace vtrain
