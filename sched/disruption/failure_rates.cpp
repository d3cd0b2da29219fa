#include "sched/disruption/failure_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/text/quantities.hpp"

namespace vtrain {
namespace {

constexpr double kShortestMtbf = 60;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::array<std::string_view, 6> kKeys = {"mtbf",   "gpu-mtbf",     "shape",
                                                   "repair", "repair-sigma", "detect"};

Error bad(std::string_view key, std::string message) {
  return {.field = std::string(key), .message = std::move(message)};
}

/// Mean times between failures in seconds: for all GPU types, and for some.
struct MeanTimes {
  std::optional<double> all{};
  std::map<std::string, double> by_type{};  ///< time by name in lower case

  double of(const std::string& type) const {
    const auto own = by_type.find(lower_case(type));
    return own != by_type.end() ? own->second : all.value_or(kNever);
  }
  bool empty() const { return !all && by_type.empty(); }
};

struct Settings {
  MeanTimes node{};
  MeanTimes gpu{};
  double shape = 1;
  double repair_s = 4 * 3600;
  double repair_sigma = 1;
  double detection_s = 60;
};

Result<void> read_duration(std::string_view key, std::string_view value, double least_s, double& seconds) {
  const auto span = parse_time_span(value);
  if (!span) return fail(bad(key, span.error().message));
  seconds = to_seconds(*span);
  if (seconds < least_s) return fail(bad(key, expected_found(fmt::format("at least {}s", least_s), value)));
  return {};
}

Result<void> read_number(std::string_view key, std::string_view value, double low, double high,
                         double& number) {
  const auto parsed = parse_number(value, low, high);
  if (!parsed) return fail(bad(key, parsed.error().message));
  number = *parsed;
  return {};
}

Result<void> read_mean_time(std::string_view key, std::optional<std::string_view> type,
                            std::string_view value, const ClusterSpec& cluster, MeanTimes& times) {
  double seconds = 0;
  if (auto read = read_duration(key, value, kShortestMtbf, seconds); !read) return read;
  if (!type) {
    times.all = seconds;
    return {};
  }
  const bool has_type = !type->empty() && std::any_of(cluster.groups.begin(), cluster.groups.end(),
                                                      [&](const NodeGroup& group) {
                                                        return equal_in_any_case(group.gpu_type, *type);
                                                      });
  if (!has_type) return fail(bad(key, expected_found("a GPU type of the cluster", *type)));
  if (!times.by_type.emplace(lower_case(*type), seconds).second)
    return fail(bad(key, "expected once, found twice"));
  return {};
}

Result<void> read_setting(std::string_view key, std::string_view value, const ClusterSpec& cluster,
                          Settings& settings) {
  const auto [name, type] = split_once(key, ':');
  if (name == "mtbf") return read_mean_time(key, type, value, cluster, settings.node);
  if (name == "gpu-mtbf") return read_mean_time(key, type, value, cluster, settings.gpu);
  if (key == "shape") return read_number(key, value, 0.1, 10, settings.shape);
  if (key == "repair") return read_duration(key, value, 1, settings.repair_s);
  if (key == "repair-sigma") return read_number(key, value, 0, 5, settings.repair_sigma);
  if (key == "detect") return read_duration(key, value, 0, settings.detection_s);
  return fail(bad(key, "unknown; " + suggest_name(name, kKeys)));
}

Result<Settings> read_settings(std::string_view text, const ClusterSpec& cluster) {
  Settings settings;
  std::set<std::string_view> seen;
  for (const std::string_view pair : split(text, ',')) {
    const auto [key, value] = split_once(pair, '=');
    if (!value)
      return fail({.message = expected_found("none or key=value pairs such as mtbf=6300h,repair=4h", pair)});
    if (!seen.insert(key).second) return fail(bad(key, "expected once, found twice"));
    auto read = read_setting(key, *value, cluster, settings);
    if (!read) return fail(std::move(read.error()));
  }
  if (settings.node.empty() && settings.gpu.empty())
    return fail({.message = "expected mtbf or gpu-mtbf, a mean time between failures such as mtbf=6300h"});
  return settings;
}

/// Text for people: `6,300 h`, `2.25 h`.
std::string hours(double seconds) {
  if (std::isinf(seconds)) return "never";
  const double rounded = std::round(seconds / 36) / 100;
  return rounded == std::floor(rounded) ? with_thousands(std::llround(rounded)) + " h"
                                        : fmt::format("{} h", rounded);
}

}  // namespace

Result<FailureRates> FailureRates::parse(std::string_view text, const ClusterSpec& cluster) {
  const auto settings = read_settings(text, cluster);
  if (!settings) return fail(settings.error());
  FailureRates rates;
  std::uint32_t num_nodes = 0;
  double rate_sum = 0;
  for (const NodeGroup& group : cluster.groups) {
    const double rate =
        1 / settings->node.of(group.gpu_type) + group.gpus_per_node.value / settings->gpu.of(group.gpu_type);
    rates.mtbf_s_.push_back(1 / rate);
    rates.first_node_.push_back(num_nodes);
    num_nodes += static_cast<std::uint32_t>(group.num_nodes);
    rate_sum += rate * group.num_nodes;
  }
  rates.mean_rate_ = rate_sum / num_nodes;
  rates.mean_node_gpus_ = static_cast<double>(cluster.total_gpus().value) / num_nodes;
  rates.shape_ = settings->shape;
  rates.repair_s_ = settings->repair_s;
  rates.repair_sigma_ = settings->repair_sigma;
  rates.detection_ = to_sim_duration(Seconds(settings->detection_s));
  return rates;
}

std::size_t FailureRates::group_of(NodeId node) const {
  const auto next = std::upper_bound(first_node_.begin(), first_node_.end(), node.value);
  return static_cast<std::size_t>(next - first_node_.begin()) - 1;
}

double FailureRates::job_mtbf_s(GpuCount num_gpus) const {
  return 1 / (mean_rate_ * std::ceil(num_gpus.value / mean_node_gpus_));
}

Nanoseconds FailureRates::draw_up_time(NodeId node, RandomStream& random) const {
  // Weibull of scale s: s E^(1 / shape) with E exponential of mean 1; its mean is s Gamma(1 + 1 / shape).
  const double scale = mtbf_s(node) / std::tgamma(1 + 1 / shape_);
  return Seconds(scale * std::pow(random.exponential(1), 1 / shape_));
}

Nanoseconds FailureRates::draw_repair_time(RandomStream& random) const {
  // The mean of a lognormal is exp(mu + sigma^2 / 2).
  const double mu = std::log(repair_s_) - repair_sigma_ * repair_sigma_ / 2;
  return Seconds(std::exp(mu + repair_sigma_ * random.normal()));
}

std::string FailureRates::describe() const {
  const auto [low, high] = std::minmax_element(mtbf_s_.begin(), mtbf_s_.end());
  const std::string mtbf = *low == *high ? hours(*low) : fmt::format("{} to {}", hours(*low), hours(*high));
  const std::string distribution = shape_ == 1 ? "exponential" : fmt::format("Weibull, shape {}", shape_);
  const std::string repair =
      repair_sigma_ == 0 ? "always" : fmt::format("lognormal, sigma {}", repair_sigma_);
  return fmt::format("mean time between failures of a node {} ({}), repaired in {} ({}), noticed after {} s",
                     mtbf, distribution, hours(repair_s_), repair, to_seconds(detection_));
}

}  // namespace vtrain
