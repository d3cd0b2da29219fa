/// `--help` of every command.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

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

namespace {

const std::vector<std::string> kCommands = {"",
                                            "predict",
                                            "plan",
                                            "profile",
                                            "profile list",
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
                                            "size",
                                            "report",
                                            "validate-schedule",
                                            "decide",
                                            "serve",
                                            "policies",
                                            "models",
                                            "clusters",
                                            "completion"};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("help: every line fits into 80 columns") {
  constexpr std::size_t kColumns = 80;
  const TemporaryFolder work;
  std::size_t num_lines = 0;
  for (const std::string& command : kCommands) {
    for (const std::string flag : {" -h", " --help"}) {
      CAPTURE(command);
      for (const std::string& line : lines_of(run_vtrain(command + flag, work.path()).out)) {
        CAPTURE(line);
        CHECK(line.size() <= kColumns);
        ++num_lines;
      }
    }
  }
  CHECK(num_lines > 600);
}

TEST_CASE("help: -h is short, --help is long") {
  const TemporaryFolder work;
  for (const std::string command : {"predict", "plan", "replay", "compare", "trace slice"}) {
    CAPTURE(command);
    const std::string brief = run_vtrain(command + " -h", work.path()).out;
    const std::string full = run_vtrain(command + " --help", work.path()).out;
    CHECK(brief.size() * 4 < full.size() * 3);
    CHECK(brief.find("'vtrain " + command + " --help' tells more") != std::string::npos);
    CHECK(full.find("[default: ") != std::string::npos);
  }
}

TEST_CASE("help: options of compare stand in groups, its policies in the first") {
  const TemporaryFolder work;
  const std::string help = run_vtrain("compare --help", work.path()).out;
  std::size_t last = 0;
  for (const char* const title : {"\nOptions:\n", "\nTrace:\n", "\nCluster:\n", "\nPredicted run times:\n",
                                  "\nChanges to the jobs:\n", "\nInterruptions and failures:\n"}) {
    CAPTURE(title);
    const std::size_t place = help.find(title);
    REQUIRE(place != std::string::npos);
    CHECK(place >= last);
    last = place;
  }
  CHECK(help.find("--policies") < help.find("\nTrace:\n"));
  CHECK(help.find("Excludes") == std::string::npos);
}

TEST_CASE("help: the list of policies names sources, and what a policy uses of a trace") {
  const TemporaryFolder work;
  const std::string list = run_vtrain("policies", work.path()).out;
  CHECK(list.find("source: Gu et al., ElasticFlow, ASPLOS 2023\n"
                  "                uses: exact run times, deadlines, models or throughput curves\n") !=
        std::string::npos);
  const auto rows = nlohmann::json::parse(run_vtrain("policies --json", work.path()).out);
  const auto row = std::ranges::find_if(rows, [](const auto& policy) { return policy["name"] == "easy"; });
  REQUIRE(row != rows.end());
  CHECK((*row)["source"] == "Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995");
}
