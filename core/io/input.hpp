/// Reads whole files: opened, unpacked and read in pieces, up to the limit of their kind.
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

/// Kinds of input files. Each has a limit.
enum class InputKind : std::uint8_t {
  Trace,          ///< a trace of jobs, or a table that belongs to one
  Throughputs,    ///< a throughput table
  Cluster,        ///< a description of a cluster, or a table of its nodes
  Tenants,        ///< tenants with their quotas
  Outages,        ///< a list of outages
  Durations,      ///< durations of past jobs, for `gittins`
  Shape,          ///< a generator of traces
  Model,          ///< a model
  Configuration,  ///< a configuration for `predict`
  Profile,        ///< a GPU profile, or a recording
  Devices,        ///< a description of devices
  KernelTable,    ///< a published table of kernels
  KernelTrace,    ///< a kernel trace
  Collectives,    ///< an all-reduce table
  Measurements,   ///< measured cases
  TrainingLog,    ///< a log of a training run
  Calibration,    ///< the factors of a calibration
  CachedCurves,   ///< a record of the cache
  Provenance,     ///< the `run.json` of an earlier run
  Instance,       ///< a situation to decide
};

/// Largest unpacked size of files of a kind.
struct InputLimit {
  std::string_view what;  ///< the kind, with its article: `a trace`
  std::size_t bytes = 0;
  std::size_t lines = 0;
};

/// The limit of a kind, after `raise_input_limits`.
InputLimit input_limit(InputKind kind);

/// Raises every limit below `bytes` to `bytes`, and the lines in proportion. Call it before other threads
/// start and any file is read.
void raise_input_limits(std::size_t bytes);

/// Argument of `raise_input_limits`; 0 if it was not called.
std::size_t raised_input_bytes();

/// True if a path names standard input (`-`, `/dev/stdin`) or an inherited descriptor (`/dev/fd/N`) whose
/// bytes can be read only once.
bool is_read_once(const std::filesystem::path& path);

/// A file that is open for reading. Regular files are read; by `-`, `/dev/stdin` and `/dev/fd/N` also pipes,
/// sockets and terminals. Anything else is an immediate error, without waiting.
class InputFile {
 public:
  /// Opens a file. For anything else, the error names its kind.
  static Result<InputFile> open(const std::filesystem::path& path);
  /// Leaves the other object without a file to close.
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) = delete;
  ~InputFile();

  /// The next bytes as they are on disk; 0 at the end.
  Result<std::size_t> read(std::span<char> room);
  /// Number of bytes of a regular file; none for others.
  std::optional<std::size_t> size() const { return size_; }
  /// Goes back to the position at which reading began; only for files with a size.
  Result<void> rewind();
  /// Name as given, for errors.
  const std::string& name() const { return name_; }

 private:
  InputFile(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}

  std::string name_;
  int descriptor_ = -1;
  std::int64_t begin_ = 0;  ///< position at which reading began
  std::optional<std::size_t> size_;
};

/// Callbacks during `read_file`.
struct InputWatch {
  /// Checks the beginning of a large content (over a quarter of a gigabyte, within the limit) before the rest
  /// is kept. Its error ends the reading.
  std::function<Result<void>(std::string_view)> check_beginning{};
  /// Takes the bytes of the file as they are on disk, piece by piece, once.
  std::function<void(std::string_view)> take_packed{};
};

/// The content of a file, unpacked if it is gzip or zstd (recognised by its first bytes, not by its name).
///
/// Beyond a quarter of a gigabyte, the rest is measured before it is kept, so that rejected files take no
/// more memory than that. Pipes cannot be read twice: that size is their limit, unless `raise_input_limits`
/// allows more.
Result<std::string> read_file(const std::filesystem::path& path, InputKind kind,
                              const InputWatch& watch = {});

}  // namespace vtrain
