/// Tables for other programs: CSV, Markdown and LaTeX.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// Form of a table.
enum class TableFormat : std::uint8_t {
  Csv,       ///< RFC 4180 with line feeds
  Markdown,  ///< table of GitHub's Markdown
  Latex,     ///< a `tabular` without packages
};

/// Words for `TableFormat`, in its order.
std::span<const std::string_view> table_formats();
/// Reads one of `table_formats`; the error names `--format`.
Result<TableFormat> parse_table_format(std::string_view name);
/// Ending of files: `.csv`, `.md`, `.tex`.
std::string_view file_ending(TableFormat format);

/// Writes a table row by row. In Markdown and LaTeX the first columns are flush left, the others flush right.
/// Cells lose blanks at both ends. They are made printable and escaped, so that each shows as it is.
class TableWriter {
 public:
  /// Begins with the titles of the columns. The first `num_left` columns are flush left.
  TableWriter(TableFormat format, std::span<const std::string> titles, std::size_t num_left = 1);
  /// Adds a row, as long as the titles.
  void add_row(std::span<const std::string> cells);
  /// The whole table. Call it once, at the end.
  std::string finish() &&;

 private:
  TableFormat format_;
  std::string text_;
};

}  // namespace vtrain
