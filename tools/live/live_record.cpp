#include "tools/live/live_record.hpp"

#include <algorithm>
#include <array>

#include "core/base/strings.hpp"

namespace vtrain {
namespace {

bool is_whole_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

void LiveRecord::add(std::string_view name, std::string value) {
  constexpr std::array<std::string_view, 8> kNone = {"(null)", "N/A",     "None",    "None assigned",
                                                     "n/a",    "Unknown", "INVALID", "NONE"};
  if (std::ranges::find(kNone, trim(value)) != kNone.end()) value.clear();
  values_.emplace_back(name, std::move(value));
}

std::string_view LiveRecord::operator[](std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    std::string_view best;
    for (const auto& [key, value] : values_) {
      if (key != name || value.empty()) continue;
      if (best.empty() || (is_whole_number(value) && !is_whole_number(best))) best = value;
    }
    if (!best.empty()) return best;
  }
  return {};
}

bool LiveRecord::has(std::initializer_list<std::string_view> names) const {
  return std::ranges::any_of(
      values_, [&](const auto& pair) { return std::ranges::find(names, pair.first) != names.end(); });
}

Error LiveRecord::error_at(std::initializer_list<std::string_view> names, std::string message) const {
  std::string field(*names.begin());
  for (const auto& [key, value] : values_) {
    if (std::ranges::find(names, key) == names.end()) continue;
    field = key;
    break;
  }
  return {.file = file_, .line = line_, .field = std::move(field), .message = std::move(message)};
}

}  // namespace vtrain
