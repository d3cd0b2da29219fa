#include "tools/json_output.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace vtrain {

std::string json_text(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void print_json(const nlohmann::ordered_json& document) {
  fmt::print("{}", json_text(document));
}

}  // namespace vtrain
