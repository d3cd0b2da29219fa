/// Third-party data, which is not part of the repository, for the tests that need it.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>

namespace vtrain {

/// Whether the data is there; says so when it is not, and the test then returns.
inline bool have(const std::filesystem::path& path) {
  if (std::filesystem::exists(path)) return true;
  MESSAGE("skipped: " << path.string() << " absent");
  return false;
}

}  // namespace vtrain
