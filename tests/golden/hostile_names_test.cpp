/// Names from files and arguments with text that a terminal, a browser or a spreadsheet would interpret.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/utf8.hpp"
#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::is_printable;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// True if a terminal shows every line of a text unchanged.
bool lines_are_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (!is_printable(text.substr(0, end))) return false;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return true;
}

// A colour, a carriage return, a control character of two bytes, right-to-left, and bytes that are no UTF-8.
constexpr const char* kHostile = "\x1b[31m\r\xc2\x9b\xe2\x80\xae\xff";

/// Jobs whose names reverse the order of characters or begin formulas.
constexpr const char* kJobs =
    "job_id,tenant,submit_s,num_gpus,duration_s\n"
    "\"a\xe2\x80\xae\",\"t\xe2\x80\xae\",0,1,100\n"
    "\"\xef\xbb\xbf"
    "b\",\"t\xe2\x80\xa8\",1,1,100\n"
    "\"=cmd|'/C calc'!A0\",+1+1,2,1,100\n"
    "@SUM(1),-2+3,3,1,100\n"
    "c=d,e,4,1,100\n";

}  // namespace

TEST_CASE("hostile names: nothing of them reaches the terminal raw, whatever names them") {
  const TemporaryFolder work;
  work.write("t.csv", kJobs);
  const std::string name = std::string("t") + kHostile + ".csv";
  work.write(name, kJobs);
  const std::string h = kHostile;
  const std::vector<std::string> commands = {
      "trace info '" + name + "'",
      "trace info t.csv",
      "trace info 'no" + h + "'",
      "trace info t.csv --report '" + h + ".html'",
      "trace convert t.csv --out '" + h + ".csv'",
      "trace slice t.csv --tenant '" + h + "' --out s.csv",
      "trace fit t.csv --out '" + h + ".json'",
      "trace generate --jobs 5 --seed 1 --out '" + h + ".csv'",
      "compare --trace '" + name + "' --cluster 1x8 --out D",
      "compare --trace t.csv --cluster 1x8 --assign 'model=" + h + "'",
      "compare --trace t.csv --cluster 'x" + h + "'",
      "replay --trace t.csv --cluster 1x8 --policy 'fi" + h + "fo'",
      "replay --trace t.csv --cluster 1x8 --policy 'fifo:" + h + "=1'",
      "replay --trace t.csv --cluster 1x8 --policy fifo --out 'D" + h + "'",
      "replay --trace t.csv --cluster 1x8 --policy fifo --placement '" + h + "'",
      "predict '" + h + "'",
      "plan '" + h + "' --gpus 8",
      "plan llama3-8b --gpus '" + h + "'",
      "plan llama3-8b --gpus 8 --out '" + h + "b.json'",
      "validate '" + h + "'",
      "profile show '" + h + "'",
      "profile import '" + h + "'",
      "'" + h + "'",
      "plan --'" + h + "'",
  };
  for (const std::string& command : commands) {
    for (const char* const option : {"", " --json"}) {
      CAPTURE(vtrain::printable(command + option));
      const auto result = run_vtrain(command + option, work.path());
      CHECK(lines_are_printable(result.out));
      CHECK(lines_are_printable(result.err));
      CHECK(result.out.size() + result.err.size() > 0);
    }
  }
  const auto shown = run_vtrain("trace info t.csv", work.path());
  CHECK(shown.out.find("t\\u202e") != std::string::npos);
  CHECK(shown.out.find("t\\u2028") != std::string::npos);
}

TEST_CASE("hostile names: JSON has escapes for them, with the same meaning") {
  const TemporaryFolder work;
  work.write("t.csv", kJobs);
  const auto result = run_vtrain("trace info t.csv --json", work.path());
  REQUIRE(result.exit_code == 0);
  bool found = false;
  const json document = json::parse(result.out);
  for (const json& tenant : document["tenants"])
    found |= tenant["name"] == "t\xe2\x80\xae";
  CHECK(found);
  CHECK(result.out.find("\\u202e") != std::string::npos);
  REQUIRE(run_vtrain("replay --trace t.csv --cluster 1x8 --policy fifo --out D", work.path()).exit_code == 0);
  for (const char* const file : {"summary.json", "run.json", "timeline.json"})
    CHECK(lines_are_printable(slurp(work / "D" / file)));
  CHECK(slurp(work / "D" / "timeline.json").find("\"a\\u202e\"") != std::string::npos);
}

TEST_CASE("hostile names: the report shows what a terminal would") {
  const TemporaryFolder work;
  work.write("t.csv", kJobs);
  REQUIRE(run_vtrain("replay --trace t.csv --cluster 1x8 --policy fifo --out D", work.path()).exit_code == 0);
  REQUIRE(run_vtrain("trace info t.csv --report info.html", work.path()).exit_code == 0);
  for (const std::string& page : {slurp(work / "D" / "report.html"), slurp(work / "info.html")}) {
    for (const char* const raw : {"\xe2\x80\xae", "\xe2\x80\xa8", "\xef\xbb\xbf"})
      CHECK(page.find(raw) == std::string::npos);
  }
  // In the data of its pictures, a JSON string: the reverse solidus is doubled.
  CHECK(slurp(work / "D" / "report.html").find("\"a\\\\u202e\"") != std::string::npos);
}

TEST_CASE("hostile names: tables hold names exactly, or safe for a spreadsheet where that is asked for") {
  const TemporaryFolder work;
  work.write("t.csv", kJobs);
  const auto table_with = [&](const std::string& option) {
    const auto result =
        run_vtrain("replay --trace t.csv --cluster 1x8 --policy fifo --out D " + option, work.path());
    REQUIRE(result.exit_code == 0);
    return slurp(work / "D" / "jobs.csv");
  };
  const std::string exact = table_with("");
  CHECK(exact.find("\na\xe2\x80\xae,t\xe2\x80\xae,") != std::string::npos);
  CHECK(exact.find("\n=cmd|'/C calc'!A0,+1+1,") != std::string::npos);
  CHECK(exact.find("\n@SUM(1),-2+3,") != std::string::npos);
  const std::string safe = table_with("--spreadsheet-safe");
  CHECK(safe.find("\n'=cmd|'/C calc'!A0,'+1+1,") != std::string::npos);
  CHECK(safe.find("\n'@SUM(1),'-2+3,") != std::string::npos);
  CHECK(safe.find("\nc=d,e,") != std::string::npos);
}
