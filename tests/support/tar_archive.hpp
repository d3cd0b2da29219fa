/// Packed archives of third-party data, for tests.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace vtrain {

/// The regular files of a `.tar.gz` by their names in it. Fails the test when it cannot be read.
std::map<std::string, std::string> read_tar_gz(const std::filesystem::path& path);

}  // namespace vtrain
