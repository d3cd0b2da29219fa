/// Unpacks compressed data that arrive in pieces.
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
  /// Unpacks from the front of `packed` into `room`, and removes the used bytes from `packed`. Returns the
  /// number of unpacked bytes. 0 with an empty `packed` means that more input is needed. Error: damaged data.
  virtual Result<std::size_t> unpack(std::string_view& packed, std::span<char> room) = 0;
  /// An error if the stream may not end here.
  virtual Result<void> finish() const = 0;
};

/// Bytes by which `make_unpacker` recognises formats.
inline constexpr std::size_t kPackerBytes = 16;

/// The unpacker for data with this beginning: gzip (also several members) or zstd (also several frames). Null
/// for data that are not packed. Errors: data packed by xz, bzip2 or zip; a zstd frame with a window above
/// 128 MiB. `name` is used in errors.
Result<std::unique_ptr<Unpacker>> make_unpacker(std::string_view beginning, const std::string& name);

}  // namespace vtrain
