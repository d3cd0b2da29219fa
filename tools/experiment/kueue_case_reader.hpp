/// Reads the objects of a Kueue case: JSON with keys in snake case and quantities as Kubernetes writes them.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/json_reader.hpp"
#include "policies/tenants/kueue/flavor_assigner.hpp"
#include "policies/tenants/kueue/gates.hpp"
#include "policies/tenants/kueue/objects.hpp"

namespace vtrain {

/// An amount of a resource of a flavor, by names.
struct NamedAmount {
  std::string flavor{};
  std::string resource{};
  kueue::Amount amount = 0;
};

/// Usage by the name of a ClusterQueue.
using NamedUsage = std::vector<std::pair<std::string, std::vector<NamedAmount>>>;

/// Reads parts of one document. The first error is remembered, and all later reads return empty values.
class KueueCaseReader {
 public:
  using Json = nlohmann::json;

  explicit KueueCaseReader(const JsonDocument& document) : document_(document) {}

  const std::optional<Error>& error() const { return error_; }
  const JsonDocument& document() const { return document_; }
  /// Remembers an error at a key, unless there is one.
  void complain(const Json& object, std::string_view key, std::string message);

  /// Calls `read` with the typed fields of an object that has only these keys.
  void fields(const Json& object, std::initializer_list<std::string_view> keys,
              const std::function<void(JsonFields&)>& read);
  /// Calls `read` with every element of the list under a key; a missing key is an empty list.
  void each(const Json& object, std::string_view key, const std::function<void(const Json&)>& read);
  /// Calls `read` with every key and value of the object under a key; a missing key is an empty object.
  void each_member(const Json& object, std::string_view key,
                   const std::function<void(const std::string&, const Json&)>& read);
  std::vector<std::string> strings(const Json& object, std::string_view key);
  kueue::Labels labels(const Json& object, std::string_view key);
  /// The text under a key; empty for anything else.
  static std::string text_of(const Json& object, const std::string& key);
  /// A time in seconds under a key; `absent` without it.
  kueue::Instant instant(const Json& object, std::string_view key, kueue::Instant absent);

  kueue::ClusterQueue cluster_queue(const Json& object);
  kueue::Cohort cohort(const Json& object);
  kueue::ResourceFlavor resource_flavor(const Json& object);
  kueue::LocalQueue local_queue(const Json& object);
  /// A workload. `created_at` counts where the object has none.
  kueue::Workload workload(const Json& object, kueue::Instant created_at);
  std::vector<kueue::PodSet> pod_sets(const Json& object);
  /// All objects at the top of a case.
  kueue::Objects objects(const Json& root);
  kueue::Settings settings(const Json& root);
  NamedUsage usage(const Json& root, std::string_view key);
  std::vector<NamedAmount> amounts(const Json& object, std::string_view key);
  kueue::QueueConditions conditions(const Json& object, std::string_view key);

 private:
  kueue::Amount quantity(const Json& object, std::string_view key, std::string_view resource);
  std::vector<kueue::ResourceGroup> resource_groups(const Json& object);
  kueue::FlavorQuotas flavor_quotas(const Json& object);
  kueue::PreemptionRules preemption(const Json& object);
  kueue::FlavorFungibility fungibility(const Json& object);
  kueue::LabelExpression expression(const Json& object);
  kueue::LabelSelector selector(const Json& object);
  std::vector<kueue::Taint> taints(const Json& object, std::string_view key);
  std::vector<kueue::Toleration> tolerations(const Json& object, std::string_view key);
  kueue::PodSet pod_set(const Json& object);
  kueue::Admission admission(const Json& object);
  double weight(const Json& object);

  const JsonDocument& document_;
  std::optional<Error> error_;
};

}  // namespace vtrain
