/// The GPUs of a cluster.
///
/// `ClusterSpec::parse` reads values of `--cluster`: the short form `16x8:a100` (nodes x GPUs per node :
/// type), several joined by `+`, or the name of a file: JSON, or a table of nodes as Slurm, simulators and
/// published traces write them. A `ClusterSpec` is a plain value: `groups` of equal nodes, in the order in
/// which jobs that ask for no type get them.
///
///     auto cluster = vtrain::ClusterSpec::parse("64x8:h100+16x8:a100");
///     if (!cluster) return report(cluster.error());
///     std::cout << cluster->describe() << "\n";
///
/// Errors name file, line and field. Sizes are bounded (`kMaxClusterGpus`).
#pragma once

#include "sched/cluster/cluster.hpp"
