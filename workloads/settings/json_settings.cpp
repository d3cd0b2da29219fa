#include "core/io/json_reader.hpp"
#include "workloads/settings/file_settings.hpp"

namespace vtrain {
namespace {

void flatten_json(const JsonDocument& document, const nlohmann::json& object, const std::string& prefix,
                  std::vector<NamedSetting>& settings) {
  for (const auto& item : object.items()) {
    const std::string path = prefix + item.key();
    const nlohmann::json& value = item.value();
    if (value.is_object()) {
      flatten_json(document, value, path + ".", settings);
    } else {
      settings.push_back({path, value.is_string() ? value.get<std::string>() : value.dump(),
                          document.error_at(value, "", "").line, path});
    }
  }
}

}  // namespace

std::vector<NamedSetting> json_settings(const JsonDocument& document) {
  std::vector<NamedSetting> settings;
  if (document.root().is_object()) flatten_json(document, document.root(), "", settings);
  return settings;
}

}  // namespace vtrain
