/// Times at which nodes are out of service.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Effect on jobs of a node that goes out of service.
enum class OutageKind : std::uint8_t {
  Failure,  ///< the node stops, with every job that holds GPUs of it
  Drain,    ///< jobs on the node continue to their ends, but it takes no new ones
};

/// One node out of service, `[begin, end)`. Outages of one node may overlap: it is back when all have ended.
struct Outage {
  NodeId node;                            ///< node that is out of service
  OutageKind kind = OutageKind::Failure;  ///< failure or drain
  SimTime begin{};                        ///< first instant out of service
  SimTime end = kNeverEnds;               ///< first instant back in service

  /// End of an outage from which the node does not come back.
  static constexpr SimTime kNeverEnds = SimTime::max();

  friend bool operator==(const Outage&, const Outage&) = default;
};

/// Reads a list of outages, CSV or JSON lines (if it begins with an object). Columns or keys: `node` (0-based
/// over all groups of the cluster, or a range `8-15`), `begin_s`, `end_s` (seconds from the trace's origin)
/// and optionally `kind` (`failure`, the default, or `drain`). A node whose `end_s` is empty, null or absent
/// does not come back. The result has the order of the file, with a range as one outage for each node. Errors
/// name file, line and field: a node that the cluster does not have, an end that is not after the beginning.
Result<std::vector<Outage>> parse_outages(std::string_view text, const std::string& file,
                                          std::int32_t num_nodes);

/// Writes outages as CSV that `parse_outages` reads to an equal list.
std::string outages_to_csv(std::span<const Outage> outages);

}  // namespace vtrain
