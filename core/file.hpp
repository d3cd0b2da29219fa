/// Whole files in, whole files out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace vtrain {

/// The content of a file, unpacked if it is gzip or zstd (recognised by its first bytes, not by its name). At
/// most `limit` bytes of content are accepted. `-` is standard input.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = std::size_t{4} << 30);

/// A file that appears under its name only when it is complete: it is written beside its place under a
/// temporary name and renamed by `commit`. Without `commit` nothing stays behind.
class AtomicFile {
 public:
  /// Creates the temporary file; the folder must exist.
  static Result<AtomicFile> create(std::filesystem::path path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  ~AtomicFile();

  /// Appends. An error (disk full) is remembered and returned by `commit`.
  void write(std::string_view text);
  /// Flushes and renames into place.
  Result<void> commit();

 private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor);

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  bool failed_ = false;
};

/// Removes the temporary files of every `AtomicFile` that is not committed yet. For a program that is about
/// to be ended by a signal; call it from a thread, not from a signal handler.
void remove_unfinished_files();

/// Writes a whole file atomically.
Result<void> write_file(const std::filesystem::path& path, std::string_view content);

/// Creates a folder and its parents; an error if it cannot be written to.
Result<void> create_output_folder(const std::filesystem::path& path);

}  // namespace vtrain
