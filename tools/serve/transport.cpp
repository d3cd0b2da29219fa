#include "tools/serve/transport.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <utility>

namespace vtrain::serve {
namespace {

namespace asio = boost::asio;
using boost::beast::tcp_stream;
using boost::system::error_code;

/// The part that TCP and TLS share.
template <class Stream>
class StreamTransport : public Transport {
 public:
  template <class... Arguments>
  explicit StreamTransport(Arguments&&... arguments) : stream_(std::forward<Arguments>(arguments)...) {}

  void expire_after(std::chrono::milliseconds time) override { lowest().expires_after(time); }

  asio::awaitable<std::size_t> read(std::span<char> room, error_code& error) override {
    co_return co_await stream_.async_read_some(asio::buffer(room.data(), room.size()),
                                               asio::redirect_error(asio::use_awaitable, error));
  }

  asio::awaitable<error_code> write(std::span<const asio::const_buffer> buffers) override {
    error_code error;
    co_await asio::async_write(stream_, buffers, asio::redirect_error(asio::use_awaitable, error));
    co_return error;
  }

  void close() override { lowest().close(); }

 protected:
  tcp_stream& lowest() { return boost::beast::get_lowest_layer(stream_); }

  Stream stream_;
};

class PlainTransport final : public StreamTransport<tcp_stream> {
 public:
  using StreamTransport::StreamTransport;

  asio::awaitable<error_code> open() override { co_return error_code(); }

  asio::awaitable<void> shut_down() override {
    error_code ignored;
    lowest().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    co_return;
  }
};

class TlsTransport final : public StreamTransport<boost::beast::ssl_stream<tcp_stream>> {
 public:
  TlsTransport(asio::ip::tcp::socket socket, std::shared_ptr<asio::ssl::context> context)
      : StreamTransport(std::move(socket), *context), context_(std::move(context)) {}

  asio::awaitable<error_code> open() override {
    error_code error;
    co_await stream_.async_handshake(asio::ssl::stream_base::server,
                                     asio::redirect_error(asio::use_awaitable, error));
    co_return error;
  }

  asio::awaitable<void> shut_down() override {
    error_code ignored;
    co_await stream_.async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
  }

 private:
  std::shared_ptr<asio::ssl::context> context_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(asio::ip::tcp::socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

std::unique_ptr<Transport> tls_transport(asio::ip::tcp::socket socket,
                                         std::shared_ptr<asio::ssl::context> context) {
  return std::make_unique<TlsTransport>(std::move(socket), std::move(context));
}

}  // namespace vtrain::serve
