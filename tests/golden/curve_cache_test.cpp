/// The cache of iteration times through the command line: it changes only the time that a command takes.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

constexpr const char* kTrace =
    "job_id,submit_s,num_gpus,model,global_batch,iterations\n"
    "a,0,8,gpt3-6.7b,256,100\n"
    "b,10,16,gpt3-6.7b,256,100\n"
    "c,20,16,gpt3-13b,256,50\n";

/// The warning of a replay with damaged records: `1 damaged record`.
std::string warning(const fs::path& cache, const std::string& records) {
  return "warning: " + records + " of iteration times in " + (cache / "vtrain/curves").string() +
         ", computed again\n";
}

/// The jobs.csv of a replay of `kTrace`. Standard error must be `says`.
std::string replay(const fs::path& cache, const std::string& more = "", const std::string& says = "") {
  const TemporaryFolder work;
  work.write("jobs.csv", kTrace);
  const auto result =
      run_vtrain("replay --trace jobs.csv --cluster 4x8:a100 --out out " + more, work.path(), cache);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.err == says);
  return slurp(work.path() / "out" / "jobs.csv");
}

std::vector<fs::path> files_in(const fs::path& cache) {
  std::vector<fs::path> files;
  if (!fs::exists(cache / "vtrain" / "curves")) return files;
  for (const auto& entry : fs::directory_iterator(cache / "vtrain" / "curves"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("curve cache: results are the same without, with an empty, a full and a damaged cache") {
  const TemporaryFolder cache;
  const std::string expected = replay(cache.path(), "--no-cache");
  CHECK(files_in(cache.path()).empty());
  CHECK(replay(cache.path()) == expected);
  const auto files = files_in(cache.path());
  REQUIRE(files.size() == 2);  // one for each model
  const std::string whole = slurp(files[0]);
  CHECK(replay(cache.path()) == expected);
  CHECK(files_in(cache.path()) == files);

  fs::resize_file(files[0], whole.size() / 3);
  std::ofstream(files[1], std::ios::binary) << std::string("\0\xff junk", 7);
  CHECK(replay(cache.path(), "", warning(cache.path(), "2 damaged records")) == expected);
  CHECK(slurp(files[0]) == whole);
  CHECK(replay(cache.path()) == expected);
  // A cache that cannot be written is no error.
  const TemporaryFolder other;
  other.write("vtrain", "a file where the folder should be");
  CHECK(replay(other.path()) == expected);
}

TEST_CASE("curve cache: a record in which any byte changed is computed again, and counted") {
  const TemporaryFolder cache;
  const std::string expected = replay(cache.path(), "--no-cache");
  REQUIRE(replay(cache.path()) == expected);
  const fs::path file = files_in(cache.path())[0];
  const std::string whole = slurp(file);
  const std::size_t digit = whole.find("\"iteration_ns\": ") + std::string("\"iteration_ns\": ").size();
  const std::string checksum = whole.substr(0, whole.find('\n'));
  const std::string without = whole.substr(checksum.size() + 1);
  std::string changed = whole;
  changed[digit] = changed[digit] == '9' ? '8' : '9';
  // A record of before there were checksums is no other.
  for (const std::string& damaged :
       {changed, whole + " ", whole.substr(0, whole.size() - 1), without.substr(0, without.size() - 2),
        "x" + whole.substr(1), std::string()}) {
    CAPTURE(damaged.substr(0, 20));
    std::ofstream(file, std::ios::binary) << damaged;
    CHECK(replay(cache.path(), "", warning(cache.path(), "1 damaged record")) == expected);
    CHECK(slurp(file) == whole);
  }
}

TEST_CASE("curve cache: what is no regular file is no record, and stays") {
  const TemporaryFolder cache;
  const std::string expected = replay(cache.path(), "--no-cache");
  REQUIRE(replay(cache.path()) == expected);
  const auto files = files_in(cache.path());
  fs::remove(files[0]);
  REQUIRE(::mkfifo(files[0].c_str(), 0600) == 0);
  fs::remove(files[1]);
  fs::create_directory(files[1]);
  CHECK(replay(cache.path()) == expected);
  CHECK(fs::is_fifo(files[0]));
  fs::remove(files[0]);
  fs::create_symlink("/dev/zero", files[0]);
  CHECK(replay(cache.path()) == expected);
  CHECK(files_in(cache.path()).size() == 2);
}

TEST_CASE("curve cache: the other kind of curve has entries of its own") {
  const TemporaryFolder cache;
  const std::string best = replay(cache.path());
  const std::string data_parallel = replay(cache.path(), "--curves data-parallel");
  CHECK(data_parallel == replay(cache.path(), "--curves data-parallel --no-cache"));
  CHECK(files_in(cache.path()).size() == 4);
  CHECK(replay(cache.path()) == best);
}

TEST_CASE("curve cache: processes may share it") {
  const TemporaryFolder cache;
  const std::string expected = replay(cache.path(), "--no-cache");
  std::vector<std::string> results(6);
  {
    std::vector<std::jthread> runs;
    for (std::string& result : results)
      runs.emplace_back([&] { result = replay(cache.path()); });
  }
  for (const std::string& result : results)
    CHECK(result == expected);
  CHECK(files_in(cache.path()).size() == 2);
  CHECK(replay(cache.path()) == expected);
}
