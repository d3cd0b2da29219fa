/// A run that is killed while it replaces another: its folder must be the complete old run or the complete
/// new one.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "tests/support/command_runner.hpp"
#include "tests/support/rounds.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::testing::rounds;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

namespace {

/// The part of a file that is equal in two runs of a command: the trace in `run.json`, the title of the
/// report.
std::string lasting_part(const fs::path& file) {
  const std::string text = slurp(file);
  if (file.filename() == "run.json") return json::parse(text)["trace"];
  if (file.filename() == "report.html")
    return text.ends_with("</html>\n") ? text.substr(text.find("<title>"), 100) : "half";
  return text;
}

/// The files in a folder by name.
std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory())
      files[entry.path().lexically_relative(folder).string()] = lasting_part(entry.path());
  }
  return files;
}

/// A folder with two traces and the run of one of them. It also contains files of others.
class KilledRuns {
 public:
  KilledRuns() {
    work_.write("a.csv", trace(300, 7));
    work_.write("b.csv", trace(360, 11));
    new_run_ = finished("b");
    // Files of others stay in place.
    for (const std::string name : {"notes.txt", "easy/notes.txt", "srtf/notes.txt", "mine/deep/notes.txt"})
      work_.write("D/" + name, "mine");
    new_run_ = finished("b");
    old_run_ = finished("a");
    CHECK(old_run_ != new_run_);
    const pid_t child = start_run("b");
    const auto [begin, end] = writing_time(child);
    writing_time_ = end - begin;
    int status = 0;
    ::waitpid(child, &status, 0);
  }

  /// Sends a signal to a run of the other trace, at any instant or while it writes.
  void kill_once(int signal, bool while_it_writes) {
    const auto start = Clock::now();
    CHECK(finished("a") == old_run_);
    const Seconds run_time = Clock::now() - start;
    CHECK(names_beside() == 0);
    const pid_t child = start_run("b");
    if (while_it_writes) {
      wait_for_writing(child);
      std::this_thread::sleep_for(writing_time_ * std::uniform_real_distribution(0.0, 1.1)(random_));
    } else {
      std::this_thread::sleep_for(run_time * std::uniform_real_distribution(0.0, 1.05)(random_));
    }
    ::kill(child, signal);
    int status = 0;
    ::waitpid(child, &status, 0);
    const auto found = files_in(work_ / "D");
    const bool is_old = found == old_run_;
    const bool is_new = found == new_run_;
    CHECK((is_old || is_new));
    const bool finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (finished) CHECK(is_new);
    if (signal != SIGKILL) {
      CHECK(names_beside() == 0);
      if (WIFSIGNALED(status)) CHECK(is_old);  // before the program had begun
      if (WIFEXITED(status) && !finished) {
        CHECK(WEXITSTATUS(status) == 130);
        CHECK(slurp(work_ / "err") == "\ninterrupted: no file is left half-written\n");
      }
    }
    // How long it takes changes with what else the machine does.
    if (while_it_writes) writing_time_ *= finished ? 0.8 : 1.1;
    stopped_ += finished ? 0 : 1;
    replaced_ += !finished && is_new ? 1 : 0;
    left_ += signal == SIGKILL && names_beside() > 0 ? 1 : 0;
  }

  std::uint64_t stopped() const { return stopped_; }    ///< number of runs that a signal ended
  std::uint64_t replaced() const { return replaced_; }  ///< stopped runs that had replaced the old one
  std::uint64_t left() const { return left_; }          ///< killed runs that left a staging folder

 private:
  static std::string trace(int num_jobs, int step) {
    std::string text = "job_id,submit_s,num_gpus,duration_s\n";
    for (int i = 0; i < num_jobs; ++i)
      text += "j" + std::to_string(i) + "," + std::to_string(i * step) + "," + std::to_string(1 + i % 16) +
              "," + std::to_string(100 + i % 50) + "\n";
    return text;
  }

  /// Replays a trace to the end. Returns the files in the folder.
  std::map<std::string, std::string> finished(const std::string& name) {
    const std::string policies = name == "a" ? "fifo,easy" : "fifo,srtf";
    const auto result = run_vtrain(
        "compare --trace " + name + ".csv --cluster 16x8:a100 --out D --policies " + policies, work_.path());
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    return files_in(work_ / "D");
  }

  /// Starts the replay of a trace in the folder.
  pid_t start_run(const std::string& name) const {
    const std::string trace = name + ".csv";
    // The handlers of this program are not for the other, also before it begins.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM})
      sigaddset(&signals, signal);
    sigset_t before;
    ::sigprocmask(SIG_BLOCK, &signals, &before);
    const pid_t child = ::fork();
    if (child != 0) {
      ::sigprocmask(SIG_SETMASK, &before, nullptr);
      return child;
    }
    const int output = ::open((work_ / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int errors = ::open((work_ / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    for (const int signal : {SIGINT, SIGTERM})
      std::signal(signal, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (::chdir(work_.path().c_str()) == 0) {
      ::execl(VTRAIN_PROGRAM, "vtrain", "compare", "--trace", trace.c_str(), "--cluster", "16x8:a100",
              "--out", "D", "--policies", "fifo,srtf", "--no-cache", nullptr);
    }
    ::_exit(127);
  }

  /// Waits until the run writes, or has ended.
  void wait_for_writing(pid_t child) const {
    siginfo_t ended{};
    while (::access((work_ / ".D.vtrain-writing").c_str(), F_OK) != 0) {
      ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
      if (ended.si_pid != 0) return;
    }
  }
  std::pair<Clock::time_point, Clock::time_point> writing_time(pid_t child) const {
    wait_for_writing(child);
    const auto begin = Clock::now();
    while (::access((work_ / ".D.vtrain-writing").c_str(), F_OK) == 0)
      std::this_thread::yield();
    return {begin, Clock::now()};
  }

  /// Number of names next to the folder, without the traces and the program's output.
  std::size_t names_beside() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(work_.path())) {
      const std::string name = entry.path().filename().string();
      count += name != "D" && name != "a.csv" && name != "b.csv" && name != "out" && name != "err" ? 1 : 0;
    }
    return count;
  }

  TemporaryFolder work_;
  std::map<std::string, std::string> old_run_;
  std::map<std::string, std::string> new_run_;
  Seconds writing_time_{};
  std::minstd_rand random_{7};
  std::uint64_t stopped_ = 0;
  std::uint64_t replaced_ = 0;
  std::uint64_t left_ = 0;
};

}  // namespace

TEST_CASE("kill: whatever ends a run and whenever, its folder holds the old run or the new one") {
  KilledRuns runs;
  const std::uint64_t num_kills = rounds(14);
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
    for (std::uint64_t kill = 0; kill < num_kills; ++kill) {
      CAPTURE(signal);
      CAPTURE(kill);
      runs.kill_once(signal, kill % 2 == 0);
    }
  }
  MESSAGE("runs ended by a signal: ", runs.stopped(), ", with the new folder in its place: ", runs.replaced(),
          ", with a staging folder left to the next run: ", runs.left());
  CHECK(runs.stopped() > 0);
}
