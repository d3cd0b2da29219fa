/// Nodes of records in the names of profiles.
#pragma once

#include "docs/measured/normalise/raw_case.hpp"

namespace vtrain {

/// Adds what a record says of its nodes to the name of its profile, where the profile's nodes are others:
/// `h200:gpus_per_node=4,nvlink_domain=4,node_network_bandwidth=50GB/s`. A profile that cannot be loaded
/// keeps its name.
void name_nodes(RawCase& record);

}  // namespace vtrain
