/// The table of figures by tenant, user, queue, GPU type or size of jobs, in the terminal and on the page.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vtrain {

struct Summary;

/// Cells of the table: a row for each group and policy. Groups are ordered by their GPU-hours under the first
/// policy, largest first; sizes are in ascending order.
struct GroupTable {
  std::vector<std::string> header{};
  std::vector<std::vector<std::string>>
      rows{};              ///< group, policy, figures; groups are named in their first row
  std::string left_out{};  ///< sentence on groups beyond the largest ten; may be empty
};

/// The table of these replays of the same jobs; none without a grouping.
std::optional<GroupTable> group_table(std::span<const Summary* const> replays);

/// The table for a terminal, after an empty line; empty without a grouping.
std::string group_table_text(std::span<const Summary* const> replays);

namespace report {

/// The table as HTML, with a heading; empty without a grouping.
std::string group_table_html(std::span<const Summary* const> replays);

}  // namespace report

}  // namespace vtrain
