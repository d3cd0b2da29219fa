#include "traces/skipped_rows.hpp"

#include <algorithm>
#include <numeric>

namespace vtrain {

void SkippedRows::add(std::string_view reason, std::int64_t line) {
  auto known = std::find_if(reasons_.begin(), reasons_.end(),
                            [&](const Reason& other) { return other.text == reason; });
  if (known == reasons_.end()) known = reasons_.insert(reasons_.end(), Reason{.text = reason});
  ++known->count;
  if (known->first_lines.size() < kLinesKept) known->first_lines.push_back(line);
}

std::int64_t SkippedRows::total() const {
  return std::accumulate(reasons_.begin(), reasons_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Reason& reason) { return sum + reason.count; });
}

}  // namespace vtrain
