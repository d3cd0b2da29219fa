#include "tools/live/slurm_tables.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/line_reader.hpp"
#include "core/text/calendar.hpp"

namespace vtrain {
namespace {

using Words = std::vector<std::string_view>;

Words words_of(std::string_view line, char separator) {
  Words words;
  for (const std::string_view word : split(line, separator)) {
    if (separator == '|' || !word.empty()) words.push_back(trim(word));
  }
  return words;
}

/// A header with the rule that divides rows.
struct TableHeader {
  char separator = ' ';
  Words names{};
  std::vector<std::size_t> ends{};  ///< end of each name in the line; only with blanks

  bool has(std::string_view name) const { return std::ranges::find(names, name) != names.end(); }
  /// True if the last column holds any text.
  bool ends_in_text() const {
    return names.back().ends_with("(REASON)") || names.back() == "REASON" || names.back() == "NAME" ||
           names.back() == "COMMENT";
  }
};

TableHeader header_of(std::string_view line) {
  TableHeader header{.separator = line.find('|') == std::string_view::npos ? ' ' : '|'};
  header.names = words_of(line, header.separator);
  for (const std::string_view name : header.names)
    header.ends.push_back(static_cast<std::size_t>(name.data() - line.data()) + name.size());
  return header;
}

/// Kind of a table, by its header.
std::optional<LiveKind> kind_of(const TableHeader& header) {
  if (header.names.size() < 2) return std::nullopt;
  const bool has_state = header.has("ST") || header.has("STATE");
  if (header.has("JOBID")) {
    if (header.has("PRIORITY") && !has_state) return LiveKind::Priorities;
    return has_state ? std::optional(LiveKind::Jobs) : std::nullopt;
  }
  if (header.has("STATE") && (header.has("NODELIST") || header.has("HOSTNAMES"))) return LiveKind::NodeRows;
  return std::nullopt;
}

/// Names of texts that squeue cuts at the width of their column.
bool may_be_cut(std::string_view name) {
  constexpr std::array<std::string_view, 5> kTexts = {"PARTITION", "NAME", "USER", "ACCOUNT", "QOS"};
  return std::ranges::find(kTexts, name) != kTexts.end();
}

/// The values of a row whose columns end where their names do; none if they do not.
std::optional<Words> by_place(const TableHeader& header, std::string_view line) {
  Words values;
  std::size_t from = 0;
  for (std::size_t i = 0; i + 1 < header.names.size(); ++i) {
    const std::size_t end = header.ends[i];
    if (end >= line.size() || line[end] != ' ') return std::nullopt;
    const std::string_view value = trim(line.substr(from, end - from));
    // A blank within a number or a word shows that the columns are others.
    if (!may_be_cut(header.names[i]) && value.find(' ') != std::string_view::npos) return std::nullopt;
    const bool is_cut = may_be_cut(header.names[i]) && i > 0 && value.size() >= end - from - 1;
    values.push_back(is_cut ? std::string_view() : value);
    from = end;
  }
  values.push_back(trim(line.substr(from)));
  return values;
}

/// The values of a row by its words. A last column of text takes all that is left.
std::optional<Words> by_words(const TableHeader& header, std::string_view line, LiveKind kind) {
  Words values = words_of(line, header.separator);
  const std::size_t count = header.names.size();
  if (values.size() > count && header.separator == ' ' && header.ends_in_text()) {
    const char* const last = values[count - 1].data();
    values.resize(count);
    values.back() = trim(line.substr(static_cast<std::size_t>(last - line.data())));
  }
  // sprio leaves the last column empty where no resource counts.
  if (kind == LiveKind::Priorities && values.size() + 1 == count) values.emplace_back();
  if (values.size() != count) return std::nullopt;
  return values;
}

void add_row(const TableHeader& header, const Words& values, LiveRecord& record) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string_view name = header.names[i];
    std::string_view value = values[i];
    if (name == "NODELIST(REASON)") {
      const bool is_reason = value.starts_with('(');
      name = is_reason ? "REASON" : "NODELIST";
      if (is_reason && value.ends_with(')')) value = value.substr(1, value.size() - 2);
    }
    if (name == "JOBID" && value.find_first_of("_+[") != std::string_view::npos) name = "JOBID shown";
    record.add(name, std::string(value));
  }
}

/// Lines of a table, its first one without the date above it.
struct TableText {
  LineReader lines;
  std::string date{};
  bool has_lines = false;
};

Result<TableText> open_text(std::string_view text, const std::string& file) {
  TableText table{.lines = LineReader(text, file)};
  for (int i = 0; i < 2; ++i) {
    const auto more = table.lines.next();
    if (!more) return fail(more.error());
    table.has_lines = *more;
    if (!*more) break;
    auto date = civil_time_of(table.lines.line());
    if (!date) break;
    table.date = *std::move(date);
  }
  return table;
}

}  // namespace

std::optional<std::string> civil_time_of(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const Words words = words_of(text, ' ');
  if (words.size() != 5 || words[0].size() != 3) return std::nullopt;
  const auto month = std::ranges::find(kMonths, words[1]) - kMonths.begin();
  const auto day = parse_integer(words[2], 1, 31);
  if (month == std::ssize(kMonths) || !day) return std::nullopt;
  std::string text_of = fmt::format("{}-{:02}-{:02}T{}", words[4], month + 1, *day, words[3]);
  if (!parse_civil_time(text_of)) return std::nullopt;
  return text_of;
}

bool has_only_shown_ids(std::string_view text) {
  const auto table = open_text(text, "");
  if (!table || !table->has_lines) return false;
  const TableHeader header = header_of(table->lines.line());
  if (header.has("JobID") && !header.has("JobIDRaw")) return true;
  return kind_of(header) == LiveKind::Jobs && std::ranges::count(header.names, "JOBID") == 1;
}

Result<std::optional<LiveRecords>> read_slurm_table(std::string_view text, const std::string& file) {
  auto table = open_text(text, file);
  if (!table) return fail(table.error());
  if (!table->has_lines) return std::nullopt;
  const TableHeader header = header_of(table->lines.line());
  const auto kind = kind_of(header);
  if (!kind) return std::nullopt;
  LineReader& lines = table->lines;
  // Only squeue's columns end where their names do, and only if all rows agree.
  bool has_places = *kind == LiveKind::Jobs && header.separator == ' ';
  for (LineReader ahead = lines; has_places;) {
    const auto more = ahead.next();
    if (!more) return fail(more.error());
    if (!*more) break;
    has_places = by_place(header, ahead.line()).has_value();
  }
  LiveRecords records{.kind = *kind};
  for (;;) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) break;
    const auto values = has_places ? by_place(header, lines.line()) : by_words(header, lines.line(), *kind);
    if (!values) {
      return fail(
          {.file = file,
           .line = lines.number(),
           .message = fmt::format("expected {} columns as in the header, found {}", header.names.size(),
                                  words_of(lines.line(), header.separator).size())});
    }
    if (*kind == LiveKind::Priorities && values->front() == "Weights") continue;
    LiveRecord& record = records.records.emplace_back(file, lines.number());
    if (!table->date.empty()) record.add("printed", table->date);
    add_row(header, *values, record);
  }
  return records;
}

}  // namespace vtrain
