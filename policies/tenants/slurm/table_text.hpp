/// Tables that Slurm's commands print with `-P`: a header, columns separated by `|`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/line_reader.hpp"

namespace vtrain::slurm {

/// Rows of such a table. The text outlives it.
class TableText {
 public:
  /// Reads the header. Errors: no header, a column that comes twice.
  static Result<TableText> open(std::string_view text, const std::string& file);
  /// Moves to the next row: true, or false at the end. A row with another number of columns is an error.
  Result<bool> next();
  /// The value of a column, in any case of letters; empty without the column.
  std::string_view operator[](std::string_view column) const;
  /// The value without its blanks removed; empty without the column.
  std::string_view untrimmed(std::string_view column) const;
  /// True if the table has a column.
  bool has(std::string_view column) const { return find(column).has_value(); }
  /// An error at a column of this row.
  Error error_at(std::string_view column, std::string message) const;
  /// Number of this row's line.
  std::int64_t line() const { return lines_.number(); }

 private:
  explicit TableText(LineReader lines) : lines_(std::move(lines)) {}
  std::optional<std::size_t> find(std::string_view column) const;

  LineReader lines_;
  std::vector<std::string> columns_;      ///< in lower case
  std::vector<std::string_view> fields_;  ///< of this row, not trimmed
};

}  // namespace vtrain::slurm
