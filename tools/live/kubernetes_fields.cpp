#include "tools/live/kubernetes_fields.hpp"

#include <algorithm>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/text/calendar.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostPods = 10'000'000;
constexpr std::int64_t kMostSeconds = 10'000'000'000;

const json& empty_object() {
  static const json kEmpty = json::object();
  return kEmpty;
}

const json& empty_list() {
  static const json kEmpty = json::array();
  return kEmpty;
}

/// A value as an error shows it.
std::string shown_value(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

bool KubernetesFields::has(const json& in, std::string_view key) {
  const auto found = in.is_object() ? in.find(key) : in.end();
  return in.is_object() && found != in.end() && !found->is_null();
}

const json* KubernetesFields::find(const json& in, std::string_view key) const {
  return error_ || !has(in, key) ? nullptr : &*in.find(key);
}

void KubernetesFields::complain(const json& in, std::string_view key, std::string message) {
  if (!error_) error_ = document_.error_at(in, key, std::move(message));
}

void KubernetesFields::complain_type(const json& in, std::string_view key, std::string_view expected) {
  complain(in, key, expected_found(expected, shown_value(*in.find(key))));
}

const json& KubernetesFields::object(const json& in, std::string_view key) {
  const json* const found = find(in, key);
  if (found == nullptr) return empty_object();
  if (found->is_object()) return *found;
  complain_type(in, key, "an object");
  return empty_object();
}

const json& KubernetesFields::objects(const json& in, std::string_view key) {
  const json* const found = find(in, key);
  if (found == nullptr) return empty_list();
  const bool is_list =
      found->is_array() && std::ranges::all_of(*found, [](const json& each) { return each.is_object(); });
  if (is_list) return *found;
  complain_type(in, key, "a list of objects");
  return empty_list();
}

std::string KubernetesFields::text(const json& in, std::string_view key) {
  const json* const found = find(in, key);
  if (found == nullptr) return {};
  if (found->is_string()) return found->get<std::string>();
  complain_type(in, key, "a text");
  return {};
}

std::string KubernetesFields::required_text(const json& in, std::string_view key) {
  std::string found = text(in, key);
  if (found.empty() && !error_)
    complain(in, key, has(in, key) ? expected_found("a text that is not empty", "an empty one") : "missing");
  return found;
}

std::vector<std::string> KubernetesFields::texts(const json& in, std::string_view key) {
  const json* const found = find(in, key);
  if (found == nullptr) return {};
  std::vector<std::string> list;
  bool is_list = found->is_array();
  for (std::size_t i = 0; is_list && i < found->size(); ++i) {
    is_list = (*found)[i].is_string();
    if (is_list) list.push_back((*found)[i].get<std::string>());
  }
  if (is_list) return list;
  complain_type(in, key, "a list of texts");
  return {};
}

bool KubernetesFields::boolean(const json& in, std::string_view key, bool absent) {
  const json* const found = find(in, key);
  if (found == nullptr) return absent;
  if (found->is_boolean()) return found->get<bool>();
  complain_type(in, key, "true or false");
  return absent;
}

std::optional<std::int64_t> KubernetesFields::integer(const json& in, std::string_view key, std::int64_t low,
                                                      std::int64_t high) {
  const json* const found = find(in, key);
  if (found == nullptr) return std::nullopt;
  const bool is_small =
      found->is_number_unsigned() ? found->get<std::uint64_t>() <= INT64_MAX : found->is_number_integer();
  if (is_small) {
    const auto number = found->get<std::int64_t>();
    if (number >= low && number <= high) return number;
  }
  complain_type(in, key, expected_integer(low, high));
  return std::nullopt;
}

std::int64_t KubernetesFields::count(const json& in, std::string_view key, std::int64_t absent) {
  return integer(in, key, 0, kMostPods).value_or(absent);
}

std::optional<std::int64_t> KubernetesFields::seconds(const json& in, std::string_view key) {
  return integer(in, key, 0, kMostSeconds);
}

std::optional<std::int64_t> KubernetesFields::instant(const json& in, std::string_view key) {
  const std::string found = text(in, key);
  if (error_ || !has(in, key)) return std::nullopt;
  const auto time = parse_civil_time(found);
  // Without an offset a time is none of RFC 3339.
  if (time && (found.back() == 'Z' || found.find_first_of("+-", 11) != std::string::npos))
    return seconds_since_1970(*time);
  complain(in, key, expected_found("a time as 2026-11-25T09:16:18Z", found));
  return std::nullopt;
}

kueue::Amount KubernetesFields::quantity(const json& in, std::string_view key, std::string_view resource) {
  const json* const found = find(in, key);
  if (found == nullptr) return 0;
  std::optional<kueue::Amount> amount;
  if (found->is_string()) amount = kueue::parse_quantity(found->get<std::string>(), resource);
  if (found->is_number()) amount = kueue::parse_quantity(found->dump(), resource);
  if (amount && *amount >= 0) return *amount;
  complain_type(in, key, "a quantity of 0 or more, such as 500m or 3Gi");
  return 0;
}

ResourceAmounts KubernetesFields::amounts(const json& in, std::string_view key) {
  ResourceAmounts all;
  const json& quantities = object(in, key);
  for (const auto& each : quantities.items())
    all[each.key()] = quantity(quantities, each.key(), each.key());
  return all;
}

kueue::Labels KubernetesFields::labels(const json& in, std::string_view key) {
  kueue::Labels all;
  const json& values = object(in, key);
  for (const auto& [name, value] : values.items()) {
    if (value.is_string())
      all[name] = value.get<std::string>();
    else
      complain(values, name, expected_found("a text", shown_value(value)));
  }
  return all;
}

std::size_t KubernetesFields::choice(const json& in, std::string_view key,
                                     std::span<const std::string_view> names, std::size_t absent) {
  const std::string found = text(in, key);
  if (error_ || !has(in, key)) return absent;
  const auto name = std::ranges::find(names, found);
  if (name != names.end()) return static_cast<std::size_t>(name - names.begin());
  complain(in, key, expected_found("one of " + list_names(names), found));
  return absent;
}

const json& KubernetesFields::condition(const json& status, std::string_view type) {
  for (const json& each : objects(status, "conditions")) {
    if (text(each, "type") == type) return each;
  }
  return empty_object();
}

bool KubernetesFields::has_condition(const json& status, std::string_view type) {
  constexpr std::string_view kStatuses[] = {"False", "Unknown", "True"};
  return choice(condition(status, type), "status", kStatuses, 0) == 2;
}

OwnerReference KubernetesFields::owner(const json& metadata) {
  OwnerReference owner;
  for (const json& each : objects(metadata, "ownerReferences")) {
    const bool is_controller = boolean(each, "controller", false);
    if (!owner.kind.empty() && !is_controller) continue;
    owner = {.api = text(each, "apiVersion"), .kind = text(each, "kind"), .name = text(each, "name")};
    if (is_controller) break;
  }
  return owner;
}

}  // namespace vtrain
