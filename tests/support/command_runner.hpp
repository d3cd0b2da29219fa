/// Runs the real `vtrain` program, for tests of its visible behaviour.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

#include "tests/support/temporary_folder.hpp"

namespace vtrain::testing {

/// Result of a command.
struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// Runs a command through the shell in `folder`.
CommandResult run_command(const std::string& command, const std::filesystem::path& folder);

/// Runs `vtrain <arguments>` through the shell in `folder`, with its cache in `cache`, an absolute path, or
/// in a temporary folder.
CommandResult run_vtrain(const std::string& arguments, const std::filesystem::path& folder,
                         const std::filesystem::path& cache = {});

/// Output of `vtrain <arguments> --json` in a folder; a failure ends the test case.
nlohmann::json run_json(const std::string& arguments, const TemporaryFolder& work);
/// Output of `vtrain <arguments> --json` in a temporary folder.
nlohmann::json run_json(const std::string& arguments);

/// A pipe with a short text in it. Programs that run meanwhile inherit it and can read it once.
class InheritedPipe {
 public:
  explicit InheritedPipe(std::string_view text);
  InheritedPipe(const InheritedPipe&) = delete;
  InheritedPipe& operator=(const InheritedPipe&) = delete;
  ~InheritedPipe();
  /// Path of the pipe, `/dev/fd/N`.
  std::string path() const;

 private:
  int reader_ = -1;
};

/// `text` with wrapped lines, which begin with blanks, joined again.
std::string unwrapped(const std::string& text);

/// The content of a file; throws if it cannot be read.
std::string slurp(const std::filesystem::path& path);

/// The names of a folder's entries.
std::set<std::string> names_in(const std::filesystem::path& folder);

/// The folder of third-party data next to the project. Empty if it is absent, with a message that the test is
/// skipped.
std::filesystem::path shared_folder(const std::string& below);

}  // namespace vtrain::testing
