/// HTML that all pages share: head, pictures, assumptions, provenance, and safe embedding of foreign text.
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

/// A statement of SQL below the table that it gives, folded up; empty for none.
std::string query_html(std::string_view sql);

/// A table that scrolls sideways where it is too wide. The first cell of each row is its head and may hold
/// HTML; all others are escaped. `attributes` go into the element.
std::string table_html(std::string_view attributes, std::string_view label,
                       std::span<const std::string> header, std::span<const std::vector<std::string>> rows);

/// Joins each number and its unit, and the parts of a duration, by no-break spaces: `3 h 19 m` stays on a
/// line.
std::string with_whole_quantities(std::string_view text);

/// One line of JSON for a `<script type="application/json">` element: without any `<`, so that nothing in it
/// can end the element. Strings are made printable, as on a terminal.
std::string embed_json(const nlohmann::json& value);

/// Replaces each `{{name}}` of `page` by the value of that name, once: placeholders in values are not
/// replaced. Throws std::logic_error for an unknown name.
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

/// `subject`, with a note if a distribution function was sampled at some abscissae only.
std::string distribution_caption(std::string_view subject, const nlohmann::json& distribution);
/// `subject`, with a note if a time series was reduced.
std::string time_caption(std::string_view subject, const nlohmann::json& series);

/// The parts of a page. Texts may hold any bytes; HTML comes from this module.
struct Page {
  std::string title{};
  std::string eyebrow{};       ///< subject of the page, in small type above the answer
  std::string answer{};        ///< the main sentence
  std::string facts{};         ///< line below the answer
  std::string summary_html{};  ///< the tables at the top
  std::string help{};          ///< actions specific to these pictures
  std::string figures_html{};
  std::vector<std::string> assumptions{};                         ///< a sentence each
  std::vector<std::pair<std::string, std::string>> provenance{};  ///< label and value, in this order
};

/// The whole page with the charting library and the numbers of the pictures.
std::string render_page(const Page& page, const nlohmann::json& data);

}  // namespace vtrain::report
