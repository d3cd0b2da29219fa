/// Times at which nodes are not there for jobs.
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

/// What becomes of the jobs on a node that goes out of service.
enum class OutageKind : std::uint8_t {
  Failure,  ///< the node stops, and so does every job that holds GPUs of it
  Drain,    ///< jobs on the node go on to their ends, but it takes no new ones
};

/// One node out of service, `[begin, end)`. Outages of one node may overlap: it is back when all have ended.
struct Outage {
  NodeId node;
  OutageKind kind = OutageKind::Failure;
  SimTime begin{};
  SimTime end = kNeverEnds;

  /// The end of an outage after which the node does not come back.
  static constexpr SimTime kNeverEnds = SimTime::max();

  friend bool operator==(const Outage&, const Outage&) = default;
};

/// Reads a list of outages, CSV or JSON lines (told by whether it begins with an object), with the columns or
/// keys `node` (0-based, counted over all groups of the cluster, or a range `8-15`), `begin_s`, `end_s`
/// (seconds from the trace's origin; empty, and in JSON also null or absent: the node does not come back)
/// and, where it is not always a failure, `kind` (`failure` or `drain`). A list in the order of the file,
/// with a range as one outage for each node. Errors name file, line and field: a node that the cluster does
/// not have, an end that is not after the beginning.
Result<std::vector<Outage>> parse_outages(std::string_view text, const std::string& file,
                                          std::int32_t num_nodes);

/// The same as CSV that `parse_outages` reads to the same list.
std::string outages_to_csv(std::span<const Outage> outages);

}  // namespace vtrain
