#include "tools/format/table_format.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/csv.hpp"

namespace vtrain {
namespace {

constexpr std::array<std::string_view, 3> kTableFormats = {"csv", "markdown", "latex"};
constexpr std::array<std::string_view, 3> kEndings = {".csv", ".md", ".tex"};

using Replacement = std::pair<std::string_view, std::string_view>;

constexpr std::array kInLatex{
    Replacement{"\\", "\\textbackslash{}"},
    Replacement{"&", "\\&"},
    Replacement{"%", "\\%"},
    Replacement{"$", "\\$"},
    Replacement{"#", "\\#"},
    Replacement{"_", "\\_"},
    Replacement{"{", "\\{"},
    Replacement{"}", "\\}"},
    Replacement{"~", "\\textasciitilde{}"},
    Replacement{"^", "\\textasciicircum{}"},
    Replacement{"<", "$<$"},
    Replacement{">", "$>$"},
    Replacement{"|", "$|$"},
    Replacement{"\"", "\\char34{}"},
    Replacement{"[", "{[}"},  // after \\ it would begin an argument
    Replacement{"±", "$\\pm$"},
    Replacement{"−", "$-$"},
    Replacement{"×", "$\\times$"},
    Replacement{"†", "$\\dagger$"},
};

constexpr std::array kInMarkdown{
    Replacement{"\\", "\\\\"}, Replacement{"|", "\\|"}, Replacement{"`", "\\`"},  Replacement{"*", "\\*"},
    Replacement{"_", "\\_"},   Replacement{"~", "\\~"}, Replacement{"<", "&lt;"}, Replacement{"&", "&amp;"},
    Replacement{"[", "\\["},   Replacement{"]", "\\]"},
};

/// `text` with each of some characters replaced.
std::string escaped(std::string_view text, std::span<const Replacement> replacements) {
  std::string out;
  while (!text.empty()) {
    const Replacement* found = nullptr;
    for (const Replacement& each : replacements) {
      if (text.starts_with(each.first)) found = &each;
    }
    out += found != nullptr ? found->second : text.substr(0, 1);
    text.remove_prefix(found != nullptr ? found->first.size() : 1);
  }
  return out;
}

}  // namespace

std::span<const std::string_view> table_formats() {
  return kTableFormats;
}

Result<TableFormat> parse_table_format(std::string_view name) {
  return parse_name<TableFormat>("--format", kTableFormats, name);
}

std::string_view file_ending(TableFormat format) {
  return kEndings[static_cast<std::size_t>(format)];
}

TableWriter::TableWriter(TableFormat format, std::span<const std::string> titles, std::size_t num_left)
    : format_(format) {
  if (format == TableFormat::Latex) {
    text_ = "\\begin{tabular}{";
    for (std::size_t i = 0; i < titles.size(); ++i)
      text_ += i < num_left ? 'l' : 'r';
    text_ += "}\n\\hline\n";
  }
  add_row(titles);
  if (format == TableFormat::Latex) text_ += "\\hline\n";
  if (format != TableFormat::Markdown) return;
  for (std::size_t i = 0; i < titles.size(); ++i)
    text_ += i < num_left ? "| --- " : "| ---: ";
  text_ += "|\n";
}

void TableWriter::add_row(std::span<const std::string> cells) {
  bool is_first = true;
  for (const std::string& cell : cells) {
    const std::string whole = printable(cell);
    const std::string_view text = trim(whole);
    switch (format_) {
      case TableFormat::Csv:
        if (!is_first) text_ += ',';
        append_csv_field(text_, text);
        break;
      case TableFormat::Markdown:
        text_ += fmt::format("| {} ", escaped(text, kInMarkdown));
        break;
      case TableFormat::Latex:
        text_ += fmt::format("{}{}", is_first ? "" : " & ", escaped(text, kInLatex));
        break;
    }
    is_first = false;
  }
  text_ += format_ == TableFormat::Csv ? "\n" : format_ == TableFormat::Markdown ? "|\n" : " \\\\\n";
}

std::string TableWriter::finish() && {
  if (format_ == TableFormat::Latex) text_ += "\\hline\n\\end{tabular}\n";
  return std::move(text_);
}

}  // namespace vtrain
