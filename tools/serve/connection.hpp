/// One client: its requests, one after the other, and their responses.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "tools/serve/server.hpp"
#include "tools/serve/transport.hpp"

namespace vtrain::serve {

class Connection;
struct RequestReader;

/// Threads of a lane, and the requests that wait for them or run.
struct LaneThreads {
  explicit LaneThreads(unsigned num_threads) : pool(num_threads) {}

  boost::asio::thread_pool pool;
  std::size_t num_requests = 0;
};

/// State that all connections of a server share. The thread of `Server::run` alone uses it, but for
/// `is_over`.
struct ConnectionContext {
  const Router& router;
  ServerLimits limits;
  std::function<void(const Exchange&)> observe;
  std::array<std::unique_ptr<LaneThreads>, kNumLanes> lanes{};
  std::unordered_set<Connection*> connections{};
  bool is_draining = false;           ///< no further requests are taken
  std::atomic<bool> is_over = false;  ///< nobody waits for answers any more: handlers are not begun
  std::string id_prefix{};            ///< begin of the ids of requests
  std::uint64_t num_requests = 0;     ///< requests so far
};

/// A connected client.
class Connection {
 public:
  Connection(ConnectionContext& context, std::unique_ptr<Transport> transport, std::string peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Serves the client until one of both ends it.
  boost::asio::awaitable<void> run();
  /// Closes the connection if no request is under way.
  void close_if_idle();
  /// Closes the connection. A handler at work goes on, but nobody hears its answer.
  void close();

 private:
  /// A response to a request that was read.
  struct Reply {
    Response response{};
    bool keep_alive = false;  ///< the client may send another request
    bool is_read = false;     ///< nothing of the request is left to read
  };

  /// Waits for the first bytes of a request. False: none comes.
  boost::asio::awaitable<bool> wait();
  /// Reads one request and answers it. False: the connection ends.
  boost::asio::awaitable<bool> exchange();
  /// The reply to a request whose header was read, with this error. None: the client is gone.
  boost::asio::awaitable<std::optional<Reply>> reply_to(RequestReader& reader,
                                                        boost::system::error_code error, Exchange& exchange);
  /// Receives more input.
  boost::asio::awaitable<boost::system::error_code> fill();
  boost::asio::awaitable<boost::system::error_code> read_header(RequestReader& reader);
  boost::asio::awaitable<boost::system::error_code> read_body(RequestReader& reader, const Route& route);
  /// Has the route's lane answer a request.
  boost::asio::awaitable<Response> answer(const Route& route, Request request);
  boost::asio::awaitable<bool> respond(const Response& response, bool with_body, bool keep_alive);
  /// Ends the connection after a response. What `more_comes` is thrown away first: the client could not read
  /// the response from a connection that was closed on it.
  boost::asio::awaitable<void> end(bool more_comes);
  /// The id that the client gave, or a new one.
  std::string request_id(std::string_view given);

  ConnectionContext& context_;
  std::unique_ptr<Transport> transport_;
  std::string peer_;
  std::string input_;             ///< bytes that were received and not read yet
  std::array<char, 2048> piece_;  ///< room for the bytes to be received
  bool is_idle_ = false;
};

}  // namespace vtrain::serve
