#include "core/profile/constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/utf8.hpp"
#include "core/io/json_reader.hpp"
#include "core/text/quantities.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr double kMegabyte = 1e6;
constexpr double kPetabyte = 1e15;
constexpr double kSecond = 1e9;  // ns

template <auto Member>
void set_quantity(GpuProfile& profile, double value) {
  using Type = std::remove_reference_t<decltype(profile.*Member)>;
  profile.*Member = Type(value);
}

template <auto Member>
void set_count(GpuProfile& profile, double value) {
  profile.*Member = static_cast<std::int64_t>(value);
}

template <auto Model, auto Member>
void set_of_tiles(GpuProfile& profile, double value) {
  using Type = std::remove_reference_t<decltype(profile.*Model.*Member)>;
  profile.*Model.*Member = static_cast<Type>(value);
}

template <auto Model, std::size_t Index>
void set_tile_efficiency(GpuProfile& profile, double value) {
  (profile.*Model).efficiency[Index] = value;
}

template <auto Member>
constexpr KnownConstant ratio(std::string_view name, double high = 1) {
  return {name, "1", 0.01, high, set_quantity<Member>};
}

template <auto Member>
constexpr KnownConstant bandwidth(std::string_view name) {
  return {name, "B/s", kMegabyte, kPetabyte, set_quantity<Member>};
}

template <auto Member>
constexpr KnownConstant latency(std::string_view name) {
  return {name, "ns", 0, kSecond, set_quantity<Member>};
}

template <auto Member>
constexpr KnownConstant peak(std::string_view name, double low) {
  return {name, "FLOP/s", low, 1e18, set_quantity<Member>};
}

template <auto Member>
constexpr KnownConstant count(std::string_view name, double high) {
  return {name, "1", 1, high, set_count<Member>, true};
}

constexpr KnownConstant in_group(std::string_view group, KnownConstant constant) {
  constant.group = group;
  return constant;
}

constexpr KnownConstant of_tile_model(KnownConstant constant) {
  return in_group("tile model", constant);
}

constexpr KnownConstant of_fp32_tiles(KnownConstant constant) {
  return in_group("fp32 tile model", constant);
}

constexpr KnownConstant optional(KnownConstant constant) {
  constant.optional = true;
  return constant;
}

using P = GpuProfile;
using T = TileModel;

constexpr std::array kConstants = {
    KnownConstant{"memory_capacity", "B", kMegabyte, kPetabyte, set_quantity<&P::memory_capacity>},
    KnownConstant{"memory_reserve", "B", 0, kPetabyte, set_quantity<&P::memory_reserve>},
    bandwidth<&P::memory_bandwidth>("memory_bandwidth"),
    peak<&P::peak_rate>("peak_rate", 1e9),
    optional({"has_bf16", "1", 0, 1, set_quantity<&P::has_bf16>, true}),
    peak<&P::peak_rate_fp32>("peak_rate_fp32", 1e9),
    peak<&P::peak_rate_fp8>("peak_rate_fp8", 0),
    peak<&P::peak_rate_fp4>("peak_rate_fp4", 0),
    optional(peak<&P::sustained_rate>("sustained_rate", 0)),
    optional(peak<&P::sustained_rate_fp8>("sustained_rate_fp8", 0)),
    count<&P::num_multiprocessors>("num_multiprocessors", 10000),
    latency<&P::kernel_overhead>("kernel_overhead"),
    ratio<&P::gemm_efficiency>("gemm_efficiency"),
    ratio<&P::batched_gemm_efficiency>("batched_gemm_efficiency"),
    optional({"conversion_traffic", "B", 0, 100, set_quantity<&P::conversion_traffic>}),
    optional({"conversion_traffic_fp4", "B", 0, 100, set_quantity<&P::conversion_traffic_fp4>}),
    optional(ratio<&P::split_accumulation_factor>("split_accumulation_factor", 10)),
    of_tile_model({"gemm_rate", "FLOP/s", 1e9, 1e18, set_of_tiles<&P::tiles, &T::rate>}),
    of_tile_model({"gemm_depth_overhead", "1", 0, 1e6, set_of_tiles<&P::tiles, &T::depth_overhead>}),
    of_tile_model({"gemm_tile_efficiency_32768", "1", 0.01, 2, set_tile_efficiency<&P::tiles, 0>}),
    of_tile_model({"gemm_tile_efficiency_16384", "1", 0.01, 2, set_tile_efficiency<&P::tiles, 1>}),
    of_tile_model({"gemm_tile_efficiency_8192", "1", 0.01, 2, set_tile_efficiency<&P::tiles, 2>}),
    of_tile_model({"gemm_tile_efficiency_4096", "1", 0.01, 2, set_tile_efficiency<&P::tiles, 3>}),
    of_tile_model(ratio<&P::gemm_memory_efficiency>("gemm_memory_efficiency")),
    of_fp32_tiles({"gemm_fp32_rate", "FLOP/s", 1e9, 1e18, set_of_tiles<&P::tiles_fp32, &T::rate>}),
    of_fp32_tiles(
        {"gemm_fp32_depth_overhead", "1", 0, 1e6, set_of_tiles<&P::tiles_fp32, &T::depth_overhead>}),
    of_fp32_tiles({"gemm_fp32_tile_efficiency_8192", "1", 0.01, 2, set_tile_efficiency<&P::tiles_fp32, 2>}),
    of_fp32_tiles({"gemm_fp32_tile_efficiency_4096", "1", 0.01, 2, set_tile_efficiency<&P::tiles_fp32, 3>}),
    of_fp32_tiles(
        {"gemm_fp32_batched_side", "1", 1, 128, set_of_tiles<&P::tiles_fp32, &T::batched_side>, true}),
    ratio<&P::elementwise_efficiency>("elementwise_efficiency"),
    ratio<&P::gelu_efficiency>("gelu_efficiency"),
    ratio<&P::layer_norm_efficiency>("layer_norm_efficiency"),
    ratio<&P::softmax_efficiency>("softmax_efficiency"),
    ratio<&P::dropout_efficiency>("dropout_efficiency"),
    ratio<&P::optimizer_efficiency>("optimizer_efficiency"),
    KnownConstant{"optimizer_traffic", "B", 1, 1e6, set_quantity<&P::optimizer_traffic>},
    optional({"strided_element_rate", "1/s", 1e6, 1e12, set_quantity<&P::strided_element_rate>}),
    ratio<&P::latent_attention_forward_rate>("latent_attention_forward_rate", 2),
    ratio<&P::latent_attention_backward_rate>("latent_attention_backward_rate", 2),
    count<&P::gpus_per_node>("gpus_per_node", 1024),
    count<&P::nvlink_domain>("nvlink_domain", 1 << 20),
    bandwidth<&P::node_network_bandwidth>("node_network_bandwidth"),
    ratio<&P::network_efficiency>("network_efficiency"),
    latency<&P::network_step_latency>("network_step_latency"),
    latency<&P::send_latency>("send_latency"),
    bandwidth<&P::nvlink_bandwidth>("nvlink_bandwidth"),
    ratio<&P::nvlink_efficiency>("nvlink_efficiency"),
    ratio<&P::nvlink_send_efficiency>("nvlink_send_efficiency"),
    optional(bandwidth<&P::host_bandwidth>("host_bandwidth")),
    optional(ratio<&P::host_issue_factor>("host_issue_factor", 100)),
};

std::array<std::string_view, kConstants.size()> constant_names() {
  std::array<std::string_view, kConstants.size()> names;
  std::transform(kConstants.begin(), kConstants.end(), names.begin(),
                 [](const KnownConstant& constant) { return constant.name; });
  return names;
}

/// Position of the constant of this name, or its place for insertion, in the order of the known names.
std::vector<ProfileConstant>::iterator place_of(std::vector<ProfileConstant>& constants,
                                                std::string_view name) {
  const auto rank = [](std::string_view of) {
    return std::find_if(kConstants.begin(), kConstants.end(),
                        [of](const KnownConstant& known) { return known.name == of; }) -
           kConstants.begin();
  };
  return std::find_if(constants.begin(), constants.end(),
                      [&](const ProfileConstant& constant) { return rank(constant.name) >= rank(name); });
}

void put_constant(GpuProfile& profile, const KnownConstant& known, ProfileConstant constant) {
  known.set(profile, constant.value);
  const auto place = place_of(profile.constants, known.name);
  if (place != profile.constants.end() && place->name == known.name) {
    *place = std::move(constant);
  } else {
    profile.constants.insert(place, std::move(constant));
  }
}

/// The range of a constant as text, with an example of its unit, if any.
std::string expected_constant(const KnownConstant& known) {
  std::string_view example;
  if (known.unit == "B/s") example = "such as 50GB/s or 400Gbit/s";
  if (known.unit == "B") example = "such as 80GB";
  if (known.unit == "FLOP/s") example = "such as 900TFLOP/s";
  if (known.unit == "ns") example = "such as 5us";
  return fmt::format("a {}number from {} to {}{}{}", known.whole ? "whole " : "", known.low, known.high,
                     known.unit == "1" ? "" : fmt::format(" {}", known.unit),
                     example.empty() ? "" : fmt::format(", {}", example));
}

Result<void> read_constant(const JsonDocument& document, const json& object, const KnownConstant& known,
                           GpuProfile& profile) {
  constexpr std::array<std::string_view, 3> kKeys = {"value", "unit", "source"};
  JsonFields fields(document, object);
  fields.allow_only(kKeys);
  ProfileConstant constant;
  constant.name = known.name;
  constant.value = fields.number("value", known.low, known.high);
  if (known.whole && constant.value != std::floor(constant.value)) {
    fields.complain("value", expected_found("a whole number", fmt::format("{}", constant.value)));
  }
  constant.unit = fields.string("unit");
  constant.source = fields.string("source");
  if (constant.unit != known.unit) fields.complain("unit", expected_found(known.unit, constant.unit));
  if (constant.source.empty()) fields.complain("source", "expected where the value comes from, found ''");
  if (fields.error()) return fail(*fields.error());
  put_constant(profile, known, std::move(constant));
  return {};
}

bool has_constant(const GpuProfile& profile, std::string_view name) {
  return std::any_of(profile.constants.begin(), profile.constants.end(),
                     [name](const ProfileConstant& constant) { return constant.name == name; });
}

}  // namespace

std::span<const KnownConstant> known_constants() {
  return kConstants;
}

Result<void> read_constants(const JsonDocument& document, const json& object, GpuProfile& profile) {
  const auto names = constant_names();
  JsonFields fields(document, object);
  fields.allow_only(names);
  if (fields.error()) return fail(*fields.error());
  for (const KnownConstant& known : kConstants) {
    const auto found = object.find(known.name);
    if (found == object.end()) continue;
    if (auto read = read_constant(document, *found, known, profile); !read) return read;
  }
  return {};
}

Result<void> set_constant(GpuProfile& profile, std::string_view name, std::string_view value,
                          std::string source) {
  const auto known = std::find_if(kConstants.begin(), kConstants.end(),
                                  [name](const KnownConstant& constant) { return constant.name == name; });
  if (known == kConstants.end()) {
    return fail(
        {.field = printable(name), .message = with_guess("unknown constant", name, constant_names())});
  }
  if (!known->group.empty() && !has_constant(profile, name))
    return fail({.field = std::string(name),
                 .message = fmt::format("profile {} has no {}", profile.name, known->group)});
  const double in_unit = parse_quantity(value, known->unit).value_or(std::nan(""));
  if (!(in_unit >= known->low && in_unit <= known->high) || (known->whole && in_unit != std::floor(in_unit)))
    return fail({.field = std::string(name), .message = expected_found(expected_constant(*known), value)});
  put_constant(profile, *known,
               {.name = std::string(name),
                .value = in_unit,
                .unit = std::string(known->unit),
                .source = std::move(source)});
  return {};
}

Result<void> check_constants(const JsonDocument& document, const json& object, const GpuProfile& profile) {
  const auto has_group = [&](std::string_view group) {
    return std::any_of(kConstants.begin(), kConstants.end(), [&](const KnownConstant& known) {
      return known.group == group && has_constant(profile, known.name);
    });
  };
  for (const KnownConstant& known : kConstants) {
    const bool may_be_absent = known.optional || (!known.group.empty() && !has_group(known.group));
    if (may_be_absent || has_constant(profile, known.name)) continue;
    return fail(document.error_at(object, fmt::format("constants.{}", known.name), "missing"));
  }
  return {};
}

}  // namespace vtrain
