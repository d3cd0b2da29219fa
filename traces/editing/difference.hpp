/// Compares workloads, to find the fields that a trace format cannot keep.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/jobs/job.hpp"

namespace vtrain {

/// A field in which jobs differ.
struct FieldDifference {
  std::string_view field;  ///< name for people: `deadlines`, `models`
  std::int64_t jobs = 0;   ///< number of jobs that differ
};

/// Compares jobs at the same position, field by field; names by their text. Returns only fields that differ,
/// in a fixed order. Jobs beyond the end of the shorter workload differ in the field `jobs`.
std::vector<FieldDifference> compare_workloads(const Workload& a, const Workload& b);

}  // namespace vtrain
