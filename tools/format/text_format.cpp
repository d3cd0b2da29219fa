#include "tools/format/text_format.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"

namespace vtrain {
namespace {

/// Blanks between columns of a table.
constexpr std::string_view kGap = "  ";

/// Smallest width assumed: narrower terminals are unreadable anyway.
constexpr std::int64_t kLeastColumns = 40;

ColorMode color_mode = ColorMode::Auto;

/// Marks in text of tables, which `print_text` turns into colours. Cells cannot have them: they are
/// printable.
constexpr char kBold = '\x01';
constexpr char kGreen = '\x02';
constexpr char kPlain = '\x03';
constexpr std::string_view kKept = "\n\x01\x02\x03";
constexpr std::string_view kBoldCode = "\033[1m";
constexpr std::string_view kGreenCode = "\033[32m";
constexpr std::string_view kRedCode = "\033[1;31m";
constexpr std::string_view kPlainCode = "\033[0m";

/// Text with marks replaced by codes of a terminal, or removed.
std::string with_codes(std::string_view text, bool colored) {
  std::string coded;
  for (const char c : text) {
    const bool is_mark = c == kBold || c == kGreen || c == kPlain;
    if (!is_mark) coded += c;
    if (is_mark && colored) coded += c == kBold ? kBoldCode : c == kGreen ? kGreenCode : kPlainCode;
  }
  return coded;
}

std::string marked(std::string_view text, char mark) {
  return fmt::format("{}{}{}", mark, text, kPlain);
}

}  // namespace

void set_color_mode(ColorMode mode) {
  color_mode = mode;
}

bool uses_color(std::FILE* stream) {
  if (color_mode != ColorMode::Auto) return color_mode == ColorMode::Always;
  const char* const refused = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  if ((refused != nullptr && *refused != '\0') || terminal == nullptr || std::string_view(terminal) == "dumb")
    return false;
  return ::isatty(::fileno(stream)) != 0;
}

std::string in_bold(std::string_view text, std::FILE* stream) {
  return uses_color(stream) ? fmt::format("{}{}{}", kBoldCode, text, kPlainCode) : std::string(text);
}

std::optional<std::size_t> output_columns() {
  winsize size{};
  std::int64_t columns = 0;
  if (::isatty(STDOUT_FILENO) != 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (const char* const given = std::getenv("COLUMNS"); columns == 0 && given != nullptr)
    columns = parse_integer(given, 1, std::numeric_limits<int>::max()).value_or(0);
  if (columns == 0) return std::nullopt;
  return static_cast<std::size_t>(std::max(columns, kLeastColumns));
}

std::size_t text_columns() {
  return std::min(kTextColumns, output_columns().value_or(kTextColumns));
}

std::string short_number(double number) {
  if (!std::isfinite(number)) return "-";
  if (std::abs(number) >= 999.95) return with_thousands(std::llround(number));
  return fmt::format("{:.4g}", number);
}

std::string as_percent(double ratio) {
  return std::isnan(ratio) ? "-" : fmt::format("{:.1f} %", ratio * 100);
}

std::string as_load(double load) {
  if (std::isnan(load)) return "-";
  return load != 0 && std::abs(load) < 0.1 ? fmt::format("{:.2g}", load) : fmt::format("{:.2f}", load);
}

std::string as_duration(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 0) return "-" + as_duration(-seconds);
  if (seconds == 0) return "0 s";
  // Each unit ends where its three digits would round up to the next.
  if (seconds < 0.9995e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.3g} s", seconds);
  // Two units, rounded to the smaller one: 59 m 59.6 s is 1 h 00 m.
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr double kDay = 86400;
  const auto two_units = [seconds](double large, double small, std::string_view form) {
    const std::int64_t in_small = std::llround(seconds / small);
    const auto per_large = static_cast<std::int64_t>(large / small);
    return fmt::format(fmt::runtime(form), with_thousands(in_small / per_large), in_small % per_large);
  };
  if (seconds < kHour - 0.5) return two_units(kMinute, 1, "{} m {:02} s");
  if (seconds < kDay - kMinute / 2) return two_units(kHour, kMinute, "{} h {:02} m");
  return two_units(kDay, kHour, "{} d {:02} h");
}

std::string as_days(double seconds) {
  constexpr double kDay = 86400;
  return !(seconds >= kDay) ? as_duration(seconds) : fmt::format("{:.1f} d", seconds / kDay);
}

std::string iteration_text(Nanoseconds time) {
  const double seconds = Seconds(time).count();
  if (seconds == 0) return "0 s";
  if (seconds < 0.99995) return fmt::format("{:#.4g} ms", seconds * 1e3);
  return seconds < 999.95 ? fmt::format("{:#.4g} s", seconds) : short_number(seconds) + " s";
}

std::string as_gpu_hours(double hours) {
  constexpr double kManyHours = 100;
  if (hours >= kManyHours) return count_of(std::llround(hours), "GPU-hour");
  const std::string number = fmt::format("{:.3g}", hours);
  return fmt::format("{} GPU-hour{}", number, number == "1" ? "" : "s");
}

std::string as_dollars(double dollars) {
  if (std::isnan(dollars)) return "-";
  if (dollars >= 999.995) return "$" + with_thousands(std::llround(dollars));
  return dollars >= 1 || dollars == 0 ? fmt::format("${:.2f}", dollars) : fmt::format("${:#.3g}", dollars);
}

std::string as_gibibytes(double bytes) {
  return fmt::format("{:.1f} GiB", bytes / kGibibyte);
}

std::string wrap_text(std::string_view text, std::size_t columns, std::size_t indent) {
  const std::string line_break = "\n" + std::string(indent, ' ');
  std::string wrapped;
  for (const std::string_view line : split(text, '\n')) {
    if (!wrapped.empty()) wrapped += line_break;
    std::size_t in_line = 0;
    for (const std::string_view word : split(line, ' ')) {
      const std::size_t width = display_width(word);
      const bool is_full = in_line > 0 && in_line + 1 + width > columns;
      if (is_full) wrapped += line_break;
      if (!is_full && in_line > 0) wrapped += ' ';
      wrapped += word;
      in_line = is_full || in_line == 0 ? width : in_line + 1 + width;
    }
  }
  return wrapped;
}

std::size_t display_width(std::string_view text) {
  // Every byte but UTF-8's continuation bytes begins a character.
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string as_file_size(std::uintmax_t bytes) {
  const auto size = static_cast<double>(bytes);
  return size < 1e6 ? fmt::format("{:.0f} kB", std::max(1.0, size / 1e3))
                    : fmt::format("{:.1f} MB", size / 1e6);
}

std::string count_of(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", with_thousands(count), thing, count == 1 ? "" : "s");
}

void print_text(std::FILE* stream, std::string_view text) {
  const bool colored = uses_color(stream);
  if (!colored && !uses_color(stdout)) {
    fmt::print(stream, "{}", printable(text, "\n"));
    return;
  }
  std::string shown = with_codes(printable(text, kKept), colored);
  constexpr std::string_view kError = "error:";
  if (colored && shown.starts_with(kError))
    shown = fmt::format("{}{}{}{}", kRedCode, kError, kPlainCode, shown.substr(kError.size()));
  fmt::print(stream, "{}", shown);
}

std::FILE* summary_stream(const std::filesystem::path& written) {
  return standard_stream(written) == STDOUT_FILENO ? stderr : stdout;
}

TextTable::TextTable(std::vector<std::string> header) {
  std::size_t num_lines = 1;
  const auto lines_of = [](std::string_view title) {
    return static_cast<std::size_t>(std::ranges::count(title, '\n')) + 1;
  };
  for (const std::string& title : header)
    num_lines = std::max(num_lines, lines_of(title));
  rows_.assign(num_lines, std::vector<std::string>(header.size()));
  for (std::size_t column = 0; column < header.size(); ++column) {
    std::size_t line = num_lines - lines_of(header[column]);
    for (const std::string_view part : split(header[column], '\n'))
      rows_[line++][column] = part;
  }
}

void TextTable::add_row(std::vector<std::string> row) {
  for (std::string& cell : row)
    cell = printable(cell);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> TextTable::column_widths() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

std::size_t TextTable::width() const {
  const std::vector<std::size_t> widths = column_widths();
  return std::accumulate(widths.begin(), widths.end(), kGap.size() * (widths.size() - 1));
}

std::string TextTable::to_string() const {
  const std::vector<std::size_t> widths = column_widths();
  const std::size_t columns = output_columns().value_or(std::numeric_limits<std::size_t>::max());
  const bool colored = uses_color(stdout);
  const auto add_line = [&](std::string& text, const std::vector<std::string>& row, std::size_t first,
                            std::size_t last) {
    const bool is_header = &row == &rows_.front();
    std::string line = row.front() + std::string(widths.front() - display_width(row.front()), ' ');
    for (std::size_t i = first; i < last; ++i) {
      const bool is_best = colored && row[i].ends_with(" *");
      line += std::string(kGap) + std::string(widths[i] - display_width(row[i]), ' ');
      line += is_best ? marked(row[i], kGreen) : row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (is_header && colored ? marked(line, kBold) : line) + "\n";
  };
  std::string text;
  std::size_t first = 1;
  do {
    std::size_t last = first;
    std::size_t width = widths.front();
    // A column that is too wide alone stands in a block of its own.
    for (; last < widths.size(); ++last) {
      const std::size_t wider = width + kGap.size() + widths[last];
      if (wider > columns && last > first) break;
      width = wider;
    }
    if (first > 1) text += "\n";
    for (const auto& row : rows_)
      add_line(text, row, first, last);
    first = last;
  } while (first < widths.size());
  return text;
}

std::string json_text(const nlohmann::ordered_json& document) {
  return printable_json(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
         "\n";
}

nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

void print_json(const nlohmann::ordered_json& document, std::FILE* stream) {
  print_text(stream, json_text(document));
}

}  // namespace vtrain
