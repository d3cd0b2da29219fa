#include "traces/reading/job_fields.hpp"

#include <string.h>  // memmem, of POSIX.1-2024

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"

namespace vtrain {
namespace {

/// Nanoseconds from `least_ns` up to the limit; `least` is the lower bound in words.
Result<std::int64_t> parse_limited(std::string_view text, const TimeUnit& unit, std::int64_t least_ns,
                                   std::string_view least) {
  auto nanoseconds = parse_time_as_ns(text, unit);
  if (nanoseconds && (*nanoseconds < least_ns || *nanoseconds > kMaxTraceTime.count())) {
    return fail({.message = expected_found(fmt::format("{} {} and at most {} (100 years)", unit.name, least,
                                                       kMaxTraceTime.count() / unit.nanoseconds),
                                           text)});
  }
  return nanoseconds;
}

std::uint32_t hash_of(const Job& job) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(job.name));
}

bool in_upper_half(std::uint32_t hash) {
  return hash >> 31 != 0;
}

/// Adds the repeated names of one half of the hashes, to which `count` jobs belong.
void find_same_names(const std::vector<Job>& jobs, bool upper, std::size_t count,
                     std::vector<SameName>& found) {
  // A hash table with open addressing, three quarters full. Every access misses the cache, so slots are
  // fetched ahead.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = 0;  ///< position of the job + 1; 0 is free
  };
  std::vector<Slot> slots(count + count / 3 + 1);
  const auto home_of = [&](std::uint32_t hash) { return slots.size() * (hash << 1) >> 32; };
  constexpr std::size_t kAhead = 16;
  std::array<Slot, kAhead> next{};
  const auto look_up = [&](const Slot& wanted) {
    std::size_t at = home_of(wanted.hash);
    for (; slots[at].number != 0; at = at + 1 == slots.size() ? 0 : at + 1) {
      const std::size_t other = slots[at].number - 1;
      if (slots[at].hash != wanted.hash || jobs[other].name != jobs[wanted.number - 1].name) continue;
      found.push_back({other, wanted.number - 1});
      return;
    }
    slots[at] = wanted;
  };
  std::size_t taken = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::uint32_t hash = hash_of(jobs[i]);
    if (in_upper_half(hash) != upper) continue;
    Slot& place = next[taken++ % kAhead];
    if (taken > kAhead) look_up(place);
    place = {.hash = hash, .number = static_cast<std::uint32_t>(i + 1)};
    __builtin_prefetch(&slots[home_of(hash)], 1);
  }
  for (std::size_t i = taken - std::min(taken, kAhead); i < taken; ++i)
    look_up(next[i % kAhead]);
}

}  // namespace

Result<void> check_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxNameBytes || !is_plain_text(text)) {
    return fail(
        {.message = expected_found(
             fmt::format("a name of 1 to {} bytes without control characters", kMaxNameBytes), text)});
  }
  return {};
}

Result<SimTime> parse_instant(std::string_view text) {
  return parse_instant(text, kSeconds);
}

Result<SimTime> parse_instant(std::string_view text, const TimeUnit& unit) {
  auto nanoseconds = parse_limited(text, unit, 0, "of at least 0");
  if (!nanoseconds) return fail(std::move(nanoseconds.error()));
  return SimTime(SimDuration(*nanoseconds));
}

Result<SimDuration> parse_duration(std::string_view text) {
  return parse_duration(text, kSeconds);
}

Result<SimDuration> parse_duration(std::string_view text, const TimeUnit& unit) {
  auto nanoseconds = parse_limited(text, unit, 1, "above 0");
  if (!nanoseconds) return fail(std::move(nanoseconds.error()));
  return SimDuration(*nanoseconds);
}

Result<SimTime> instant_after(SimTime from, SimDuration delay) {
  if (delay > kMaxTraceTime - from.time_since_epoch()) {
    return fail({.message = "expected an instant at most 100 years after the trace's origin"});
  }
  return from + delay;
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

Result<std::int16_t> parse_gpu_share(std::string_view text) {
  constexpr double kPerGpu = kWholeGpu;
  const auto share = parse_number(text, 1 / kPerGpu, 1);
  const double thousandths = share ? std::round(*share * kPerGpu) : 0;
  // Parsing rounds to the nearest double; this error is far below a tenth of a thousandth.
  if (!share || std::abs(*share * kPerGpu - thousandths) > 1e-6) {
    return fail({.message = expected_found("a part of a GPU from 0.001 to 1 in steps of 0.001", text)});
  }
  return static_cast<std::int16_t>(thousandths);
}

Result<std::int32_t> parse_global_batch(std::string_view text) {
  return parse_integer(text, 1, std::numeric_limits<std::int32_t>::max()).map([](std::int64_t value) {
    return static_cast<std::int32_t>(value);
  });
}

Result<std::int32_t> parse_num_nodes(std::string_view text) {
  return parse_num_gpus(text).map([](GpuCount count) { return count.value; });
}

Result<std::int64_t> parse_priority(std::string_view text) {
  return parse_integer(text, -Job::kMaxPriority, Job::kMaxPriority);
}

Result<std::int64_t> parse_iterations(std::string_view text) {
  return parse_integer(text, 1, std::numeric_limits<std::int64_t>::max());
}

Result<JobStatus> parse_status(std::string_view text) {
  return parse_name<JobStatus>("", status_names(), text);
}

JobStatus slurm_job_status(std::string_view state) {
  constexpr std::array<std::pair<std::string_view, JobStatus>, 18> kStates = {{
      {"COMPLETED", JobStatus::Completed},
      {"CANCELLED", JobStatus::Cancelled},
      {"FAILED", JobStatus::Failed},
      {"TIMEOUT", JobStatus::TimedOut},
      {"DEADLINE", JobStatus::TimedOut},
      {"NODE_FAIL", JobStatus::Failed},
      {"OUT_OF_MEMORY", JobStatus::Failed},
      {"BOOT_FAIL", JobStatus::Failed},
      {"LAUNCH_FAILED", JobStatus::Failed},
      {"PREEMPTED", JobStatus::Failed},
      {"REVOKED", JobStatus::Cancelled},
      {"PENDING", JobStatus::Running},
      {"RUNNING", JobStatus::Running},
      {"SUSPENDED", JobStatus::Running},
      {"REQUEUED", JobStatus::Running},
      {"RESIZING", JobStatus::Running},
      {"COMPLETING", JobStatus::Running},
      {"STOPPED", JobStatus::Running},
  }};
  const std::string_view trimmed = trim(state);
  const std::string_view word = trimmed.substr(0, trimmed.find(' '));
  const auto found =
      std::find_if(kStates.begin(), kStates.end(), [word](const auto& entry) { return entry.first == word; });
  return found == kStates.end() ? JobStatus::Unknown : found->second;
}

std::size_t count_words(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (;;) {
    // Several times as fast as `std::string_view::find`, which matters for a file of 100 MB.
    const void* const found = ::memmem(text.data(), text.size(), word.data(), word.size());
    if (found == nullptr) return count;
    ++count;
    text.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + word.size());
  }
}

std::optional<SameName> find_same_name(const std::vector<Job>& jobs) {
  const std::vector<SameName> all = find_same_names(jobs);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::vector<SameName> find_same_names(const std::vector<Job>& jobs) {
  const auto not_ascending = [](const Job& a, const Job& b) {
    return a.name.size() != b.name.size() ? a.name.size() > b.name.size() : a.name >= b.name;
  };
  if (std::adjacent_find(jobs.begin(), jobs.end(), not_ascending) == jobs.end()) return {};
  // Names of the two halves of the hashes are searched one after the other, so that the table is half as
  // large.
  const auto upper = static_cast<std::size_t>(
      std::count_if(jobs.begin(), jobs.end(), [](const Job& job) { return in_upper_half(hash_of(job)); }));
  std::vector<SameName> found;
  find_same_names(jobs, false, jobs.size() - upper, found);
  find_same_names(jobs, true, upper, found);
  std::sort(found.begin(), found.end(),
            [](const SameName& a, const SameName& b) { return a.second < b.second; });
  return found;
}

}  // namespace vtrain
