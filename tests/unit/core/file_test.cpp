#include "core/file.hpp"

#include <zlib.h>

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

TEST_CASE("file: output folders are created with their parents") {
  const TemporaryFolder folder;
  CHECK(create_output_folder(folder / "x" / "y"));
  CHECK(std::filesystem::is_directory(folder / "x" / "y"));
  REQUIRE(write_file(folder / "f", ""));
  CHECK(!create_output_folder(folder / "f"));
}

}  // namespace
}  // namespace vtrain
