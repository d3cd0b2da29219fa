#include "tools/experiment/file_hash.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/temporary_folder.hpp"

using namespace vtrain;

TEST_CASE("file_hash: SHA-256 of a text and of a file that holds it") {
  // FIPS 180-2, appendix B.1.
  const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  CHECK(sha256_of_text("abc") == abc);
  const testing::TemporaryFolder folder;
  folder.write("abc", "abc");
  const auto hash = sha256_of_file((folder.path() / "abc").string());
  REQUIRE(hash);
  CHECK(*hash == abc);
}

TEST_CASE("file_hash: what cannot be read to its end has no hash") {
  const testing::TemporaryFolder folder;
  // A folder can be opened, but not read.
  for (const std::string& path : {folder.path().string(), (folder.path() / "absent").string()}) {
    CAPTURE(path);
    const auto hash = sha256_of_file(path);
    REQUIRE_FALSE(hash);
    CHECK(hash.error().file == path);
  }
}
