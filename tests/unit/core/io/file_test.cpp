#include "core/io/file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "core/io/input.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vtrain {
namespace {

using testing::TemporaryFolder;

Result<std::string> read_file(const std::filesystem::path& path) {
  return vtrain::read_file(path, InputKind::Trace);
}

TEST_CASE("file: what is written is read") {
  const TemporaryFolder folder;
  const std::string text("line\n\0more", 10);
  REQUIRE(write_file(folder / "a", text));
  CHECK(read_file(folder / "a").value() == text);
  REQUIRE(write_file(folder / "a", ""));
  CHECK(read_file(folder / "a").value().empty());
}

TEST_CASE("file: a folder that is not there is an error of the write") {
  const TemporaryFolder folder;
  CHECK(!write_file(folder / "none" / "b", "x"));
}

TEST_CASE("file: an atomic file appears only when it is complete") {
  const TemporaryFolder folder;
  {
    auto file = AtomicFile::create(folder / "a");
    REQUIRE(file);
    file->write("half");
    CHECK(!std::filesystem::exists(folder / "a"));
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  auto file = AtomicFile::create(folder / "a");
  REQUIRE(file);
  file->write("one ");
  file->write("two");
  REQUIRE(file->commit());
  CHECK(read_file(folder / "a").value() == "one two");
}

TEST_CASE("file: what a symbolic link points to is written, and the link stays") {
  const TemporaryFolder folder;
  REQUIRE(write_file(folder / "target", "old"));
  std::filesystem::create_symlink("target", folder / "link");
  std::filesystem::create_symlink("none", folder / "dangling");
  REQUIRE(write_file(folder / "link", "new"));
  REQUIRE(write_file(folder / "dangling", "made"));
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_file(folder / "target").value() == "new");
  CHECK(std::filesystem::is_symlink(folder / "dangling"));
  CHECK(read_file(folder / "none").value() == "made");
  std::filesystem::create_symlink("loop", folder / "loop");
  CHECK(!write_file(folder / "loop" / "x", ""));
}

TEST_CASE("file: a pipe stays one and gets the content") {
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  REQUIRE(write_file(pipe, "through"));
  std::array<char, 16> got{};
  CHECK(::read(reader, got.data(), got.size()) == 7);
  CHECK(std::string(got.data()) == "through");
  ::close(reader);
  CHECK(std::filesystem::is_fifo(pipe));
}

TEST_CASE("file: permissions are those of the file that was there, or of any new file") {
  const TemporaryFolder folder;
  const auto permissions = [&](std::string_view name) {
    return static_cast<int>(std::filesystem::status(folder / name).permissions());
  };
  REQUIRE(write_file(folder / "private", ""));
  ::chmod((folder / "private").c_str(), 0600);
  REQUIRE(write_file(folder / "private", "x"));
  CHECK(permissions("private") == 0600);
  const mode_t before = ::umask(027);
  REQUIRE(write_file(folder / "new", "x"));
  ::umask(before);
  CHECK(permissions("new") == 0640);
}

TEST_CASE("file: the error is that of the write that failed, whatever happened since") {
  const TemporaryFolder folder;
  REQUIRE(write_file(folder / "a", "old"));
  auto file = AtomicFile::create(folder / "a");
  REQUIRE(file);
  // The system refuses to let files grow beyond the limit.
  struct rlimit unlimited {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  struct rlimit limited = unlimited;
  limited.rlim_cur = 1000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limited) == 0);
  file->write(std::string(100'000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, handler);
  errno = ENOENT;
  const auto committed = file->commit();
  REQUIRE(!committed);
  CHECK(committed.error().message == "cannot write: File too large");
  CHECK(read_file(folder / "a").value() == "old");
}

}  // namespace
}  // namespace vtrain
