/// Runs the real `vtrain` program, for tests of what a user sees.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

#include "tests/support/temporary_folder.hpp"

namespace vtrain::testing {

/// What a command left behind.
struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// Runs `vtrain <arguments>` through the shell in `folder`, with its cache in `cache`, an absolute path, or
/// in a folder that goes afterwards.
CommandResult run_vtrain(const std::string& arguments, const std::filesystem::path& folder,
                         const std::filesystem::path& cache = {});

/// What `vtrain <arguments> --json` prints in a folder; a failure ends the test case.
nlohmann::json run_json(const std::string& arguments, const TemporaryFolder& work);
/// The same in a folder of its own.
nlohmann::json run_json(const std::string& arguments);

/// A pipe with a short text in it, which programs run meanwhile inherit and can read once.
class InheritedPipe {
 public:
  explicit InheritedPipe(std::string_view text);
  InheritedPipe(const InheritedPipe&) = delete;
  InheritedPipe& operator=(const InheritedPipe&) = delete;
  ~InheritedPipe();
  /// `/dev/fd/N`.
  std::string path() const;

 private:
  int reader_ = -1;
};

/// `text` with wrapped lines, which begin with blanks, joined again.
std::string unwrapped(const std::string& text);

/// The content of a file; throws if it cannot be read.
std::string slurp(const std::filesystem::path& path);

/// The names of what a folder has.
std::set<std::string> names_in(const std::filesystem::path& folder);

/// The folder of third-party data beside the project. Empty, with a message that the test is skipped, where
/// it is absent.
std::filesystem::path shared_folder(const std::string& below);

}  // namespace vtrain::testing
