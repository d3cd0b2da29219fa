/// Reservations of nodes in advance (`scontrol create reservation`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "policies/tenants/slurm/configuration.hpp"
#include "policies/tenants/slurm/node_set.hpp"
#include "sched/simulation/node_calendar.hpp"

namespace vtrain::slurm {

/// Nodes that are kept for some users from one time to another.
struct Reservation {
  std::string name{};                   ///< name
  SimTime start{};                      ///< first instant
  SimTime end{};                        ///< end
  NodeSet nodes{};                      ///< its nodes
  std::vector<std::string> users{};     ///< users that it is for; empty: by account
  std::vector<std::string> accounts{};  ///< accounts that it is for
  std::int64_t line = 0;                ///< line of the file

  /// True if a job of a user in an account may name it.
  bool admits(std::string_view user, std::string_view account) const;
  /// True if it holds nodes at some instant of [from, to).
  bool meets(SimTime from, SimTime to) const { return from < end && start < to; }
};

/// Reads one reservation a line, as `scontrol show reservation -o` prints it or `scontrol create reservation`
/// takes it: `ReservationName`, `StartTime` (`now+20`, or seconds of the trace; a date where `origin` tells
/// second 0 in seconds since 1970), `EndTime` or `Duration` (minutes, or `1:00:00`), `Nodes`, `Users`,
/// `Accounts`, `Flags`. Errors: an unknown node, no name, start or end, flags that change when jobs start and
/// are not followed.
Result<std::vector<Reservation>> parse_reservations(std::string_view text, const std::string& file,
                                                    const Configuration& configuration,
                                                    std::optional<std::int64_t> origin = {});

/// A reservation of a calendar. Error: an unknown node.
Result<Reservation> reservation_of(const NodeReservation& kept, const Configuration& configuration);

}  // namespace vtrain::slurm
