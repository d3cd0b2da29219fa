#include "policies/list/gittins_index.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/input.hpp"
#include "core/io/line_reader.hpp"

namespace vtrain {
namespace {

constexpr double kMaxService = 1e15;

}  // namespace

GittinsIndex::GittinsIndex(std::vector<double> sample, double delta) : sample_(std::move(sample)) {
  std::sort(sample_.begin(), sample_.end());
  const std::size_t size = sample_.size();
  std::vector<double> sums(size + 1);  // of the first i values
  for (std::size_t i = 0; i < size; ++i)
    sums[i + 1] = sums[i] + sample_[i];
  const auto count_up_to = [this](double service) {
    return static_cast<std::size_t>(std::upper_bound(sample_.begin(), sample_.end(), service) -
                                    sample_.begin());
  };
  ranks_.assign(size + 1, 0);
  for (std::size_t at = 0; at < size; ++at) {
    // A job that would end at this value is considered one second before.
    const double attained = sample_[at] - 1;
    const std::size_t begin = count_up_to(attained);
    const std::size_t end = attained + delta > sample_.back() - 1 ? size - 1 : count_up_to(attained + delta);
    const double beyond = static_cast<double>(size - begin);
    const double ends = end > begin ? static_cast<double>(end - begin) : 0;
    // Decimals as rounded by the peer.
    const double chance = round_to_decimals(ends / beyond, 5);
    const double within = end > begin ? sums[end] - sums[begin] : 0;
    const double expected = round_to_decimals((within + delta * static_cast<double>(size - end)) / beyond, 5);
    const double index = expected > 0 ? chance * 1e6 / expected : 0;
    ranks_[at] = std::llround(round_to_decimals(index, 4) * 1e4);
  }
}

Result<GittinsIndex> GittinsIndex::read(const std::string& file, double delta) {
  auto text = read_file(file, InputKind::Durations);
  if (!text) return fail(text.error());
  std::vector<double> sample;
  LineReader lines(*text, file);
  for (bool first = true;; first = false) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) break;
    const std::string_view row = trim(lines.line());
    if (first && row == "duration") continue;
    const auto value = parse_number(row, 0, kMaxService);
    if (!value || *value <= 0) {
      return fail({.file = file,
                   .line = lines.number(),
                   .field = "duration",
                   .message = expected_found("a number above 0", row)});
    }
    sample.push_back(*value);
  }
  if (sample.empty()) return fail({.file = file, .message = "expected at least one duration, found none"});
  return GittinsIndex(std::move(sample), delta);
}

std::int64_t GittinsIndex::rank(double attained, std::uint32_t& passed) const {
  const auto below = [&](std::size_t i) { return i < sample_.size() && sample_[i] <= attained; };
  if (below(passed)) {
    std::size_t from = passed + std::size_t{1};
    std::size_t stride = 1;
    for (; below(from + stride - 1); stride *= 2)
      from += stride;
    const auto end = sample_.begin() + static_cast<std::ptrdiff_t>(std::min(from + stride, sample_.size()));
    const auto above = std::upper_bound(sample_.begin() + static_cast<std::ptrdiff_t>(from), end, attained);
    passed = static_cast<std::uint32_t>(above - sample_.begin());
  }
  return ranks_[passed];
}

}  // namespace vtrain
