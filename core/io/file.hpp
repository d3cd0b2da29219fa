/// Whole files in, whole files out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// The most bytes that a file may have, and its content when unpacked, where nothing else is said.
inline constexpr std::size_t kMostContent = std::size_t{4} << 30;

/// The content of a file, unpacked if it is gzip or zstd (recognised by its first bytes, not by its name). At
/// most `limit` bytes of content are accepted. `-` is standard input.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = kMostContent);

/// An error that names the file, a `what`, that is given twice, be it under two names.
Result<void> check_files_differ(std::string_view what, const std::vector<std::string>& files);

/// The bytes of a file as they are, packed or not; otherwise as `read_file`.
Result<std::string> read_raw_file(const std::filesystem::path& path, std::size_t limit = kMostContent);

/// The descriptor of standard output or standard error, if the path leads to where that goes: `/dev/stdout`,
/// or the name of the file that a shell redirected it to.
std::optional<int> standard_stream(const std::filesystem::path& path);

/// A file that appears under its name only when it is complete: it is written beside its place under a
/// temporary name and renamed by `commit`. Without `commit` nothing stays behind.
///
/// A symbolic link stays one: what it points to is written. What is there and cannot be replaced by a file
/// (a device, a pipe, a socket) is opened and written as it comes. So is what standard output or standard
/// error goes to, behind what is there already.
class AtomicFile {
 public:
  /// Creates the temporary file; the folder must exist.
  static Result<AtomicFile> create(const std::filesystem::path& path);
  /// What is moved from has nothing to write or to remove any more.
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();

  /// Appends; small pieces are collected. An error (disk full) is remembered and returned by `commit`.
  void write(std::string_view text);
  /// Writes what is left and closes the file. Whatever can go wrong but for the renaming has gone wrong then.
  Result<void> finish();
  /// The same, unless that has been done, and renames the file into place.
  Result<void> commit();

 private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int descriptor);
  void write_now(std::string_view text);

  std::filesystem::path path_;       ///< what `temporary_` becomes, or what is written as it comes
  std::filesystem::path temporary_;  ///< empty: `path_` is not to be replaced
  int descriptor_ = -1;
  std::string pending_;
  int failure_ = 0;  ///< `errno` of the first write that failed
};

/// Files that appear together: none of them before all are complete.
class FileGroup {
 public:
  /// Takes a file of which all is written.
  Result<void> add(AtomicFile file);
  /// Takes a whole file.
  Result<void> add(const std::filesystem::path& path, std::string_view content);
  /// Renames all into place.
  Result<void> commit();

 private:
  std::vector<AtomicFile> files_;
};

/// Removes the temporary files of every `AtomicFile` that is not committed yet. For a program that is about
/// to be ended by a signal; call it from a thread, not from a signal handler.
void remove_unfinished_files();

/// Writes a whole file atomically.
Result<void> write_file(const std::filesystem::path& path, std::string_view content);

/// Creates a folder and its parents; an error if it cannot be written to.
Result<void> create_output_folder(const std::filesystem::path& path);

}  // namespace vtrain
