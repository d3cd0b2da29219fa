/// Putting foreign text into a page safely.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace vtrain::report {

/// `text` for element content and quoted attribute values. Control characters become U+FFFD, as HTML does not
/// allow them.
std::string escape_html(std::string_view text);

/// One line of JSON for a `<script type="application/json">` element: no `<` stays, so that nothing in it can
/// end the element; bytes that are not UTF-8 become U+FFFD.
std::string embed_json(const nlohmann::json& value);

/// Replaces each `{{name}}` of `page` by the value of that name, once: values are not looked at again. Throws
/// std::logic_error for a name that is not there.
std::string fill_template(std::string_view page,
                          std::span<const std::pair<std::string_view, std::string_view>> values);

}  // namespace vtrain::report
