/// Meaning of the records of Slurm's commands (22.05; newer names from its documentation).
#pragma once

#include "core/base/result.hpp"
#include "tools/live/live_record.hpp"
#include "tools/live/live_state.hpp"

namespace vtrain {

/// Adds a job. Errors: no id or no state, a number, time or list that is none, more GPUs or nodes than a
/// number holds.
Result<void> add_slurm_job(const LiveRecord& record, LiveState& state);
/// Adds a node; several rows of one node are one node.
Result<void> add_slurm_node(const LiveRecord& record, LiveState& state);
/// Adds a partition; several rows of one partition are one partition.
Result<void> add_slurm_partition(const LiveRecord& record, LiveState& state);
/// Adds a reservation.
Result<void> add_slurm_reservation(const LiveRecord& record, LiveState& state);

/// Adds a row of sinfo: the state of some nodes, and their partition.
Result<void> add_sinfo_row(const LiveRecord& record, LiveState& state);
/// Adds a row of sprio: the priority of a job in one of its partitions. The largest one counts.
Result<void> add_priority(const LiveRecord& record, LiveState& state);

}  // namespace vtrain
