#include "traces/reading/skipped_rows.hpp"

#include <algorithm>
#include <numeric>

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

}  // namespace vtrain
