#include "sched/disruption/checkpoints.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace vtrain {

TEST_CASE("checkpoints: Young's interval is sqrt(2 d M)") {
  CHECK(young_interval_s(300, 86400) == doctest::Approx(7200));  // sqrt(51,840,000)
  CHECK(young_interval_s(300, 21600) == doctest::Approx(3600));
}

TEST_CASE("checkpoints: Daly's interval reproduces the published optima") {
  // Daly (2006): with d = 5 min the optimum is 117 min at M = 24 h, 57 min at 6 h and 9.1 min at 15 min.
  CHECK(daly_interval_s(300, 86400) / 60 == doctest::Approx(117).epsilon(0.005));
  CHECK(daly_interval_s(300, 21600) / 60 == doctest::Approx(57).epsilon(0.006));
  CHECK(daly_interval_s(300, 900) / 60 == doctest::Approx(9.1).epsilon(0.006));
  // By hand for M = 24 h: d/2M = 1/576, so 7200 (1 + 1/72 + 1/5184) - 300 = 7001.3889.
  CHECK(daly_interval_s(300, 86400) == doctest::Approx(7001.388889).epsilon(1e-9));
}

TEST_CASE(
    "checkpoint_rule: where a checkpoint takes longer than twice the MTBF, Daly's interval is the MTBF") {
  CHECK(daly_interval_s(300, 150) == 150);
  CHECK(daly_interval_s(300, 100) == 100);
  // d = 2M - a little: sqrt(d/2M) -> 1, so 2M (1 + 1/3 + 1/9) - 2M = 8/9 M: near M, but below it.
  CHECK(daly_interval_s(200 - 1e-9, 100) == doctest::Approx(800.0 / 9));
}

TEST_CASE("checkpoints: names and intervals are read, anything else is an error that lists them") {
  CHECK(CheckpointRule::parse("none")->kind == CheckpointRule::Kind::None);
  CHECK(CheckpointRule::parse("young")->needs_mtbf());
  CHECK(CheckpointRule::parse("daly")->kind == CheckpointRule::Kind::Daly);
  const auto interval = CheckpointRule::parse("30m");
  REQUIRE(interval);
  CHECK_FALSE(interval->needs_mtbf());
  CHECK(interval->interval_of(30, 1) == std::chrono::minutes(30));
  for (const char* wrong : {"", "dally", "30", "0s", "0.5s", "-5m", "nan"}) {
    CAPTURE(wrong);
    const auto parsed = CheckpointRule::parse(wrong);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().message.find("daly") != std::string::npos);
  }
}

TEST_CASE("checkpoints: what cannot fail needs no checkpoints") {
  const double never = std::numeric_limits<double>::infinity();
  CHECK_FALSE(CheckpointRule::parse("daly")->interval_of(30, never));
  CHECK_FALSE(CheckpointRule::parse("young")->interval_of(30, never));
  CHECK_FALSE(CheckpointRule{}.interval_of(30, 1000));
  CHECK(CheckpointRule::parse("young")->interval_of(0, 1000) == SimDuration(1));
}

}  // namespace vtrain
