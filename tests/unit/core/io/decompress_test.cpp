#include "core/io/decompress.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/packed.hpp"

namespace vtrain {
namespace {

using testing::gzip;
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
  CHECK(decompress(gzip(text), "f", kAmple).value() == text);
  CHECK(decompress(zstd(text), "f", kAmple).value() == text);
  CHECK(decompress(text, "f", kAmple).value() == text);
  CHECK(decompress("", "f", kAmple).value().empty());
  CHECK(decompress("\x1f", "f", kAmple).value() == "\x1f");
}

TEST_CASE("decompress: what others packed is an error that names them") {
  const auto message_of = [](const std::string& content) {
    return decompress(content, "f", kAmple).error().describe();
  };
  CHECK(message_of("\xfd"
                   "7zXZ\x01\x02") ==
        "f: packed by xz, which is not read: unpack it, or pack it with gzip or zstd");
  CHECK(message_of("BZh91AY&SY\xf9").starts_with("f: packed by bzip2"));
  CHECK(message_of("PK\x03\x04\x14").starts_with("f: packed by zip"));
  for (const std::string text : {"BZh", "BZh9", "BZhang,1\n", "PKW,2\n"})
    CHECK(decompress(text, "f", kAmple).value() == text);
}

TEST_CASE("decompress: several gzip members or zstd frames are one text, empty ones included") {
  const std::string text = numbers();
  CHECK(gunzip(gzip(text) + gzip(text), "f", kAmple).value() == text + text);
  CHECK(unzstd(zstd(text) + zstd("") + zstd(text), "f", kAmple).value() == text + text);
  CHECK(unzstd(zstd(""), "f", kAmple).value().empty());
}

TEST_CASE("decompress: zeros behind gzip data are padding, anything else is damage") {
  const std::string text = numbers();
  const std::string padding(1000, '\0');
  CHECK(gunzip(gzip(text) + padding, "f", kAmple).value() == text);
  CHECK(gunzip(gzip(text) + gzip(text) + padding, "f", kAmple).value() == text + text);
  CHECK_FALSE(gunzip(gzip(text) + padding + "x", "f", kAmple));
  CHECK_FALSE(gunzip(gzip(text) + "nonsense", "f", kAmple));
}

TEST_CASE("decompress: truncated and damaged data are errors that name the file") {
  for (const std::string& packed : {gzip(numbers()), zstd(numbers())}) {
    for (const std::size_t size : {packed.size() / 2, packed.size() - 1, std::size_t{6}}) {
      const auto cut = decompress(packed.substr(0, size), "cut", kAmple);
      REQUIRE(!cut);
      CHECK(cut.error().file == "cut");
      CHECK(cut.error().message.starts_with("truncated"));
    }
  }
  CHECK(!gunzip("\x1f\x8bnonsense", "bad", kAmple));
  CHECK(!unzstd("\x28\xb5\x2f\xfdnonsense", "bad", kAmple));
}

TEST_CASE("decompress: a small file that would fill the memory stops at the limit") {
  const std::string zeros(std::size_t{100} << 20, '\0');
  constexpr std::size_t kLimit = 1 << 20;
  for (const std::string& packed : {gzip(zeros), zstd(zeros)}) {
    CHECK(packed.size() < 200'000);
    const auto content = decompress(packed, "bomb", kLimit);
    REQUIRE(!content);
    CHECK(content.error().message == "unpacks to more than 1048576 bytes");
  }
  // Exactly the limit is fine.
  CHECK(decompress(zstd(std::string(kLimit, 'x')), "f", kLimit).value().size() == kLimit);
  CHECK(decompress(gzip(std::string(kLimit, 'x')), "f", kLimit).value().size() == kLimit);
}

}  // namespace
}  // namespace vtrain
