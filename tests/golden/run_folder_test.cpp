/// The folder of a run as a unit: its form, its permissions, and other files in it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <set>
#include <string>
#include <thread>

#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using vtrain::testing::CommandResult;
using vtrain::testing::names_in;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

constexpr std::string_view kJobs = "job_id,submit_s,num_gpus,duration_s\na,0,1,10\nb,5,2,20\n";
/// Jobs whose replay fails: they run one after the other and end after 300 years, beyond the clock's range.
constexpr std::string_view kEndless =
    "job_id,submit_s,num_gpus,duration_s\na,0,1,3153600000\nb,0,1,3153600000\nc,0,1,3153600000\n";

/// The error of a replay of `kEndless` with this `--out`, before the replay itself fails.
std::string refusal(const TemporaryFolder& work, const std::string& out) {
  work.write("endless.csv", kEndless);
  const auto result = run_vtrain("replay --trace endless.csv --cluster 1x1 --out " + out, work.path());
  CHECK(result.exit_code == 2);
  return result.err;
}

/// True if this system lets the tests run a command with its own mounts, or as another user.
bool can_run(const std::string& prefix) {
  return std::system((prefix + " true 2>/dev/null").c_str()) == 0;
}

}  // namespace

TEST_CASE("run folder: one that cannot be replaced is refused before the replay") {
  const TemporaryFolder work;
  work.write("file", "");
  CHECK(refusal(work, "file") == "error: file: cannot create the folder: Not a directory\n");
  const std::string whole = ", which cannot be replaced as a whole; name a folder in it\n";
  CHECK(refusal(work, ".") == "error: .: is the current folder or one above it" + whole);
  CHECK(refusal(work, "/dev") == "error: /dev: is a mount point" + whole);
  fs::create_directory(work / "out");
  REQUIRE(::mkfifo((work / "out/run.json").c_str(), 0600) == 0);
  CHECK(refusal(work, "out") ==
        "error: out/run.json: expected a regular file or nothing, found a named pipe\n");
  fs::remove(work / "out/run.json");
  fs::create_symlink("elsewhere", work / "out/jobs.csv");
  CHECK(refusal(work, "out") ==
        "error: out/jobs.csv: expected a regular file or nothing, found a symbolic link\n");
  fs::remove(work / "out/jobs.csv");
  CHECK(refusal(work, "out").find("simulated clock") != std::string::npos);
  CHECK(names_in(work.path()) == std::set<std::string>{"endless.csv", "file", "out"});
  CHECK(fs::is_empty(work / "out"));
}

TEST_CASE(
    "run folder: mount points, read-only file systems and forbidden parents are refused with the reason") {
  const TemporaryFolder work;
  work.write("endless.csv", kEndless);
  fs::create_directories(work / "disk/out");
  const auto run = [&](const std::string& prefix, const std::string& before, const std::string& out) {
    const std::string command = prefix + " sh -c '" + before + "cd \"" + work.path().string() +
                                "\" && exec \"" VTRAIN_PROGRAM
                                "\" replay --trace endless.csv --cluster 1x1 --out " +
                                out + "' >/dev/null 2>\"" + (work / "err").string() + "\"";
    const int status = std::system(command.c_str());
    CHECK(WEXITSTATUS(status) == 2);
    return slurp(work / "err");
  };
  const std::string mounts = ::geteuid() == 0 ? "unshare -m" : "unshare -rm";
  if (can_run(mounts)) {
    const std::string disk = "\"" + (work / "disk").string() + "\"";
    const std::string mount = "mount --bind " + disk + " " + disk + " && ";
    CHECK(run(mounts, mount, "disk").starts_with("error: disk: is a mount point"));
    const std::string read_only = mount + "mount -o remount,ro,bind " + disk + " && ";
    CHECK(run(mounts, read_only, "disk/out").ends_with("Read-only file system\n"));
    CHECK(run(mounts, read_only, "disk/new").ends_with("Read-only file system\n"));
  } else {
    MESSAGE("skipped: no mounts here");
  }
  ::chmod(work.path().c_str(), 0755);
  ::chmod((work / "disk").c_str(), 0555);
  ::chmod((work / "disk/out").c_str(), 0777);
  const std::string user = ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups" : "env";
  if (can_run(user)) {
    const std::string reason =
        "cannot make a folder in '" + fs::canonical(work / "disk").string() + "': Permission denied\n";
    CHECK(run(user, "", "disk/out") == "error: disk/out: " + reason);
    CHECK(run(user, "", "disk/new") == "error: disk/new: " + reason);
  } else {
    MESSAGE("skipped: no other user here");
  }
  ::chmod((work / "disk").c_str(), 0755);
}

TEST_CASE("run folder: a symbolic link stays one, and files of others stay the same files") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  fs::create_directory_symlink("disk/there", work / "out");
  fs::create_directory(work / "disk");
  const std::string command = "replay --trace jobs.csv --cluster 1x8 --out out";
  REQUIRE(run_vtrain(command, work.path()).exit_code == 0);
  CHECK(fs::is_symlink(work / "out"));
  work.write("out/notes.txt", "mine");
  fs::create_hard_link(work / "out/notes.txt", work / "same");
  REQUIRE(run_vtrain(command + " --policy easy", work.path()).exit_code == 0);
  CHECK(fs::equivalent(work / "same", work / "disk/there/notes.txt"));
  CHECK(names_in(work / "disk") == std::set<std::string>{"there"});
}

TEST_CASE("run folder: what the program says goes to no file that it replaces") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  fs::create_directory(work / "out");
  const auto run = [&](const std::string& to) {
    return run_vtrain(
               "replay --trace jobs.csv --cluster 1x8 --json --out out >out/" + to + " 2>err; (exit $?)",
               work.path())
        .exit_code;
  };
  CHECK(run("summary.json") == 2);
  CHECK(slurp(work / "err") ==
        "error: out/summary.json: would be replaced, but the output of this command goes there\n");
  CHECK(run("log.json") == 0);
  CHECK(slurp(work / "out/log.json").starts_with("{"));
}

TEST_CASE("run folder: a run waits for another that writes to the same folder, and says so") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  work.write(".out.vtrain-writing/lock", "");
  work.write(".out.vtrain-writing/building/jobs.csv", "half");
  ::chmod((work / ".out.vtrain-writing").c_str(), 0700);
  const int lock = ::open((work / ".out.vtrain-writing/lock").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  auto waiting = std::async(std::launch::async, [&] {
    return run_vtrain("replay --trace jobs.csv --cluster 1x8 --out out", work.path());
  });
  CHECK(waiting.wait_for(std::chrono::milliseconds(500)) == std::future_status::timeout);
  CHECK(slurp(work / ".out.vtrain-writing/building/jobs.csv") == "half");
  CHECK(!fs::exists(work / "out"));
  // As if its owner had died.
  ::close(lock);
  const CommandResult result = waiting.get();
  CHECK(result.exit_code == 0);
  CHECK(result.err == "warning: waiting for another run that is writing to out\n");
  CHECK(names_in(work.path()) == std::set<std::string>{"jobs.csv", "out"});
}

TEST_CASE("run folder: runs at once into one folder leave that of one of them") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  std::vector<std::future<int>> runs;
  for (const std::string policies : {"fifo,easy", "srtf,las", "fifo,edf", "sjf,easy"}) {
    runs.push_back(std::async(std::launch::async, [&work, policies] {
      return run_vtrain("compare --trace jobs.csv --cluster 1x8 --out out --policies " + policies,
                        work.path())
          .exit_code;
    }));
  }
  for (auto& run : runs)
    CHECK(run.get() == 0);
  CHECK(names_in(work / "out").size() == 4);  // two policies, run.json, report.html
  CHECK(names_in(work.path()) == std::set<std::string>{"jobs.csv", "out"});
}

TEST_CASE("run folder: what a run left that was killed goes with the next one of any name") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  work.write("runs/.compare-1.vtrain-writing/building/fifo/jobs.csv", "half");
  work.write("runs/.compare-2.vtrain-writing/old/notes.txt", "mine");
  REQUIRE(run_vtrain("compare --trace jobs.csv --cluster 1x8 --policies fifo,easy", work.path()).exit_code ==
          0);
  CHECK(names_in(work / "runs") == std::set<std::string>{"compare-1", "compare-2"});
  CHECK(slurp(work / "runs/compare-2/notes.txt") == "mine");
}
