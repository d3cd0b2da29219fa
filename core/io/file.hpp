/// Writes whole files, and groups of files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/unfinished.hpp"

namespace vtrain {

/// Error if a file is given twice, even under two names. `what` is the kind of file in the message.
Result<void> check_files_differ(std::string_view what, const std::vector<std::string>& files);

/// The descriptor of standard output or standard error, if the path leads to the destination of that stream:
/// `/dev/stdout`, or the file to which a shell redirected it.
std::optional<int> standard_stream(const std::filesystem::path& path);

/// The error of a system call that failed with this `errno`; `action` is the failed action. A full disk is no
/// error of the user's input.
Error io_error(const std::filesystem::path& path, std::string_view action, int code);

/// The target of a chain of symbolic links, which may not exist; the path itself if it is no link.
std::filesystem::path link_target(std::filesystem::path path);

/// A new file that is open for writing.
class OutputFile {
 public:
  /// Takes a descriptor; `path` names the file in errors.
  OutputFile(std::filesystem::path path, int descriptor);
  /// Takes the other's descriptor; the other then has no file.
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) = delete;
  /// Closes the file, without writing collected pieces.
  ~OutputFile();

  /// Appends; small pieces are collected. An error (disk full) is remembered and returned by `finish`.
  void write(std::string_view text);
  /// Writes the collected pieces and closes the file.
  Result<void> finish();

 private:
  void write_now(std::string_view text);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string pending_;
  int failure_ = 0;  ///< `errno` of the first write that failed
};

/// A file that appears under its name only when it is complete: it is written next to its place under a
/// temporary name and renamed by `commit`. Without `commit` it is removed.
///
/// A symbolic link stays a link: its target is written. A device, a pipe or a socket cannot be replaced, so
/// it is opened and written directly. So is the destination of standard output or standard error, after its
/// earlier content.
class AtomicFile {
 public:
  /// Creates the temporary file; the folder must exist.
  static Result<AtomicFile> create(const std::filesystem::path& path);

  /// Appends; an error is returned by `commit`.
  void write(std::string_view text) { file_.write(text); }
  /// Writes the collected pieces and renames the file into place.
  Result<void> commit();

 private:
  AtomicFile(OutputFile file, UnfinishedWork unfinished, std::filesystem::path path,
             std::filesystem::path temporary);

  OutputFile file_;
  UnfinishedWork unfinished_;
  std::filesystem::path path_;       ///< final path of `temporary_`, or a path that is written directly
  std::filesystem::path temporary_;  ///< empty: `path_` is not to be replaced
};

/// Writes a whole file atomically.
Result<void> write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace vtrain
