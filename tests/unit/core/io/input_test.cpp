#include "core/io/input.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "core/base/numbers.hpp"
#include "core/io/file.hpp"
#include "tests/support/packed.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vtrain {
namespace {

using testing::gzip;
using testing::TemporaryFolder;
using testing::zstd;

/// A descriptor that is closed at the end of its life.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) { REQUIRE(number >= 0); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(number_); }
  int number() const { return number_; }
  std::string path() const { return "/dev/fd/" + std::to_string(number_); }

 private:
  int number_;
};

/// The descriptor of a pipe that provides `text`.
class Pipe {
 public:
  explicit Pipe(std::string text) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    reader_ = ends[0];
    before_ = std::signal(SIGPIPE, SIG_IGN);  // of what is refused not all is read
    writer_ = std::thread([text = std::move(text), to = ends[1]] {
      for (std::string_view rest = text; !rest.empty();) {
        const ssize_t written = ::write(to, rest.data(), rest.size());
        if (written <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(written));
      }
      ::close(to);
    });
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    ::close(reader_);
    writer_.join();
    std::signal(SIGPIPE, before_);
  }
  std::string path() const { return "/dev/fd/" + std::to_string(reader_); }

 private:
  int reader_ = -1;
  void (*before_)(int) = SIG_DFL;
  std::thread writer_;
};

std::string error_of(const std::filesystem::path& path, InputKind kind = InputKind::Model) {
  const auto content = read_file(path, kind);
  return content ? "no error" : content.error().message;
}

TEST_CASE("input: gzip and zstd are unpacked, whatever the name") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 50'000; ++i)
    text += std::to_string(i * 7919) + ",";
  for (const std::string& content : {text, gzip(text), zstd(text), std::string()}) {
    REQUIRE(write_file(folder / "data", content));
    CHECK(read_file(folder / "data", InputKind::Model).value() == (content.empty() ? content : text));
  }
}

TEST_CASE("input: a missing file is not found, and its error has the name") {
  const TemporaryFolder folder;
  const auto missing = read_file(folder / "none", InputKind::Trace);
  REQUIRE(!missing);
  CHECK(missing.error().file == (folder / "none").string());
  CHECK(missing.error().kind == ErrorKind::NotFound);
}

TEST_CASE("input: what is no file is an error that says what it is, at once") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  struct sockaddr_un address {};
  address.sun_family = AF_UNIX;
  const std::string name = (folder / "socket").string();
  REQUIRE(name.size() < sizeof(address.sun_path));
  name.copy(address.sun_path, name.size());
  REQUIRE(::bind(listener.number(), reinterpret_cast<const struct sockaddr*>(&address), sizeof(address)) ==
          0);
  CHECK(error_of(folder / "pipe") ==
        "expected a regular file, found a named pipe; pipes are read as '-', /dev/stdin or /dev/fd/N");
  CHECK(error_of(folder / "socket") == "expected a regular file, found a socket");
  CHECK(error_of("/dev/zero") == "expected a regular file, found a device");
  CHECK(error_of("/dev/null") == "expected a regular file, found a device");
  CHECK(error_of(folder.path()) == "expected a regular file, found a folder");
  // An inherited device or folder is none, either.
  const Descriptor zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  CHECK(error_of(zero.path()) == "expected a regular file, found a device");
  const Descriptor directory(::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(error_of(directory.path()) == "expected a regular file, found a folder");
  CHECK(error_of("/dev/fd/99999") == "cannot open: Bad file descriptor");
}

TEST_CASE("input: inherited pipes and sockets are read, packed or not") {
  const std::string text(200'000, 'x');
  for (const std::string& content : {text, gzip(text), zstd(text)}) {
    const Pipe pipe(content);
    CHECK(is_read_once(pipe.path()));
    std::string packed;
    const auto read = read_file(pipe.path(), InputKind::Model,
                                {.take_packed = [&](std::string_view bytes) { packed += bytes; }});
    CHECK(read.value() == text);
    CHECK(packed == content);
  }
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const Descriptor reader(ends[0]);
  REQUIRE(::write(ends[1], "text", 4) == 4);
  ::close(ends[1]);
  CHECK(read_file(reader.path(), InputKind::Model).value() == "text");
}

TEST_CASE("input: limits count unpacked bytes and lines") {
  // Those of a model: 4 MB and 200,000 lines.
  const TemporaryFolder folder;
  constexpr std::size_t kBytes = 4'000'000;
  const std::string fits(kBytes, 'x');
  const std::string too_large = fits + 'x';
  const std::string lines(200'001, '\n');
  for (const bool is_packed : {false, true}) {
    const auto message_of = [&](const std::string& text) {
      if (!is_packed) {
        REQUIRE(write_file(folder / "f", text));
        return error_of(folder / "f");
      }
      REQUIRE(write_file(folder / "f", gzip(text)));
      const std::string of_gzip = error_of(folder / "f");
      REQUIRE(write_file(folder / "f", zstd(text)));
      CHECK(error_of(folder / "f") == of_gzip);
      return of_gzip;
    };
    CHECK(message_of(fits) == "no error");
    CHECK(message_of(too_large) == std::string(is_packed ? "unpacks to" : "has") +
                                       " more than 4 MB, the limit of a model; --max-input raises it");
    CHECK(message_of(lines.substr(1)) == "no error");
    CHECK(message_of(lines) == "has more than 200,000 lines, the limit of a model; --max-input raises it");
  }
  const Pipe pipe(too_large);
  CHECK(error_of(pipe.path()) == "has more than 4 MB, the limit of a model; --max-input raises it");
  CHECK(read_file(folder / "f", InputKind::Model).error().kind == ErrorKind::Io);
}

TEST_CASE("input: a file that never ends is refused by what was read of it") {
  // A gzip file may be padded with any number of zeros.
  const TemporaryFolder folder;
  REQUIRE(write_file(folder / "f", gzip("x") + std::string(4'000'000, '\0')));
  CHECK(error_of(folder / "f") == "has more than 4 MB, the limit of a model; --max-input raises it");
  const Pipe pipe(gzip("x") + std::string(5'000'000, '\0'));
  CHECK(error_of(pipe.path()) == "has more than 4 MB, the limit of a model; --max-input raises it");
}

TEST_CASE("input: of a large content the beginning is looked at before the rest is read") {
  const TemporaryFolder folder;
  constexpr std::size_t kSize = 300'000'000;
  std::string packed;
  for (std::size_t size = 0; size < kSize; size += 1'000'000)
    packed += zstd(std::string(1'000'000, 'x'));
  for (const bool is_good : {true, false}) {
    REQUIRE(write_file(folder / "f", packed));
    std::size_t shown = 0;
    const auto read = read_file(folder / "f", InputKind::Trace,
                                {.check_beginning = [&](std::string_view beginning) -> Result<void> {
                                  shown = beginning.size();
                                  if (is_good) return {};
                                  return fail({.message = "no trace"});
                                }});
    CHECK(shown > 256'000'000);
    CHECK(shown < 257'000'000);
    CHECK(read.has_value() == is_good);
    if (is_good) CHECK(read->size() == kSize);
    if (is_good) CHECK(read->find_first_not_of('x') == std::string::npos);
  }
  // A pipe can't be read again.
  const Pipe pipe(packed);
  CHECK(error_of(pipe.path(), InputKind::Trace).starts_with("more than 256 MB come through a pipe"));
}

TEST_CASE("input: the documentation has the table of limits") {
  const std::string page = read_file(VTRAIN_SOURCE_DIR "/docs/files.md", InputKind::Configuration).value();
  for (int i = 0; i <= static_cast<int>(InputKind::Instance); ++i) {
    const InputLimit limit = input_limit(static_cast<InputKind>(i));
    const std::size_t megabytes = limit.bytes / 1'000'000;
    const std::string bytes =
        megabytes % 1000 == 0 ? std::to_string(megabytes / 1000) + " GB" : std::to_string(megabytes) + " MB";
    const std::string row = "\n| " + std::string(limit.what) + " | " + bytes + " | " +
                            with_thousands(static_cast<std::int64_t>(limit.lines)) + " | ";
    CAPTURE(row);
    CHECK(page.find(row) != std::string::npos);
  }
}

TEST_CASE("input: raised limits let more bytes and as many more lines in") {
  const TemporaryFolder folder;
  REQUIRE(write_file(folder / "f", std::string(4'000'001, '\n')));
  raise_input_limits(100'000'000);  // 25 times 4 MB
  const InputLimit limit = input_limit(InputKind::Model);
  const auto content = read_file(folder / "f", InputKind::Model);
  const InputLimit larger = input_limit(InputKind::Trace);
  raise_input_limits(0);
  CHECK(limit.bytes == 100'000'000);
  CHECK(limit.lines == 5'000'000);
  CHECK(content.has_value());
  CHECK(larger.bytes == 1'000'000'000);  // never lowered
  CHECK(input_limit(InputKind::Model).bytes == 4'000'000);
}

}  // namespace
}  // namespace vtrain
