#include "core/io/decompress.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

namespace vtrain {
namespace {

tl::unexpected<Error> too_large(const std::string& name, std::size_t limit) {
  return fail({.file = name, .message = fmt::format("unpacks to more than {} bytes", limit)});
}

/// What packed the content, if it is none of ours; empty otherwise.
std::string_view other_packer(std::string_view content) {
  if (content.starts_with("\xfd"
                          "7zXZ"))
    return "xz";
  if (content.starts_with("PK\x03\x04")) return "zip";
  const bool is_bzip2 =
      content.starts_with("BZh") && content.substr(std::min<std::size_t>(4, content.size()), 6) == "1AY&SY";
  return is_bzip2 ? "bzip2" : "";
}

/// A first guess of how much room the content of so many packed bytes takes.
std::size_t first_room(std::size_t packed_bytes, std::size_t limit) {
  return std::min(limit, packed_bytes * 4) + 1024;
}

}  // namespace

Result<std::string> decompress(std::string content, const std::string& name, std::size_t limit) {
  constexpr std::string_view kGzip = "\x1f\x8b";
  constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd";
  if (const std::string_view packer = other_packer(content); !packer.empty()) {
    return fail({.file = name,
                 .message = fmt::format(
                     "packed by {}, which is not read: unpack it, or pack it with gzip or zstd", packer)});
  }
  if (content.starts_with(kGzip)) return gunzip(content, name, limit);
  if (content.starts_with(kZstd)) return unzstd(content, name, limit);
  return content;
}

Result<std::string> gunzip(std::string_view packed, const std::string& name, std::size_t limit) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  constexpr std::size_t kLargestPiece = std::size_t{1} << 30;
  if (inflateInit2(&stream, kGzip) != Z_OK)
    return fail({.file = name, .message = "cannot start unpacking gzip"});
  struct Closer {
    z_stream& stream;
    ~Closer() { inflateEnd(&stream); }
  } closer{stream};
  std::string_view rest = packed;  // what the stream has not been given yet, which counts in 32 bits
  std::string content;
  std::size_t used = 0;
  content.resize(first_room(packed.size(), limit));
  for (;;) {
    if (used == content.size()) content.resize(content.size() * 2);
    if (stream.avail_in == 0) {
      const std::string_view piece = rest.substr(0, kLargestPiece);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream.avail_in = static_cast<uInt>(piece.size());
      rest.remove_prefix(piece.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + used);
    stream.avail_out = static_cast<uInt>(std::min(content.size() - used, kLargestPiece));
    const uInt room = stream.avail_out;
    const int code = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    if (used > limit) return too_large(name, limit);
    if (code == Z_STREAM_END) {
      const std::string_view behind = packed.substr(packed.size() - rest.size() - stream.avail_in);
      // A gzip file may hold several members, and tapes and disks pad it with zeros (gzip(1)).
      if (behind.find_first_not_of('\0') == std::string_view::npos) break;
      inflateReset(&stream);
    } else if (rest.empty() &&
               (code == Z_BUF_ERROR || (code == Z_OK && stream.avail_in == 0 && stream.avail_out > 0))) {
      return fail({.file = name, .message = "truncated gzip data"});
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return fail({.file = name, .message = "damaged gzip data"});
    }
  }
  content.resize(used);
  return content;
}

Result<std::string> unzstd(std::string_view packed, const std::string& name, std::size_t limit) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  if (!stream) return fail({.file = name, .message = "cannot start unpacking zstd"});
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::string content(first_room(packed.size(), limit), '\0');
  ZSTD_outBuffer out{content.data(), content.size(), 0};
  for (;;) {
    if (out.pos == out.size) {
      content.resize(content.size() * 2);
      out.dst = content.data();
      out.size = content.size();
    }
    // 0 at the end of a frame; another may follow.
    const std::size_t left = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(left) != 0) {
      return fail({.file = name, .message = fmt::format("damaged zstd data: {}", ZSTD_getErrorName(left))});
    }
    if (out.pos > limit) return too_large(name, limit);
    if (in.pos < in.size || out.pos == out.size) continue;
    if (left != 0) return fail({.file = name, .message = "truncated zstd data"});
    content.resize(out.pos);
    return content;
  }
}

}  // namespace vtrain
