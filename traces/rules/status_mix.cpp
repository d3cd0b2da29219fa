#include "traces/rules/status_mix.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/rng.hpp"
#include "core/base/strings.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {
namespace {

tl::unexpected<Error> bad_mix(std::string message) {
  return fail({.field = "statuses", .message = std::move(message)});
}

bool has_status(std::span<const StatusWeight> mix, JobStatus status) {
  return std::any_of(mix.begin(), mix.end(),
                     [status](const StatusWeight& entry) { return entry.status == status; });
}

}  // namespace

Result<std::vector<StatusWeight>> parse_status_mix(std::string_view text,
                                                   std::span<const StatusWeight> known) {
  constexpr double kMostWeight = 1e15;
  const bool weighted = text.find('=') != std::string_view::npos;
  std::vector<StatusWeight> mix;
  for (const std::string_view part : split(text, ',')) {
    const auto [name, number] = split_once(part, '=');
    const auto status = parse_status(name);
    if (!status) return bad_mix(status.error().message);
    if (has_status(mix, *status)) return bad_mix(expected_found("each status once", status_name(*status)));
    if (!weighted) {
      for (const StatusWeight& entry : known) {
        if (entry.status == *status) mix.push_back(entry);
      }
    } else {
      const auto weight = parse_number(number.value_or(""), 0, kMostWeight);
      if (!weight) return bad_mix(expected_found("a share for each status, as completed=0.7", part));
      if (*weight > 0) mix.push_back({*status, *weight});
    }
  }
  if (!mix.empty()) return mix;
  if (weighted) return bad_mix("expected a share above 0");
  return bad_mix(known.empty()
                     ? "the shape does not say how jobs end; give shares, as completed=0.7,failed=0.3"
                     : fmt::format("no job of the shape ends so: {}", describe_status_mix(known)));
}

std::string describe_status_mix(std::span<const StatusWeight> mix) {
  double all = 0;
  for (const StatusWeight& entry : mix)
    all += entry.weight;
  std::string text;
  for (const StatusWeight& entry : mix) {
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", status_name(entry.status),
                        100 * entry.weight / all);
  }
  return text;
}

void draw_statuses(Workload& workload, std::span<const StatusWeight> mix, std::uint64_t seed) {
  std::vector<double> weights;
  for (const StatusWeight& entry : mix)
    weights.push_back(entry.weight);
  const WeightedChoice choice(weights);
  RandomStream random(seed, "statuses");
  for (Job& job : workload.jobs)
    job.status = mix[choice.draw(random)].status;
}

}  // namespace vtrain
