/// Every folder below tests/golden/cases is one case. `command` contains the arguments of vtrain,
/// `expected_out` its output, and `expected/` the files that it writes below `out/`, byte for byte.
/// VTRAIN_UPDATE_GOLDEN=1 writes the actual output there instead; read the difference before you commit it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), folder));
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// True for files with the time and place of the run, which are not compared.
bool varies(const fs::path& file) {
  return file.filename() == "run.json" || file.filename() == "report.html";
}

/// Output without the line with the duration of the replay.
std::string without_timing(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("replayed ")) kept += line + "\n";
  }
  return kept;
}

void compare_or_update(const fs::path& actual, const fs::path& expected) {
  CAPTURE(expected.string());
  if (std::getenv("VTRAIN_UPDATE_GOLDEN") != nullptr) {
    fs::create_directories(expected.parent_path());
    fs::copy_file(actual, expected, fs::copy_options::overwrite_existing);
    return;
  }
  REQUIRE(fs::exists(expected));
  CHECK(slurp(actual) == slurp(expected));
}

}  // namespace

TEST_CASE("golden: every case prints and writes what is on file") {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(VTRAIN_CASES_DIR))
    cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  REQUIRE(!cases.empty());
  for (const fs::path& folder : cases) {
    CAPTURE(folder.filename().string());
    const TemporaryFolder work;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file()) fs::copy(entry.path(), work.path());
    }
    std::string command = slurp(folder / "command");
    std::replace(command.begin(), command.end(), '\n', ' ');
    const auto result = run_vtrain(command, work.path());
    CHECK(result.exit_code == 0);
    CHECK(result.err == "");
    work.write("actual_out", without_timing(result.out));
    compare_or_update(work.path() / "actual_out", folder / "expected_out");
    std::size_t compared = 0;
    for (const fs::path& file : files_below(work.path() / "out")) {
      if (varies(file)) continue;
      compare_or_update(work.path() / "out" / file, folder / "expected" / file);
      ++compared;
    }
    CHECK(compared == files_below(folder / "expected").size());
  }
}
