#include "traces/job_fields.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "core/text.hpp"

namespace vtrain {
namespace {

std::string at_most_text(std::string_view least) {
  std::string text = fmt::format("seconds {} and at most ", least);
  append_ns_as_seconds(text, kMaxTraceTime.count());
  return text + " (100 years)";
}

}  // namespace

Result<void> check_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxNameBytes || !is_printable(text)) {
    return fail(
        {.message = expected_found(
             fmt::format("a name of 1 to {} bytes without control characters", kMaxNameBytes), text)});
  }
  return {};
}

Result<SimTime> parse_instant(std::string_view text) {
  auto nanoseconds = parse_seconds_as_ns(text);
  if (!nanoseconds) return fail(std::move(nanoseconds.error()));
  if (*nanoseconds < 0 || *nanoseconds > kMaxTraceTime.count()) {
    return fail({.message = expected_found(at_most_text("of at least 0"), text)});
  }
  return SimTime(SimDuration(*nanoseconds));
}

Result<SimDuration> parse_duration(std::string_view text) {
  auto nanoseconds = parse_seconds_as_ns(text);
  if (!nanoseconds) return fail(std::move(nanoseconds.error()));
  if (*nanoseconds <= 0 || *nanoseconds > kMaxTraceTime.count()) {
    return fail({.message = expected_found(at_most_text("above 0"), text)});
  }
  return SimDuration(*nanoseconds);
}

Result<GpuCount> parse_num_gpus(std::string_view text) {
  auto number = parse_integer(text, 1, std::numeric_limits<std::int64_t>::max());
  if (!number) return fail(std::move(number.error()));
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (*number > kMost) {
    return fail({.message = expected_found(fmt::format("a whole number from 1 to {}", kMost), text)});
  }
  return GpuCount(static_cast<std::int32_t>(*number));
}

void JobNameIndex::reserve(std::size_t num_jobs) {
  const std::size_t num_slots = std::bit_ceil(num_jobs + num_jobs / 2 + 16);
  if (num_slots > slots_.size()) resize(num_slots);
}

void JobNameIndex::resize(std::size_t num_slots) {
  std::vector<Slot> old(num_slots);
  old.swap(slots_);
  const std::size_t mask = num_slots - 1;
  for (const Slot& slot : old) {
    if (slot.position == kFree) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].position != kFree)
      at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

std::optional<std::uint32_t> JobNameIndex::add(std::uint32_t position) {
  reserve(used_ + 1);
  const std::string_view name = jobs_[position].name;
  const auto hash = static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].position != kFree; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && jobs_[slots_[at].position].name == name) return slots_[at].position;
  }
  slots_[at] = {.hash = hash, .position = position};
  ++used_;
  return std::nullopt;
}

}  // namespace vtrain
