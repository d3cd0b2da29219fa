/// The values of `decision.hpp` as JSON: one object each, with the names of their members as keys.
///
/// Instants and lengths are whole numbers of nanoseconds under keys that end in `_ns`; jobs are their
/// numbers. An allocation is `{"gpus": 8, "type": 0}`. What a member has by default may be left out in
/// reading; everything but absent optional members is written.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "sched/simulation/decision.hpp"

namespace vtrain {

/// On one line, without a line feed at its end. Doubles read back as the same values.
std::string to_json(const ClusterView& cluster);
std::string to_json(const PassEvents& events);
std::string to_json(const Decision& decision);

/// Reads such an object; `file` is used in errors. Errors: malformed JSON, an unknown key, a value of another
/// type or out of range, `events` of another version.
Result<ClusterView> parse_cluster_view(std::string text, std::string file);
Result<PassEvents> parse_pass_events(std::string text, std::string file);
Result<Decision> parse_decision(std::string text, std::string file);

}  // namespace vtrain
