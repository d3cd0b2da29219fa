/// Unpacks packed data in memory, for tests and fuzzers of the unpackers.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/io/decompress.hpp"

namespace vtrain::testing {

/// Unpacks data, or returns them unchanged if they are not packed. Stops after the piece in which the content
/// exceeds `limit` bytes.
inline Result<std::string> unpack_all(std::string_view packed, std::size_t limit) {
  const auto unpacker = make_unpacker(packed.substr(0, kPackerBytes), "f");
  if (!unpacker) return fail(unpacker.error());
  if (!*unpacker) return std::string(packed);
  std::string content;
  std::array<char, 4096> room{};
  while (content.size() <= limit) {
    const auto made = (*unpacker)->unpack(packed, room);
    if (!made) return fail(made.error());
    content.append(room.data(), *made);
    if (*made > 0 || !packed.empty()) continue;
    if (auto finished = (*unpacker)->finish(); !finished) return fail(std::move(finished.error()));
    return content;
  }
  return content;
}

}  // namespace vtrain::testing
