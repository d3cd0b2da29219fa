#include "tools/experiment/scenario.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <utility>

#include "core/base/units.hpp"
#include "sched/simulation/simulation.hpp"
#include "tools/experiment/in_parallel.hpp"
#include "tools/experiment/preparation.hpp"

namespace vtrain {
namespace {

/// Result of a function, with exceptions turned into errors: none leaves the library.
template <class Function>
auto without_exceptions(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::filesystem::filesystem_error& error) {
    return fail({.kind = ErrorKind::Io, .file = error.path1().string(), .message = error.code().message()});
  } catch (const std::bad_alloc&) {
    return fail({.kind = ErrorKind::Failed, .message = "out of memory"});
  } catch (const std::exception& error) {
    return fail({.kind = ErrorKind::Failed, .message = error.what()});
  }
}

}  // namespace

struct Scenario::State {
  ScenarioParts parts;
  const PolicyRegistry* registry = nullptr;
  /// Policies that were made while the spec was read, whose files may be pipes. The first run of each policy
  /// takes it; later runs make it again.
  std::vector<PreparedPolicy> made;
  std::mutex mutex;  ///< guards `made`

  Result<PreparedPolicy> take_policy(const std::string& spec) {
    {
      const std::lock_guard lock(mutex);
      const auto found = std::ranges::find(made, spec, &PreparedPolicy::spec);
      if (found != made.end()) {
        PreparedPolicy policy = std::move(*found);
        made.erase(found);
        return policy;
      }
    }
    auto policy = prepare_policy(spec, parts.spec.files, *registry);
    if (policy && policy->is_elastic() && !parts.has_curves)
      return fail({.field = spec,
                   .message = "changes the numbers of GPUs of jobs, and no policy of the spec does: name it "
                              "there, so that their speeds are prepared"});
    return policy;
  }
};

Scenario::Scenario(std::unique_ptr<State> state) : state_(std::move(state)) {}
Scenario::Scenario(Scenario&&) noexcept = default;
Scenario& Scenario::operator=(Scenario&&) noexcept = default;
Scenario::~Scenario() = default;

Result<Scenario> Scenario::prepare(ScenarioSpec spec, std::vector<std::string>& warnings,
                                   const PolicyRegistry& registry) {
  PricingPool pool;
  return prepare(std::move(spec), warnings, pool, registry);
}

Result<Scenario> Scenario::prepare(ScenarioSpec spec, std::vector<std::string>& warnings, PricingPool& pool,
                                   const PolicyRegistry& registry) {
  return without_exceptions([&]() -> Result<Scenario> {
    auto parts = prepare_parts(std::move(spec), registry, warnings, pool);
    if (!parts) return fail(std::move(parts.error()));
    if (!parts->spec.by.empty()) {
      const auto by = parse_grouping(parts->spec.by, parts->workload);
      if (!by) return fail(by.error());
      parts->by = *by;
    }
    auto state = std::make_unique<State>();
    state->parts = *std::move(parts);
    state->registry = &registry;
    state->made = std::exchange(state->parts.policies, {});
    return Scenario(std::move(state));
  });
}

Result<RunResult> Scenario::run(const std::string& policy, const RunOptions& options) const {
  return without_exceptions([&]() -> Result<RunResult> {
    auto prepared = state_->take_policy(policy);
    if (!prepared) return fail(std::move(prepared.error()));
    const ScenarioParts& parts = state_->parts;
    const bool is_disrupted =
        parts.disruptions && (!parts.only_default_cost || prepared->policy->supports_disruptions());
    const SimulationOptions simulation{.placement = parts.placement,
                                       .strict = parts.spec.trace.strict,
                                       .record_segments = options.record_segments,
                                       .count_gpu_types = !parts.prices.empty(),
                                       .record_holdings = !parts.tenants.tenants.empty(),
                                       .policy_name = prepared->spec,
                                       .disruptions = is_disrupted ? &*parts.disruptions : nullptr,
                                       .gang_speed_model = parts.gang_speed_model.get(),
                                       .run_time_errors = parts.run_time_errors.get(),
                                       .tenants = &parts.tenants,
                                       .jobs_done = options.jobs_done,
                                       .reasons = options.reasons};
    const auto start = std::chrono::steady_clock::now();
    auto result = simulate(parts.workload, parts.cluster, *prepared->policy, simulation);
    const double wall_s = Seconds(std::chrono::steady_clock::now() - start).count();
    if (!result) return fail(std::move(result.error()));
    if (has_run_time_errors(*prepared, parts)) result->time_factors = parts.time_factors;
    Summary summary = summarize(parts.workload, parts.cluster, *result, policy, parts.by, parts.prices);
    if (simulation.record_holdings) {
      summary.shares = summarize_tenant_shares(parts.workload, parts.cluster, parts.tenants, *result);
      result->holdings = {};
    }
    return RunResult{std::move(summary), *std::move(result), wall_s};
  });
}

Result<std::vector<RunResult>> Scenario::run_all(const RunOptions& options) const {
  const std::vector<std::string>& policies = state_->parts.spec.policies;
  const std::size_t count = policies.size();
  std::vector<std::optional<Result<RunResult>>> results(count);
  return without_exceptions([&]() -> Result<std::vector<RunResult>> {
    do_in_parallel(options.threads, count, [&](std::size_t i) {
      results[i] = run(policies[i], options);
      return true;
    });
    std::vector<RunResult> runs;
    for (auto& result : results) {
      if (!*result) return fail(std::move(result->error()));
      runs.push_back(**std::move(result));
    }
    return runs;
  });
}

const ScenarioSpec& Scenario::spec() const {
  return state_->parts.spec;
}
const Workload& Scenario::workload() const {
  return state_->parts.workload;
}
const ClusterSpec& Scenario::cluster() const {
  return state_->parts.cluster;
}
const std::optional<ClusterSpec>& Scenario::reference() const {
  return state_->parts.reference;
}
double Scenario::reference_load() const {
  return state_->parts.reference_load;
}
const GpuPrices& Scenario::prices() const {
  return state_->parts.prices;
}
const TenantTree& Scenario::tenants() const {
  return state_->parts.tenants;
}
PlacementKind Scenario::placement() const {
  return state_->parts.placement;
}
const std::optional<Disruptions>& Scenario::disruptions() const {
  return state_->parts.disruptions;
}
bool Scenario::deadlines_are_made() const {
  return state_->parts.deadlines_are_made;
}
const std::string& Scenario::interruption_cost() const {
  return state_->parts.interruption_cost;
}
const std::string& Scenario::trace_name() const {
  return state_->parts.trace_name;
}
const std::string& Scenario::trace_format() const {
  return state_->parts.trace_format;
}
const SkippedRows& Scenario::skipped() const {
  return state_->parts.skipped;
}
const ExtrapolationList& Scenario::extrapolated() const {
  return state_->parts.extrapolated;
}

const std::vector<Note>& Scenario::notes() const {
  return state_->parts.notes;
}
const std::vector<std::pair<std::string, std::string>>& Scenario::provenance() const {
  return state_->parts.provenance;
}
const std::vector<SpecFile>& Scenario::files() const {
  return state_->parts.files;
}
std::vector<std::string> Scenario::input_paths() const {
  std::vector<std::string> paths = state_->parts.also_read;
  for (const SpecFile& file : state_->parts.files)
    paths.push_back(file.path);
  return paths;
}
std::string Scenario::predictor() const {
  return state_->parts.pricing->made_with();
}
std::vector<std::string> Scenario::cache_warnings() const {
  return state_->parts.pricing->cache_warnings();
}
double Scenario::preparation_s() const {
  return state_->parts.read_s;
}

}  // namespace vtrain
