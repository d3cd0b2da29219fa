/// What one workload says that another does not: what a trace format could not keep.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/jobs/job.hpp"

namespace vtrain {

/// A field in which jobs differ.
struct FieldDifference {
  std::string_view field;  ///< for people: `deadlines`, `models`
  std::int64_t jobs = 0;   ///< in how many jobs
};

/// Compares jobs at the same position, field by field; names by their text. Only fields that differ, in a
/// fixed order. Jobs beyond the end of the shorter workload differ in the field `jobs`.
std::vector<FieldDifference> compare_workloads(const Workload& a, const Workload& b);

}  // namespace vtrain
