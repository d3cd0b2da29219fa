/// Third-party data for tests; they are not part of the repository.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>

namespace vtrain {

/// True if the data exist. Otherwise prints a message, and the test must return.
inline bool have(const std::filesystem::path& path) {
  if (std::filesystem::exists(path)) return true;
  MESSAGE("skipped: " << path.string() << " absent");
  return false;
}

}  // namespace vtrain
