#include "tools/serve/gate.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/temporary_folder.hpp"

namespace vtrain::serve {
namespace {

using Clock = Gate::Clock;

RequestHead head_with(const std::string& authorization) {
  RequestHead head;
  head.host = "vtrain.example:8443";
  head.authorization = authorization;
  return head;
}

int status_of(Gate& gate, const RequestHead& head, Role role) {
  const auto caller = gate.admit(head, role, Clock::now());
  return caller ? 200 : caller.error().status;
}

TEST_CASE("tokens: a file knows the tokens that were made for it, and keeps no secret") {
  const auto token = make_token("team-a/nlp:submit");
  const auto other = make_token("team-b:operate");
  REQUIRE(token);
  REQUIRE(other);
  CHECK(token->token != make_token("team-a/nlp:submit")->token);
  CHECK(token->line.find(token->token.substr(token->token.rfind('_') + 1)) == std::string::npos);
  const auto tokens = Tokens::parse("# comment\n\n" + token->line + other->line, "tokens");
  REQUIRE(tokens);
  CHECK(tokens->size() == 2);
  REQUIRE(tokens->find(token->token));
  CHECK(tokens->find(token->token)->tenant == "team-a/nlp");
  CHECK(tokens->find(token->token)->role == Role::Submit);
  CHECK(tokens->find(other->token)->role == Role::Operate);
}

TEST_CASE("tokens: altered tokens are unknown") {
  const auto token = make_token("a:read");
  const auto tokens = Tokens::parse(token->line, "tokens");
  REQUIRE(tokens);
  for (std::size_t i = 0; i < token->token.size(); ++i) {
    std::string altered = token->token;
    altered[i] = altered[i] == 'a' ? 'b' : 'a';
    CHECK_FALSE(tokens->find(altered));
    CHECK_FALSE(tokens->find(token->token.substr(0, i)));
  }
  CHECK_FALSE(tokens->find(token->token + "0"));
  CHECK_FALSE(tokens->find(""));
}

TEST_CASE("tokens: errors name line and field") {
  const std::string good = make_token("a:read")->line;
  const auto error = [](const std::string& text) {
    const auto tokens = Tokens::parse(text, "tokens");
    return tokens ? std::string() : tokens.error().describe();
  };
  CHECK(error(good + good) == "tokens:2: id: is there twice");
  CHECK(error("a:b\n").find("tokens:1: expected id:tenant:role:salt:hash, found '2 parts'") == 0);
  CHECK(error("0123456789abcdef:a b:read:" + good.substr(good.size() - 98)).find("tokens:1: tenant:") == 0);
  CHECK(error("0123456789abcdef:a:root:" + good.substr(good.size() - 98)).find("tokens:1: role:") == 0);
  CHECK(error("0123456789ABCDEF" + good.substr(16)).find("tokens:1: id:") == 0);
  CHECK(error(good.substr(0, good.size() - 2)).find("tokens:1: hash:") == 0);
  CHECK_FALSE(make_token("a:none"));
  CHECK_FALSE(make_token("a"));
  CHECK_FALSE(make_token(":read"));
}

TEST_CASE("gate: roles include those before them") {
  const auto token = make_token("a:submit");
  Gate gate(*Tokens::parse(token->line, "tokens"));
  const RequestHead head = head_with("Bearer " + token->token);
  CHECK(status_of(gate, head, Role::None) == 200);
  CHECK(status_of(gate, head, Role::Read) == 200);
  CHECK(status_of(gate, head, Role::Submit) == 200);
  CHECK(status_of(gate, head, Role::Operate) == 403);
  CHECK(status_of(gate, head_with(""), Role::Read) == 401);
  CHECK(status_of(gate, head_with("Basic abc"), Role::Read) == 401);
  CHECK(status_of(gate, head_with("Bearer " + make_token("a:operate")->token), Role::Read) == 401);
  CHECK(status_of(gate, head_with(""), Role::None) == 200);
}

TEST_CASE("gate: tokens that were taken from the file are unknown after it is read again") {
  const auto token = make_token("a:submit");
  Gate gate(*Tokens::parse(token->line, "tokens"));
  const RequestHead head = head_with("Bearer " + token->token);
  CHECK(status_of(gate, head, Role::Read) == 200);
  gate.replace(*Tokens::parse("", "tokens"));
  CHECK(status_of(gate, head, Role::Read) == 401);
}

TEST_CASE("gate: without tokens, names of other machines are refused") {
  Gate gate(std::nullopt);
  RequestHead head;
  for (const char* const host :
       {"localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1:8080", "[::1]:8080", "[::1]"}) {
    head.host = host;
    CHECK(status_of(gate, head, Role::Operate) == 200);
  }
  for (const char* const host : {"", "attacker.example", "localhost.attacker.example:8080", "[::2]:8080"}) {
    head.host = host;
    CHECK(status_of(gate, head, Role::Read) == 421);
  }
}

TEST_CASE("rate limit: a burst of a second, then the rate") {
  RateLimit limit;
  const Clock::time_point start{};
  int passed = 0;
  for (int i = 0; i < 20; ++i)
    passed += limit.admit(10, start);
  CHECK(passed == 10);
  // 0.25 s later 2.5 more requests may pass.
  passed = 0;
  for (int i = 0; i < 20; ++i)
    passed += limit.admit(10, start + std::chrono::milliseconds(250));
  CHECK(passed == 2);
  // A long pause saves up one second's requests, not more.
  passed = 0;
  for (int i = 0; i < 50; ++i)
    passed += limit.admit(10, start + std::chrono::hours(1));
  CHECK(passed == 10);
}

TEST_CASE("gate: the limit is each tenant's own") {
  const auto a = make_token("a:read");
  const auto b = make_token("b:read");
  Gate gate(*Tokens::parse(a->line + b->line, "tokens"), 2);
  const RequestHead of_a = head_with("Bearer " + a->token);
  const Clock::time_point now = Clock::now();
  CHECK(gate.admit(of_a, Role::Read, now));
  CHECK(gate.admit(of_a, Role::Read, now));
  const auto refused = gate.admit(of_a, Role::Read, now);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == 429);
  CHECK(gate.admit(head_with("Bearer " + b->token), Role::Read, now));
}

}  // namespace
}  // namespace vtrain::serve
