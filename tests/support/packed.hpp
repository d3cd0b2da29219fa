/// Packed texts and archives for the tests of their readers.
#pragma once

#include <doctest/doctest.h>
#include <zlib.h>
#include <zstd.h>

#include <string>
#include <string_view>

namespace vtrain::testing {

/// `text` as a gzip file of one member.
inline std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  REQUIRE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// `text` as a zstd file of one frame.
inline std::string zstd(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

/// A number with `num_digits` octal digits.
inline std::string octal(std::size_t number, std::size_t num_digits) {
  std::string text(num_digits, '0');
  for (; number > 0; number /= 8)
    text[--num_digits] = static_cast<char>('0' + number % 8);
  return text;
}

/// A member of a tar archive with the checksum of its header: the sum of its bytes, with blanks in place of
/// the checksum.
inline std::string with_tar_checksum(std::string member) {
  constexpr std::size_t kBlock = 512;
  constexpr std::size_t kChecksum = 148;
  member.replace(kChecksum, 8, 8, ' ');
  std::size_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += static_cast<unsigned char>(member[i]);
  return member.replace(kChecksum, 7, octal(sum, 6) + '\0');
}

/// A member of a tar archive (POSIX.1-1988): a block of 512 bytes, then the content, filled up to whole
/// blocks.
inline std::string tar_member(std::string_view name, std::string_view content) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(124, 11, octal(content.size(), 11));
  header.replace(156, 1, "0");
  header.replace(257, 5, "ustar");
  const std::string fill((512 - content.size() % 512) % 512, '\0');
  return with_tar_checksum(header) + std::string(content) + fill;
}

}  // namespace vtrain::testing
