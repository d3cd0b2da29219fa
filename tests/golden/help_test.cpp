/// `--help` of every command.
#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "tests/support/command_runner.hpp"

using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

TEST_CASE("help: `vtrain help COMMAND` is `vtrain COMMAND --help`") {
  const TemporaryFolder work;
  for (const std::string command : {"", "plan", "trace fit"}) {
    CAPTURE(command);
    const auto asked = run_vtrain("help " + command, work.path());
    CHECK(asked.exit_code == 0);
    CHECK(!asked.out.empty());
    CHECK(asked.out == run_vtrain(command + " --help", work.path()).out);
  }
  CHECK(run_vtrain("help nothing", work.path()).exit_code == 2);
}

TEST_CASE("help: descriptions of options fit into 100 columns") {
  constexpr std::size_t kColumns = 100;
  const TemporaryFolder work;
  int num_lines = 0;
  for (const std::string command : {"",
                                    "predict",
                                    "plan",
                                    "profile",
                                    "profile show",
                                    "profile import",
                                    "profile calibrate",
                                    "profile record",
                                    "scale",
                                    "validate",
                                    "trace",
                                    "trace info",
                                    "trace convert",
                                    "trace slice",
                                    "trace generate",
                                    "trace fit",
                                    "replay",
                                    "compare",
                                    "decide",
                                    "policies",
                                    "models",
                                    "clusters"}) {
    CAPTURE(command);
    std::istringstream help(run_vtrain(command + " --help", work.path()).out);
    for (std::string line; std::getline(help, line); ++num_lines) {
      CAPTURE(line);
      // Examples may be longer than a line.
      const bool is_description = line.starts_with("                              ");
      if (is_description && line.find("vtrain ") == std::string::npos) CHECK(line.size() <= kColumns);
    }
  }
  CHECK(num_lines > 300);
}
