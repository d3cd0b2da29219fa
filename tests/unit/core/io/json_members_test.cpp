#include "core/io/json_members.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"

namespace vtrain {

enum class Colour : std::uint8_t { Red, Green };

struct Part {
  std::string name{};
  double weight = 0;
};

struct Whole {
  JobId id{};
  SimTime time{};
  SimDuration span{0};
  GpuCount gpus{0};
  std::int64_t number = 0;
  std::optional<std::uint32_t> type{};
  Colour colour = Colour::Red;
  bool flag = false;
  std::vector<Part> parts{};
  std::vector<std::pair<std::int64_t, double>> steps{};
  std::map<std::string, double> shares{};

  template <class Archive>
  void members(Archive& archive) {
    archive("id", id);
    archive("time_ns", time);
    archive("span_ns", span, SimDuration::max());
    archive("gpus", gpus, GpuCount(0));
    archive("number", number, std::numeric_limits<std::int64_t>::min());
    archive("type", type);
    archive.choice("colour", colour, Colour::Green);
    archive("flag", flag);
    archive("parts", parts, {});
    archive("steps", steps, {});
    archive("shares", shares);
    archive.check(gpus.value < 100, "gpus", "less than 100");
  }
};

template <class Archive>
void members(Archive& archive, Part& part) {
  archive("name", part.name);
  archive("weight", part.weight);
}

namespace {

using Json = nlohmann::json;

TEST_CASE("JSON of members: every value comes back") {
  Whole whole{.id = JobId(7),
              .time = SimTime(SimDuration(-5)),
              .span = SimDuration::max(),
              .gpus = GpuCount(8),
              .number = std::numeric_limits<std::int64_t>::min(),
              .type = 3,
              .colour = Colour::Green,
              .flag = true,
              .parts = {{"a \"text\"", 0.1}, {"", -1e300}},
              .steps = {{std::numeric_limits<std::int64_t>::max(), 1.0 / 3}},
              .shares = {{"x", 5e-324}}};
  const std::string text = json_of_members(whole).dump();
  CHECK(text.find("span_ns") == std::string::npos);
  CHECK(text.find("number") == std::string::npos);
  Whole read;
  REQUIRE(read_members(Json::parse(text), read));
  CHECK(json_of_members(read).dump() == text);
  CHECK(read.span == whole.span);
  CHECK(read.number == whole.number);
  CHECK(read.steps == whole.steps);
  CHECK(read.shares == whole.shares);
  CHECK(read.parts[1].weight == -1e300);
}

TEST_CASE("JSON of members: doubles come back bit by bit") {
  RandomStream random(1, "doubles");
  for (int i = 0; i < 2000; ++i) {
    const Part part{"", random.uniform(-1, 1) * static_cast<double>(random.below(1ULL << 60))};
    Part read;
    REQUIRE(read_members(Json::parse(json_of_members(part).dump()), read));
    REQUIRE(read.weight == part.weight);
  }
}

TEST_CASE("JSON of members: errors name the path") {
  const Json good =
      json_of_members(Whole{.id = JobId(1), .parts = {{"a", 1}, {"b", 2}}, .shares = {{"x", 1}}});
  const auto error_of = [&](const char* path, const Json& value) {
    Json damaged = good;
    damaged[Json::json_pointer(path)] = value;
    Whole read;
    const auto done = read_members(damaged, read);
    REQUIRE_FALSE(done);
    return done.error().describe();
  };
  CHECK(error_of("/parts/1/weight", "x") == "parts[1].weight: expected a number, found '\"x\"'");
  CHECK(error_of("/parts/1", 5) == "parts[1]: expected an object, found '5'");
  CHECK(error_of("/parts", Json::object()) == "parts: expected a list, found 'object'");
  CHECK(error_of("/shares/x", Json()) == "shares.x: expected a number, found 'null'");
  CHECK(error_of("/steps", Json::parse("[[1, 2, 3]]")) == "steps[0]: expected a list of two, found 'array'");
  CHECK(error_of("/id", 4294967295) ==
        "id: expected a whole number from 0 to 4294967294, found '4294967295'");
  CHECK(error_of("/gpus", 100) == "gpus: expected less than 100, found '100'");
  CHECK(error_of("/colour", 2) == "colour: expected the number of a known value, found '2'");
  CHECK(error_of("/flag", 0) == "flag: expected true or false, found '0'");
  CHECK(error_of("/number", 1e3) ==
        "number: expected a whole number from -4611686018427387904 to 9223372036854775807, found '1000.0'");
  CHECK(error_of("/number", std::uint64_t{1} << 63) ==
        "number: expected a whole number from -4611686018427387904 to 9223372036854775807, found "
        "'9223372036854775808'");
  CHECK(error_of("/more", 1) == "expected no unknown keys");
  Json without = good;
  without.erase("flag");
  Whole read;
  CHECK(read_members(without, read).error().describe() == "flag: missing");
}

}  // namespace
}  // namespace vtrain
