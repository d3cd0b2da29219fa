/// Bytes of a connection, over TCP or TLS. Boost.Asio and Beast stay in this header and in server.cpp.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

namespace vtrain::serve {

/// A connected socket. Each operation ends with an error when the time of `expire_after` is over.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Sets the time for the operations that follow, together.
  virtual void expire_after(std::chrono::milliseconds time) = 0;
  /// Agrees on keys with the client; nothing over TCP alone.
  virtual boost::asio::awaitable<boost::system::error_code> open() = 0;
  /// The next bytes; 0 with an error.
  virtual boost::asio::awaitable<std::size_t> read(std::span<char> room,
                                                   boost::system::error_code& error) = 0;
  /// Writes all buffers.
  virtual boost::asio::awaitable<boost::system::error_code> write(
      std::span<const boost::asio::const_buffer> buffers) = 0;
  /// Says that nothing more is written.
  virtual boost::asio::awaitable<void> shut_down() = 0;
  /// Ends the operation under way with an error, and those that follow.
  virtual void close() = 0;
};

/// A connection without TLS.
std::unique_ptr<Transport> plain_transport(boost::asio::ip::tcp::socket socket);
/// A connection with TLS. The context must outlive it.
std::unique_ptr<Transport> tls_transport(boost::asio::ip::tcp::socket socket,
                                         std::shared_ptr<boost::asio::ssl::context> context);

}  // namespace vtrain::serve
