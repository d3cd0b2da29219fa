#include "tools/serve/server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tools/serve/problem.hpp"

namespace vtrain::serve {
namespace {

using namespace std::chrono_literals;

nlohmann::ordered_json any_schema() {
  return {{"type", "object"}};
}

/// Holds handlers until it is opened.
class Latch {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ++num_waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
  }
  void wait_for(int num_waiting) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_waiting_ >= num_waiting; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int num_waiting_ = 0;
  bool is_open_ = false;
};

/// A server in a thread of its own.
class Running {
 public:
  explicit Running(const ServerLimits& limits = {}) {
    auto opened = Server::open({.limits = limits}, router_, [this](const Exchange& exchange) {
      const std::lock_guard lock(mutex_);
      last_ = exchange;
    });
    REQUIRE(opened);
    server_ = *std::move(opened);
    port_ = server_->port();
    thread_ = std::thread([this] { server_->run(); });
  }
  ~Running() { stop(); }

  void stop() {
    latch.open();
    server_->stop();
    if (thread_.joinable()) thread_.join();
  }
  Server& server() { return *server_; }
  std::uint16_t port() const { return port_; }
  Exchange last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

  Latch latch;

 private:
  std::vector<Route> routes() {
    const auto echo = [](const Request& request) { return Response{.body = "<" + request.body + ">"}; };
    const auto hold = [this](const Request&) {
      latch.wait();
      return Response{.body = "held"};
    };
    return {{.method = "GET", .path = "/short", .role = Role::None, .handler = echo},
            {.method = "POST",
             .path = "/echo",
             .role = Role::None,
             .request_schema = any_schema,
             .max_body = 100'000,
             .handler = echo},
            {.method = "GET", .path = "/long", .role = Role::None, .lane = Lane::Long, .handler = hold},
            {.method = "GET", .path = "/secret", .role = Role::Read, .handler = echo}};
  }

  Gate gate_{std::nullopt};
  Router router_{routes(), gate_};
  mutable std::mutex mutex_;
  Exchange last_;
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

/// A client that says and hears bytes.
class Client {
 public:
  explicit Client(const Running& running) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(running.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
    const timeval longest{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void say(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Hears one response: `200 BODY`; empty where the connection ends before.
  std::string hear(bool with_body = true) {
    while (heard_.find("\r\n\r\n") == std::string::npos) {
      if (!more()) return "";
    }
    const std::size_t end = heard_.find("\r\n\r\n") + 4;
    head_ = heard_.substr(0, end);
    const std::string status = head_.substr(9, 3);
    const std::size_t length = head_.find("Content-Length: ");
    const std::size_t size =
        with_body && length != std::string::npos ? std::stoul(head_.substr(length + 16)) : 0;
    while (heard_.size() < end + size) {
      if (!more()) return "";
    }
    const std::string body = heard_.substr(end, size);
    heard_.erase(0, end + size);
    return status + " " + body;
  }
  std::string ask(std::string_view text) {
    say(text);
    return hear();
  }
  /// True if the server ends the connection and says nothing more.
  bool is_closed() {
    while (more()) {
    }
    return heard_.empty();
  }
  const std::string& head() const { return head_; }

 private:
  bool more() {
    char piece[4096];
    const ssize_t got = ::recv(socket_, piece, sizeof piece, 0);
    if (got > 0) heard_.append(piece, static_cast<std::size_t>(got));
    return got > 0;
  }

  int socket_;
  std::string heard_;
  std::string head_;
};

std::string get(std::string_view path, std::string_view headers = {}) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, headers);
}

std::string post(std::string_view body, std::string_view headers = {}) {
  return fmt::format(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "{}\r\n{}\r\n{}",
      body.size(), headers, body);
}

/// The status of a response.
std::string status_of(const std::string& response) {
  return response.substr(0, 3);
}

TEST_CASE("server: a connection takes one request after the other") {
  Running running;
  Client client(running);
  CHECK(client.ask(get("/short")) == "200 <>");
  CHECK(client.head().find("Connection: close") == std::string::npos);
  CHECK(client.head().find("X-Content-Type-Options: nosniff") != std::string::npos);
  CHECK(client.ask(post("{}")) == "200 <{}>");
  CHECK(status_of(client.ask(get("/nothing"))) == "404");
  CHECK(client.ask(get("/short?x=1")) == "200 <>");
  client.say("HEAD /short HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(client.hear(false) == "200 ");
  CHECK(client.head().find("Content-Length: 2\r\n") != std::string::npos);
  CHECK(client.ask(get("/short", "Connection: close\r\n")) == "200 <>");
  CHECK(client.is_closed());
}

TEST_CASE("server: requests that come together are answered in their order") {
  Running running;
  Client client(running);
  client.say(post("1") + post("2") + get("/short") + post("3"));
  CHECK(client.hear() == "200 <1>");
  CHECK(client.hear() == "200 <2>");
  CHECK(client.hear() == "200 <>");
  CHECK(client.hear() == "200 <3>");
}

TEST_CASE("server: requests may come byte by byte, and bodies in chunks") {
  Running running;
  Client client(running);
  for (const char byte : post("{\"a\":1}"))
    client.say(std::string_view(&byte, 1));
  CHECK(client.hear() == "200 <{\"a\":1}>");
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n";
  CHECK(client.ask(head + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n") == "200 <abcde>");
  const std::string large(90'000, 'x');
  CHECK(client.ask(post(large)) == "200 <" + large + ">");
  client.say(post("", "Expect: 100-continue\r\n"));
  CHECK(client.hear() == "200 <>");
}

TEST_CASE("server: a client that waits for leave to send its body gets it") {
  Running running;
  Client client(running);
  client.say(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
      "Expect: 100-continue\r\n\r\n");
  CHECK(client.hear() == "100 ");
  CHECK(client.ask("{}") == "200 <{}>");
}

TEST_CASE("server: ids of requests come back, made up where they are not plain") {
  Running running;
  Client client(running);
  client.ask(get("/short", "X-Request-Id: abc-1_Z\r\n"));
  CHECK(client.head().find("X-Request-Id: abc-1_Z\r\n") != std::string::npos);
  CHECK(running.last().id == "abc-1_Z");
  CHECK(running.last().route == "/short");
  CHECK(running.last().status == 200);
  CHECK(running.last().peer == "127.0.0.1");
  client.ask(get("/short", "X-Request-Id: a\"b\r\n"));
  CHECK(client.head().find("a\"b") == std::string::npos);
}

TEST_CASE("server: what is no request gets a 4xx and the connection ends") {
  const std::string host = "Host: localhost\r\n";
  const std::string json = host + "Content-Type: application/json\r\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400"},  // TLS
      {"hello\r\n\r\n", "400"},
      {"GET /short HTTP/9.9\r\n" + host + "\r\n", "400"},
      {"GET short HTTP/1.1\r\n" + host + "\r\n", "400"},
      {"GET http://other/short HTTP/1.1\r\n" + host + "\r\n", "400"},
      {"GET /short HTTP/1.1\r\n\r\n", "400"},
      {"GET /short HTTP/1.1\r\n" + host + host + "\r\n", "400"},
      {"GET /short HTTP/1.1\r\nHost : localhost\r\n\r\n", "400"},
      {"POST /echo HTTP/1.1\r\n" + json + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "400"},
      {"POST /echo HTTP/1.1\r\n" + json + "Content-Length: -1\r\n\r\n", "400"},
      {"POST /echo HTTP/1.1\r\n" + json + "Content-Length: 99999999999999999999\r\n\r\n", "400"},
      {"POST /echo HTTP/1.1\r\n" + json + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "400"},
      {"POST /echo HTTP/1.1\r\n" + json + "Transfer-Encoding: gzip\r\n\r\n", "400"},
      {"POST /echo HTTP/1.1\r\n" + json + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
      {"POST /echo HTTP/1.1\r\n" + json + "Content-Length: 100001\r\n\r\n", "413"},
      {"POST /echo HTTP/1.1\r\n" + json + "Content-Length: 999999999999\r\n\r\n", "413"},
      {"POST /echo HTTP/1.1\r\n" + json + "Expect: a-miracle\r\nContent-Length: 3\r\n\r\nabc", "417"},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc", "415"},
      {"GET /short HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc", "413"},
      {"GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n" + host + "\r\n", "431"},
      {"GET /short HTTP/1.1\r\n" + host + "X: " + std::string(20'000, 'a') + "\r\n\r\n", "431"},
      {"POST /nothing HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc", "404"},
  };
  Running running;
  for (const auto& [text, status] : cases) {
    const std::string begin = text.substr(0, 100);
    CAPTURE(begin);
    Client client(running);
    CHECK(status_of(client.ask(text)) == status);
    CHECK(client.head().find("Connection: close") != std::string::npos);
    CHECK(client.is_closed());
  }
  CHECK(Client(running).ask(get("/short")) == "200 <>");
}

TEST_CASE("server: chunks beyond the limit of the route are refused") {
  Running running;
  Client client(running);
  client.say(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i)
    client.say("c350\r\n" + std::string(50'000, 'x') + "\r\n");
  CHECK(status_of(client.hear()) == "413");
}

TEST_CASE("server: rights are checked before the body is read") {
  Running running;
  Client client(running);
  client.say("GET /secret HTTP/1.1\r\nHost: elsewhere.example\r\nContent-Length: 1000000\r\n\r\n");
  CHECK(status_of(client.hear()) == "421");
}

TEST_CASE("server: clients that are too slow are disconnected, others are not held up") {
  ServerLimits limits;
  limits.header = 300ms;
  limits.body = 300ms;
  limits.idle = 300ms;
  Running running(limits);
  Client slow(running);
  slow.say("GET /short HTTP/1.1\r\nHost: local");
  Client slow_body(running);
  slow_body.say(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "9\r\n\r\n{");
  Client idle(running);
  CHECK(Client(running).ask(get("/short")) == "200 <>");
  // A byte now and then does not help: the time is for the whole header.
  std::thread dripping([&] {
    for (int i = 0; i < 12; ++i) {
      slow.say("h");
      slow_body.say(" ");
      std::this_thread::sleep_for(50ms);
    }
  });
  CHECK(slow.is_closed());
  CHECK(slow_body.is_closed());
  CHECK(idle.is_closed());
  dripping.join();
}

TEST_CASE("server: long requests do not hold up short ones, and too many are turned away") {
  ServerLimits limits;
  limits.waiting = {100, 3};
  Running running(limits);
  std::vector<std::unique_ptr<Client>> longs;
  for (int i = 0; i < 3; ++i) {
    longs.push_back(std::make_unique<Client>(running));
    longs.back()->say(get("/long"));
  }
  running.latch.wait_for(2);  // two threads
  Client other(running);
  for (int i = 0; i < 20; ++i)
    CHECK(other.ask(get("/short")) == "200 <>");
  while (status_of(other.ask(get("/long", "X-Request-Id: over\r\n"))) != "503")  // the third has come
    FAIL("a fourth request waits");
  CHECK(other.head().find("Retry-After: 1") != std::string::npos);
  running.latch.open();
  for (const auto& client : longs)
    CHECK(client->hear() == "200 held");
}

TEST_CASE("server: a stop lets requests under way end, and ends idle connections") {
  Running running;
  Client idle(running);
  CHECK(idle.ask(get("/short")) == "200 <>");
  Client busy(running);
  busy.say(get("/long"));
  running.latch.wait_for(1);
  running.server().stop();
  CHECK(idle.is_closed());
  CHECK_THROWS(Client{running});
  running.latch.open();
  CHECK(busy.hear() == "200 held");
  CHECK(busy.head().find("Connection: close") != std::string::npos);
  CHECK(busy.is_closed());
  running.stop();
  CHECK(running.server().num_connections() == 0);
}

TEST_CASE("server: a stop ends requests that take longer than the drain") {
  ServerLimits limits;
  limits.drain = 100ms;
  Running running(limits);
  Client busy(running);
  busy.say(get("/long"));
  running.latch.wait_for(1);
  running.server().stop();
  std::thread opener([&] {
    std::this_thread::sleep_for(400ms);
    running.latch.open();  // no thread can be ended by force
  });
  CHECK(busy.is_closed());
  opener.join();
}

TEST_CASE("server: connections beyond the limit are closed") {
  ServerLimits limits;
  limits.connections = 2;
  Running running(limits);
  Client first(running);
  Client second(running);
  CHECK(first.ask(get("/short")) == "200 <>");
  CHECK(second.ask(get("/short")) == "200 <>");
  Client third(running);
  CHECK(third.is_closed());
  CHECK(first.ask(get("/short")) == "200 <>");
}

TEST_CASE("server: many clients at once") {
  Running running;
  std::atomic<int> num_good = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      Client client(running);
      for (int i = 0; i < 50; ++i) {
        const std::string body = fmt::format("{}-{}", thread, i);
        num_good += client.ask(post(body)) == "200 <" + body + ">";
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(num_good == 8 * 50);
}

TEST_CASE("server: errors in where to listen are values") {
  Gate gate{std::nullopt};
  const Router router({}, gate);
  const auto error = [&](const ServerOptions& options) {
    const auto server = Server::open(options, router, [](const Exchange&) {});
    return server ? std::string() : server.error().describe();
  };
  CHECK(error({.address = "localhost"}).find("localhost:0: expected an address such as") == 0);
  CHECK(error({.address = "192.0.2.1"}).find("192.0.2.1:0: cannot listen") == 0);
  CHECK(error({.certificate = "/nothing", .key = "/nothing"}).find("/nothing: no certificate in PEM") == 0);
  Running running;
  CHECK(error({.port = running.port()}).find("cannot listen") != std::string::npos);
  CHECK(is_loopback("127.0.0.1"));
  CHECK(is_loopback("::1"));
  CHECK_FALSE(is_loopback("0.0.0.0"));
  CHECK_FALSE(is_loopback("::"));
  CHECK_FALSE(is_loopback("host"));
}

}  // namespace
}  // namespace vtrain::serve
