#include "tools/format/profile_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/stack/kernel_cost.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

constexpr std::array kTablePrecisions = {Precision::Bf16, Precision::Fp8, Precision::Fp4};
constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;

const KernelSurface* gemm_table(const GpuProfile& profile, Precision precision) {
  return profile.gemm[static_cast<std::size_t>(precision)].get();
}

RateCurve gemm_curve(const GpuProfile& profile, Precision precision) {
  constexpr std::int64_t kSmallest = 256;
  constexpr std::int64_t kLargest = 16384;
  RateCurve curve{.title = fmt::format("GEMM {}, m = n = k", name_of(precision)),
                  .size_unit = "",
                  .rate_unit = "FLOP/s",
                  .limit = profile.peak_rate_of(precision).value,
                  .sustained = profile.sustained_rate_of(precision).value,
                  .points = {}};
  for (std::int64_t size = kSmallest; size <= kLargest; size *= 2) {
    const KernelTime time = gemm_time(profile, precision, {.m = size, .n = size, .k = size});
    const double flops = 2 * std::pow(static_cast<double>(size), 3);
    curve.points.push_back({static_cast<double>(size), flops / Seconds(time.time).count(), time.evidence});
  }
  return curve;
}

RateCurve attention_curve(const GpuProfile& profile, AttentionKernel kernel, bool backward) {
  constexpr std::int64_t kHeads = 32;
  constexpr std::int64_t kHeadSize = 128;
  constexpr std::int64_t kShortest = 512;
  constexpr std::int64_t kLongest = 32768;
  constexpr double kBackwardProducts = 2.5;
  RateCurve curve{.title = fmt::format("attention {} {}, {} heads of {}, by tokens", name_of(kernel),
                                       backward ? "backward" : "forward", kHeads, kHeadSize),
                  .size_unit = "",
                  .rate_unit = "FLOP/s",
                  .limit = profile.peak_rate.value,
                  .points = {}};
  for (std::int64_t tokens = kShortest; tokens <= kLongest; tokens *= 2) {
    const AttentionShape shape{.sequence = tokens,
                               .queries = tokens,
                               .heads = kHeads,
                               .head_size = kHeadSize,
                               .value_head_size = kHeadSize};
    const KernelTime time = backward ? attention_backward_time(profile, kernel, shape)
                                     : attention_forward_time(profile, kernel, shape);
    const double flops = (backward ? kBackwardProducts : 1) * 2 * static_cast<double>(kHeads * kHeadSize) *
                         std::pow(static_cast<double>(tokens), 2);
    curve.points.push_back({static_cast<double>(tokens), flops / Seconds(time.time).count(), time.evidence});
  }
  return curve;
}

RateCurve collective_curve(const GpuProfile& profile, Collective collective, std::int64_t num_gpus) {
  constexpr double kSmallest = 65536;
  constexpr double kLargest = 1073741824;
  RateCurve curve{.title = fmt::format("{} over {} GPUs, bus bandwidth", name_of(collective), num_gpus),
                  .size_unit = "B",
                  .rate_unit = "B/s",
                  .limit = profile.nvlink_bandwidth.value,
                  .points = {}};
  for (double size = kSmallest; size <= kLargest; size *= 4) {
    const KernelTime time = collective_time(profile, collective, {.size = num_gpus, .per_node = num_gpus},
                                            Bytes(size), Libraries::Current);
    const double moved = size * collective_volume(collective, num_gpus);
    curve.points.push_back({size, moved / Seconds(time.time).count(), time.evidence});
  }
  return curve;
}

std::string size_text(const RateCurve& curve, double size) {
  constexpr double kKibi = 1024;
  constexpr double kMebi = kKibi * kKibi;
  if (curve.size_unit.empty()) return with_thousands(std::llround(size));
  return size < kMebi ? fmt::format("{:.0f} KiB", size / kKibi) : fmt::format("{:.0f} MiB", size / kMebi);
}

std::string value_text(double value, std::string_view unit) {
  if (unit == "B") return value < kGiga ? fmt::format("{} B", short_number(value)) : as_gibibytes(value);
  if (unit == "B/s") return fmt::format("{} GB/s", short_number(value / kGiga));
  if (unit == "FLOP/s") return value == 0 ? "none" : fmt::format("{} TFLOP/s", short_number(value / kTera));
  if (unit == "ns") return as_duration(value / 1e9);
  return short_number(value);
}

std::string percent_text(double percent) {
  return percent < 0 ? "-" : fmt::format("{:.2g} %", percent);
}

/// Text in lines of at most 118 characters, the later ones indented. Words are not cut.
std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t kWidth = 118;
  std::string lines;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    if (column > indent && column + 1 + display_width(word) > kWidth) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += display_width(word);
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return lines;
}

std::string constants_text(const GpuProfile& profile) {
  std::string text;
  for (const ProfileConstant& constant : profile.constants) {
    const std::string start =
        fmt::format("{:<32}{:>14}  ", constant.name, value_text(constant.value, constant.unit));
    text += start + wrapped(constant.source, start.size()) + "\n";
  }
  return text;
}

std::string tables_text(const GpuProfile& profile) {
  constexpr std::size_t kIndent = 4;
  std::string text =
      "measured                     times  software stacks differ  interpolation errs  rounding errs\n";
  for (const ProfileTable& table : profile.tables) {
    text += fmt::format("{:<26}{:>8}{:>24}{:>20}{:>15}\n", table.name,
                        table.num_points == 0 ? "-" : with_thousands(table.num_points),
                        percent_text(table.spread_percent), percent_text(table.left_out_error_percent),
                        percent_text(table.compaction_error_percent));
    text += std::string(kIndent, ' ') + wrapped(table.source, kIndent) + "\n";
  }
  return text;
}

std::string curve_text(const RateCurve& curve) {
  constexpr double kBarWidth = 50;
  std::string text = fmt::format("{} ({} at most", curve.title, value_text(curve.limit, curve.rate_unit));
  if (curve.sustained > 0)
    text += fmt::format(", {} within the power limit", value_text(curve.sustained, curve.rate_unit));
  text += ")\n";
  for (const RateCurve::Point& point : curve.points) {
    const double share = point.rate / curve.limit;
    std::string bar;
    for (std::int64_t i = 0; i < std::llround(std::min(1.0, share) * kBarWidth); ++i)
      bar += "█";
    text += fmt::format("{:>10}  {:>14}  {:>3.0f} %  {}{}\n", size_text(curve, point.size),
                        value_text(point.rate, curve.rate_unit), share * 100, bar,
                        point.evidence == Evidence::Extrapolated ? "  (extrapolated)" : "");
  }
  return text;
}

ordered_json curve_to_json(const RateCurve& curve) {
  ordered_json points = ordered_json::array();
  for (const RateCurve::Point& point : curve.points) {
    points.push_back({{"size", point.size}, {"rate", point.rate}, {"evidence", name_of(point.evidence)}});
  }
  return {{"title", curve.title},
          {"size_unit", curve.size_unit},
          {"rate_unit", curve.rate_unit},
          {"limit", curve.limit},
          {"sustained", curve.sustained > 0 ? ordered_json(curve.sustained) : ordered_json()},
          {"points", std::move(points)}};
}

/// Measured parts of the profile, in few words.
std::string measured_text(const GpuProfile& profile) {
  std::string text;
  const auto add = [&text](std::string_view words) {
    text += (text.empty() ? "" : ", ") + std::string(words);
  };
  for (const Precision precision : kTablePrecisions) {
    if (gemm_table(profile, precision) != nullptr) add(fmt::format("GEMM {}", name_of(precision)));
  }
  for (std::size_t i = 0; i < kNumAttentionKernels; ++i) {
    const AttentionRates& rates = profile.attention[i];
    if (rates.log_rate != nullptr && !rates.assumed) add(name_of(static_cast<AttentionKernel>(i)));
  }
  const auto& groups = profile.collectives.of(Collective::AllGather);
  if (!groups.empty() && profile.nvlink_domain > 1)
    add(fmt::format("collectives to {} GPUs", groups.rbegin()->first));
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::vector<RateCurve> rate_curves(const GpuProfile& profile) {
  std::vector<RateCurve> curves;
  for (const Precision precision : kTablePrecisions) {
    if (gemm_table(profile, precision) != nullptr) curves.push_back(gemm_curve(profile, precision));
  }
  for (std::size_t i = 0; i < kNumAttentionKernels; ++i) {
    if (profile.attention[i].log_rate == nullptr || profile.attention[i].assumed) continue;
    const auto kernel = static_cast<AttentionKernel>(i);
    for (const bool backward : {false, true})
      curves.push_back(attention_curve(profile, kernel, backward));
  }
  for (const Collective collective : kCollectives) {
    const auto& groups = profile.collectives.of(collective);
    if (!groups.empty()) curves.push_back(collective_curve(profile, collective, groups.rbegin()->first));
  }
  return curves;
}

std::string describe_profile(const GpuProfile& profile) {
  std::string text = fmt::format("{}   {}\n", profile.name, profile.description);
  if (!profile.made_by.empty()) text += fmt::format("made by {}\n", profile.made_by);
  text += "\n" + constants_text(profile) + "\n" + tables_text(profile);
  for (const RateCurve& curve : rate_curves(profile))
    text += "\n" + curve_text(curve);
  return text;
}

ordered_json peak_rates_to_json(const GpuProfile& profile) {
  const auto rate = [](FlopsPerSecond peak) {
    return peak.value > 0 ? ordered_json(peak.value) : ordered_json(nullptr);
  };
  return {{"bf16", rate(profile.has_bf16 ? profile.peak_rate : FlopsPerSecond(0))},
          {"fp16", rate(profile.peak_rate)},
          {"fp32", rate(profile.peak_rate_fp32)},
          {"fp8", rate(profile.peak_rate_fp8)},
          {"fp4", rate(profile.peak_rate_fp4)}};
}

ordered_json profile_summary_to_json(const GpuProfile& profile) {
  return {{"name", profile.name},
          {"description", profile.description},
          {"made_by", profile.made_by},
          {"memory_bytes", profile.memory_capacity.value},
          {"memory_bytes_per_second", profile.memory_bandwidth.value},
          {"peak_flops_per_second", peak_rates_to_json(profile)},
          {"gpus_per_node", profile.gpus_per_node},
          {"nvlink_domain_gpus", profile.nvlink_domain},
          {"node_network_bytes_per_second", profile.node_network_bandwidth.value},
          {"measured", measured_text(profile)}};
}

ordered_json profile_to_json(const GpuProfile& profile) {
  ordered_json json = profile_summary_to_json(profile);
  ordered_json constants = ordered_json::array();
  for (const ProfileConstant& constant : profile.constants) {
    constants.push_back({{"name", constant.name},
                         {"value", constant.value},
                         {"unit", constant.unit},
                         {"source", constant.source}});
  }
  ordered_json tables = ordered_json::array();
  const auto percent = [](double value) { return value < 0 ? ordered_json() : ordered_json(value); };
  for (const ProfileTable& table : profile.tables) {
    tables.push_back({{"name", table.name},
                      {"source", table.source},
                      {"points", table.num_points},
                      {"spread_percent", percent(table.spread_percent)},
                      {"left_out_error_percent", percent(table.left_out_error_percent)},
                      {"compaction_error_percent", percent(table.compaction_error_percent)}});
  }
  ordered_json curves = ordered_json::array();
  for (const RateCurve& curve : rate_curves(profile))
    curves.push_back(curve_to_json(curve));
  json["constants"] = std::move(constants);
  json["tables"] = std::move(tables);
  json["curves"] = std::move(curves);
  return json;
}

std::string list_profiles(const std::vector<GpuProfile>& profiles) {
  TextTable table({"profile", "memory", "bandwidth", "16 bits", "fp8", "fp4", "NVLink", "network a node"});
  std::size_t longest = 0;
  for (const GpuProfile& profile : profiles)
    longest = std::max(longest, profile.name.size());
  std::string measured;
  for (const GpuProfile& profile : profiles) {
    const auto peak = [&](Precision precision) {
      const double rate = profile.peak_rate_of(precision).value;
      return rate == 0 ? "-" : fmt::format("{} TFLOP/s", short_number(rate / kTera));
    };
    table.add_row({profile.name, as_gibibytes(profile.memory_capacity.value),
                   value_text(profile.memory_bandwidth.value, "B/s"), peak(Precision::Bf16),
                   peak(Precision::Fp8), peak(Precision::Fp4), count_of(profile.nvlink_domain, "GPU"),
                   fmt::format("{} x {}", profile.gpus_per_node,
                               value_text(profile.node_network_bandwidth.value /
                                              static_cast<double>(profile.gpus_per_node),
                                          "B/s"))});
    const std::size_t indent = longest + 2;
    measured +=
        fmt::format("{:<{}}{}\n", profile.name, indent,
                    wrap_text("measured: " + measured_text(profile), text_columns() - indent, indent));
  }
  return table.to_string() + "\n" + measured;
}

}  // namespace vtrain
