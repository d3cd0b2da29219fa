/// Files of a Slurm cluster that are no lists of jobs or nodes: configuration, accounts, and others with a
/// time or a count.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/live/live_state.hpp"

namespace vtrain {

/// Takes in a file that the policy `slurm` reads: slurm.conf, `sacctmgr show assoc|qos -P`, `sacctmgr dump`,
/// `sshare -alP`, `scontrol show assoc_mgr`. Of `scontrol show config`, `sdiag` and `date +%s` only the time
/// counts. gres.conf, licences and tables of squeue without a header are counted. False for another text.
/// Errors: those of the policy's readers, two files of one kind.
Result<bool> add_slurm_file(std::string_view text, const std::string& file, LiveState& state);

}  // namespace vtrain
