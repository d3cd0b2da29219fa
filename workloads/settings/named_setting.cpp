#include "workloads/settings/named_setting.hpp"

#include <algorithm>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"

namespace vtrain {
namespace {

bool is_absent_value(std::string_view value) {
  return value == "None" || value == "null" || value == "~";
}

/// True if a row says that this value has no effect.
bool is_harmless(const SettingRow& row, std::string_view value, bool is_flag) {
  if (value.empty()) return !is_flag;
  if (is_absent_value(value) || equal_in_any_case(value, "false") || value == "[]" || value == "{}")
    return true;
  if (row.harmless.empty()) return false;
  const std::vector<std::string_view> harmless = split(row.harmless, '|');
  return std::any_of(harmless.begin(), harmless.end(),
                     [value](std::string_view known) { return equal_in_any_case(known, value); });
}

bool matches_row(const SettingRow& row, std::string_view name) {
  if (!row.name.ends_with('*')) return row.name == name;
  return name.starts_with(row.name.substr(0, row.name.size() - 1));
}

}  // namespace

std::string plain_setting_name(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  return plain;
}

SettingReader::SettingReader(std::span<const NamedSetting> settings, std::string format, std::string file) {
  notes_.format = std::move(format);
  notes_.file = std::move(file);
  for (const NamedSetting& setting : settings)
    settings_.insert_or_assign(setting.alias.empty() ? plain_setting_name(setting.name) : setting.alias,
                               &setting);
}

const NamedSetting* SettingReader::find(std::string_view name) {
  const auto found = settings_.find(name);
  if (found == settings_.end()) return nullptr;
  seen_.emplace(name);
  return is_absent_value(found->second->value) ? nullptr : found->second;
}

bool SettingReader::has(std::string_view name) {
  return find(name) != nullptr;
}

std::int64_t SettingReader::integer(std::string_view name, std::int64_t low, std::int64_t high,
                                    std::int64_t absent) {
  const NamedSetting* const setting = find(name);
  if (setting == nullptr) return absent;
  const auto value = parse_integer(setting->value, low, high);
  if (value) return *value;
  complain(name, value.error().message);
  return absent;
}

double SettingReader::number(std::string_view name, double low, double high, double absent) {
  const NamedSetting* const setting = find(name);
  if (setting == nullptr) return absent;
  const auto value = parse_number(setting->value, low, high);
  if (value) return *value;
  complain(name, value.error().message);
  return absent;
}

bool SettingReader::flag(std::string_view name, bool absent) {
  const NamedSetting* const setting = find(name);
  if (setting == nullptr) return absent;
  const std::string value = lower_case(setting->value);
  if (value.empty() || value == "true" || value == "1" || value == "yes" || value == "on") return true;
  if (value == "false" || value == "0" || value == "no" || value == "off") return false;
  complain(name, expected_found("true or false", setting->value));
  return absent;
}

std::string SettingReader::text(std::string_view name, std::string_view absent) {
  const NamedSetting* const setting = find(name);
  return setting == nullptr ? std::string(absent) : setting->value;
}

std::vector<std::string> SettingReader::words(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char letter : text(name)) {
    const bool separates = std::string_view(" \t\n,'\"[]()").find(letter) != std::string_view::npos;
    if (!separates) {
      words.back() += letter;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

void SettingReader::note_place(std::string_view field, std::string_view name) {
  const auto found = settings_.find(name);
  if (found == settings_.end()) return;
  notes_.places[std::string(field)] = {found->second->name, found->second->line};
}

std::string SettingReader::written(std::string_view name) const {
  const auto found = settings_.find(name);
  return found == settings_.end() ? std::string(name) : found->second->name;
}

void SettingReader::complain(std::string_view name, std::string message) {
  if (error_) return;
  const auto found = settings_.find(name);
  error_ = Error{.file = notes_.file,
                 .line = found == settings_.end() ? 0 : found->second->line,
                 .field = printable(written(name)),
                 .message = std::move(message)};
}

void SettingReader::fail_at_option(std::string_view option, std::string message) {
  if (!error_) error_ = Error{.field = "--plan " + printable(option), .message = std::move(message)};
}

void SettingReader::judge_the_rest(std::span<const SettingRow> rows) {
  for (const auto& [name, setting] : settings_) {
    if (seen_.contains(name)) continue;
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&name = name](const SettingRow& each) { return matches_row(each, name); });
    if (row == rows.end()) {
      if (!is_absent_value(setting->value)) notes_.unknown.push_back(setting->name);
      continue;
    }
    const bool is_flag = setting->value.empty() && setting->name.starts_with('-');
    if (row->effect == SettingEffect::None || is_harmless(*row, setting->value, is_flag)) {
      notes_.without_effect.push_back(setting->name);
    } else if (row->effect == SettingEffect::Refused) {
      complain(name, setting->value.empty()
                         ? std::string(row->reason)
                         : fmt::format("{}; found '{}'", row->reason, printable(setting->value)));
    } else {
      remark(fmt::format("{}{}{}: {}", setting->name, setting->value.empty() ? "" : " ",
                         printable(setting->value), row->reason));
    }
  }
}

}  // namespace vtrain
