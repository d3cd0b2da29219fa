/// Files of a Slurm cluster that are no lists of jobs or nodes: configuration, accounts, and others with a
/// time or a count.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/live/live_state.hpp"

namespace vtrain {

/// Takes in a file that the policy `slurm` reads (slurm.conf, `sacctmgr show assoc|qos -P`, `sacctmgr dump`,
/// `sshare -alP`, `scontrol show assoc_mgr`), or one of which only the time counts (`scontrol show config`,
/// `sdiag`, `date +%s`), or nothing (gres.conf, licences, a table of squeue without a header). False for
/// another text. Errors: those of the readers of the policy, two files of one kind.
Result<bool> add_slurm_file(std::string_view text, const std::string& file, LiveState& state);

}  // namespace vtrain
