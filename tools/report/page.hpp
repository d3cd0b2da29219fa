/// HTML that all pages have in common: head, pictures, assumptions, provenance, and foreign text put in
/// safely.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vtrain::report {

/// `text` for element content and quoted attribute values, printable but for line feeds and tabs.
std::string escape_html(std::string_view text);

/// Joins each number and its unit, and the parts of a duration, by no-break spaces: `3 h 19 m` stays on a
/// line.
std::string with_whole_quantities(std::string_view text);

/// One line of JSON for a `<script type="application/json">` element: no `<` stays, so that nothing in it can
/// end the element. Strings are printable: a page shows what a terminal would.
std::string embed_json(const nlohmann::json& value);

/// Replaces each `{{name}}` of `page` by the value of that name, once: values are not looked at again. Throws
/// std::logic_error for a name that is not there.
std::string fill_template(std::string_view page,
                          std::span<const std::pair<std::string_view, std::string_view>> values);

/// A picture that report.js will draw into. `extra` is HTML below it.
struct Figure {
  std::string_view id;
  std::string_view title;
  std::string caption;
  std::string_view width;  ///< class: `half` or `full`
  std::string extra{};
};

/// The place of a picture, with its caption.
std::string figure_html(const Figure& figure);
/// Adds the place of a picture that is drawn from `value`, unless there is nothing to draw (null).
void add_figure(std::string& html, nlohmann::json& data, std::string_view key, nlohmann::json value,
                const Figure& figure);

/// `subject`, and that a distribution function was read off at some abscissae only, if so.
std::string distribution_caption(std::string_view subject, const nlohmann::json& distribution);
/// `subject`, and how a time series was reduced, if so.
std::string time_caption(std::string_view subject, const nlohmann::json& series);

/// The parts of a page. Texts may hold any bytes; the HTML is that of this module.
struct Page {
  std::string title{};
  std::string eyebrow{};       ///< what the page is about, small above the answer
  std::string answer{};        ///< the sentence that says most
  std::string facts{};         ///< a line below it
  std::string summary_html{};  ///< the tables at the top
  std::string help{};          ///< what can be done with these pictures beyond what all allow
  std::string figures_html{};
  std::vector<std::string> assumptions{};                         ///< a sentence each
  std::vector<std::pair<std::string, std::string>> provenance{};  ///< label and value, in this order
};

/// The whole page with the charting library and the numbers behind the pictures.
std::string render_page(const Page& page, const nlohmann::json& data);

}  // namespace vtrain::report
