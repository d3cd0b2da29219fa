/// A reader for comma-separated text held in memory, made for millions of rows: fields are views, nothing is
/// copied.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/line_reader.hpp"

namespace vtrain {

/// Conversion of foreign texts to fields of a table.
enum class CellText : std::uint8_t {
  Exact,            ///< unchanged
  SpreadsheetSafe,  ///< apostrophe before texts that a spreadsheet would treat as a formula
};

/// Appends `text` as one field, in quotes if it holds a comma, a quote or a line break. A spreadsheet treats
/// a text as a formula if it begins with `=`, `+`, `-`, `@`, a tab or a carriage return (OWASP, "CSV
/// Injection").
void append_csv_field(std::string& out, std::string_view text, CellText cell = CellText::Exact);

/// Upper bound of the rows in a text: one per line, with a byte and a separator or more for each field.
std::size_t most_csv_rows(std::string_view text, std::size_t num_columns);

/// Message about a header with a repeated column.
inline constexpr std::string_view kRepeatedColumn = "the header has this column twice";

/// A name that occurs twice among columns; empty without any. Columns without a name are not compared.
std::string_view repeated_column(std::vector<std::string_view> names);

/// Rows of CSV text with a header line. Accepts a UTF-8 byte-order mark, CRLF, a missing final newline,
/// quoted fields (RFC 4180) and blank lines, which it skips. Lines before the header that begin with `#` are
/// comments.
class CsvReader {
 public:
  /// Longest accepted line in bytes; a longer one is an error.
  static constexpr std::size_t kMaxLine = LineReader::kMaxLine;

  /// Most lines of comments before the header; more are an error.
  static constexpr std::size_t kMaxComments = 10'000;

  /// Reads the header, in which no name may occur twice. `text` must outlive the reader; `file` is used in
  /// errors.
  static Result<CsvReader> open(std::string_view text, std::string file);

  /// Opens text with any column names: for text whose format is not yet recognised, or that is read by
  /// position.
  static Result<CsvReader> open_any_header(std::string_view text, std::string file);

  /// A reader for text whose columns are known: its first line is a row, or a header of just these names,
  /// which is skipped.
  static CsvReader open_without_header(std::string_view text, std::string file,
                                       std::span<const std::string_view> columns);

  /// The lines before the header that begin with `#`, without the `#` and blanks around. They may hold any
  /// bytes.
  const std::vector<std::string_view>& comments() const { return comments_; }
  /// The names of the header line.
  const std::vector<std::string>& columns() const { return columns_; }
  /// The position of a column, or -1.
  int find_column(std::string_view name) const;
  /// The position of a required column; the error lists the existing ones.
  Result<int> require_column(std::string_view name) const;

  /// Moves to the next row: true, or false at the end. A row with fewer or more fields than the header is an
  /// error.
  Result<bool> next();
  /// The fields of this row, in the order of the columns. Valid until the next call of `next`.
  std::span<const std::string_view> fields() const { return fields_; }
  /// The field at a column of this row, without surrounding quotes. Valid until the next call of `next`.
  std::string_view field(int column) const { return fields_[static_cast<std::size_t>(column)]; }
  /// 1-based line number of this row in the file.
  std::int64_t line() const { return lines_.number(); }

  /// An error at this row and column.
  Error error_at(int column, std::string message) const;
  /// The field as a whole number in [low, high].
  Result<std::int64_t> integer(int column, std::int64_t low, std::int64_t high) const;
  /// The field as a finite number in [low, high].
  Result<double> number(int column, double low, double high) const;

 private:
  CsvReader(std::string_view text, std::string file) : lines_(text, std::move(file)) {}
  Result<void> read_header();
  Result<void> split(std::string_view line);
  Result<void> split_quoted(const char*& at, const char* end);

  LineReader lines_;
  std::vector<std::string_view> comments_;
  std::vector<std::string> columns_;
  std::int64_t header_line_ = 0;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;  ///< owns the fields that held doubled quotes
};

}  // namespace vtrain
