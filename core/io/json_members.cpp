#include "core/io/json_members.hpp"

#include <cmath>

namespace vtrain {

MemberReader::MemberReader(const nlohmann::json& from, std::optional<Error>& error)
    : object_(from), error_(error) {
  if (!error_ && !object_.is_object()) json_members::complain(error_, "an object", object_);
}

const nlohmann::json* MemberReader::find(const char* key, bool required) {
  if (error_) return nullptr;
  const auto found = object_.find(key);
  if (found != object_.end()) {
    ++num_read_;
    return &*found;
  }
  if (required) error_ = Error{.field = key, .message = "missing"};
  return nullptr;
}

void MemberReader::check(bool holds, const char* key, const char* expected) {
  if (error_ || holds) return;
  const auto found = object_.find(key);
  json_members::complain(error_, expected, found == object_.end() ? nlohmann::json() : *found);
  json_members::add_step(error_, key);
}

void MemberReader::finish() {
  if (!error_ && num_read_ != object_.size()) error_ = Error{.message = "expected no unknown keys"};
}

namespace json_members {

std::int64_t whole_number(const nlohmann::json& from, std::int64_t low, std::int64_t high,
                          std::optional<Error>& error) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool is_whole =
      from.is_number_integer() && (!from.is_number_unsigned() || from.get<std::uint64_t>() <= kLargest);
  const std::int64_t value = is_whole ? from.get<std::int64_t>() : 0;
  if (is_whole && low <= value && value <= high) return value;
  const std::string expected = "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  complain(error, expected.c_str(), from);
  return 0;
}

double finite_number(const nlohmann::json& from, std::optional<Error>& error) {
  if (from.is_number() && std::isfinite(from.get<double>())) return from.get<double>();
  complain(error, "a number", from);
  return 0;
}

void complain(std::optional<Error>& error, const char* expected, const nlohmann::json& found) {
  if (error) return;
  using Handler = nlohmann::json::error_handler_t;
  // Lists and objects may be large.
  const std::string text =
      found.is_structured() ? found.type_name() : found.dump(-1, ' ', false, Handler::replace);
  error = Error{.message = expected_found(expected, text)};
}

void add_step(std::optional<Error>& error, const std::string& step) {
  const bool goes_on = !error->field.empty() && error->field.front() != '[';
  error->field = step + (goes_on ? "." : "") + error->field;
}

}  // namespace json_members

}  // namespace vtrain
