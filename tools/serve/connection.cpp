#include "tools/serve/connection.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/strings.hpp"
#include "tools/serve/problem.hpp"

namespace vtrain::serve {

/// Beast's parser of one request.
struct RequestReader {
  explicit RequestReader(const ServerLimits& limits) {
    constexpr std::uint64_t kMostOfAnyRoute = std::uint64_t{1} << 28;
    parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    parser.body_limit(kMostOfAnyRoute);
  }

  boost::beast::http::request_parser<boost::beast::http::string_body> parser{};

  /// Takes the beginning of `input`. Error `need_more`: all of it was taken.
  boost::system::error_code take(std::string& input) {
    boost::system::error_code error;
    input.erase(0, parser.put(boost::asio::buffer(input), error));
    return error;
  }
};

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

std::string text_of(boost::beast::string_view text) {
  return std::string(text.data(), text.size());
}

constexpr unsigned kHttp11 = 11;

/// True for an error of the connection itself: the client is gone, or was too slow. Others are of its
/// request.
bool is_lost(const error_code& error) {
  return error && error.category() != http::make_error_code(http::error::bad_method).category();
}

/// The problem of a request that cannot be read.
Response unreadable(const error_code& error) {
  if (error == http::error::header_limit) return problem(431, "line and headers of the request are too long");
  if (error == http::error::body_limit) return problem(413, "the body is too long");
  return problem(400, "this is no request of HTTP/1.1: " + error.message());
}

RequestHead head_of(const http::request_header<>& header) {
  RequestHead head;
  head.method = text_of(header.method_string());
  const std::string target = text_of(header.target());
  const std::size_t question = target.find('?');
  head.path = target.substr(0, question);
  if (question != std::string::npos) head.query = target.substr(question + 1);
  head.host = text_of(header[http::field::host]);
  head.authorization = text_of(header[http::field::authorization]);
  head.content_type = text_of(header[http::field::content_type]);
  head.idempotency_key = text_of(header["Idempotency-Key"]);
  return head;
}

/// Problem of a request whose framing leaves doubts, or that the service does not offer; none for others.
std::optional<Response> doubt(const http::request_parser<http::string_body>& parser) {
  const auto& request = parser.get();
  // A proxy in between might find the end of the body elsewhere (request smuggling).
  if (request.count(http::field::transfer_encoding) > 0 && !parser.chunked())
    return problem(400, "the only Transfer-Encoding is chunked");
  if (request.count(http::field::host) > 1) return problem(400, "there is more than one Host");
  if (request.version() == kHttp11 && request.count(http::field::host) == 0)
    return problem(400, "the header Host is missing");
  if (!request.target().starts_with('/')) return problem(400, "expected a path that begins with /");
  if (request.count(http::field::expect) > 0 &&
      !equal_in_any_case(text_of(request[http::field::expect]), "100-continue"))
    return problem(417, "the only expectation is 100-continue");
  return std::nullopt;
}

/// Time of now as HTTP writes it; computed once a second.
const std::string& date_text() {
  thread_local std::time_t second = 0;
  thread_local std::string text;
  if (const std::time_t now = std::time(nullptr); now != second) {
    second = now;
    text = fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}", fmt::gmtime(now));
  }
  return text;
}

std::string response_head(const Response& response, bool keep_alive) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nDate: {}\r\nServer: vtrain\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
      response.status, status_text(response.status), date_text(), response.content_type,
      response.body.size());
  for (const auto& [name, value] : response.headers)
    text += fmt::format("{}: {}\r\n", name, value);
  return text + (keep_alive ? "\r\n" : "Connection: close\r\n\r\n");
}

/// Runs a handler in the pool that the coroutine is started in.
asio::awaitable<Response> run_handler(const ConnectionContext& context, const Route& route, Request request) {
  if (context.is_over) co_return busy();
  co_return context.router.answer(route, request);
}

}  // namespace

Connection::Connection(ConnectionContext& context, std::unique_ptr<Transport> transport, std::string peer)
    : context_(context), transport_(std::move(transport)), peer_(std::move(peer)) {
  context_.connections.insert(this);
}

Connection::~Connection() {
  context_.connections.erase(this);
}

void Connection::close_if_idle() {
  if (is_idle_) close();
}

void Connection::close() {
  transport_->close();
}

asio::awaitable<void> Connection::run() {
  transport_->expire_after(context_.limits.header);
  const error_code error = co_await transport_->open();
  for (bool goes_on = !error; goes_on;)
    goes_on = co_await exchange();
}

asio::awaitable<error_code> Connection::fill() {
  error_code error;
  const std::size_t size = co_await transport_->read(piece_, error);
  input_.append(piece_.data(), size);
  co_return error;
}

asio::awaitable<error_code> Connection::read_header(RequestReader& reader) {
  while (!reader.parser.is_header_done()) {
    error_code error = reader.take(input_);
    if (error == http::error::need_more) error = co_await fill();
    if (error) co_return error;
  }
  co_return error_code();
}

asio::awaitable<error_code> Connection::read_body(RequestReader& reader, const Route& route) {
  auto& parser = reader.parser;
  const std::size_t most = route.request_schema == nullptr ? 0 : route.max_body;
  if (parser.content_length_remaining().value_or(0) > most) co_return http::error::body_limit;
  parser.body_limit(most);  // of chunks, whose number is not known
  transport_->expire_after(context_.limits.body);
  if (!parser.is_done() && parser.get().count(http::field::expect) > 0) {
    static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
    const std::array<asio::const_buffer, 1> go_on = {asio::buffer(kGoOn)};
    const error_code error = co_await transport_->write(go_on);
    if (error) co_return error;
  }
  parser.eager(true);
  while (!parser.is_done()) {
    error_code error = input_.empty() ? error_code(http::error::need_more) : reader.take(input_);
    if (error == http::error::need_more) error = co_await fill();
    if (error) co_return error;
  }
  co_return error_code();
}

std::string Connection::request_id(std::string_view given) {
  constexpr std::size_t kLongest = 64;
  const bool is_plain = !given.empty() && given.size() <= kLongest && std::ranges::all_of(given, [](char c) {
    return (c >= '0' && c <= '9') || (lower_case(c) >= 'a' && lower_case(c) <= 'z') || c == '-' || c == '_';
  });
  ++context_.num_requests;
  return is_plain ? std::string(given) : fmt::format("{}-{}", context_.id_prefix, context_.num_requests);
}

asio::awaitable<bool> Connection::wait() {
  if (!input_.empty()) co_return true;
  if (context_.is_draining) co_return false;
  is_idle_ = true;
  transport_->expire_after(context_.limits.idle);
  const error_code error = co_await fill();
  is_idle_ = false;
  co_return !error;
}

asio::awaitable<bool> Connection::exchange() {
  const bool has_come = co_await wait();
  if (!has_come) co_return false;
  transport_->expire_after(context_.limits.header);
  RequestReader reader(context_.limits);
  const error_code error = co_await read_header(reader);
  if (is_lost(error)) co_return false;
  const Clock::time_point begin = Clock::now();
  Exchange exchange{.peer = peer_};
  std::optional<Reply> reply = co_await reply_to(reader, error, exchange);
  if (!reply) co_return false;
  Response& response = reply->response;
  response.headers.emplace_back("X-Request-Id", exchange.id);
  exchange.status = response.status;
  exchange.bytes = response.body.size();
  exchange.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  context_.observe(exchange);
  const bool keep_alive = reply->keep_alive && !context_.is_draining;
  const bool written = co_await respond(response, exchange.method != "HEAD", keep_alive);
  if (written && !keep_alive) co_await end(!reply->is_read);
  co_return written&& keep_alive;
}

asio::awaitable<std::optional<Connection::Reply>> Connection::reply_to(RequestReader& reader,
                                                                       error_code error, Exchange& exchange) {
  auto& parser = reader.parser;
  exchange.id = request_id(error ? std::string() : text_of(parser.get()["X-Request-Id"]));
  if (error) co_return Reply{.response = unreadable(error)};
  RequestHead head = head_of(parser.get());
  head.id = exchange.id;
  exchange.method = head.method;
  exchange.path = head.path;
  if (auto doubtful = doubt(parser)) co_return Reply{.response = *std::move(doubtful)};
  const bool keep_alive = parser.keep_alive() && parser.get().version() == kHttp11;
  auto admitted = context_.router.admit(head);
  if (!admitted) {  // the next request begins behind a body that is not read
    co_return Reply{.response = std::move(admitted.error()),
                    .keep_alive = keep_alive && parser.is_done(),
                    .is_read = parser.is_done()};
  }
  exchange.route = admitted->route->path;
  exchange.tenant = admitted->caller.tenant;
  error = co_await read_body(reader, *admitted->route);
  if (is_lost(error)) co_return std::nullopt;
  if (error) co_return Reply{.response = unreadable(error)};
  Request request{.head = std::move(head),
                  .parameters = std::move(admitted->parameters),
                  .caller = std::move(admitted->caller),
                  .body = std::move(parser.get().body()),
                  .deadline = Clock::now() + context_.limits.answer};
  Response response = co_await answer(*admitted->route, std::move(request));
  co_return Reply{.response = std::move(response), .keep_alive = keep_alive, .is_read = true};
}

asio::awaitable<Response> Connection::answer(const Route& route, Request request) {
  const auto place = static_cast<std::size_t>(route.lane);
  LaneThreads& lane = *context_.lanes[place];
  if (lane.num_requests >= context_.limits.waiting[place]) co_return busy();
  ++lane.num_requests;
  Response response = co_await asio::co_spawn(lane.pool, run_handler(context_, route, std::move(request)),
                                              asio::use_awaitable);
  --lane.num_requests;
  co_return response;
}

asio::awaitable<bool> Connection::respond(const Response& response, bool with_body, bool keep_alive) {
  transport_->expire_after(context_.limits.write);
  const std::string head = response_head(response, keep_alive);
  const std::array<asio::const_buffer, 2> buffers = {
      asio::buffer(head), asio::buffer(response.body.data(), with_body ? response.body.size() : 0)};
  const error_code error = co_await transport_->write(buffers);
  co_return !error;
}

asio::awaitable<void> Connection::end(bool more_comes) {
  constexpr auto kTime = std::chrono::seconds(2);
  constexpr std::size_t kMost = std::size_t{1} << 20;
  transport_->expire_after(kTime);
  co_await transport_->shut_down();
  error_code error;
  for (std::size_t thrown_away = 0; more_comes && !error && thrown_away < kMost;)
    thrown_away += co_await transport_->read(piece_, error);
}

}  // namespace vtrain::serve
