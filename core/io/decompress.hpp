/// Unpacks compressed data that come in pieces.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// Unpacks one stream. Memory does not depend on the length of the stream.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  /// Unpacks from the front of `packed`, which loses what was used, into `room`. Returns how many bytes were
  /// made; 0 with nothing left of `packed`: more of it is needed. Damaged data are an error.
  virtual Result<std::size_t> unpack(std::string_view& packed, std::span<char> room) = 0;
  /// An error if the stream may not end here.
  virtual Result<void> finish() const = 0;
};

/// Bytes by which `make_unpacker` recognises formats.
inline constexpr std::size_t kPackerBytes = 16;

/// The unpacker of data that begin so: of gzip, also of several members, or of zstd, also of several frames.
/// Null for what is not packed. What xz, bzip2 or zip packed is an error; so is a zstd frame that asks for a
/// window above 128 MiB. `name` is used in errors.
Result<std::unique_ptr<Unpacker>> make_unpacker(std::string_view beginning, const std::string& name);

}  // namespace vtrain
