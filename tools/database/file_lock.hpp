/// A lock that ends with the process that holds it.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/result.hpp"
#include "core/io/unfinished.hpp"

namespace vtrain {

/// Exclusive lock on a file of its own, which is made and, at the end, removed.
class FileLock {
 public:
  /// Takes the lock `FILE-lock` in the folder of `file`. Errors: another process holds it, with the message
  /// `held`; it cannot be made.
  static Result<FileLock> beside(const std::filesystem::path& file, std::string_view held);
  FileLock(FileLock&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), removal_(std::move(other.removal_)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(const std::filesystem::path& path, int descriptor);

  int descriptor_ = -1;
  UnfinishedWork removal_;  ///< removes the file, also if a signal ends the program
};

}  // namespace vtrain
