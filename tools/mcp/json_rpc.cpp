#include "tools/mcp/json_rpc.hpp"

#include <utility>

namespace vtrain::mcp {
namespace {

using nlohmann::ordered_json;

bool is_id(const nlohmann::json& value) {
  return value.is_string() || value.is_number_integer();
}

}  // namespace

ordered_json id_of(const nlohmann::json& json) {
  const auto id = json.is_object() ? json.find("id") : json.end();
  return json.is_object() && id != json.end() && is_id(*id) ? ordered_json(*id) : ordered_json();
}

Result<Message> read_message(const nlohmann::json& json) {
  const auto bad = [](std::string message) { return fail({.message = std::move(message)}); };
  if (!json.is_object()) return bad("expected an object with jsonrpc and method");
  const auto version = json.find("jsonrpc");
  if (version == json.end() || *version != "2.0") return bad("jsonrpc: expected \"2.0\"");
  const auto id = json.find("id");
  const auto method = json.find("method");
  Message message;
  if (method == json.end()) {
    if (id == json.end() || (!json.contains("result") && !json.contains("error")))
      return bad("method: missing");
    message.kind = MessageKind::Response;
    return message;
  }
  if (!method->is_string()) return bad("method: expected a text");
  message.method = method->get<std::string>();
  if (id != json.end()) {
    if (!is_id(*id)) return bad("id: expected a text or a whole number");
    message.kind = MessageKind::Request;
    message.id = *id;
  }
  message.params = nlohmann::json::object();
  if (const auto params = json.find("params"); params != json.end()) {
    if (!params->is_object()) return bad("params: expected an object");
    message.params = *params;
  }
  return message;
}

ordered_json result_response(ordered_json id, ordered_json result) {
  return {{"jsonrpc", "2.0"}, {"id", std::move(id)}, {"result", std::move(result)}};
}

ordered_json error_response(ordered_json id, ErrorCode code, std::string_view message) {
  return {{"jsonrpc", "2.0"},
          {"id", std::move(id)},
          {"error", {{"code", static_cast<int>(code)}, {"message", message}}}};
}

std::string line_of(const ordered_json& message) {
  return message.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace vtrain::mcp
