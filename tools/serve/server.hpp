/// HTTP/1.1 over TCP or TLS: connections in, requests to the router, responses out.
///
/// One thread moves the bytes of all connections, each a coroutine; it alone knows them, so nothing is
/// locked. Handlers run in two pools of threads, one for each `Lane`. Slow clients hold a coroutine, never a
/// thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/serve/router.hpp"

namespace vtrain::serve {

/// Limits of a server. A client that exceeds one gets a response of status 4xx where that is possible, and is
/// disconnected.
struct ServerLimits {
  std::size_t connections = 20'000;                           ///< open connections; more are closed at once
  std::size_t header_bytes = 16 * 1024;                       ///< line and headers of a request
  std::chrono::milliseconds idle = std::chrono::seconds(75);  ///< time between requests
  std::chrono::milliseconds header =
      std::chrono::seconds(10);  ///< time from the first byte to the end of headers
  std::chrono::milliseconds body = std::chrono::seconds(30);  ///< time for the whole body
  std::chrono::milliseconds answer =
      std::chrono::seconds(60);                                ///< time for the handler (`Request::deadline`)
  std::chrono::milliseconds write = std::chrono::seconds(30);  ///< time for the whole response
  std::chrono::milliseconds drain = std::chrono::seconds(30);  ///< time for requests under way, after `stop`
  std::array<std::size_t, kNumLanes> waiting = {4096, 64, 4096};  ///< requests in a lane; more get 503
};

/// Address, keys, threads and limits of a server.
struct ServerOptions {
  std::string address = "127.0.0.1";                     ///< an IPv4 or IPv6 address
  std::uint16_t port = 0;                                ///< 0: any free port
  std::string certificate{};                             ///< file of a PEM chain; empty: no TLS
  std::string key{};                                     ///< file of its key
  std::array<unsigned, kNumLanes> threads = {2, 2, 64};  ///< threads of each lane
  ServerLimits limits{};
};

/// A request that has been answered, for log and metrics.
struct Exchange {
  std::string id{};          ///< id of the request
  std::string method{};      ///< method as sent; empty for one that could not be read
  std::string path{};        ///< path as sent
  std::string_view route{};  ///< template of the route; empty for none
  std::string tenant{};      ///< tenant of the caller; empty for none
  std::string peer{};        ///< address of the client
  int status = 0;            ///< status of the response
  std::size_t bytes = 0;     ///< size of the response's body
  double seconds = 0;        ///< time from the end of the header to the response
};

/// True for an address that only this machine can reach.
bool is_loopback(const std::string& address);

/// A listening socket with its connections.
class Server {
 public:
  /// Listens. `router` must outlive the server. `observe` is called by the thread of `run` for each response.
  /// Errors: an unusable address, a port in use, an unusable certificate or key.
  static Result<std::unique_ptr<Server>> open(const ServerOptions& options, const Router& router,
                                              std::function<void(const Exchange&)> observe);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Port that it listens on.
  std::uint16_t port() const;
  /// Open connections; any thread may ask.
  std::size_t num_connections() const;

  /// Serves until `stop`, and then until the requests under way are answered or `ServerLimits::drain` is
  /// over.
  void run();
  /// Stops listening and closes idle connections. Any thread may call it, also before `run`.
  void stop();
  /// Has new connections use the certificate's and key's files as they are now. Keeps the former on an error.
  Result<void> reload_certificate();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace vtrain::serve
