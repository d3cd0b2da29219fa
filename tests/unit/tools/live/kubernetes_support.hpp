/// Helpers for tests of Kubernetes' objects.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/live/kubernetes_dump.hpp"
#include "tools/live/read_state.hpp"

namespace vtrain {

/// The state of some texts, each a dump of its own.
inline Result<LiveState> state_of(const std::vector<std::string>& texts) {
  LiveState state;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (auto added = add_dump(texts[i], fmt::format("{}.json", i), state); !added) return fail(added.error());
  }
  if (auto made = finish_kubernetes(state); !made) return fail(made.error());
  return state;
}

/// An instant as the right reading writes it.
inline nlohmann::json instant_text(const std::optional<std::int64_t>& seconds) {
  if (!seconds) return {};
  const std::chrono::sys_seconds time{std::chrono::seconds(*seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace vtrain
