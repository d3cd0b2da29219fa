/// The tables of a sweep's results, as docs/sweep.md describes them.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "tools/database/sqlite.hpp"
#include "tools/sweep/grid.hpp"
#include "tools/sweep/result_store.hpp"

namespace vtrain {

/// Statements that make the tables. A change of them is a new `kResultsVersion`.
std::string results_schema(const Grid& grid);

/// Fills in the tables that describe the sweep, its options and the metrics.
Result<void> describe_results(Database& database, const Grid& grid, const StoredSweep& sweep);

}  // namespace vtrain
