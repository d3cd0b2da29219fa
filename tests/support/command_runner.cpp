#include "tests/support/command_runner.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

namespace vtrain::testing {

namespace fs = std::filesystem;

std::string unwrapped(const std::string& text) {
  return std::regex_replace(text, std::regex("\n +"), " ");
}

InheritedPipe::InheritedPipe(std::string_view text) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("cannot make a pipe");
  reader_ = ends[0];
  const ssize_t written = ::write(ends[1], text.data(), text.size());
  ::close(ends[1]);
  if (written != std::ssize(text)) throw std::runtime_error("a pipe has no room for its text");
}

InheritedPipe::~InheritedPipe() {
  ::close(reader_);
}

std::string InheritedPipe::path() const {
  return "/dev/fd/" + std::to_string(reader_);
}

std::string slurp(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

CommandResult run_command(const std::string& command, const fs::path& folder) {
  const TemporaryFolder output;
  const std::string out = (output.path() / "out").string();
  const std::string err = (output.path() / "err").string();
  const std::string line =
      "cd '" + folder.string() + "' && " + command + " >'" + out + "' 2>'" + err + "' </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
}

CommandResult run_vtrain(const std::string& arguments, const fs::path& folder, const fs::path& cache) {
  const TemporaryFolder empty;
  const fs::path used = cache.empty() ? empty.path() : cache;
  return run_command("XDG_CACHE_HOME='" + used.string() + "' '" VTRAIN_PROGRAM "' " + arguments, folder);
}

nlohmann::json run_json(const std::string& arguments, const TemporaryFolder& work) {
  const auto result = run_vtrain(arguments + " --json", work.path());
  CAPTURE(arguments);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return nlohmann::json::parse(result.out);
}

nlohmann::json run_json(const std::string& arguments) {
  return run_json(arguments, TemporaryFolder());
}

fs::path shared_folder(const std::string& below) {
  fs::path folder = fs::path(VTRAIN_SHARED_DIR) / below;
  if (fs::exists(folder)) return fs::canonical(folder);
  MESSAGE("skipped: third-party data ", folder.string(), " absent");
  return {};
}

}  // namespace vtrain::testing
