/// Nodes of a running cluster that are not there for all jobs at all times.
#pragma once

#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

/// Nodes that are kept for some users from one time to another.
struct NodeReservation {
  std::string name{};                   ///< name, unique
  SimTime start{};                      ///< first instant
  SimTime end{};                        ///< end
  std::vector<std::string> nodes{};     ///< names of its nodes
  std::vector<std::string> users{};     ///< users that it is for
  std::vector<std::string> accounts{};  ///< accounts that it is for
};

/// Reservations, and nodes that take no jobs.
struct NodeCalendar {
  std::vector<NodeReservation> reservations{};
  std::vector<std::string> out_of_service{};  ///< names of nodes that take no jobs until the end
};

}  // namespace vtrain
