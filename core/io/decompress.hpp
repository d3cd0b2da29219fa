/// Unpacks compressed text that is in memory, never to more than a limit.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// `content`, unpacked if its first bytes are those of gzip or zstd. `name` is used in errors; truncated or
/// damaged data, more than `limit` bytes of result, and what xz, bzip2 or zip packed are errors.
Result<std::string> decompress(std::string content, const std::string& name, std::size_t limit);

/// Unpacks a gzip stream, also of several members.
Result<std::string> gunzip(std::string_view packed, const std::string& name, std::size_t limit);

/// Unpacks a zstd stream, also of several frames. A frame that asks for a window above 128 MiB is an error.
Result<std::string> unzstd(std::string_view packed, const std::string& name, std::size_t limit);

}  // namespace vtrain
