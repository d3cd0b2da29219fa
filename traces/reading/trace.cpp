#include "traces/reading/trace.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <numeric>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/base/utf8.hpp"
#include "core/io/input.hpp"
#include "core/io/line_reader.hpp"

namespace vtrain {

SkippedRows::Reason& SkippedRows::find(std::string_view text) {
  const auto known =
      std::find_if(reasons_.begin(), reasons_.end(), [&](const Reason& other) { return other.text == text; });
  return known != reasons_.end() ? *known : reasons_.emplace_back(Reason{.text = text});
}

void SkippedRows::add(std::string_view text, std::int64_t line) {
  Reason& known = find(text);
  ++known.count;
  if (known.first_lines.size() < kLinesKept) known.first_lines.push_back(line);
}

void SkippedRows::add(const SkippedRows& others) {
  for (const Reason& other : others.reasons_)
    find(other.text).count += other.count;
}

std::int64_t SkippedRows::total() const {
  return std::accumulate(reasons_.begin(), reasons_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Reason& reason) { return sum + reason.count; });
}

std::string TraceOrigin::describe() const {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(time).time_since_epoch() / std::chrono::seconds(1);
  return fmt::format("time 0 is the first submission, {:%Y-%m-%d %H:%M:%S} {}", fmt::gmtime(seconds), clock);
}

std::filesystem::path find_table(const std::filesystem::path& folder, std::string_view name) {
  constexpr std::array<std::string_view, 3> kSuffixes = {"", ".gz", ".zst"};
  for (const std::string_view suffix : kSuffixes) {
    std::filesystem::path path = folder / (std::string(name) + std::string(suffix));
    std::error_code ignored;
    // Anything but a folder counts as found, so that a pipe is an error and not an absent table.
    if (std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored)) return path;
  }
  return {};
}

Result<std::optional<CompanionFile>> read_companion(const std::string& file, std::string_view name) {
  const std::filesystem::path path = find_table(std::filesystem::path(file).parent_path(), name);
  if (path.empty()) return std::nullopt;
  const auto check_beginning = [&path](std::string_view beginning) {
    return LineReader(beginning, path.string()).next().map([](bool) {});
  };
  auto text = read_file(path, InputKind::Trace, {.check_beginning = check_beginning});
  if (!text) return fail(std::move(text.error()));
  const bool is_whole = is_utf8(*text);
  return CompanionFile{.path = path.string(),
                       .text = is_whole ? *std::move(text) : replace_non_utf8(*text),
                       .has_replaced_bytes = !is_whole};
}

}  // namespace vtrain
