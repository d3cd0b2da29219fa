/// The table of figures by tenant, user, queue, GPU type or size of jobs, in the terminal and on the page.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vtrain {

struct Summary;

/// Cells of the table: a row for each group and policy. Groups come by the GPU-hours that they hold under the
/// first policy, largest first; sizes come in ascending order.
struct GroupTable {
  std::vector<std::string> header{};
  std::vector<std::vector<std::string>>
      rows{};              ///< group, policy, figures; groups are named in their first row
  std::string left_out{};  ///< sentence on groups beyond the largest ten; may be empty
};

/// The table of these replays of the same jobs; none where no grouping was asked for.
std::optional<GroupTable> group_table(std::span<const Summary* const> replays);

/// The table for a terminal, behind an empty line; empty where there is none.
std::string group_table_text(std::span<const Summary* const> replays);

namespace report {

/// The table as HTML, with a heading; empty where there is none.
std::string group_table_html(std::span<const Summary* const> replays);

}  // namespace report

}  // namespace vtrain
