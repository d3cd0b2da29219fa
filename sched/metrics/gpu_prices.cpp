#include "sched/metrics/gpu_prices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

constexpr double kHighestPrice = 1e6;
constexpr std::string_view kPerHour = "/h";

Error bad_price(std::string message) {
  return {.field = "--price", .message = std::move(message)};
}

Result<double> read_price(std::string_view text) {
  const std::string_view number =
      text.ends_with(kPerHour) ? text.substr(0, text.size() - kPerHour.size()) : text;
  const auto price = parse_number(number, 0, kHighestPrice);
  if (!price)
    return fail(bad_price(expected_found("dollars per GPU-hour, such as h100=2.5/h or 2.5/h", text)));
  return *price;
}

}  // namespace

Result<GpuPrices> GpuPrices::parse(std::span<const std::string> texts, const ClusterSpec& cluster) {
  const GpuTypes types(cluster, {});
  GpuPrices prices;
  prices.names_ = types.names();
  prices.prices_.resize(prices.names_.size());
  std::optional<double> of_others;
  for (const std::string& text : texts) {
    for (const std::string_view part : split(text, ',')) {
      const auto [type, value] = split_once(part, '=');
      const auto price = read_price(value ? *value : type);
      if (!price) return fail(price.error());
      std::optional<double>* place = &of_others;
      if (value && !types.named()) {
        return fail(bad_price(
            expected_found("a price of all GPUs, such as 2.5/h, as the cluster names no types", part)));
      }
      if (value) {
        const auto named = std::ranges::find_if(prices.names_, [&, &name = type](const std::string& known) {
          return !known.empty() && equal_in_any_case(known, name);
        });
        if (named == prices.names_.end()) return fail(bad_price(types.complaint(std::string(type))));
        place = &prices.prices_[static_cast<std::size_t>(named - prices.names_.begin())];
      }
      if (*place)
        return fail(bad_price(fmt::format("expected one price for each type, found two of {}",
                                          value ? std::string(type) : "all others")));
      *place = *price;
      prices.any_ = true;
    }
  }
  for (std::optional<double>& price : prices.prices_)
    price = price ? price : of_others;
  return prices;
}

std::vector<std::string> GpuPrices::types_without_price() const {
  std::vector<std::string> names;
  for (std::size_t type = 0; type < names_.size(); ++type) {
    if (!prices_[type]) names.push_back(names_[type].empty() ? "no type" : names_[type]);
  }
  return names;
}

std::optional<double> GpuPrices::hourly(const ClusterSpec& cluster) const {
  double dollars = 0;
  for (const NodeGroup& group : cluster.groups) {
    const auto named = std::ranges::find_if(
        names_, [&](const std::string& known) { return equal_in_any_case(known, group.gpu_type); });
    if (named == names_.end()) return std::nullopt;
    const std::optional<double>& price = prices_[static_cast<std::size_t>(named - names_.begin())];
    if (!price) return std::nullopt;
    dollars += *price * static_cast<double>(group.num_nodes) * group.gpus_per_node.value;
  }
  return dollars;
}

std::optional<double> GpuPrices::cost(const SimulationResult& result, JobId job) const {
  if (empty()) return std::nullopt;
  const auto cost_of = [](const GpuTime& held, double price) {
    return held.seconds() * price / kSecondsPerHour;
  };
  const GpuTime& held = result.outcomes[job.value].gpu_time;
  if (held.seconds() == 0) return 0.0;
  const bool alike =
      std::ranges::all_of(prices_, [&](const auto& price) { return price == prices_.front(); });
  if (alike) return prices_.front() ? std::optional(cost_of(held, *prices_.front())) : std::nullopt;
  if (result.gpu_time_by_type.empty()) return std::nullopt;
  double cost = 0;
  for (std::size_t type = 0; type < prices_.size(); ++type) {
    const GpuTime& part = result.gpu_time_by_type[job.value * prices_.size() + type];
    if (part.seconds() == 0) continue;
    if (!prices_[type]) return std::nullopt;
    cost += cost_of(part, *prices_[type]);
  }
  return cost;
}

}  // namespace vtrain
