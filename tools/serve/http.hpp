/// Requests and responses as values. Routes are functions from one to the other.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace vtrain::serve {

/// A client's rights. Each role includes those before it.
enum class Role {
  None,     ///< anybody, without a token
  Read,     ///< sees the jobs of its tenant, predicts and searches plans
  Submit,   ///< submits and cancels jobs of its tenant
  Operate,  ///< reports what the cluster does; sees the jobs of all tenants
};

/// Sender of a request.
struct Caller {
  std::string tenant{};    ///< empty: a client without a token
  Role role = Role::None;  ///< rights
};

/// Begin of a request: what is known before its body is read.
struct RequestHead {
  std::string id{};               ///< id of the request, in the log and in the response
  std::string method{};           ///< `GET`
  std::string path{};             ///< path without the query, as sent
  std::string query{};            ///< text behind `?`; empty for none
  std::string host{};             ///< header `Host`
  std::string authorization{};    ///< header `Authorization`
  std::string content_type{};     ///< header `Content-Type`
  std::string idempotency_key{};  ///< header `Idempotency-Key`
};

/// A request that a route answers.
struct Request {
  RequestHead head{};                                ///< line and headers
  std::map<std::string, std::string> parameters{};   ///< values of `{name}` in the path of the route
  Caller caller{};                                   ///< sender
  std::string body{};                                ///< bytes of the body
  std::chrono::steady_clock::time_point deadline{};  ///< time after which nobody waits for the answer

  /// Says whether that time has come. It may outlive the request.
  std::function<bool()> lateness() const {
    return [end = deadline] { return std::chrono::steady_clock::now() > end; };
  }
};

/// An answer to a request.
struct Response {
  int status = 200;                                            ///< HTTP status
  std::string body{};                                          ///< bytes of the body
  std::string content_type = "application/json";               ///< media type of the body
  std::vector<std::pair<std::string, std::string>> headers{};  ///< further headers
};

}  // namespace vtrain::serve
