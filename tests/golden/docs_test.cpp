/// Commands in the README and on the pages of docs/: each of them runs unchanged.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using vtrain::testing::CommandResult;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

const fs::path kProject = VTRAIN_PROJECT_DIR;
const fs::path kCorpus = kProject / "tests/fuzz/corpus";

/// Commands of `vtrain` in the code blocks of a page, in order, without the program's name and remarks behind
/// them.
std::vector<std::string> commands_of(const fs::path& page) {
  constexpr std::string_view kIndent = "    ";
  std::vector<std::string> commands;
  std::istringstream lines(slurp(page));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kIndent)) continue;
    line.erase(0, kIndent.size());
    if (line.starts_with("$ ")) line.erase(0, 2);
    line = line.substr(0, line.find("  # "));
    constexpr std::string_view kProgram = "vtrain ";
    if (line.starts_with(kProgram)) commands.push_back(line.substr(kProgram.size()));
  }
  return commands;
}

/// The files that pages name and readers have: logs of a cluster, published traces, this project.
void write_inputs(const TemporaryFolder& work) {
  work.write("sacct.txt", slurp(kCorpus / "sacct/recommended.txt"));
  work.write("state.json", slurp(kCorpus / "stated_cluster/count.json"));
  for (const char* const name : {"itp/cluster01.csv", "itp/cluster04.csv"}) {
    fs::create_directories(work / "itp");
    work.write(name, slurp(kCorpus / "itp/two_jobs.csv"));
  }
  fs::create_directory_symlink(kProject / "docs", work / "docs");
}

std::vector<fs::path> pages() {
  std::vector<fs::path> found = {kProject / "README.md"};
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kProject / "docs")) {
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

TEST_CASE("docs: every command on a page runs, one after the other") {
  std::size_t num_commands = 0;
  for (const fs::path& page : pages()) {
    const TemporaryFolder work;
    write_inputs(work);
    for (const std::string& command : commands_of(page)) {
      CAPTURE(page.string());
      CAPTURE(command);
      const CommandResult result = run_vtrain(command, work.path());
      CHECK_MESSAGE(result.exit_code == 0, result.err);
      ++num_commands;
    }
  }
  CHECK(num_commands > 40);
}
