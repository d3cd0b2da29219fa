/// The table of routes: one row says all that the service knows of a route. Requests find their handler in
/// it, and `/openapi.json` is made from it.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "tools/serve/gate.hpp"
#include "tools/serve/http.hpp"

namespace vtrain::serve {

/// Queue that a handler runs in, so that long work never holds up short work.
enum class Lane {
  Short,    ///< milliseconds: a prediction, a look at the state
  Long,     ///< seconds: a search
  Durable,  ///< milliseconds and a commit of the state, for which many requests wait at once
};
/// Number of lanes.
inline constexpr std::size_t kNumLanes = 3;

/// A value behind `?` of a path.
struct QueryParameter {
  std::string_view name;     ///< `limit`
  std::string_view meaning;  ///< meaning in one line
};

/// One row of the table.
struct Route {
  std::string_view method;     ///< `POST`
  std::string_view path;       ///< template: `/v1/jobs/{id}`
  Role role = Role::Read;      ///< role that is needed
  Lane lane = Lane::Short;     ///< queue of the handler
  std::string_view summary{};  ///< what it does, in one line
  /// JSON Schema of the body; null: the route takes none.
  nlohmann::ordered_json (*request_schema)() = nullptr;
  /// Media type of the body; `*/*`: any, for methods that browsers send for no page of others, such as PUT.
  std::string_view body_type = "application/json";
  /// JSON Schema of the answer; null: the answer is no JSON.
  nlohmann::ordered_json (*response_schema)() = nullptr;
  /// JSON Schema of an answer with status 201; null: it makes nothing new.
  nlohmann::ordered_json (*created_schema)() = nullptr;
  std::span<const QueryParameter> query{};            ///< values that it takes behind the path
  std::string_view media_type = "application/json";   ///< media type of the answer
  std::size_t max_body = std::size_t{1} << 20;        ///< largest body in bytes
  std::function<Response(const Request&)> handler{};  ///< runs on any thread; may throw
  bool is_described = true;                           ///< listed in `/openapi.json`
};

/// A request that may go on: what follows from its header.
struct Admitted {
  const Route* route = nullptr;                     ///< row of the table; lives as long as the router
  std::map<std::string, std::string> parameters{};  ///< values of the path
  Caller caller{};                                  ///< sender
};

/// The values behind `?`; of one that is there twice, the first. A value that is no text counts as empty.
std::map<std::string, std::string> query_values(std::string_view query);

/// Finds the routes of requests. It does not change, so threads may share it.
class Router {
 public:
  /// `gate` must outlive the router.
  Router(std::vector<Route> routes, Gate& gate);

  /// Decides on a request by its header alone, so that nothing is read from clients without rights. Problems:
  /// 404, 405 with the methods that there are, 415 for a body that is no JSON, and those of `Gate::admit`.
  tl::expected<Admitted, Response> admit(const RequestHead& head) const;

  /// Runs the handler. What it throws becomes a problem of status 500 without details, and a line of the log.
  Response answer(const Route& route, const Request& request) const;

  /// The table.
  std::span<const Route> routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  Gate& gate_;
};

}  // namespace vtrain::serve
