/// `vtrain mcp`: predictions, plans and estimates as tools of the Model Context Protocol.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/mcp/session.hpp"
#include "workloads/calibration/calibration.hpp"

namespace vtrain {
namespace {

struct McpArguments {
  std::string calibration;
  unsigned threads = 0;
};

/// Longest line that is read.
constexpr std::size_t kMostLineBytes = std::size_t{64} << 20;

/// Gives the lines of standard input to a session, until the input ends.
Result<void> read_lines(mcp::Session& session) {
  std::array<char, 1 << 16> room{};
  std::string line;
  bool is_too_long = false;
  const auto take = [&](std::string_view part) {
    is_too_long = is_too_long || line.size() + part.size() > kMostLineBytes;
    if (is_too_long)
      line.clear();
    else
      line += part;
  };
  const auto end_line = [&] {
    if (is_too_long)
      session.refuse_line(fmt::format("expected a message of at most {} MiB", kMostLineBytes >> 20));
    else
      session.receive(line);
    line.clear();
    is_too_long = false;
  };
  for (;;) {
    const ssize_t size = ::read(STDIN_FILENO, room.data(), room.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0)
      return fail({.kind = ErrorKind::Io,
                   .message = fmt::format("cannot read standard input: {}", std::strerror(errno))});
    if (size == 0) break;
    std::string_view rest(room.data(), static_cast<std::size_t>(size));
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      take(rest.substr(0, end));
      end_line();
      rest.remove_prefix(end + 1);
    }
    take(rest);
  }
  if (!line.empty() || is_too_long) end_line();
  return {};
}

Result<void> serve_client(const McpArguments& arguments) {
  auto calibration = read_calibration(arguments.calibration);
  if (!calibration) return fail(std::move(calibration.error()));
  constexpr unsigned kUsualThreads = 4;
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::mutex output;
  mcp::Session session(*std::move(calibration),
                       arguments.threads > 0 ? arguments.threads : std::min(cores, kUsualThreads),
                       [&output](std::string_view line) {
                         const std::scoped_lock lock(output);
                         std::fwrite(line.data(), 1, line.size(), stdout);
                         std::fputc('\n', stdout);
                         std::fflush(stdout);  // `main` reports a client that is gone
                       });
  const auto read = read_lines(session);
  session.finish();
  return read;
}

}  // namespace

void add_mcp_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "mcp",
      "Offer predictions, plan searches and estimates to language models, as tools of the Model Context "
      "Protocol on standard input and output.\n\n"
      "  vtrain mcp\n"
      "  claude mcp add vtrain -- vtrain mcp");
  const auto arguments = std::make_shared<McpArguments>();
  command->add_option("--calibrate", arguments->calibration,
                      "Correct predictions with a file of `vtrain profile calibrate`, or with `published`");
  command
      ->add_option("--threads", arguments->threads, "Calls that run at a time; 0: one per core, at most four")
      ->transform(whole_number(0, 1024))
      ->capture_default_str();
  command->callback([=, &action] { action = [arguments] { return serve_client(*arguments); }; });
}

}  // namespace vtrain
