/// The schedule that the trace records, as one to compare others with.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `recorded`: a job starts when it started on the cluster where it was recorded (`Job::original_start`), or
/// as soon after as there is room for its gang; then jobs go first that were to start first, those last that
/// a failing node stopped, and those that do not fit are skipped. A job without a recorded start is to start
/// when it is submitted. On the cluster of the trace it shows what that cluster's own scheduler made of the
/// jobs. O(log n) a start.
Result<std::unique_ptr<Policy>> make_recorded(const PolicyArguments& arguments);

}  // namespace vtrain
