#include "tools/serve/follower.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <utility>

#include "tools/serve/event_log.hpp"

namespace vtrain::serve {
namespace {

/// A text as one word of the shell.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char letter : text)
    word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

/// The output of a command; an error for one that fails or takes too long.
Result<std::string> output_of(const std::string& command, std::chrono::seconds limit) {
  const std::string bounded = fmt::format("timeout -k 1 {} /bin/sh -c {}", limit.count(), quoted(command));
  FILE* const pipe = ::popen(bounded.c_str(), "re");
  if (pipe == nullptr) return fail({.kind = ErrorKind::Io, .message = "cannot run the shell"});
  std::string output;
  std::array<char, 65536> buffer{};
  for (std::size_t read = 0; (read = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.append(buffer.data(), read);
  const int status = ::pclose(pipe);
  constexpr int kTimedOut = 124;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kTimedOut)
    return fail({.kind = ErrorKind::Io, .message = fmt::format("took longer than {} s", limit.count())});
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(
        {.kind = ErrorKind::Io,
         .message = fmt::format("failed with exit code {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1)});
  return output;
}

}  // namespace

Follower::Follower(std::vector<std::string> commands, std::chrono::seconds every,
                   std::function<void(std::vector<DumpText>)> take)
    : commands_(std::move(commands)),
      every_(every),
      take_(std::move(take)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Follower::~Follower() {
  thread_.request_stop();
  stops_.notify_all();
}

void Follower::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<DumpText> texts;
    for (const std::string& command : commands_) {
      auto output = output_of(command, every_);
      if (!output) {
        log_event(Severity::Warning, "cannot follow",
                  {{"command", command}, {"what", output.error().message}});
        texts.clear();
        break;
      }
      texts.push_back({command, *std::move(output)});
    }
    if (!texts.empty()) take_(std::move(texts));
    std::unique_lock lock(mutex_);
    stops_.wait_for(lock, stop, every_, [] { return false; });
  }
}

}  // namespace vtrain::serve
