#include "core/io/decompress.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/packed.hpp"
#include "tests/support/unpack.hpp"

namespace vtrain {
namespace {

using testing::gzip;
using testing::unpack_all;
using testing::zstd;

constexpr std::size_t kAmple = 1 << 30;

std::string numbers() {
  std::string text;
  for (int i = 0; i < 50'000; ++i)
    text += std::to_string(i * 7919) + ",";
  return text;
}

TEST_CASE("decompress: gzip and zstd are told by their first bytes, all else is left as it is") {
  const std::string text = numbers();
  CHECK(unpack_all(gzip(text), kAmple).value() == text);
  CHECK(unpack_all(zstd(text), kAmple).value() == text);
  CHECK(unpack_all(text, kAmple).value() == text);
  CHECK(unpack_all("", kAmple).value().empty());
  CHECK(unpack_all("\x1f", kAmple).value() == "\x1f");
}

TEST_CASE("decompress: what others packed is an error that names them") {
  const auto message_of = [](const std::string& content) {
    const auto unpacked = unpack_all(content, kAmple);
    return unpacked ? "no error" : unpacked.error().describe();
  };
  using std::string_literals::operator""s;
  CHECK(message_of("\xfd"
                   "7zXZ\0\0\4"s) ==
        "f: packed by xz, which is not read: unpack it, or pack it with gzip or zstd");
  // `printf x | bzip2`: behind the checksum of the block stand a bit that is 0 and its position.
  CHECK(message_of("BZh91AY&SY\x77\x4b\xb0\x14\0\0\0\0\x80"s).starts_with("f: packed by bzip2"));
  CHECK(message_of("PK\x03\x04\x14").starts_with("f: packed by zip"));
}

TEST_CASE("decompress: text that begins like packed data is text") {
  using std::string_literals::operator""s;
  for (const std::string& text :
       {"BZh"s, "BZh9"s, "BZhang,1\n"s, "BZh91AY&SY,job_id,submit_s\n"s, "PKW,2\n"s,
        "\xfd"
        "7zXZ,1\n"s,
        "\x1f\x8b"s, "\x1f\x8b,1\n"s, "\x1f\x8b\x08\xff reserved flags"s, "P*M,1\n"s}) {
    CAPTURE(text);
    CHECK(unpack_all(text, kAmple).value() == text);
  }
}

TEST_CASE("decompress: several gzip members or zstd frames are one text, empty ones included") {
  const std::string text = numbers();
  CHECK(unpack_all(gzip(text) + gzip(text), kAmple).value() == text + text);
  CHECK(unpack_all(zstd(text) + zstd("") + zstd(text), kAmple).value() == text + text);
  CHECK(unpack_all(zstd(""), kAmple).value().empty());
}

TEST_CASE("decompress: zeros behind gzip data are padding, anything else is damage") {
  const std::string text = numbers();
  const std::string padding(1000, '\0');
  CHECK(unpack_all(gzip(text) + padding, kAmple).value() == text);
  CHECK(unpack_all(gzip(text) + gzip(text) + padding, kAmple).value() == text + text);
  CHECK_FALSE(unpack_all(gzip(text) + padding + "x", kAmple));
  CHECK_FALSE(unpack_all(gzip(text) + "nonsense", kAmple));
}

TEST_CASE("decompress: truncated and damaged data are errors that name the file") {
  for (const std::string& packed : {gzip(numbers()), zstd(numbers())}) {
    for (const std::size_t size : {packed.size() / 2, packed.size() - 1, std::size_t{6}}) {
      const auto cut = unpack_all(packed.substr(0, size), kAmple);
      REQUIRE(!cut);
      CHECK(cut.error().file == "f");
      CHECK(cut.error().message.starts_with("truncated"));
    }
  }
  CHECK(!unpack_all("\x1f\x8b\x08\x01nonsense", kAmple));
  CHECK(!unpack_all("\x28\xb5\x2f\xfdnonsense", kAmple));
}

TEST_CASE("decompress: a zstd file may begin with a skippable frame, as those of pzstd do") {
  using std::string_literals::operator""s;
  const std::string skippable = "\x50\x2a\x4d\x18\x04\0\0\0\1\2\3\4"s;
  CHECK(unpack_all(skippable + zstd(numbers()), kAmple).value() == numbers());
}

}  // namespace
}  // namespace vtrain
