#include "core/io/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/io/decompress.hpp"
#include "core/io/file.hpp"
#include "core/io/folder_tree.hpp"

namespace vtrain {
namespace {

constexpr std::size_t kMegabyte = 1'000'000;

/// Limits in the order of `InputKind`. Lines bound the memory of rows, bytes the memory of the text. The
/// largest published traces are Helios with 3.4 million jobs and PAI with a table of 663 MB.
constexpr std::array<InputLimit, 20> kLimits = {{
    {"a trace", 1000 * kMegabyte, 20'000'000},
    {"a throughput table", 64 * kMegabyte, 1'000'000},
    {"a description of a cluster", 128 * kMegabyte, 4'000'000},
    {"a tree of tenants", 64 * kMegabyte, 4'000'000},
    {"a list of outages", 128 * kMegabyte, 4'000'000},
    {"a list of durations", 128 * kMegabyte, 10'000'000},
    {"a generator of traces", 64 * kMegabyte, 1'000'000},
    {"a model", 4 * kMegabyte, 200'000},
    {"a configuration", 4 * kMegabyte, 200'000},
    {"a GPU profile", 64 * kMegabyte, 4'000'000},
    {"a description of devices", 16 * kMegabyte, 1'000'000},
    {"a table of kernels", 128 * kMegabyte, 2'000'000},
    {"a kernel trace", 64 * kMegabyte, 5'000'000},
    {"an all-reduce table", 16 * kMegabyte, 1'000'000},
    {"a file of measured cases", 64 * kMegabyte, 50'000},
    {"a log of a training run", 512 * kMegabyte, 10'000'000},
    {"a calibration", 16 * kMegabyte, 1'000'000},
    {"a record of the cache", 64 * kMegabyte, 4'000'000},
    {"a run.json", 4 * kMegabyte, 100'000},
    {"an instance", 64 * kMegabyte, 4'000'000},
}};

/// Largest part of a content that is kept before the rest is measured.
constexpr std::size_t kKeptAtOnce = 256 * kMegabyte;

/// Largest piece read at a time.
constexpr std::size_t kPiece = std::size_t{1} << 18;
/// Most bytes that a packed one becomes with gzip (zlib's technical details); zstd has no such limit.
constexpr std::size_t kMostPacked = 1032;

std::size_t& raised_bytes() {
  static std::size_t bytes = 0;
  return bytes;
}

std::string bytes_text(std::size_t bytes) {
  if (bytes % (1000 * kMegabyte) == 0) return fmt::format("{} GB", bytes / (1000 * kMegabyte));
  if (bytes % kMegabyte == 0) return fmt::format("{} MB", bytes / kMegabyte);
  return with_thousands(static_cast<std::int64_t>(bytes)) + " bytes";
}

Error cannot(const std::string& name, std::string_view action, int code) {
  Error error = io_error(name, action, code);
  if (code == ENOENT) error.kind = ErrorKind::NotFound;
  return error;
}

Error not_a_file(const std::string& name, mode_t mode) {
  const std::string_view hint = S_ISFIFO(mode) ? "; pipes are read as '-', /dev/stdin or /dev/fd/N" : "";
  return {.file = name, .message = fmt::format("expected a regular file, found {}{}", kind_of(mode), hint)};
}

/// The descriptor that a path names: standard input, or an inherited one.
std::optional<int> named_descriptor(const std::filesystem::path& path) {
  const std::string text = path.string();
  if (text == "-" || text == "/dev/stdin") return STDIN_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!text.starts_with(folder)) continue;
    constexpr int kMost = 1 << 20;
    const auto number = parse_integer(std::string_view(text).substr(folder.size()), 0, kMost);
    if (number) return static_cast<int>(*number);
  }
  return std::nullopt;
}

/// True for a pipe, a socket or a terminal, which is read directly from its descriptor.
bool is_stream(int descriptor, mode_t mode) {
  return S_ISFIFO(mode) || S_ISSOCK(mode) || (S_ISCHR(mode) && ::isatty(descriptor) == 1);
}

Error beyond_limit(const std::string& name, std::string_view found, const InputLimit& limit) {
  return {.kind = ErrorKind::Io,
          .file = name,
          .message = fmt::format("{}, the limit of {}; --max-input raises it", found, limit.what)};
}

Error too_many_bytes(const std::string& name, std::string_view verb, const InputLimit& limit) {
  return beyond_limit(name, fmt::format("{} more than {}", verb, bytes_text(limit.bytes)), limit);
}

/// Unpacks a file while it is read.
class InputStream {
 public:
  InputStream(InputFile& file, const InputLimit& limit,
              const std::function<void(std::string_view)>& take_packed)
      : file_(file), limit_(limit), take_packed_(take_packed), buffer_(kPiece, '\0') {}

  /// Recognises the format of a packed file.
  Result<void> open() {
    std::size_t used = 0;
    while (used < kPackerBytes && !ended_) {
      const auto got = read_packed({buffer_.data() + used, buffer_.size() - used});
      if (!got) return fail(got.error());
      used += *got;
    }
    packed_ = std::string_view(buffer_).substr(0, used);
    auto unpacker = make_unpacker(packed_, file_.name());
    if (!unpacker) return fail(std::move(unpacker.error()));
    unpacker_ = *std::move(unpacker);
    return {};
  }

  bool is_packed() const { return unpacker_ != nullptr; }

  /// The next bytes of the content; 0 at its end.
  Result<std::size_t> read(std::span<char> room) {
    if (!unpacker_) return read_plain(room);
    for (;;) {
      const auto made = unpacker_->unpack(packed_, room);
      if (!made || *made > 0) return made;
      if (!packed_.empty()) continue;
      if (ended_) {
        if (auto finished = unpacker_->finish(); !finished) return fail(std::move(finished.error()));
        return 0;
      }
      const auto got = read_packed(buffer_);
      if (!got) return got;
      packed_ = std::string_view(buffer_).substr(0, *got);
    }
  }

 private:
  Result<std::size_t> read_plain(std::span<char> room) {
    if (packed_.empty()) return ended_ ? Result<std::size_t>(0) : read_packed(room);
    const std::size_t size = packed_.copy(room.data(), room.size());
    packed_.remove_prefix(size);
    return size;
  }

  Result<std::size_t> read_packed(std::span<char> room) {
    auto got = file_.read(room);
    if (!got) return got;
    ended_ = *got == 0;
    bytes_read_ += *got;
    if (bytes_read_ > limit_.bytes) return fail(too_many_bytes(file_.name(), "has", limit_));
    if (take_packed_) take_packed_({room.data(), *got});
    return got;
  }

  InputFile& file_;
  const InputLimit& limit_;
  const std::function<void(std::string_view)>& take_packed_;
  std::string buffer_;
  std::string_view packed_;  ///< bytes that were read and are not unpacked yet
  std::unique_ptr<Unpacker> unpacker_;
  std::size_t bytes_read_ = 0;
  bool ended_ = false;
};

/// Reads the content of one file within a limit.
class ContentReader {
 public:
  ContentReader(InputFile& file, const InputLimit& limit, const InputWatch& watch)
      : file_(file), limit_(limit), watch_(watch) {}

  Result<std::string> read() {
    if (file_.size().value_or(0) > limit_.bytes) return fail(too_many_bytes(file_.name(), "has", limit_));
    InputStream stream(file_, limit_, watch_.take_packed);
    if (auto opened = stream.open(); !opened) return fail(std::move(opened.error()));
    const std::size_t most = most_kept();
    // Only what is written to takes memory, so that nothing has to be copied as the content grows.
    const std::size_t expected =
        !file_.size() ? limit_.bytes : *file_.size() * (stream.is_packed() ? kMostPacked : 1);
    std::string content;
    content.reserve(std::min(expected, most) + kPiece);
    for (;;) {
      const auto got = append(stream, content);
      if (!got) return fail(got.error());
      if (*got == 0) return content;
      if (content.size() > most) return read_large(stream, std::move(content));
    }
  }

 private:
  /// Size that is kept before the rest is measured. Inputs that can't be read twice must be kept as a whole.
  std::size_t most_kept() const { return file_.size() ? kKeptAtOnce : std::max(kKeptAtOnce, raised_bytes()); }

  /// Measures the rest of a content, then reads it as a whole.
  Result<std::string> read_large(InputStream& stream, std::string content) {
    if (!file_.size()) return fail(too_large_for_pipe());
    std::string piece(kPiece, '\0');
    for (;;) {
      const auto got = take(stream, piece);
      if (!got) return fail(got.error());
      if (*got == 0) break;
    }
    if (watch_.check_beginning) {
      if (auto checked = watch_.check_beginning(content); !checked) return fail(std::move(checked.error()));
    }
    content = std::string();
    const std::size_t size = std::exchange(bytes_, 0);
    lines_ = 0;
    if (auto rewound = file_.rewind(); !rewound) return fail(std::move(rewound.error()));
    const std::function<void(std::string_view)> no_watch;
    InputStream again(file_, limit_, no_watch);
    if (auto opened = again.open(); !opened) return fail(std::move(opened.error()));
    content.reserve(size + kPiece);
    for (;;) {
      const auto got = append(again, content);
      if (!got) return fail(got.error());
      if (*got == 0) return content;
    }
  }

  /// Appends a piece; returns its size.
  Result<std::size_t> append(InputStream& stream, std::string& content) {
    const std::size_t used = content.size();
    content.resize(used + kPiece);
    const auto got = take(stream, {content.data() + used, kPiece});
    content.resize(used + got.value_or(0));
    return got;
  }

  /// Reads a piece and counts it.
  Result<std::size_t> take(InputStream& stream, std::span<char> room) {
    const auto got = stream.read(room);
    if (!got) return got;
    bytes_ += *got;
    lines_ += static_cast<std::size_t>(
        std::count(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(*got), '\n'));
    if (bytes_ > limit_.bytes)
      return fail(too_many_bytes(file_.name(), stream.is_packed() ? "unpacks to" : "has", limit_));
    if (lines_ > limit_.lines) {
      const auto most = static_cast<std::int64_t>(limit_.lines);
      return fail(
          beyond_limit(file_.name(), fmt::format("has more than {} lines", with_thousands(most)), limit_));
    }
    return got;
  }

  Error too_large_for_pipe() const {
    return {
        .kind = ErrorKind::Io,
        .file = file_.name(),
        .message = fmt::format("more than {} come through a pipe, the limit of one; name a file, or raise "
                               "the limit with --max-input",
                               bytes_text(most_kept()))};
  }

  InputFile& file_;
  const InputLimit& limit_;
  const InputWatch& watch_;
  std::size_t bytes_ = 0;
  std::size_t lines_ = 0;
};

}  // namespace

InputLimit input_limit(InputKind kind) {
  InputLimit limit = kLimits[static_cast<std::size_t>(kind)];
  if (const std::size_t raised = raised_bytes(); raised > limit.bytes) {
    const double factor = static_cast<double>(raised) / static_cast<double>(limit.bytes);
    limit.lines = static_cast<std::size_t>(static_cast<double>(limit.lines) * factor);
    limit.bytes = raised;
  }
  return limit;
}

void raise_input_limits(std::size_t bytes) {
  raised_bytes() = bytes;
}

std::size_t raised_input_bytes() {
  return raised_bytes();
}

bool is_read_once(const std::filesystem::path& path) {
  const auto descriptor = named_descriptor(path);
  if (!descriptor) return false;
  struct stat status {};
  return path == "-" || (::fstat(*descriptor, &status) == 0 && !S_ISREG(status.st_mode));
}

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
  const auto inherited = named_descriptor(path);
  struct stat status {};
  int descriptor = -1;
  if (inherited && (is_read_once(path) || ::fstat(*inherited, &status) != 0)) {
    // Not opened by its name, which fails for sockets.
    descriptor = ::fcntl(*inherited, F_DUPFD_CLOEXEC, 0);
  } else {
    // A named pipe would be waited for without O_NONBLOCK.
    descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }
  if (descriptor < 0) {
    const int code = errno;
    const bool is_socket = code == ENXIO && ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
    return fail(is_socket ? not_a_file(path.string(), status.st_mode) : cannot(path.string(), "open", code));
  }
  InputFile file(path.string(), descriptor);
  if (::fstat(descriptor, &status) != 0) return fail(cannot(file.name_, "open", errno));
  if (S_ISREG(status.st_mode)) {
    file.begin_ = std::max<std::int64_t>(::lseek(descriptor, 0, SEEK_CUR), 0);
    file.size_ = static_cast<std::size_t>(std::max<std::int64_t>(status.st_size - file.begin_, 0));
    return file;
  }
  if (!inherited || !is_stream(descriptor, status.st_mode))
    return fail(not_a_file(file.name_, status.st_mode));
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      begin_(other.begin_),
      size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::size_t> InputFile::read(std::span<char> room) {
  for (;;) {
    const ssize_t got = ::read(descriptor_, room.data(), room.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      struct pollfd wanted {
        .fd = descriptor_, .events = POLLIN, .revents = 0
      };
      ::poll(&wanted, 1, -1);
    } else if (errno != EINTR) {
      return fail(cannot(name_, "read", errno));
    }
  }
}

Result<void> InputFile::rewind() {
  if (::lseek(descriptor_, begin_, SEEK_SET) < 0) return fail(cannot(name_, "read", errno));
  return {};
}

Result<std::string> read_file(const std::filesystem::path& path, InputKind kind, const InputWatch& watch) {
  auto file = InputFile::open(path);
  if (!file) return fail(std::move(file.error()));
  const InputLimit limit = input_limit(kind);
  return ContentReader(*file, limit, watch).read();
}

}  // namespace vtrain
