/// Cases of Kueue's scheduler: a situation as JSON, and what the policy `kueue` decides there
/// (docs/decide.md).
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/json_reader.hpp"
#include "policies/tenants/kueue/scheduler.hpp"
#include "tools/experiment/kueue_case_reader.hpp"

namespace vtrain {

/// True if a document states a case: it has a `kind`.
bool states_kueue_case(const JsonDocument& document);

/// Decides a case. The answer has `version`, `policy`, `kind`, and the keys of the answer for this kind; a
/// list or a single value stands under `answer`. The keys `expected`, `id`, `tags`, `description` and
/// `source` are not read. Errors name file, line and key.
Result<nlohmann::ordered_json> decide_kueue_case(const JsonDocument& document);

/// The parts that all kinds of cases share: the reader, and a scheduler with the objects of the case.
class KueueCase {
 public:
  using Json = nlohmann::json;
  using OrderedJson = nlohmann::ordered_json;

  explicit KueueCase(const JsonDocument& document) : reader_(document), root_(document.root()) {}

  KueueCaseReader& reader() { return reader_; }
  const Json& root() const { return root_; }
  kueue::Scheduler& scheduler() { return *scheduler_; }
  kueue::Cache& cache() { return scheduler_->cache(); }
  bool has_failed() const { return reader_.error().has_value(); }

  /// Reads objects and settings. `more` may make further names known before the scheduler numbers them.
  void prepare(const std::function<void(kueue::Cache&)>& more = {});
  /// Adds the workloads of the case. `created_at` counts where one has none.
  void add_workloads();
  /// Adds one workload after checks.
  void add_workload(const Json& object, const kueue::Workload& workload);
  /// A workload by `namespace/name`; `kNone`, with an error at the key, if there is none.
  kueue::WorkloadId workload_named(const Json& object, std::string_view key, const std::string& name);
  std::vector<kueue::WorkloadId> workloads_named(const Json& object, std::string_view key);
  /// A ClusterQueue under a key; 0, with an error, if there is none.
  kueue::QueueId queue_under(const Json& object, std::string_view key);
  /// Adds stated usage to the tree.
  void add_usage(const NamedUsage& usage);
  /// Columns of named amounts, which must be known.
  kueue::Usage columns_of(const std::vector<NamedAmount>& amounts);
  /// Makes the names in a workload known to a cache.
  static void know(kueue::Cache& cache, const kueue::Workload& workload);
  static void know(kueue::Cache& cache, const NamedUsage& usage);

  std::string name_of(kueue::WorkloadId id) const;
  OrderedJson names_of(const std::vector<kueue::WorkloadId>& ids) const;
  /// The quota that a workload holds.
  OrderedJson admission_json(kueue::WorkloadId id) const;
  /// Amounts by flavor and resource.
  OrderedJson usage_json(const kueue::Usage& usage) const;

 private:
  KueueCaseReader reader_;
  const Json& root_;
  std::unique_ptr<kueue::Scheduler> scheduler_;
  std::vector<kueue::Workload> workloads_;  ///< of the case, read before names are numbered
  std::map<std::string, kueue::WorkloadId> ids_;
};

/// Answers by kind: `kueue_case_cycles.cpp`, `kueue_case_parts.cpp` and `kueue_scenario.cpp`. After an error
/// of the reader the answer means nothing.
nlohmann::ordered_json answer_cycle(KueueCase& stated);
nlohmann::ordered_json answer_two_cycles(KueueCase& stated);
nlohmann::ordered_json answer_preemption_targets(KueueCase& stated);
nlohmann::ordered_json answer_flavor_assignment(KueueCase& stated);
nlohmann::ordered_json answer_scenario(KueueCase& stated);
nlohmann::ordered_json answer_available(KueueCase& stated);
nlohmann::ordered_json answer_reserve(KueueCase& stated);
nlohmann::ordered_json answer_usage(KueueCase& stated);
nlohmann::ordered_json answer_dominant_resource_share(KueueCase& stated);
nlohmann::ordered_json answer_borrowing_on(KueueCase& stated);
nlohmann::ordered_json answer_victim_queue_order(KueueCase& stated);
nlohmann::ordered_json answer_return_parked(KueueCase& stated);
nlohmann::ordered_json answer_candidate_order(KueueCase& stated);
nlohmann::ordered_json answer_entry_order(KueueCase& stated);
nlohmann::ordered_json answer_queue_order(KueueCase& stated);
nlohmann::ordered_json answer_policy(KueueCase& stated);
nlohmann::ordered_json answer_prefer(KueueCase& stated);
nlohmann::ordered_json answer_progress(KueueCase& stated);
nlohmann::ordered_json answer_requeue(KueueCase& stated);

}  // namespace vtrain
