/// Rows of `sacct --parsable2`. Its fields are not quoted, so free text such as the name of a job may hold
/// the separator and line feeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/line_reader.hpp"

namespace vtrain {

/// Form of the values of a column of sacct.
enum class SacctValue : std::uint8_t {
  Id,        ///< id of a job
  Date,      ///< a date, or a word for none
  Clock,     ///< `1-02:03:04`, `0:0`, or a word
  Number,    ///< a number or a word
  State,     ///< state of a job
  Tres,      ///< `cpu=8,gres/gpu=4`
  Gres,      ///< `gpu:a100:4`
  Word,      ///< anything without blanks
  Field,     ///< anything without a separator
  Nothing,   ///< nothing, after the separator at the end of every line (`--parsable`)
  FreeText,  ///< anything
};

/// True if names are those of a header of sacct: a job id and at least two other columns, as sacct writes
/// them.
bool are_sacct_columns(std::span<const std::string_view> names);

/// Reads rows below a header. Every row gets as many fields as there are columns:
///
/// * A row with too many fields has separators in its free text. It is read if its other values fit the
///   columns in one way only.
/// * A row with too few fields has line feeds in its free text. It is read together with the lines after it,
///   up to the next line that is a complete row.
///
/// Any other row is malformed: no value is ever read from another column.
class SacctRows {
 public:
  /// `lines` is at the header with these `names`. Only the values of `used` columns must be unambiguous.
  SacctRows(LineReader lines, std::span<const std::string_view> names, std::vector<bool> used);

  /// Moves to the next row: true, or false at the end. A malformed row is an error, and the next call
  /// continues after its first line.
  Result<bool> next();
  /// The fields of this row [columns], as views of the text. Fields of free text may be cut.
  std::span<const std::string_view> fields() const { return fields_; }
  /// 1-based number of the row's first line.
  std::int64_t line() const { return line_; }

 private:
  bool align();
  bool join_lines();

  LineReader lines_;
  std::vector<SacctValue> values_;  ///< [columns]
  std::vector<bool> used_;          ///< [columns]
  bool has_free_text_ = false;
  bool ends_in_free_text_ = false;
  std::vector<std::string_view> fields_;
  std::int64_t line_ = 0;
  bool is_behind_row_ = false;
  std::size_t joined_in_vain_ = 0;  ///< bytes
};

}  // namespace vtrain
