#include "tests/support/tar_archive.hpp"

#include <doctest/doctest.h>

#include <string_view>

#include "core/io/input.hpp"

namespace vtrain {

std::map<std::string, std::string> read_tar_gz(const std::filesystem::path& path) {
  // POSIX.1-1988 ustar: blocks of 512 bytes; a header has the name at 0, the size in octal digits at 124 and
  // the type at 156, '0' for a regular file.
  constexpr std::size_t kBlock = 512;
  const auto archive = read_file(path, InputKind::Trace);
  REQUIRE_MESSAGE(archive.has_value(), archive.error().describe());
  std::map<std::string, std::string> files;
  std::string_view rest = *archive;
  while (rest.size() >= kBlock && rest.front() != '\0') {
    const std::string name(rest.substr(0, 100).data());
    const std::size_t size = std::stoul(std::string(rest.substr(124, 12)), nullptr, 8);
    const bool regular = rest[156] == '0';
    rest.remove_prefix(kBlock);
    REQUIRE(size <= rest.size());
    if (regular) files[name] = std::string(rest.substr(0, size));
    rest.remove_prefix(std::min(rest.size(), (size + kBlock - 1) / kBlock * kBlock));
  }
  return files;
}

}  // namespace vtrain
