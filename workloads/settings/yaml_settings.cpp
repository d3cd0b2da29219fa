#include <yaml-cpp/yaml.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "workloads/settings/file_settings.hpp"

namespace vtrain {
namespace {

constexpr int kMostLevels = 64;
constexpr std::size_t kMostText = 4'000'000;

/// Reads the nodes of a document.
class YamlReader {
 public:
  explicit YamlReader(std::string file) : file_(std::move(file)) {}

  Result<std::vector<NamedSetting>> read(const YAML::Node& root) {
    if (!root.IsMap())
      return fail({.file = file_, .line = 1, .message = "expected settings as `key: value`"});
    flatten(root, "", 0);
    if (error_) return fail(*error_);
    return std::move(settings_);
  }

 private:
  void complain(const YAML::Node& node, std::string message) {
    if (!error_) error_ = Error{.file = file_, .line = node.Mark().line + 1, .message = std::move(message)};
  }
  void count(const YAML::Node& node, std::size_t characters) {
    characters_ += characters + 1;
    // Aliases can make a small file large.
    if (characters_ > kMostText || settings_.size() > kMostSettings)
      complain(node, "more values than a configuration may have");
  }

  void flatten(const YAML::Node& map, const std::string& prefix, int level) {
    if (level > kMostLevels) return complain(map, "too many levels of nesting");
    for (const auto& item : map) {
      if (error_) return;
      if (!item.first.IsScalar()) return complain(item.first, "expected a key");
      const std::string& key = item.first.Scalar();
      const YAML::Node& value = item.second;
      const std::string path =
          key == "<<" ? prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1) : prefix + key;
      count(item.first, path.size());
      if (value.IsMap()) {
        flatten(value, path.empty() ? path : path + ".", level + 1);
      } else {
        settings_.push_back({path, text_of(value, level), item.first.Mark().line + 1, path});
      }
    }
  }

  std::string text_of(const YAML::Node& value, int level) {
    if (error_) return {};
    if (level > kMostLevels) {
      complain(value, "too many levels of nesting");
      return {};
    }
    if (value.IsNull() || !value.IsDefined()) return "null";
    if (value.IsScalar()) {
      count(value, value.Scalar().size());
      return value.Scalar();
    }
    std::string text;
    for (const auto& item : value) {
      if (!text.empty()) text += ", ";
      if (value.IsMap())
        text += item.first.IsScalar() ? item.first.Scalar() + ": " + text_of(item.second, level + 1) : "";
      else
        text += text_of(item, level + 1);
      count(value, 1);
      if (error_) return {};
    }
    return value.IsMap() ? "{" + text + "}" : "[" + text + "]";
  }

  std::string file_;
  std::vector<NamedSetting> settings_;
  std::optional<Error> error_;
  std::size_t characters_ = 0;
};

/// Replaces references of OmegaConf.
class References {
 public:
  explicit References(std::vector<NamedSetting>& settings) : settings_(settings) {
    for (std::size_t i = 0; i < settings.size(); ++i)
      places_[settings[i].name] = i;
  }

  void replace_all() {
    for (NamedSetting& setting : settings_) {
      if (setting.value.find("${") != std::string::npos)
        setting.value = replace(setting.value, setting.name, 0);
    }
  }

 private:
  static constexpr std::size_t kMostValue = 10'000;

  /// Position of the brace that closes the one before `at`.
  static std::size_t closing(std::string_view text, std::size_t at) {
    int open = 1;
    for (; at < text.size(); ++at) {
      if (text[at] == '{') ++open;
      if (text[at] == '}' && --open == 0) return at;
    }
    return std::string_view::npos;
  }

  std::string replace(const std::string& text, const std::string& path, int level) {
    if (level > 8 || text.size() > kMostValue) return text;
    std::string result;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t begin = text.find("${", at);
      const std::size_t end = begin == std::string::npos ? begin : closing(text, begin + 2);
      if (end == std::string::npos) break;
      result += text.substr(at, begin - at);
      const std::string whole = text.substr(begin, end + 1 - begin);
      result += value_of(text.substr(begin + 2, end - begin - 2), path, level).value_or(whole);
      at = end + 1;
    }
    return result + text.substr(at);
  }

  std::optional<std::string> value_of(const std::string& inside, const std::string& path, int level) {
    const std::size_t colon = inside.find(':');
    if (colon != std::string::npos && inside.find("${") > colon) return calculate(inside, colon, path, level);
    std::string target(inside);
    if (target.starts_with('.')) {
      // One dot is the map around the setting, each further one the map around that.
      std::string around = path;
      while (target.starts_with('.')) {
        target.erase(0, 1);
        around.resize(around.rfind('.') == std::string::npos ? 0 : around.rfind('.'));
      }
      if (!around.empty()) target = around + "." + target;
    }
    auto found = places_.find(target);
    if (found == places_.end() && target.find('.') != std::string::npos) {
      target.erase(0, target.find('.') + 1);  // the file is a part of a launcher's configuration
      found = places_.find(target);
    }
    if (found == places_.end()) return std::nullopt;
    return replace(settings_[found->second].value, target, level + 1);
  }

  std::optional<std::string> calculate(const std::string& inside, std::size_t colon, const std::string& path,
                                       int level) {
    const std::string name = inside.substr(0, colon);
    const std::string arguments = replace(inside.substr(colon + 1), path, level + 1);
    std::vector<std::int64_t> numbers;
    for (const std::string_view part : split(arguments, ',')) {
      const auto number = parse_integer(part, -1'000'000'000, 1'000'000'000);
      if (!number) return std::nullopt;
      numbers.push_back(*number);
    }
    if (numbers.size() != 2) return std::nullopt;
    const auto [a, b] = std::pair(numbers[0], numbers[1]);
    if (name == "multiply") return std::to_string(a * b);
    if (name == "sum" || name == "add") return std::to_string(a + b);
    if (name == "divide" || name == "divide_floor")
      return b > 0 && a >= 0 ? std::optional(std::to_string(a / b)) : std::nullopt;
    if (name == "divide_ceil")
      return b > 0 && a >= 0 ? std::optional(std::to_string((a + b - 1) / b)) : std::nullopt;
    return std::nullopt;
  }

  std::vector<NamedSetting>& settings_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

}  // namespace

Result<std::vector<NamedSetting>> parse_yaml_settings(const std::string& text, const std::string& file) {
  try {
    auto settings = YamlReader(file).read(YAML::Load(text));
    if (settings) References(*settings).replace_all();
    return settings;
  } catch (const YAML::Exception& error) {
    return fail({.file = file,
                 .line = error.mark.is_null() ? 0 : error.mark.line + 1,
                 .message = "malformed YAML: " + printable(error.msg)});
  }
}

}  // namespace vtrain
