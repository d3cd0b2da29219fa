/// `vtrain profile show` of embedded profiles.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

TEST_CASE("profile show: rates of large products are what the power limit leaves, where it is known") {
  const TemporaryFolder work;
  const auto show = [&](const std::string& arguments) {
    auto result = run_vtrain("profile show " + arguments, work.path());
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    return result.out;
  };
  const std::string text = show("h100");
  CHECK(text.find("sustained_rate                     720 TFLOP/s") != std::string::npos);
  CHECK(text.find("(989 TFLOP/s at most, 720 TFLOP/s within the power limit)") != std::string::npos);
  CHECK(show("a100").find("power limit)") == std::string::npos);

  for (const std::string name : {"h100", "a100"}) {
    CAPTURE(name);
    const json curve = run_json("profile show " + name)["curves"][0];
    CHECK(curve["title"] == "GEMM bf16, m = n = k");
    CHECK(curve["sustained"] == (name == "h100" ? json(7.2e14) : json()));
    for (const json& point : curve["points"])
      CHECK(point["rate"].get<double>() <=
            1.000001 * (name == "h100" ? 7.2e14 : curve["limit"].get<double>()));
  }
}
