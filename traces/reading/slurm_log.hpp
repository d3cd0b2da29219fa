/// What logs that were drawn from Slurm have in common: Helios', and Acme's after it.
#pragma once

#include <string_view>

#include "traces/reading/log_csv.hpp"

namespace vtrain {

/// Reads rows of `job_id`, `gpu_num`, `state`, `submit_time`, `start_time`, `end_time`, `user` and the column
/// with the tenant. Times are local time of China unless they carry an offset.
RowReader slurm_log_rows(ColumnFinder& columns, std::string_view tenant_column);

}  // namespace vtrain
