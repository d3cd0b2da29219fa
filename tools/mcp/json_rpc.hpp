/// Messages of JSON-RPC 2.0, a line each.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain::mcp {

/// Numbers of errors that JSON-RPC defines.
enum class ErrorCode : int {
  ParseError = -32700,      ///< no JSON
  InvalidRequest = -32600,  ///< JSON that is no request
  MethodNotFound = -32601,  ///< an unknown method
  InvalidParams = -32602,   ///< wrong parameters
  InternalError = -32603,   ///< the server's own fault
};

/// Kind of a message.
enum class MessageKind : std::uint8_t {
  Request,       ///< wants a response
  Notification,  ///< wants none
  Response,      ///< answers a request of this side
};

/// A message of the other side.
struct Message {
  MessageKind kind = MessageKind::Notification;
  nlohmann::ordered_json id{};  ///< text or whole number of a request
  std::string method{};         ///< method of a request or notification
  nlohmann::json params{};      ///< object of parameters; empty without any
};

/// Reads a message. The error has only a message.
Result<Message> read_message(const nlohmann::json& json);

/// The id of what may be a request; null for none.
nlohmann::ordered_json id_of(const nlohmann::json& json);

/// A response with a result.
nlohmann::ordered_json result_response(nlohmann::ordered_json id, nlohmann::ordered_json result);
/// A response with an error.
nlohmann::ordered_json error_response(nlohmann::ordered_json id, ErrorCode code, std::string_view message);

/// A message as one line without its end. Invalid UTF-8 becomes U+FFFD.
std::string line_of(const nlohmann::ordered_json& message);

}  // namespace vtrain::mcp
