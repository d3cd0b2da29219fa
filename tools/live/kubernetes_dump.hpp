/// Dumps of Kubernetes: lists and single objects as `kubectl get … -o json` prints them.
#pragma once

#include "core/base/result.hpp"
#include "core/io/json_reader.hpp"
#include "tools/live/live_state.hpp"

namespace vtrain {

/// True if a document states objects of Kubernetes: its root has a kind.
bool is_kubernetes_dump(const JsonDocument& document);

/// Adds the objects of a dump. Of objects that several dumps have the first counts; the others, and kinds
/// that are not read, are counted in the remarks. Errors name file, line and field: no kind, no name, a field
/// of a wrong type, a negative quantity, a time that is none, an object twice in one dump.
Result<void> add_kubernetes_dump(const JsonDocument& document, LiveState& state);

/// Joins the objects of all dumps and adds their jobs and nodes to the state: of a Workload and its Job one
/// job. Errors: those of `kueue::parse_object_file`, but for flavors without an object.
Result<void> finish_kubernetes(LiveState& state);

}  // namespace vtrain
