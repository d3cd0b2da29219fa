/// The values of `decision.hpp` as JSON: one object each, with the names of their members as keys.
///
/// Instants and lengths are whole numbers of nanoseconds under keys that end in `_ns`; jobs are their
/// numbers. An allocation is `{"gpus": 8, "type": 0}`. In input, members with their default values may be
/// left out. In output, only absent optional members are left out.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "sched/simulation/decision.hpp"

namespace vtrain {

/// Writes a cluster on one line, without a line feed at its end. Doubles read back as equal values.
std::string to_json(const ClusterView& cluster);
/// Writes events on one line, as the cluster.
std::string to_json(const PassEvents& events);
/// Writes a decision on one line, as the cluster.
std::string to_json(const Decision& decision);

/// Reads such an object. Errors name `file`: malformed JSON, an unknown key, a value of another type or out
/// of range, `events` of another version.
Result<ClusterView> parse_cluster_view(std::string text, std::string file);
/// Reads events. Errors: those of `parse_cluster_view`.
Result<PassEvents> parse_pass_events(std::string text, std::string file);
/// Reads a decision. Errors: those of `parse_cluster_view`.
Result<Decision> parse_decision(std::string text, std::string file);

}  // namespace vtrain
