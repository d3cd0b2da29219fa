#include "traces/reading/companion_file.hpp"

#include <array>
#include <system_error>
#include <utility>

#include "core/io/file.hpp"

namespace vtrain {

std::filesystem::path find_table(const std::filesystem::path& folder, std::string_view name) {
  constexpr std::array<std::string_view, 3> kSuffixes = {"", ".gz", ".zst"};
  for (const std::string_view suffix : kSuffixes) {
    std::filesystem::path path = folder / (std::string(name) + std::string(suffix));
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return {};
}

Result<std::optional<CompanionFile>> read_companion(const std::string& file, std::string_view name) {
  const std::filesystem::path path = find_table(std::filesystem::path(file).parent_path(), name);
  if (path.empty()) return std::nullopt;
  auto text = read_file(path);
  if (!text) return fail(std::move(text.error()));
  return CompanionFile{.path = path.string(), .text = *std::move(text)};
}

}  // namespace vtrain
