#include "tools/format/text_format.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"

namespace vtrain {

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

std::string as_gigabytes(double bytes) {
  return fmt::format("{:.1f} GB", bytes / 1e9);
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

std::string count_of(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", with_thousands(count), thing, count == 1 ? "" : "s");
}

void print_text(std::FILE* stream, std::string_view text) {
  fmt::print(stream, "{}", printable(text, "\n"));
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

std::string TextTable::to_string() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - display_width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += i == 0 ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string json_text(const nlohmann::ordered_json& document) {
  return printable_json(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
         "\n";
}

void print_json(const nlohmann::ordered_json& document, std::FILE* stream) {
  print_text(stream, json_text(document));
}

}  // namespace vtrain
