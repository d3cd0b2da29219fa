/// Whole files in: opened, unpacked and read in pieces, never beyond the limit of their kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// Kinds of files that are read. Each has a limit.
enum class InputKind : std::uint8_t {
  Trace,          ///< a trace of jobs, or a table that belongs to one
  Throughputs,    ///< a throughput table
  Cluster,        ///< a description of a cluster, or a table of its nodes
  Tenants,        ///< tenants with their quotas
  Outages,        ///< a list of outages
  Durations,      ///< durations of past jobs, of which `gittins` learns
  Shape,          ///< a generator of traces
  Model,          ///< a model
  Configuration,  ///< what `predict` reads
  Profile,        ///< a GPU profile, or a recording
  Devices,        ///< a description of devices
  KernelTable,    ///< a published table of kernels
  KernelTrace,    ///< a kernel trace
  Collectives,    ///< an all-reduce table
  Measurements,   ///< measured cases
  Calibration,    ///< the factors of a calibration
  CachedCurves,   ///< a record of the cache
  Provenance,     ///< the `run.json` of an earlier run
  Instance,       ///< a situation to decide
};

/// The most that a file of a kind may hold when it is unpacked.
struct InputLimit {
  std::string_view what;  ///< the kind, with its article: `a trace`
  std::size_t bytes = 0;
  std::size_t lines = 0;
};

/// The limit of a kind, raised where `raise_input_limits` says so.
InputLimit input_limit(InputKind kind);

/// Raises every limit below `bytes` to that, and the lines in proportion. To be called before other threads
/// start and any file is read.
void raise_input_limits(std::size_t bytes);

/// The bytes that `raise_input_limits` was given, 0 if it was not called.
std::size_t raised_input_bytes();

/// Whether a path names standard input (`-`, `/dev/stdin`) or an inherited descriptor (`/dev/fd/N`) whose
/// bytes can be read only once.
bool is_read_once(const std::filesystem::path& path);

/// A file that is open for reading. Regular files are read, and by `-`, `/dev/stdin` and `/dev/fd/N` also
/// pipes, sockets and terminals. Anything else is an error at once: nothing is waited for.
class InputFile {
 public:
  /// Opens it. The error of what is no file says what it is.
  static Result<InputFile> open(const std::filesystem::path& path);
  /// What is moved from has nothing to close.
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) = delete;
  ~InputFile();

  /// The next bytes as they are on disk; 0 at the end.
  Result<std::size_t> read(std::span<char> room);
  /// The number of bytes, of a regular file.
  std::optional<std::size_t> size() const { return size_; }
  /// Goes back to where reading began; only for what has a size.
  Result<void> rewind();
  /// As given, for errors.
  const std::string& name() const { return name_; }

 private:
  InputFile(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}

  std::string name_;
  int descriptor_ = -1;
  std::int64_t begin_ = 0;  ///< position at which reading began
  std::optional<std::size_t> size_;
};

/// What the caller of `read_file` does on the way.
struct InputWatch {
  /// Looks at the beginning of a content within the limit but too large to be kept at once, before the rest
  /// is kept. Its error ends the reading.
  std::function<Result<void>(std::string_view)> check_beginning{};
  /// Takes the bytes of the file as they are on disk, piece by piece, once.
  std::function<void(std::string_view)> take_packed{};
};

/// The content of a file, unpacked if it is gzip or zstd (recognised by its first bytes, not by its name).
///
/// Of what is larger than a quarter of a gigabyte the rest is measured before it is kept, so that what is
/// refused takes no more memory than that. Pipes can't be read twice: they end there unless
/// `raise_input_limits` allows more.
Result<std::string> read_file(const std::filesystem::path& path, InputKind kind,
                              const InputWatch& watch = {});

}  // namespace vtrain
