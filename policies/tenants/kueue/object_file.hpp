/// Reads Kueue's objects from YAML or JSON, as `kubectl get … -o yaml` prints them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "policies/tenants/kueue/objects.hpp"

namespace vtrain::kueue {

/// Most values of a file, each counted as often as an alias repeats it.
inline constexpr std::int64_t kMostObjectValues = 2'000'000;
/// Most levels of nesting.
inline constexpr int kMostObjectLevels = 64;

/// Objects of a file.
struct ObjectFile {
  Objects objects{};
  /// Priorities by the name of their WorkloadPriorityClass.
  std::map<std::string, std::int64_t> priority_classes{};
  /// Kinds and fields without effect here, such as `ClusterQueue spec.admissionChecks`, with their number.
  std::map<std::string, std::int64_t> ignored{};

  /// A sentence on what was ignored; empty if nothing was.
  std::string ignored_sentence() const;
};

/// Reads ClusterQueues, Cohorts, ResourceFlavors, LocalQueues, WorkloadPriorityClasses and Namespaces of the
/// API versions v1beta1 and v1beta2, from documents, and from lists of them. Other kinds are counted in
/// `ignored`, and so are fields that change nothing here. Metadata and status are not read.
///
/// A flavor that a quota names and that no object describes is an error, unless `needs_flavors` is false:
/// Kueue lets queues with such a flavor wait.
///
/// Errors name file, line and field: malformed YAML, more values or levels than above, a repeated object, a
/// cycle of cohorts, a negative quantity or weight, a value of the wrong type, an
/// unknown API version.
Result<ObjectFile> parse_object_file(const std::string& text, const std::string& file,
                                     bool needs_flavors = true);

}  // namespace vtrain::kueue
