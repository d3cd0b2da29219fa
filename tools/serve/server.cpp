#include "tools/serve/server.hpp"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <mutex>
#include <utility>

#include "tools/serve/connection.hpp"
#include "tools/serve/event_log.hpp"

namespace vtrain::serve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// Makes the keys and rules of TLS connections.
Result<std::shared_ptr<asio::ssl::context>> make_tls(const ServerOptions& options) {
  if (options.certificate.empty()) return std::shared_ptr<asio::ssl::context>();
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native,
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // idle connections need none
  error_code error;
  context->use_certificate_chain_file(options.certificate, error);
  if (error)
    return fail({.file = options.certificate, .message = "no certificate in PEM: " + error.message()});
  context->use_private_key_file(options.key, asio::ssl::context::pem, error);
  if (error) return fail({.file = options.key, .message = "no key of the certificate: " + error.message()});
  return context;
}

std::string random_prefix() {
  std::array<unsigned char, 4> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

}  // namespace

bool is_loopback(const std::string& address) {
  error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  return !error && parsed.is_loopback();
}

struct Server::State {
  State(ServerOptions given, const Router& router, std::function<void(const Exchange&)> observe)
      : options(std::move(given)),
        context{.router = router, .limits = options.limits, .observe = std::move(observe)},
        acceptor(io),
        drain_timer(io) {
    context.id_prefix = random_prefix();
    for (std::size_t i = 0; i < kNumLanes; ++i)
      context.lanes[i] = std::make_unique<LaneThreads>(options.threads[i]);
  }

  Result<void> listen();
  asio::awaitable<void> accept();
  std::unique_ptr<Connection> make_connection(tcp::socket socket);
  asio::awaitable<void> serve(std::unique_ptr<Connection> connection);
  void drain();

  ServerOptions options;
  ConnectionContext context;
  asio::io_context io{1};  // ends before what the connections in it use
  tcp::acceptor acceptor;
  asio::steady_timer drain_timer;
  std::atomic<std::size_t> num_connections = 0;
  std::mutex tls_mutex;
  std::shared_ptr<asio::ssl::context> tls;  ///< null: no TLS; guarded by `tls_mutex`
};

Result<void> Server::State::listen() {
  const auto cannot = [this](std::string_view what, const error_code& error) {
    return fail(Error{.field = fmt::format("{}:{}", options.address, options.port),
                      .message = fmt::format("{}: {}", what, error.message())});
  };
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) return cannot("expected an address such as 127.0.0.1 or ::1", error);
  const tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return cannot("cannot listen", error);
  return {};
}

asio::awaitable<void> Server::State::accept() {
  while (acceptor.is_open()) {
    error_code error;
    tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (!acceptor.is_open()) break;
    if (error) {  // no descriptor is left, for instance
      constexpr auto kPause = std::chrono::milliseconds(50);
      log_event(Severity::Warning, "cannot accept a connection", {{"what", error.message()}});
      asio::steady_timer pause(io, kPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    if (context.connections.size() >= options.limits.connections) continue;  // which closes it
    asio::co_spawn(io, serve(make_connection(std::move(socket))), asio::detached);
  }
}

std::unique_ptr<Connection> Server::State::make_connection(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const std::string peer = socket.remote_endpoint(ignored).address().to_string();
  std::shared_ptr<asio::ssl::context> keys;
  {
    const std::lock_guard lock(tls_mutex);
    keys = tls;
  }
  auto transport =
      keys ? tls_transport(std::move(socket), std::move(keys)) : plain_transport(std::move(socket));
  return std::make_unique<Connection>(context, std::move(transport), peer);
}

asio::awaitable<void> Server::State::serve(std::unique_ptr<Connection> connection) {
  num_connections = context.connections.size();
  co_await connection->run();
  connection.reset();
  num_connections = context.connections.size();
  if (context.is_draining && context.connections.empty()) drain_timer.cancel();
}

void Server::State::drain() {
  if (context.is_draining) return;
  context.is_draining = true;
  error_code ignored;
  acceptor.close(ignored);
  for (Connection* const connection : context.connections)
    connection->close_if_idle();
  if (context.connections.empty()) return;
  drain_timer.expires_after(options.limits.drain);
  drain_timer.async_wait([this](const error_code& error) {
    if (error) return;
    for (Connection* const connection : context.connections)
      connection->close();
    context.is_over = true;
  });
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(const ServerOptions& options, const Router& router,
                                             std::function<void(const Exchange&)> observe) {
  auto state = std::make_unique<State>(options, router, std::move(observe));
  auto tls = make_tls(options);
  if (!tls) return fail(std::move(tls.error()));
  state->tls = *std::move(tls);
  if (auto listening = state->listen(); !listening) return fail(std::move(listening.error()));
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

std::uint16_t Server::port() const {
  error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

std::size_t Server::num_connections() const {
  return state_->num_connections;
}

void Server::run() {
  asio::co_spawn(state_->io, state_->accept(), asio::detached);
  state_->io.run();
  for (const auto& lane : state_->context.lanes)
    lane->pool.join();
}

void Server::stop() {
  asio::post(state_->io, [state = state_.get()] { state->drain(); });
}

Result<void> Server::reload_certificate() {
  auto tls = make_tls(state_->options);
  if (!tls) return fail(std::move(tls.error()));
  const std::lock_guard lock(state_->tls_mutex);
  state_->tls = *std::move(tls);
  return {};
}

}  // namespace vtrain::serve
