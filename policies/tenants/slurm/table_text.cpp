#include "policies/tenants/slurm/table_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/strings.hpp"

namespace vtrain::slurm {
namespace {

/// The parts of a line between `|`, as they are.
std::vector<std::string_view> bars(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t bar = line.find('|');
    fields.push_back(line.substr(0, bar));
    if (bar == std::string_view::npos) return fields;
    line.remove_prefix(bar + 1);
  }
}

}  // namespace

Result<TableText> TableText::open(std::string_view text, const std::string& file) {
  TableText table(LineReader(text, file));
  const auto more = table.lines_.next();
  if (!more) return fail(more.error());
  if (!*more) return fail({.file = file, .message = "expected a header with columns, found nothing"});
  for (const std::string_view column : bars(table.lines_.line())) {
    std::string name = lower_case(trim(column));
    if (std::ranges::find(table.columns_, name) != table.columns_.end() && !name.empty()) {
      return fail({.file = file,
                   .line = table.lines_.number(),
                   .field = name,
                   .message = "the header has this column twice"});
    }
    table.columns_.push_back(std::move(name));
  }
  return table;
}

Result<bool> TableText::next() {
  auto more = lines_.next();
  if (!more || !*more) return more;
  fields_ = bars(lines_.line());
  if (fields_.size() != columns_.size()) {
    return fail({.file = lines_.file(),
                 .line = lines_.number(),
                 .message = expected_found(fmt::format("{} columns", columns_.size()),
                                           std::to_string(fields_.size()))});
  }
  return true;
}

std::optional<std::size_t> TableText::find(std::string_view column) const {
  const auto found = std::ranges::find(columns_, lower_case(column));
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

std::string_view TableText::operator[](std::string_view column) const {
  return trim(untrimmed(column));
}

std::string_view TableText::untrimmed(std::string_view column) const {
  const auto at = find(column);
  return at ? fields_[*at] : std::string_view();
}

Error TableText::error_at(std::string_view column, std::string message) const {
  return {.file = lines_.file(),
          .line = lines_.number(),
          .field = std::string(column),
          .message = std::move(message)};
}

}  // namespace vtrain::slurm
