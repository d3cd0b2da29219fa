#include "core/io/decompress.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace vtrain {
namespace {

unsigned char byte_at(std::string_view data, std::size_t position) {
  return position < data.size() ? static_cast<unsigned char>(data[position]) : 0;
}

/// True for the header of gzip (RFC 1952, section 2.3.1): two bytes, deflate, and flags with three reserved
/// bits.
bool is_gzip(std::string_view data) {
  constexpr unsigned kReservedFlags = 0xe0;
  return data.starts_with("\x1f\x8b\x08") && (byte_at(data, 3) & kReservedFlags) == 0;
}

/// True for the header of zstd (RFC 8878, sections 3.1.1 and 3.1.2): a frame, or a skippable one, as pzstd
/// writes first.
bool is_zstd(std::string_view data) {
  const bool is_skippable =
      data.size() >= 4 && (byte_at(data, 0) & 0xf0) == 0x50 && data.substr(1, 3) == "\x2a\x4d\x18";
  return data.starts_with("\x28\xb5\x2f\xfd") || is_skippable;
}

/// True for bzip2: the header of a stream, then of its first block: a magic number of 48 bits, a checksum, an
/// obsolete bit, and a position below 900,000 in 24 bits. Text can begin like the header of a stream.
bool is_bzip2(std::string_view data) {
  constexpr std::size_t kPosition = 14;
  return data.starts_with("BZh") && byte_at(data, 3) >= '1' && byte_at(data, 3) <= '9' &&
         data.substr(4, 6) == "1AY&SY" && data.size() > kPosition && byte_at(data, kPosition) < 0x08;
}

/// Name of an unsupported program that packed the data; empty otherwise.
std::string_view other_packer(std::string_view data) {
  constexpr std::string_view kXz(
      "\xfd"
      "7zXZ\0",
      6);
  if (data.starts_with(kXz)) return "xz";
  if (data.starts_with("PK\x03\x04")) return "zip";
  return is_bzip2(data) ? "bzip2" : "";
}

class GzipUnpacker : public Unpacker {
 public:
  explicit GzipUnpacker(std::string name) : name_(std::move(name)) {}
  ~GzipUnpacker() override {
    if (is_open_) inflateEnd(&stream_);
  }
  Result<void> open() {
    constexpr int kGzip = 15 + 16;
    is_open_ = inflateInit2(&stream_, kGzip) == Z_OK;
    if (!is_open_) return fail({.file = name_, .message = "cannot start unpacking gzip"});
    return {};
  }

  Result<std::size_t> unpack(std::string_view& packed, std::span<char> room) override {
    if (member_ended_) {
      // A gzip file may hold several members, and tapes and disks pad it with zeros (gzip(1)).
      const std::size_t zeros = std::min(packed.find_first_not_of('\0'), packed.size());
      has_padding_ |= zeros > 0;
      packed.remove_prefix(zeros);
      if (packed.empty()) return 0;
      if (has_padding_) return damaged();
      inflateReset(&stream_);
      member_ended_ = false;
    }
    constexpr std::size_t kLargestPiece = std::size_t{1} << 30;  // zlib counts in 32 bits
    const std::string_view piece = packed.substr(0, kLargestPiece);
    const std::size_t most = std::min(room.size(), kLargestPiece);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(most);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t used = piece.size() - stream_.avail_in;
    const std::size_t made = most - stream_.avail_out;
    packed.remove_prefix(used);
    member_ended_ = code == Z_STREAM_END;
    const bool is_stuck = used == 0 && made == 0 && !piece.empty() && !member_ended_;
    if ((code != Z_OK && code != Z_BUF_ERROR && !member_ended_) || is_stuck) return damaged();
    return made;
  }

  Result<void> finish() const override {
    if (!member_ended_) return fail({.file = name_, .message = "truncated gzip data"});
    return {};
  }

 private:
  tl::unexpected<Error> damaged() const { return fail({.file = name_, .message = "damaged gzip data"}); }

  std::string name_;
  z_stream stream_{};
  bool is_open_ = false;
  bool member_ended_ = false;
  bool has_padding_ = false;
};

class ZstdUnpacker : public Unpacker {
 public:
  explicit ZstdUnpacker(std::string name) : name_(std::move(name)) {}
  Result<void> open() {
    if (!stream_) return fail({.file = name_, .message = "cannot start unpacking zstd"});
    return {};
  }

  Result<std::size_t> unpack(std::string_view& packed, std::span<char> room) override {
    if (frame_ended_ && packed.empty()) return 0;
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in);
    if (ZSTD_isError(left) != 0)
      return fail({.file = name_, .message = fmt::format("damaged zstd data: {}", ZSTD_getErrorName(left))});
    packed.remove_prefix(in.pos);
    frame_ended_ = left == 0;  // another may follow
    return out.pos;
  }

  Result<void> finish() const override {
    if (!frame_ended_) return fail({.file = name_, .message = "truncated zstd data"});
    return {};
  }

 private:
  std::string name_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_{ZSTD_createDStream(), &ZSTD_freeDStream};
  bool frame_ended_ = false;
};

template <class Kind>
Result<std::unique_ptr<Unpacker>> open_unpacker(const std::string& name) {
  auto unpacker = std::make_unique<Kind>(name);
  if (auto opened = unpacker->open(); !opened) return fail(std::move(opened.error()));
  return unpacker;
}

}  // namespace

Result<std::unique_ptr<Unpacker>> make_unpacker(std::string_view beginning, const std::string& name) {
  if (const std::string_view packer = other_packer(beginning); !packer.empty()) {
    return fail({.file = name,
                 .message = fmt::format(
                     "packed by {}, which is not read: unpack it, or pack it with gzip or zstd", packer)});
  }
  if (is_gzip(beginning)) return open_unpacker<GzipUnpacker>(name);
  if (is_zstd(beginning)) return open_unpacker<ZstdUnpacker>(name);
  return nullptr;
}

}  // namespace vtrain
