#include "tools/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/utf8.hpp"
#include "tools/format/text_format.hpp"
#include "tools/web/web.hpp"

namespace vtrain {

namespace embedded {
extern const std::string_view report_template;
extern const std::string_view report_css;
extern const std::string_view charts_js;
extern const std::string_view gantt_js;
extern const std::string_view report_js;
}  // namespace embedded

namespace report {
namespace {

using nlohmann::json;

/// Help on keys and pointer for every picture, also for assistive technology.
constexpr std::string_view kChartHelp =
    "Point at a chart for exact values, drag across it to zoom, double-click to reset. With the keyboard: "
    "Tab to a chart; + and \u2212 zoom, arrows move, Shift with arrows points, 0 goes back. The numbers are "
    "below each chart. ";

/// Units of durations and shares.
constexpr std::array<std::string_view, 9> kUnits = {"d", "h", "m", "s", "ms", "us", "min", "%", "points"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string provenance_html(const Page& page) {
  std::string html;
  for (const auto& [label, value] : page.provenance) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(label), escape_html(value));
  }
  return html;
}

std::string assumptions_html(const Page& page) {
  if (page.assumptions.empty()) return "";
  std::string html = "<section aria-labelledby=\"assumed\"><h2 id=\"assumed\">Assumed</h2>\n<ul>\n";
  for (const std::string& assumption : page.assumptions)
    html += fmt::format("<li>{}</li>\n", with_whole_quantities(escape_html(assumption)));
  return html + "</ul></section>\n";
}

/// The value with all of its strings and keys printable.
json with_printable_strings(const json& value) {
  if (value.is_string()) return printable(value.get_ref<const std::string&>());
  if (!value.is_structured()) return value;
  json copy = value.is_array() ? json::array() : json::object();
  for (const auto& item : value.items()) {
    if (value.is_array()) {
      copy.push_back(with_printable_strings(item.value()));
    } else {
      copy[printable(item.key())] = with_printable_strings(item.value());
    }
  }
  return copy;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : printable(text, "\n\t")) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string table_html(std::string_view attributes, std::string_view label,
                       std::span<const std::string> header, std::span<const std::vector<std::string>> rows) {
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table{}>\n<thead><tr>",
      escape_html(label), attributes);
  for (const std::string& title : header)
    html += fmt::format("<th scope=\"col\">{}</th>", escape_html(title));
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : rows) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", row.front());
    for (std::size_t i = 1; i < row.size(); ++i)
      html += fmt::format("<td>{}</td>", escape_html(row[i]));
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

std::string query_html(std::string_view sql) {
  if (sql.empty()) return {};
  return fmt::format(
      "<details class=\"query\"><summary>SQL of this table</summary>\n<pre>{}</pre>\n</details>\n",
      escape_html(sql));
}

std::string with_whole_quantities(std::string_view text) {
  constexpr std::string_view kNoBreak = "\u00a0";
  constexpr std::string_view kPunctuation = ",.;:()";
  static constexpr std::string_view kEndsWord = " ,.;:()\n";
  const auto word_at = [text](std::size_t at) {
    const std::size_t end = text.find_first_of(kEndsWord, at);
    return text.substr(at, end == std::string_view::npos ? end : end - at);
  };
  const auto is_unit = [](std::string_view word) {
    return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
  };
  std::string out;
  bool ends_quantity = false;  // the word before is a unit after a number
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_space = text[at] == ' ' && at > 0 && at + 1 < text.size();
    const std::string_view next = is_space ? word_at(at + 1) : std::string_view();
    const bool before_unit = is_space && is_digit(text[at - 1]) && is_unit(next);
    const std::size_t after = at + 1 + next.size();
    const bool before_part = is_space && ends_quantity && next.size() == 2 && is_digit(next[0]) &&
                             is_digit(next[1]) && after < text.size() && text[after] == ' ' &&
                             is_unit(word_at(after + 1));
    if (kPunctuation.find(text[at]) != std::string_view::npos) ends_quantity = false;
    if (is_space) ends_quantity = before_unit;
    if (before_unit || before_part) {
      out += kNoBreak;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::string embed_json(const nlohmann::json& value) {
  const std::string text = with_printable_strings(value).dump();
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    // In JSON a `<` occurs only within strings, where its escape means the same.
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string fill_template(std::string_view page,
                          std::span<const std::pair<std::string_view, std::string_view>> values) {
  std::string out;
  while (true) {
    const std::size_t open = page.find("{{");
    out += page.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = page.find("}}", open);
    if (close == std::string_view::npos) throw std::logic_error("a template with an open {{");
    const std::string_view name = page.substr(open + 2, close - open - 2);
    const auto entry = std::ranges::find(values, name, [](const auto& value) { return value.first; });
    if (entry == values.end()) {
      throw std::logic_error(fmt::format("a template names '{}', which is not there", name));
    }
    out += entry->second;
    page.remove_prefix(close + 2);
  }
}

std::string figure_html(const Figure& figure) {
  return fmt::format(
      "<figure id=\"{0}\" class=\"{1}\" aria-labelledby=\"{0}-title\">\n<figcaption><h2 "
      "id=\"{0}-title\">{2}</h2>\n"
      "<p>{3}</p></figcaption>\n<div class=\"chart\" tabindex=\"0\" role=\"application\" "
      "aria-roledescription=\"chart\" "
      "aria-label=\"{2}. {3}\" aria-describedby=\"help\"></div>\n{4}</figure>\n",
      figure.id, figure.width, escape_html(figure.title), with_whole_quantities(escape_html(figure.caption)),
      figure.extra);
}

void add_figure(std::string& html, json& data, std::string_view key, json value, const Figure& figure) {
  if (value.is_null()) return;
  html += figure_html(figure);
  data[std::string(key)] = std::move(value);
}

std::string distribution_caption(std::string_view subject, const json& distribution) {
  std::string text(subject);
  if (!distribution["exact"].get<bool>()) text += " Read off at 500 durations.";
  return text;
}

std::string time_caption(std::string_view subject, const json& series) {
  std::string text(subject);
  if (series["exact"].get<bool>()) return text + " Every change is drawn.";
  const double span = series["x"][1].get<double>() - series["x"][0].get<double>();
  return text + fmt::format(" Line: mean per {1}; band: min to max ({0} points).", series["x"].size() - 1,
                            as_duration(span));
}

std::string render_page(const Page& page, const json& data) {
  const std::string title = escape_html(page.title);
  const std::string eyebrow = escape_html(page.eyebrow);
  const std::string answer = with_whole_quantities(escape_html(page.answer));
  const std::string facts = with_whole_quantities(escape_html(page.facts));
  const std::string help = escape_html(std::string(kChartHelp) + page.help);
  const std::string assumptions = assumptions_html(page);
  const std::string provenance = provenance_html(page);
  const std::string chart_data = embed_json(data);
  const std::array<std::pair<std::string_view, std::string_view>, 18> values{{
      {"title", title},
      {"eyebrow", eyebrow},
      {"answer", answer},
      {"facts", facts},
      {"summary", page.summary_html},
      {"assumptions", assumptions},
      {"help", help},
      {"figures", page.figures_html},
      {"provenance", provenance},
      {"data", chart_data},
      {"uplot_license", embedded::uplot_license},
      {"uplot_css", embedded::uplot_css},
      {"report_css", embedded::report_css},
      {"uplot_js", embedded::uplot_js},
      {"format_js", embedded::format_js},
      {"charts_js", embedded::charts_js},
      {"gantt_js", embedded::gantt_js},
      {"report_js", embedded::report_js},
  }};
  return fill_template(embedded::report_template, values);
}

}  // namespace report
}  // namespace vtrain
