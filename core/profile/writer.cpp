#include "core/profile/writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/io/json_reader.hpp"
#include "core/profile/tables.hpp"

namespace vtrain {
namespace {

/// Text of an array, `[1, 2, ...]`, in lines of limited length.
template <class Numbers, class Format>
std::string array_of(const Numbers& numbers, Format format) {
  constexpr std::size_t kWidth = 118;
  constexpr std::string_view kIndent = "\n        ";
  std::string text = "[";
  std::size_t line_start = 0;
  for (auto number = numbers.begin(); number != numbers.end(); ++number) {
    const std::string item = format(*number);
    if (number != numbers.begin()) text += ',';
    if (text.size() - line_start + item.size() > kWidth - kIndent.size()) {
      text += kIndent;
      line_start = text.size();
    }
    text += item;
  }
  return text + "]";
}

/// Shortest text that reads back as the same number: `2.039e12`, not `2039000000000`.
std::string plain(double number) {
  constexpr double kLong = 1e6;
  std::array<char, 32> digits{};
  const auto format = std::abs(number) < kLong ? std::chars_format::fixed : std::chars_format::scientific;
  char* const end = std::to_chars(digits.begin(), digits.end(), number, format).ptr;
  std::string text(digits.begin(), end);
  std::erase(text, '+');
  return text;
}

std::string whole(double number) {
  return fmt::format("{:.0f}", number);
}

std::string lines_of(const KernelSurface::Axis& axis) {
  return array_of(axis, [](std::int64_t line) { return fmt::format("{}", line); });
}

/// A percentage for people.
std::string percent(double number) {
  return plain(std::round(number * 1000) / 1000);
}

std::string fit_text(const SurfaceFit& fit, double compaction_error_percent) {
  return fmt::format(
      R"("fit": {{"points": {}, "spread_percent": {}, "left_out_error_percent": {}, "compaction_error_percent": {}}})",
      fit.num_points, percent(fit.spread_percent), percent(fit.left_out_error_percent),
      percent(compaction_error_percent));
}

}  // namespace

ProfileText::ProfileText(std::string_view name, std::string_view description, std::string_view made_by,
                         std::string_view base) {
  text_ = fmt::format("{{\n  \"schema\": \"{}\",\n  \"version\": {},\n  \"name\": {},\n", kProfileSchema,
                      kProfileVersion, json_string(name));
  text_ += fmt::format("  \"description\": {},\n  \"made_by\": {}", json_string(description),
                       json_string(made_by));
  if (!base.empty()) text_ += fmt::format(",\n  \"extends\": {}", json_string(base));
}

void ProfileText::open_section(std::string_view key) {
  if (section_ == key) return;
  close_section();
  text_ += fmt::format(",\n  \"{}\": {{", key);
  section_ = key;
  entry_follows_ = false;
}

void ProfileText::close_section() {
  if (!section_.empty()) text_ += "\n  }";
  section_.clear();
}

void ProfileText::begin_entry(std::string_view key) {
  text_ += fmt::format("{}\n    \"{}\": ", entry_follows_ ? "," : "", key);
  entry_follows_ = true;
}

void ProfileText::add_line(std::string_view line) {
  text_ += fmt::format("\n      {}", line);
}

void ProfileText::add_constants(std::span<const ProfileConstant> constants) {
  open_section("constants");
  for (const ProfileConstant& constant : constants) {
    begin_entry(constant.name);
    text_ += fmt::format(R"({{"value": {}, "unit": {}, "source": {}}})", plain(constant.value),
                         json_string(constant.unit), json_string(constant.source));
  }
}

void ProfileText::add_gemm(Precision precision, const SurfaceFit& fit, std::string_view source) {
  constexpr double kSteps = 1000;
  std::vector<double> values;
  std::transform(fit.surface.values().begin(), fit.surface.values().end(), std::back_inserter(values),
                 [](double value) { return std::round(value * kSteps) / kSteps; });
  const KernelSurface compact(fit.surface.axes(), values);
  open_section(kGemmKey);
  begin_entry(name_of(precision));
  text_ += fmt::format("{{\n      \"source\": {},", json_string(source));
  add_line(fit_text(fit, compaction_error_percent(fit.surface, compact)) + ",");
  add_line(fmt::format("\"m\": {},", lines_of(compact.axes()[0])));
  add_line(fmt::format("\"n\": {},", lines_of(compact.axes()[1])));
  add_line(fmt::format("\"k\": {},", lines_of(compact.axes()[2])));
  add_line(fmt::format("\"thousandths\": {}}}",
                       array_of(values, [](double value) { return whole(std::round(value * kSteps)); })));
}

void ProfileText::add_relative_gemm(Precision precision, const RelativeRate& rate, std::string_view source) {
  open_section(kGemmKey);
  begin_entry(name_of(precision));
  const std::string described = fmt::format(
      "{}; the median of {} products without accumulation, over the time that the extended profile gives "
      "them "
      "(a tenth below {:.2f}, a tenth above {:.2f})",
      source, rate.num_points, rate.low, rate.high);
  text_ += fmt::format("{{\n      \"source\": {},", json_string(described));
  add_line(fmt::format("\"relative_rate\": {}}}", plain(round_to_digits(rate.median, 3))));
}

void ProfileText::add_attention(AttentionKernel kernel, const SurfaceFit& fit, std::string_view source) {
  constexpr double kTera = 1e12;
  std::vector<double> tflops;
  std::vector<double> values;
  for (const double value : fit.surface.values()) {
    tflops.push_back(round_to_digits(std::exp(value) / kTera, 4));
    values.push_back(std::log(tflops.back() * kTera));
  }
  const KernelSurface compact(fit.surface.axes(), std::move(values));
  open_section(kAttentionKey);
  begin_entry(name_of(kernel));
  text_ += fmt::format("{{\n      \"source\": {},", json_string(source));
  add_line(fit_text(fit, compaction_error_percent(fit.surface, compact)) + ",");
  add_line(fmt::format("\"head_size\": {},", lines_of(compact.axes()[0])));
  add_line(fmt::format("\"sequence\": {},", lines_of(compact.axes()[1])));
  add_line(fmt::format("\"heads\": {},", lines_of(compact.axes()[2])));
  add_line(fmt::format("\"tflops\": {}}}", array_of(tflops, plain)));
}

void ProfileText::add_assumed_attention(AttentionKernel kernel, std::string_view from,
                                        std::string_view from_profile, double relative_rate,
                                        std::string_view source) {
  open_section(kAttentionKey);
  begin_entry(name_of(kernel));
  text_ += fmt::format("{{\n      \"source\": {},", json_string(source));
  add_line(fmt::format("\"kernel\": {},", json_string(from)));
  if (!from_profile.empty()) add_line(fmt::format("\"from_profile\": {},", json_string(from_profile)));
  add_line(fmt::format("\"relative_rate\": {}}}", plain(relative_rate)));
}

void ProfileText::add_attention_backward(const AttentionBackward& backward, std::string_view source) {
  close_section();
  text_ += fmt::format(",\n  \"{}\": {{\n    \"source\": {},\n", kAttentionBackwardKey, json_string(source));
  text_ += fmt::format("    \"heads_times_sequence\": {},\n", array_of(backward.work(), whole));
  text_ +=
      fmt::format("    \"relative_rate\": {}\n  }}",
                  array_of(backward.ratio(), [](double ratio) { return plain(round_to_digits(ratio, 3)); }));
}

void ProfileText::add_collectives(std::string_view key, const CollectiveFit& fit, std::string_view source) {
  open_section(key);
  for (const Collective collective : kCollectives) {
    const auto index = static_cast<std::size_t>(collective);
    if (fit.tables.of(collective).empty()) continue;
    begin_entry(name_of(collective));
    text_ += fmt::format("{{\n      \"source\": {},", json_string(source));
    add_line(fmt::format(R"("fit": {{"points": {}, "compaction_error_percent": {}}},)", fit.num_points[index],
                         percent(fit.compaction_error_percent[index])));
    add_line("\"groups\": [");
    bool first = true;
    for (const auto& [num_gpus, table] : fit.tables.of(collective)) {
      std::vector<double> bytes;
      std::vector<double> times;
      for (const MessageTable::Entry& entry : table.entries()) {
        bytes.push_back(entry.bytes);
        times.push_back(entry.nanoseconds);
      }
      if (!first) text_ += ',';
      first = false;
      add_line(fmt::format("{{\"gpus\": {}, \"bytes\": {},\n       \"ns\": {}}}", num_gpus,
                           array_of(bytes, whole), array_of(times, whole)));
    }
    text_ += "]}";
  }
}

void ProfileText::add_products(const MeasuredProducts& products, std::string_view source) {
  const auto rows_of = [](const MeasuredProducts::ByShape& by_shape) {
    return array_of(by_shape, [](const auto& product) {
      const auto& [shape, times] = product;
      return fmt::format("[{},{},{},{:.0f}]", shape[0], shape[1], shape[2], times.mean().count());
    });
  };
  open_section(kProductsKey);
  for (std::size_t i = 0; i < kNumPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    const auto& plain = products.of(precision, ProductKind::Plain);
    const auto& gradients = products.of(precision, ProductKind::WeightGradient);
    if (plain.empty() && gradients.empty()) continue;
    begin_entry(name_of(precision));
    text_ += fmt::format("{{\n      \"source\": {},", json_string(source));
    add_line(fmt::format("\"plain\": {},", rows_of(plain)));
    add_line(fmt::format("\"weight_gradient\": {}}}", rows_of(gradients)));
  }
}

std::string ProfileText::finish() && {
  close_section();
  text_ += "\n}\n";
  return std::move(text_);
}

}  // namespace vtrain
