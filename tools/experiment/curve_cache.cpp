#include "tools/experiment/curve_cache.hpp"

#include <cstdlib>
#include <system_error>

#include "core/io/file.hpp"
#include "tools/experiment/file_hash.hpp"

namespace vtrain {

namespace fs = std::filesystem;

std::optional<std::string> CurveCache::load(const std::string& key) {
  constexpr std::size_t kLargest = std::size_t{64} << 20;
  auto text = read_file(folder_ / (sha256_of_text(key) + ".json"), kLargest);
  if (!text) return std::nullopt;
  return *std::move(text);
}

void CurveCache::save(const std::string& key, const std::string& text) {
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  const auto written = write_file(folder_ / (sha256_of_text(key) + ".json"), text);
  static_cast<void>(written);
}

std::optional<fs::path> curve_cache_folder() {
  const auto folder_of = [](const char* variable) -> fs::path {
    const char* const value = std::getenv(variable);
    return value == nullptr ? fs::path() : fs::path(value);
  };
  if (const fs::path cache = folder_of("XDG_CACHE_HOME"); cache.is_absolute())
    return cache / "vtrain" / "curves";
  if (const fs::path home = folder_of("HOME"); home.is_absolute())
    return home / ".cache" / "vtrain" / "curves";
  return std::nullopt;
}

}  // namespace vtrain
