#include "policies/tenants/kueue/objects.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace vtrain::kueue {

std::string full_name(std::string_view name_space, std::string_view name) {
  return name_space.empty() ? std::string(name) : fmt::format("{}/{}", name_space, name);
}

std::optional<CohortProblem> find_cohort_problem(const std::vector<Cohort>& cohorts) {
  std::map<std::string_view, std::string_view> parents;
  for (const Cohort& cohort : cohorts)
    parents[cohort.name] = cohort.parent;
  for (const Cohort& cohort : cohorts) {
    std::string_view above = cohort.parent;
    for (std::size_t level = 0; !above.empty(); ++level) {
      if (above == cohort.name)
        return CohortProblem{cohort.name, fmt::format("the cohort '{}' is above itself", cohort.name)};
      // A walk that long is either in a cycle that another cohort begins, or too long.
      if (level == kMostCohortLevels) {
        if (parents.size() > kMostCohortLevels)
          return CohortProblem{cohort.name, fmt::format("the cohort '{}' has more than {} others above it",
                                                        cohort.name, kMostCohortLevels)};
        break;
      }
      const auto parent = parents.find(above);
      above = parent == parents.end() ? std::string_view() : parent->second;
    }
  }
  return std::nullopt;
}

}  // namespace vtrain::kueue
