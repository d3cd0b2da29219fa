#include "core/io/csv.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"

namespace vtrain {

void append_csv_field(std::string& out, std::string_view text, CellText cell) {
  constexpr std::string_view kBeginsFormula = "=+-@\t\r";
  const bool is_formula = !text.empty() && kBeginsFormula.find(text.front()) != std::string_view::npos;
  const std::string_view before = is_formula && cell == CellText::SpreadsheetSafe ? "'" : "";
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += before;
    out += text;
    return;
  }
  out += '"';
  out += before;
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

Result<void> CsvReader::split(std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    if (at != end && *at == '"') {
      if (Result<void> quoted = split_quoted(at, end); !quoted) return quoted;
    } else {
      const void* comma = std::memchr(at, ',', static_cast<std::size_t>(end - at));
      const char* stop = comma ? static_cast<const char*>(comma) : end;
      fields_.emplace_back(at, static_cast<std::size_t>(stop - at));
      at = stop;
    }
    if (at == end) return {};
    ++at;  // the comma
  }
}

Result<void> CsvReader::split_quoted(const char*& at, const char* end) {
  const char* const first = ++at;
  bool doubled = false;
  for (;;) {
    at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    if (at == nullptr)
      return fail(
          {.file = lines_.file(), .line = lines_.number(), .message = "a quoted field is not closed"});
    if (at + 1 == end || at[1] != '"') break;
    doubled = true;
    at += 2;
  }
  std::string_view text(first, static_cast<std::size_t>(at - first));
  if (doubled) {
    std::string& plain = unquoted_.emplace_back();
    for (std::size_t i = 0; i < text.size(); ++i) {
      plain += text[i];
      if (text[i] == '"') ++i;
    }
    text = plain;
  }
  fields_.push_back(text);
  ++at;
  if (at != end && *at != ',') {
    return fail({.file = lines_.file(),
                 .line = lines_.number(),
                 .message = "a closing quote is not followed by a comma"});
  }
  return {};
}

std::size_t most_csv_rows(std::string_view text, std::size_t num_columns) {
  const auto num_lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return std::min(num_lines, text.size() / (2 * num_columns)) + 1;
}

std::string_view repeated_column(std::vector<std::string_view> names) {
  std::erase_if(names, [](std::string_view name) { return name.empty(); });
  std::sort(names.begin(), names.end());
  const auto repeated = std::adjacent_find(names.begin(), names.end());
  return repeated == names.end() ? std::string_view() : *repeated;
}

Result<void> CsvReader::read_header() {
  auto found = lines_.next();
  while (found && *found && lines_.line().starts_with('#')) {
    if (comments_.size() == kMaxComments) {
      return fail({.file = lines_.file(),
                   .line = lines_.number(),
                   .message = fmt::format("more than {} lines of comments before the header",
                                          with_thousands(kMaxComments))});
    }
    comments_.push_back(trim(lines_.line().substr(1)));
    found = lines_.next();
  }
  if (!found) return fail(std::move(found.error()));
  if (!*found) {
    return fail({.file = lines_.file(),
                 .message = comments_.empty() ? "empty: expected a header line"
                                              : "expected a header line, found nothing but comments"});
  }
  if (auto header = split(lines_.line()); !header) return header;
  header_line_ = lines_.number();
  for (const std::string_view name : fields_) {
    if (!is_plain_text(trim(name))) {
      return fail({.file = lines_.file(),
                   .line = header_line_,
                   .message = expected_found("a header line with the names of the columns", lines_.line())});
    }
    columns_.emplace_back(trim(name));
  }
  return {};
}

Result<CsvReader> CsvReader::open_any_header(std::string_view text, std::string file) {
  CsvReader reader(text, std::move(file));
  if (auto header = reader.read_header(); !header) return fail(std::move(header.error()));
  return reader;
}

Result<CsvReader> CsvReader::open(std::string_view text, std::string file) {
  auto reader = open_any_header(text, std::move(file));
  if (!reader) return reader;
  const std::vector<std::string_view> names(reader->columns_.begin(), reader->columns_.end());
  if (const std::string_view repeated = repeated_column(names); !repeated.empty()) {
    return fail({.file = reader->lines_.file(),
                 .line = reader->header_line_,
                 .field = std::string(repeated),
                 .message = std::string(kRepeatedColumn)});
  }
  return reader;
}

CsvReader CsvReader::open_without_header(std::string_view text, std::string file,
                                         std::span<const std::string_view> columns) {
  if (auto with_header = open(text, file)) {
    const bool same = std::equal(columns.begin(), columns.end(), with_header->columns_.begin(),
                                 with_header->columns_.end());
    if (same) return *std::move(with_header);
  }
  CsvReader reader(text, std::move(file));
  reader.columns_.assign(columns.begin(), columns.end());
  return reader;
}

int CsvReader::find_column(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == name) return static_cast<int>(i);
  }
  return -1;
}

Result<int> CsvReader::require_column(std::string_view name) const {
  if (const int column = find_column(name); column >= 0) return column;
  constexpr std::size_t kMaxListed = 30;
  const bool too_many = columns_.size() > kMaxListed;
  const std::vector<std::string_view> names(columns_.begin(),
                                            too_many ? columns_.begin() + kMaxListed : columns_.end());
  return fail({.file = lines_.file(),
               .line = header_line_,
               .field = std::string(name),
               .message = fmt::format("column missing; the header has {}{}", list_names(names),
                                      too_many ? " and more" : "")});
}

Result<bool> CsvReader::next() {
  auto found = lines_.next();
  if (!found || !*found) return found;
  if (auto fields = split(lines_.line()); !fields) return fail(std::move(fields.error()));
  if (fields_.size() != columns_.size()) {
    return fail({.file = lines_.file(),
                 .line = lines_.number(),
                 .message = fmt::format("expected {} columns, found {}", columns_.size(), fields_.size())});
  }
  return true;
}

Error CsvReader::error_at(int column, std::string message) const {
  return {.file = lines_.file(),
          .line = lines_.number(),
          .field = columns_[static_cast<std::size_t>(column)],
          .message = std::move(message)};
}

Result<std::int64_t> CsvReader::integer(int column, std::int64_t low, std::int64_t high) const {
  auto value = parse_integer(field(column), low, high);
  if (!value) return fail(error_at(column, std::move(value.error().message)));
  return value;
}

Result<double> CsvReader::number(int column, double low, double high) const {
  auto value = parse_number(field(column), low, high);
  if (!value) return fail(error_at(column, std::move(value.error().message)));
  return value;
}

}  // namespace vtrain
