#include "tools/format/table_format.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using vtrain::TableFormat;
using vtrain::TableWriter;

namespace {

std::string table(TableFormat format, const std::vector<std::string>& titles,
                  const std::vector<std::vector<std::string>>& rows, std::size_t num_left = 1) {
  TableWriter writer(format, titles, num_left);
  for (const auto& row : rows)
    writer.add_row(row);
  return std::move(writer).finish();
}

/// The cell of a table of one column and one row.
std::string cell(TableFormat format, const std::string& text) {
  const std::string whole = table(format, {"t"}, {{text}});
  const std::string empty = table(format, {"t"}, {{"X"}});
  const std::size_t at = empty.find('X');
  return whole.substr(at, whole.size() - empty.size() + 1);
}

}  // namespace

TEST_CASE("table format: CSV quotes what needs it and loses blanks at the ends") {
  CHECK(table(TableFormat::Csv, {"policy", "avg, JCT"},
              {{"las:queues=1;2,x=\"3\"", " 4.5 ± 1  "}, {"", "7"}}) ==
        "policy,\"avg, JCT\"\n\"las:queues=1;2,x=\"\"3\"\"\",4.5 ± 1\n,7\n");
}

TEST_CASE("table format: Markdown has a line below the titles that says how columns are aligned") {
  CHECK(table(TableFormat::Markdown, {"load", "policy", "met"}, {{"0.7", "a|b", "47.9 ± 1.0 %  "}}, 2) ==
        "| load | policy | met |\n| --- | --- | ---: |\n| 0.7 | a\\|b | 47.9 ± 1.0 % |\n");
}

TEST_CASE("table format: Markdown shows each character as it is") {
  CHECK(cell(TableFormat::Markdown, "a_b*c*`d`~e~<f>&amp;[g](h)\\") ==
        "a\\_b\\*c\\*\\`d\\`\\~e\\~&lt;f>&amp;amp;\\[g\\](h)\\\\");
}

TEST_CASE("table format: LaTeX is a plain tabular") {
  CHECK(table(TableFormat::Latex, {"policy", "met"}, {{"edf", "81.5 ± 0.3 %  "}, {"las", "−3.1 ~"}}) ==
        "\\begin{tabular}{lr}\n\\hline\npolicy & met \\\\\n\\hline\n"
        "edf & 81.5 $\\pm$ 0.3 \\% \\\\\nlas & $-$3.1 \\textasciitilde{} \\\\\n\\hline\n\\end{tabular}\n");
}

TEST_CASE("table format: LaTeX escapes every special character") {
  CHECK(cell(TableFormat::Latex, "#$%&_{}") == "\\#\\$\\%\\&\\_\\{\\}");
  CHECK(cell(TableFormat::Latex, "~^\\") == "\\textasciitilde{}\\textasciicircum{}\\textbackslash{}");
  CHECK(cell(TableFormat::Latex, "[a]") == "{[}a]");
  CHECK(cell(TableFormat::Latex, "1 < 2 > 0 | \"x\" × †") ==
        "1 $<$ 2 $>$ 0 $|$ \\char34{}x\\char34{} $\\times$ $\\dagger$");
  // Nothing that a cell holds ends it or begins a command: control characters are made visible first.
  CHECK(cell(TableFormat::Latex, "a\nb") == "a\\textbackslash{}x0ab");
}

TEST_CASE("table format: names of formats and endings of files") {
  CHECK(vtrain::parse_table_format("latex") == TableFormat::Latex);
  CHECK(vtrain::parse_table_format("tex").error().field == "--format");
  CHECK(vtrain::file_ending(TableFormat::Markdown) == ".md");
}
