#include "core/io/json_line.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// Values of a flat object; remembers the first invalid part.
class FlatObject : public json::json_sax_t {
 public:
  std::vector<JsonLineValue> take_values() { return std::move(values_); }
  const Error& error() const { return error_; }

  bool null() override { return take({}); }
  bool boolean(bool value) override { return complain(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return take(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return take(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return take(text); }
  bool string(string_t& text) override { return take(text); }
  bool binary(binary_t&) override { return complain("bytes"); }
  bool start_object(std::size_t) override {
    if (++depth_ == 1) return true;
    return complain("an object");
  }
  bool key(string_t& name) override {
    values_.push_back({.key = name, .text = {}});
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return complain("an array"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    error_.message = malformed_json(error.what());
    return false;
  }

 private:
  bool take(std::string text) {
    if (values_.empty()) return complain(text);
    values_.back().text = std::move(text);
    return true;
  }

  bool complain(std::string_view found) {
    if (values_.empty()) {
      error_.message = expected_found("a JSON object", found);
    } else {
      error_.field = values_.back().key;
      error_.message = expected_found("a number or a string", found);
    }
    return false;
  }

  std::vector<JsonLineValue> values_;
  int depth_ = 0;
  Error error_;
};

}  // namespace

Result<std::vector<JsonLineValue>> parse_json_line(std::string_view line) {
  // The parser would stop there as if the line ended.
  if (line.find('\0') != std::string_view::npos) return fail({.message = "malformed JSON: a NUL character"});
  FlatObject object;
  if (!json::sax_parse(line, &object)) return fail(object.error());
  return object.take_values();
}

std::size_t find_json_key(std::string_view text, std::string_view key) {
  const std::string quoted = fmt::format("\"{}\"", key);
  for (std::size_t at = text.find(quoted); at != std::string_view::npos; at = text.find(quoted, at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + quoted.size());
    if (next != std::string_view::npos && text[next] == ':') return next + 1;
  }
  return std::string_view::npos;
}

bool begins_with_object(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return trim(text).starts_with('{');
}

}  // namespace vtrain
