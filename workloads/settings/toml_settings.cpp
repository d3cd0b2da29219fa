#include <toml++/toml.h>

#include <sstream>

#include "core/base/utf8.hpp"
#include "workloads/settings/file_settings.hpp"

namespace vtrain {
namespace {

/// The text of a value: a string without quotes, else as TOML has it.
std::string text_of_toml(const toml::node& value) {
  if (const auto* const text = value.as_string()) return text->get();
  std::ostringstream out;
  value.visit([&out](const auto& node) { out << node; });
  return out.str();
}

void flatten_toml(const toml::table& table, const std::string& prefix, std::vector<NamedSetting>& settings) {
  for (const auto& [key, value] : table) {
    if (settings.size() > kMostSettings) return;
    const std::string path = prefix + std::string(key.str());
    if (const auto* const inner = value.as_table()) {
      flatten_toml(*inner, path + ".", settings);
    } else {
      settings.push_back(
          {path, text_of_toml(value), static_cast<std::int64_t>(key.source().begin.line), path});
    }
  }
}

}  // namespace

Result<std::vector<NamedSetting>> parse_toml_settings(std::string_view text, const std::string& file) {
  std::vector<NamedSetting> settings;
  try {
    flatten_toml(toml::parse(text, file), "", settings);
  } catch (const toml::parse_error& error) {
    return fail({.file = file,
                 .line = static_cast<std::int64_t>(error.source().begin.line),
                 .message = "malformed TOML: " + printable(error.description())});
  }
  if (settings.size() > kMostSettings)
    return fail({.file = file, .message = expected_found("at most 100,000 values", "more")});
  return settings;
}

}  // namespace vtrain
