/// Whole files out, and groups of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/unfinished.hpp"

namespace vtrain {

/// An error that names the file, a `what`, that is given twice, be it under two names.
Result<void> check_files_differ(std::string_view what, const std::vector<std::string>& files);

/// The descriptor of standard output or standard error, if the path leads to where that goes: `/dev/stdout`,
/// or the name of the file that a shell redirected it to.
std::optional<int> standard_stream(const std::filesystem::path& path);

/// The error of a system call that failed with the code `errno`; `action` is what could not be done. A full
/// disk is nothing that the user said wrong.
Error io_error(const std::filesystem::path& path, std::string_view action, int code);

/// What a chain of symbolic links ends at, which need not exist; the path itself if it is no link.
std::filesystem::path link_target(std::filesystem::path path);

/// A new file that is open for writing.
class OutputFile {
 public:
  /// Takes a descriptor; `path` names the file in errors.
  OutputFile(std::filesystem::path path, int descriptor);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) = delete;
  /// Closes the file, without what was collected.
  ~OutputFile();

  /// Appends; small pieces are collected. An error (disk full) is remembered and returned by `finish`.
  void write(std::string_view text);
  /// Writes what is left and closes the file.
  Result<void> finish();

 private:
  void write_now(std::string_view text);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string pending_;
  int failure_ = 0;  ///< `errno` of the first write that failed
};

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

  /// Appends; an error is returned by `commit`.
  void write(std::string_view text) { file_.write(text); }
  /// Writes what is left and renames the file into place.
  Result<void> commit();

 private:
  AtomicFile(OutputFile file, UnfinishedWork unfinished, std::filesystem::path path,
             std::filesystem::path temporary);

  OutputFile file_;
  UnfinishedWork unfinished_;
  std::filesystem::path path_;       ///< what `temporary_` becomes, or what is written as it comes
  std::filesystem::path temporary_;  ///< empty: `path_` is not to be replaced
};

/// Writes a whole file atomically.
Result<void> write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace vtrain
