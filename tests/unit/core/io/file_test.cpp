#include "core/io/file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.hpp"

namespace vtrain {
namespace {

using testing::TemporaryFolder;

void write_gzip(const std::filesystem::path& path, const std::string& text) {
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  CHECK(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  CHECK(gzclose(file) == Z_OK);
}

TEST_CASE("file: what is written is read") {
  const TemporaryFolder folder;
  const std::string text("line\n\0more", 10);
  REQUIRE(write_file(folder / "a", text));
  CHECK(read_file(folder / "a").value() == text);
  REQUIRE(write_file(folder / "a", ""));
  CHECK(read_file(folder / "a").value().empty());
}

TEST_CASE("file: gzip is unpacked, whatever the name") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 50'000; ++i)
    text += std::to_string(i * 7919) + ",";
  write_gzip(folder / "data", text);
  CHECK(read_file(folder / "data").value() == text);
  CHECK(read_raw_file(folder / "data").value().starts_with("\x1f\x8b"));
  const auto too_large = read_file(folder / "data", 1000);
  REQUIRE(!too_large);
  CHECK(too_large.error().file == (folder / "data").string());
}

TEST_CASE("file: errors name the file") {
  const TemporaryFolder folder;
  const auto missing = read_file(folder / "none");
  REQUIRE(!missing);
  CHECK(missing.error().file == (folder / "none").string());
  CHECK(!read_file(folder / ""));  // a folder
  REQUIRE(write_file(folder / "a", "12345"));
  CHECK(!read_file(folder / "a", 4));
  CHECK(read_file(folder / "a", 5));
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

TEST_CASE("file: what is no regular file is not waited for") {
  const TemporaryFolder folder;
  REQUIRE(write_file(folder / "a", "text"));
  CHECK(read_regular_file(folder / "a").value() == "text");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(!read_regular_file(folder / "pipe"));
  CHECK(!read_regular_file(folder / ""));
  CHECK(!read_regular_file(folder / "none"));
}

}  // namespace
}  // namespace vtrain
