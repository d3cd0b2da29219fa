/// Results of commands after signals and with full disks.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/command_runner.hpp"

using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

namespace {

/// Sends a signal to `vtrain trace info` while it waits for a trace from a pipe. Then writes a trace, if the
/// program still reads. Returns the exit code.
int interrupted_exit_code(int signal, bool is_ignored) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const int reader = ends[0];
  const int writer = ends[1];
  const std::string pipe = "/dev/fd/" + std::to_string(reader);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(signal, is_ignored ? SIG_IGN : SIG_DFL);
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::close(writer);
    ::execl(VTRAIN_PROGRAM, "vtrain", "trace", "info", pipe.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(reader);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  // A pipe holds 64 KiB (pipe(7)): once more is written, the program reads.
  const std::string comments = std::string(100'000, '#') + "\n";
  REQUIRE(::write(writer, comments.data(), comments.size()) == std::ssize(comments));
  ::kill(child, signal);
  constexpr std::string_view kTrace = "job_id,submit_s,num_gpus,duration_s\na,0,1,10\n";
  int status = 0;
  if (!is_ignored) ::waitpid(child, &status, 0);
  [[maybe_unused]] const ssize_t written = ::write(writer, kTrace.data(), kTrace.size());
  ::close(writer);
  std::signal(SIGPIPE, before);
  if (is_ignored) ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("interrupt: signals end the program, which cleans up, unless whoever started it has them ignored") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    CHECK(interrupted_exit_code(signal, false) == 130);
    CHECK(interrupted_exit_code(signal, true) == 0);
  }
}

TEST_CASE("interrupt: a file that may grow no further is an error, and leaves nothing") {
  const TemporaryFolder work;
  struct rlimit unlimited {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  struct rlimit limited = unlimited;
  limited.rlim_cur = 10'000;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limited) == 0);
  const auto result = run_vtrain("trace generate --jobs 1000 --assign none --out jobs.csv", work.path());
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  CHECK(result.exit_code == 1);
  CHECK(result.err == "error: jobs.csv: cannot write: File too large\n");
  CHECK(std::filesystem::is_empty(work.path()));
}

TEST_CASE("interrupt: what cannot be printed is an error of every command, also of help") {
  const TemporaryFolder work;
  for (const std::string command : {"--help", "--version", "trace slice --help", "models"}) {
    CAPTURE(command);
    const auto result = run_vtrain(command + " >/dev/full 2>err; (exit $?)", work.path());
    CHECK(result.exit_code == 1);
    CHECK(vtrain::testing::slurp(work / "err") ==
          "error: cannot write to standard output: No space left on device\n");
  }
}
