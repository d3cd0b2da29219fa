/// Shares of tenants by their dominant resource.
#pragma once

#include <memory>

#include "policies/tenants/fair/fair_shares.hpp"

namespace vtrain {

/// Resources of the cluster for each of its GPUs; 0: the resource does not count.
struct ResourcesPerGpu {
  double cpus = 0;        ///< CPU cores
  double memory_gib = 0;  ///< memory, GiB
};

/// Makes the shares of `drf`. The tenants are those of the cluster's tree that jobs may name, or else those
/// of the trace, side by side with their weights.
std::unique_ptr<FairShares> make_dominant_shares(const ResourcesPerGpu& per_gpu);

}  // namespace vtrain
