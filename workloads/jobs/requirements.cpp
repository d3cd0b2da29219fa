#include "workloads/jobs/requirements.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"

namespace vtrain {
namespace {

/// Names in the order of the enumeration.
constexpr std::array<std::string_view, 4> kKindNames = {"after", "afterany", "afterok", "afternotok"};

}  // namespace

Result<std::vector<JobDependency>> parse_dependencies(std::string_view text) {
  std::vector<JobDependency> dependencies;
  for (const std::string_view entry : split(text, ',')) {
    const std::size_t colon = entry.find(':');
    const auto* const kind = std::find(kKindNames.begin(), kKindNames.end(), entry.substr(0, colon));
    if (kind == kKindNames.end() || colon == std::string_view::npos || colon + 1 == entry.size()) {
      return fail({.message = expected_found(
                       fmt::format("jobs separated by commas, each behind one of {} and a colon",
                                   list_names(kKindNames)),
                       entry)});
    }
    dependencies.push_back(
        {static_cast<DependencyKind>(kind - kKindNames.begin()), std::string(entry.substr(colon + 1))});
  }
  return dependencies;
}

void append_dependencies(std::string& out, const std::vector<JobDependency>& dependencies) {
  for (const JobDependency& dependency : dependencies) {
    if (&dependency != &dependencies.front()) out += ',';
    out += kKindNames[static_cast<std::size_t>(dependency.kind)];
    out += ':';
    out += dependency.job;
  }
}

}  // namespace vtrain
