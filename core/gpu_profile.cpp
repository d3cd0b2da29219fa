#include "core/gpu_profile.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/file.hpp"
#include "core/json_reader.hpp"
#include "core/text.hpp"

namespace vtrain {

namespace embedded {
extern const std::string_view a100_profile;
}  // namespace embedded

namespace {

using nlohmann::json;

constexpr std::string_view kSchema = "vtrain-gpu-profile";
constexpr std::int64_t kVersion = 1;
constexpr double kMegabyte = 1e6;
constexpr double kPetabyte = 1e15;
constexpr double kSecond = 1e9;  // ns

/// One constant that every profile has: its unit, the range that makes sense, and where it goes.
struct KnownConstant {
  std::string_view name;
  std::string_view unit;
  double low;
  double high;
  void (*set)(GpuProfile&, double);
  bool whole = false;  ///< only whole numbers make sense
};

template <auto Member>
void set_quantity(GpuProfile& profile, double value) {
  using Type = std::remove_reference_t<decltype(profile.*Member)>;
  profile.*Member = Type(value);
}

template <auto Member>
void set_count(GpuProfile& profile, double value) {
  profile.*Member = static_cast<std::int64_t>(value);
}

template <std::size_t Index>
void set_tile_efficiency(GpuProfile& profile, double value) {
  profile.gemm_tile_efficiency[Index] = value;
}

template <auto Member>
constexpr KnownConstant efficiency(std::string_view name) {
  return {name, "1", 0.01, 1, set_quantity<Member>};
}

using P = GpuProfile;

constexpr std::array kConstants = {
    KnownConstant{"memory_capacity", "B", kMegabyte, kPetabyte, set_quantity<&P::memory_capacity>},
    KnownConstant{"memory_reserve", "B", 0, kPetabyte, set_quantity<&P::memory_reserve>},
    KnownConstant{"memory_bandwidth", "B/s", kMegabyte, kPetabyte, set_quantity<&P::memory_bandwidth>},
    KnownConstant{"peak_rate", "FLOP/s", 1e9, 1e18, set_quantity<&P::peak_rate>},
    KnownConstant{"num_multiprocessors", "1", 1, 10000, set_count<&P::num_multiprocessors>, true},
    KnownConstant{"kernel_overhead", "ns", 0, kSecond, set_quantity<&P::kernel_overhead>},
    KnownConstant{"gemm_rate", "FLOP/s", 1e9, 1e18, set_quantity<&P::gemm_rate>},
    KnownConstant{"gemm_depth_overhead", "1", 0, 1e6, set_quantity<&P::gemm_depth_overhead>},
    KnownConstant{"gemm_tile_efficiency_32768", "1", 0.01, 2, set_tile_efficiency<0>},
    KnownConstant{"gemm_tile_efficiency_16384", "1", 0.01, 2, set_tile_efficiency<1>},
    KnownConstant{"gemm_tile_efficiency_8192", "1", 0.01, 2, set_tile_efficiency<2>},
    KnownConstant{"gemm_tile_efficiency_4096", "1", 0.01, 2, set_tile_efficiency<3>},
    efficiency<&P::gemm_memory_efficiency>("gemm_memory_efficiency"),
    efficiency<&P::elementwise_efficiency>("elementwise_efficiency"),
    efficiency<&P::gelu_efficiency>("gelu_efficiency"),
    efficiency<&P::layer_norm_efficiency>("layer_norm_efficiency"),
    efficiency<&P::softmax_efficiency>("softmax_efficiency"),
    efficiency<&P::dropout_efficiency>("dropout_efficiency"),
    efficiency<&P::optimizer_efficiency>("optimizer_efficiency"),
    KnownConstant{"optimizer_traffic", "B", 1, 1e6, set_quantity<&P::optimizer_traffic>},
    KnownConstant{"forward_issue_floor", "ns", 0, kSecond, set_quantity<&P::forward_issue_floor>},
    KnownConstant{"backward_issue_floor", "ns", 0, kSecond, set_quantity<&P::backward_issue_floor>},
    KnownConstant{"gpus_per_node", "1", 1, 1024, set_count<&P::gpus_per_node>, true},
    KnownConstant{"node_network_bandwidth", "B/s", kMegabyte, kPetabyte,
                  set_quantity<&P::node_network_bandwidth>},
    efficiency<&P::network_efficiency>("network_efficiency"),
    KnownConstant{"send_latency", "ns", 0, kSecond, set_quantity<&P::send_latency>},
    KnownConstant{"gather_bandwidth", "B/s", kMegabyte, kPetabyte, set_quantity<&P::gather_bandwidth>},
    KnownConstant{"nvlink_bandwidth", "B/s", kMegabyte, kPetabyte, set_quantity<&P::nvlink_bandwidth>},
    KnownConstant{"last_stage_recomputes", "1", 0, 1, set_quantity<&P::last_stage_recomputes>, true},
};

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
  if (fields.error()) {
    // The keys repeat in every constant: only the constant's own name finds the line.
    return fail(
        document.error_at(known.name, fmt::format("{}: {}", fields.error()->field, fields.error()->message)));
  }
  known.set(profile, constant.value);
  profile.constants.push_back(std::move(constant));
  return {};
}

Result<void> read_constants(const JsonDocument& document, const json& object, GpuProfile& profile) {
  std::array<std::string_view, kConstants.size()> names;
  std::transform(kConstants.begin(), kConstants.end(), names.begin(),
                 [](const KnownConstant& constant) { return constant.name; });
  JsonFields fields(document, object);
  fields.allow_only(names);
  if (fields.error()) return fail(*fields.error());
  for (const KnownConstant& known : kConstants) {
    const auto found = object.find(known.name);
    if (found == object.end())
      return fail(document.error_at("constants", fmt::format("{}: missing", known.name)));
    if (auto read = read_constant(document, *found, known, profile); !read) return read;
  }
  return {};
}

/// The whole numbers of an array, each in [1, high]; nothing if it is anything else.
std::optional<std::vector<std::int64_t>> positive_numbers(const json& array, std::int64_t high) {
  constexpr std::size_t kMaxRows = 100'000;
  if (!array.is_array() || array.empty() || array.size() > kMaxRows) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const json& item : array) {
    if (!item.is_number_integer() || item < 1 || item > high) return std::nullopt;
    numbers.push_back(item.get<std::int64_t>());
  }
  return numbers;
}

AllReduceTable make_table(std::int64_t num_gpus, const std::vector<std::int64_t>& sizes_mib,
                          const std::vector<std::int64_t>& times_ns) {
  const double bus_factor = 2.0 * static_cast<double>(num_gpus - 1) / static_cast<double>(num_gpus);
  std::vector<AllReduceEntry> entries;
  for (std::size_t i = 0; i < sizes_mib.size(); ++i) {
    const auto time = static_cast<double>(times_ns[i]);
    const double bytes = static_cast<double>(sizes_mib[i]) * 1048576.0;
    entries.push_back({sizes_mib[i], Nanoseconds(time), bytes / time * bus_factor});
  }
  return AllReduceTable::from_entries(std::move(entries));
}

Result<void> read_all_reduce(const JsonDocument& document, const json& object, GpuProfile& profile) {
  constexpr std::array<std::string_view, 4> kKeys = {"source", "interpolation_error_percent", "sizes_mib",
                                                     "times_ns"};
  constexpr std::int64_t kMaxMebibytes = std::int64_t{1} << 30;
  constexpr std::int64_t kMaxTime = std::int64_t{1} << 50;
  JsonFields fields(document, object);
  fields.allow_only(kKeys);
  profile.all_reduce_source = fields.string("source");
  if (fields.error()) return fail(*fields.error());
  const auto sizes = positive_numbers(object.value("sizes_mib", json()), kMaxMebibytes);
  if (!sizes || std::adjacent_find(sizes->begin(), sizes->end(), std::greater_equal<>()) != sizes->end() ||
      !std::binary_search(sizes->begin(), sizes->end(), 1024)) {
    return fail(document.error_at("sizes_mib", "expected rising whole numbers of MiB that include 1024"));
  }
  const json times = object.value("times_ns", json());
  if (!times.is_object())
    return fail(document.error_at("times_ns", "expected an object of arrays, by number of GPUs"));
  for (const auto& [key, array] : times.items()) {
    const auto num_gpus = parse_integer(key, 2, 1024);
    if (!num_gpus) return fail(document.error_at(key, num_gpus.error().message));
    const auto times_ns = positive_numbers(array, kMaxTime);
    if (!times_ns || times_ns->size() != sizes->size()) {
      return fail(
          document.error_at(key, fmt::format("expected {} positive whole numbers of ns", sizes->size())));
    }
    profile.all_reduce.insert_or_assign(*num_gpus, make_table(*num_gpus, *sizes, *times_ns));
  }
  for (std::int64_t num_gpus = 2; num_gpus <= profile.gpus_per_node; ++num_gpus) {
    if (profile.all_reduce.count(num_gpus) == 0) {
      return fail(
          document.error_at("times_ns", fmt::format("expected times for 2 to {} GPUs, found none for {}",
                                                    profile.gpus_per_node, num_gpus)));
    }
  }
  return {};
}

}  // namespace

Result<GpuProfile> parse_gpu_profile(std::string text, const std::string& file) {
  constexpr std::array<std::string_view, 6> kKeys = {"schema",      "version",   "name",
                                                     "description", "constants", "all_reduce"};
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  JsonFields fields(*document, document->root());
  fields.allow_only(kKeys);
  const std::string schema = fields.string("schema");
  if (schema != kSchema) fields.complain("schema", expected_found(kSchema, schema));
  fields.integer("version", kVersion, kVersion);
  GpuProfile profile;
  profile.name = fields.string("name");
  profile.description = fields.string_or("description", "");
  for (const std::string_view key : {"constants", "all_reduce"}) {
    if (!fields.has(key)) fields.complain(key, "missing");
  }
  if (fields.error()) return fail(*fields.error());
  if (auto read = read_constants(*document, document->root()["constants"], profile); !read)
    return fail(read.error());
  if (auto read = read_all_reduce(*document, document->root()["all_reduce"], profile); !read)
    return fail(read.error());
  return profile;
}

std::span<const std::string_view> embedded_profile_names() {
  static constexpr std::array<std::string_view, 1> kNames = {"a100"};
  return kNames;
}

Result<GpuProfile> load_gpu_profile(const std::string& name) {
  constexpr std::size_t kMaxFile = std::size_t{16} << 20;
  if (name == "a100") return parse_gpu_profile(std::string(embedded::a100_profile), "embedded a100.json");
  if (name.find('/') != std::string::npos || name.ends_with(".json")) {
    auto text = read_file(name, kMaxFile);
    if (!text) return fail(std::move(text.error()));
    return parse_gpu_profile(std::move(*text), name);
  }
  return fail({.kind = ErrorKind::NotFound,
               .field = "profile",
               .message = fmt::format("unknown profile '{}'; known are {}, or the path of a JSON file", name,
                                      list_names(embedded_profile_names()))});
}

}  // namespace vtrain
