/// Numbers and tables as people read them: units on everything, thousands separated, three or four
/// significant digits; JSON documents as commands print and write them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/units.hpp"

namespace vtrain {

/// Four significant digits at most, thousands separated: `43.9`, `0.4125`, `1,235`.
std::string short_number(double number);
/// A ratio as per cent with one digit: `81.5 %`; `-` for a value that does not exist (NaN).
std::string as_percent(double ratio);
/// Load: work over the cluster's capacity, with two significant digits: `0.48`, `0.0027`; `-` for a value
/// that does not exist (NaN).
std::string as_load(double load);
/// A duration by its two largest units: `3 d 04 h`, `5 h 12 m`, `36 m 10 s`, `9.81 s`, `12.3 ms`, `8.1 us`.
std::string as_duration(double seconds);
/// A duration in days with one digit: `61.0 d`; below a day as `as_duration`.
std::string as_days(double seconds);
/// An iteration or a part of one with four digits, so that decimals align: `44.41 s`, `812.0 ms`; `0 s` if
/// there is none.
std::string iteration_text(Nanoseconds time);
/// An amount of money: `$1,235`, `$12.30`, `$0.0123`; `-` for a value that does not exist (NaN).
std::string as_dollars(double dollars);
/// An amount of memory: `58.1 GiB` (2^30 bytes), the unit of GPU names: an A100 of "80 GB" has 80.0 GiB.
std::string as_gibibytes(double bytes);

/// The size of a file: `80.7 MB`, `412 kB`.
std::string as_file_size(std::uintmax_t bytes);

/// A number of things: `1 job`, `2,000 jobs`.
std::string count_of(std::int64_t count, std::string_view thing);

/// Use of colours in text for people. `Auto`: on a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
enum class ColorMode : std::uint8_t { Auto, Always, Never };
/// Sets the mode; the default is `Auto`. Call it before anything is printed.
void set_color_mode(ColorMode mode);
/// True if text for `stream` has colours. No information is given by colour alone.
bool uses_color(std::FILE* stream);
/// `text` in bold if `stream` has colours.
std::string in_bold(std::string_view text, std::FILE* stream);

/// Prints text for people. Commands write to standard output and standard error only with this function.
/// Everything but line feeds is made printable, so that names from files and arguments cannot control the
/// terminal.
void print_text(std::FILE* stream, std::string_view text);

/// Formats and prints text for people.
template <class... Arguments>
void print_text(std::FILE* stream, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(stream, std::string_view(fmt::format(format, std::forward<Arguments>(arguments)...)));
}

/// Stream for the summary of a written file: standard output. If that is the written file (`--out
/// /dev/stdout`), standard error.
std::FILE* summary_stream(const std::filesystem::path& written);

/// The document with an indentation of two and a newline at its end, printable. Invalid UTF-8, which file
/// names may contain, becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& document);

/// A number as JSON: null for a value that does not exist (NaN) or is infinite.
nlohmann::ordered_json finite_or_null(double value);

/// Prints the document, on standard output unless another stream is given.
void print_json(const nlohmann::ordered_json& document, std::FILE* stream = stdout);

/// Work: `1,204 GPU-hours`; below a hundred with three digits, `0.0028 GPU-hours`.
std::string as_gpu_hours(double hours);

/// Largest number of columns of a line of text, on any terminal.
inline constexpr std::size_t kTextColumns = 100;

/// Width of standard output: the terminal's, or else the value of `COLUMNS` if it is set. None means any
/// width (files and pipes).
std::optional<std::size_t> output_columns();

/// Columns of a line of text: `kTextColumns`, or the width of standard output if that is smaller.
std::size_t text_columns();

/// `text` in lines of at most `columns` characters, cut at blanks. All lines but the first begin with
/// `indent` blanks, as the first follows a label of that width. Longer words stay whole.
std::string wrap_text(std::string_view text, std::size_t columns, std::size_t indent = 0);

/// A table of aligned columns: the first column is flush left, the others flush right.
class TextTable {
 public:
  /// Takes the titles of the columns. Titles of several lines are aligned at the bottom.
  explicit TextTable(std::vector<std::string> header);
  /// One row, as long as the header. Cells are made printable.
  void add_row(std::vector<std::string> row);
  /// Columns of text that the table takes without a limit.
  std::size_t width() const;
  /// All lines, each ended by a newline. Columns are two blanks apart; widths count characters, not bytes.
  /// Columns beyond the width of the output follow in another block of lines, which repeats the first column.
  std::string to_string() const;

 private:
  std::vector<std::size_t> column_widths() const;
  std::vector<std::vector<std::string>> rows_;
};

/// Number of characters (not bytes) of UTF-8 text.
std::size_t display_width(std::string_view text);

}  // namespace vtrain
