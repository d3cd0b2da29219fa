#include "tools/format/progress.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "tests/support/temporary_folder.hpp"

using vtrain::progress_line;

TEST_CASE("progress: share, rate and time left") {
  // A quarter of 1,000 jobs, at 125 jobs/s: 750 jobs left take 6 s. A quarter of 30 marks is 7.
  CHECK(progress_line("replaying", "jobs", 250, 1000, 125) ==
        "replaying  [=======                       ]   25 %  125 jobs/s  6 s left");
}

TEST_CASE("progress: nothing is said of a rate before the first item or of time left after the last") {
  CHECK(progress_line("searching", "plans", 0, 7, 0) == "searching  [                              ]    0 %");
  CHECK(progress_line("searching", "plans", 8, 8, 2) ==
        "searching  [==============================]  100 %  2 plans/s");
}

TEST_CASE("progress: short work shows nothing") {
  const vtrain::testing::TemporaryFolder folder;
  const auto path = folder / "stderr";
  const int stderr_before = ::dup(STDERR_FILENO);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(::dup2(file, STDERR_FILENO) == STDERR_FILENO);
  {
    std::atomic<std::int64_t> done = 0;
    const vtrain::ProgressBar bar("replaying", "jobs", 10, done);
    done = 10;
  }
  std::fflush(stderr);
  ::dup2(stderr_before, STDERR_FILENO);
  ::close(stderr_before);
  ::close(file);
  CHECK(std::filesystem::file_size(path) == 0);
}
