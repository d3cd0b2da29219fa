#include "tools/report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace vtrain::report {

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
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
      default: {
        const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
        if (control || c == 0x7f) {
          out += "\xef\xbf\xbd";
        } else {
          out += c;
        }
      }
    }
  }
  return out;
}

std::string embed_json(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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

}  // namespace vtrain::report
