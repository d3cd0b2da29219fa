/// Hashes of inputs, so that a result names exactly what it came from.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// SHA-256 of a file's bytes as they are on disk, in hexadecimal. Error: a file that cannot be read to its
/// end.
Result<std::string> sha256_of_file(const std::string& path);

/// SHA-256 of a text, in hexadecimal.
std::string sha256_of_text(std::string_view text);

/// A file and its hash, as provenance shows them. Of standard input (`-`), a pipe or the like, which is gone
/// once it is read, it says that there is none.
Result<std::string> path_and_hash(const std::string& path);

}  // namespace vtrain
