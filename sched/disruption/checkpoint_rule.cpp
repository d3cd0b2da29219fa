#include "sched/disruption/checkpoint_rule.hpp"

#include <algorithm>
#include <cmath>

#include "core/text/quantities.hpp"

namespace vtrain {

double young_interval_s(double checkpoint_s, double mtbf_s) {
  return std::sqrt(2 * checkpoint_s * mtbf_s);
}

double daly_interval_s(double checkpoint_s, double mtbf_s) {
  if (checkpoint_s >= 2 * mtbf_s) return mtbf_s;
  const double ratio = checkpoint_s / (2 * mtbf_s);
  return young_interval_s(checkpoint_s, mtbf_s) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - checkpoint_s;
}

Result<CheckpointRule> CheckpointRule::parse(std::string_view text) {
  if (text == "none") return CheckpointRule{};
  if (text == "young") return CheckpointRule{Kind::Young, {}};
  if (text == "daly") return CheckpointRule{Kind::Daly, {}};
  const auto span = parse_time_span(text);
  if (!span || *span < std::chrono::seconds(1))
    return fail(
        {.message = expected_found("none, young, daly or an interval of at least 1s such as 30m", text)});
  return CheckpointRule{Kind::Interval, *span};
}

std::optional<SimDuration> CheckpointRule::interval_of(double checkpoint_s, double mtbf_s) const {
  if (kind == Kind::None) return std::nullopt;
  if (kind == Kind::Interval) return interval;
  const double seconds =
      kind == Kind::Young ? young_interval_s(checkpoint_s, mtbf_s) : daly_interval_s(checkpoint_s, mtbf_s);
  if (!(seconds < to_seconds(kHundredYears))) return std::nullopt;
  return std::max(to_sim_duration(Seconds(seconds)), SimDuration(1));
}

}  // namespace vtrain
