/// A lock that ends with the process that holds it.
#pragma once

#include <filesystem>
#include <utility>

#include "core/base/result.hpp"

namespace vtrain {

/// Exclusive lock on a file of its own, which is made and, at the end, removed.
class FileLock {
 public:
  /// Takes the lock beside `file`, under the name `FILE-lock`. Error: another process holds it; it cannot be
  /// made.
  static Result<FileLock> beside(const std::filesystem::path& file);
  FileLock(FileLock&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace vtrain
