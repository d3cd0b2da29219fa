#include "core/profile/tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/io/json_reader.hpp"
#include "core/kernels/measured_products.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxNumbers = 1'000'000;
constexpr double kMaxEntry = 1e15;
constexpr double kTera = 1e12;

/// One table of the file.
struct TableObject {
  const JsonDocument& document;
  const json& object;

  Error error(std::string_view key, std::string message) const {
    return document.error_at(object, key, std::move(message));
  }
};

/// The numbers of an array, each in [low, high].
Result<std::vector<double>> read_numbers(const TableObject& table, std::string_view key, double low,
                                         double high) {
  const auto found = table.object.find(key);
  if (found == table.object.end()) return fail(table.error(key, "missing"));
  if (!found->is_array() || found->empty() || found->size() > kMaxNumbers)
    return fail(table.error(key, fmt::format("expected an array of 1 to {} numbers", kMaxNumbers)));
  std::vector<double> numbers;
  numbers.reserve(found->size());
  for (const json& item : *found) {
    const double number = item.is_number() ? item.get<double>() : std::nan("");
    if (!(number >= low && number <= high)) {
      return fail(table.error(fmt::format("{}[{}]", key, numbers.size()),
                              expected_found(fmt::format("a number from {} to {}", low, high), item.dump())));
    }
    numbers.push_back(number);
  }
  return numbers;
}

/// Rising whole numbers of an array, each in [low, high].
Result<std::vector<std::int64_t>> read_sizes(const TableObject& table, std::string_view key) {
  const auto numbers = read_numbers(table, key, 1, kMaxEntry);
  if (!numbers) return fail(numbers.error());
  const bool whole = std::all_of(numbers->begin(), numbers->end(),
                                 [](double number) { return number == std::floor(number); });
  if (!whole ||
      std::adjacent_find(numbers->begin(), numbers->end(), std::greater_equal<>()) != numbers->end())
    return fail(table.error(key, "expected rising whole numbers"));
  return std::vector<std::int64_t>(numbers->begin(), numbers->end());
}

/// Reads source and fit of a table, and complains about keys other than these and `own`.
Result<void> read_description(const TableObject& table, std::string name,
                              std::initializer_list<std::string_view> own, GpuProfile& profile) {
  constexpr std::array<std::string_view, 4> kFitKeys = {"points", "spread_percent", "left_out_error_percent",
                                                        "compaction_error_percent"};
  constexpr double kMaxPercent = 1e6;
  std::vector<std::string_view> keys(own);
  keys.insert(keys.end(), {"source", "fit"});
  JsonFields fields(table.document, table.object);
  fields.allow_only(keys);
  ProfileTable described{.name = std::move(name), .source = fields.string("source")};
  if (fields.error()) return fail(*fields.error());
  if (table.object.contains("fit")) {
    JsonFields fit(table.document, table.object["fit"]);
    fit.allow_only(kFitKeys);
    described.num_points = fit.integer_or("points", 0, static_cast<std::int64_t>(kMaxEntry), 0);
    described.spread_percent = fit.number_or("spread_percent", 0, kMaxPercent, -1);
    described.left_out_error_percent = fit.number_or("left_out_error_percent", 0, kMaxPercent, -1);
    described.compaction_error_percent = fit.number_or("compaction_error_percent", 0, kMaxPercent, -1);
    if (fit.error()) return fail(*fit.error());
  }
  const auto known = std::find_if(profile.tables.begin(), profile.tables.end(),
                                  [&](const ProfileTable& other) { return other.name == described.name; });
  if (known == profile.tables.end()) {
    profile.tables.push_back(std::move(described));
  } else {
    *known = std::move(described);
  }
  return {};
}

/// A surface of the values under `values_key`, over the three named axes.
Result<std::shared_ptr<const KernelSurface>> read_surface(const TableObject& table,
                                                          const std::array<std::string_view, 3>& axis_keys,
                                                          std::string_view values_key, double low,
                                                          double high, double (*to_value)(double)) {
  KernelSurface::Axes axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto sizes = read_sizes(table, axis_keys[i]);
    if (!sizes) return fail(sizes.error());
    axes[i] = std::move(*sizes);
  }
  auto values = read_numbers(table, values_key, low, high);
  if (!values) return fail(values.error());
  if (const auto fault = KernelSurface::find_fault(axes, values->size()))
    return fail(table.error(values_key, *fault));
  std::transform(values->begin(), values->end(), values->begin(), to_value);
  return std::make_shared<const KernelSurface>(std::move(axes), std::move(*values));
}

/// Scales the existing data of a precision by a factor.
Result<void> scale_gemm(const TableObject& table, Precision precision, GpuProfile& profile) {
  JsonFields fields(table.document, table.object);
  const double factor = fields.number("relative_rate", 0.01, 100);
  if (fields.error()) return fail(*fields.error());
  std::shared_ptr<const KernelSurface>& surface = profile.gemm[static_cast<std::size_t>(precision)];
  if (surface == nullptr)
    return fail(table.error("relative_rate", "expected a profile that extends one with a table"));
  std::vector<double> values = surface->values();
  for (double& value : values)
    value -= std::log(factor);
  surface = std::make_shared<const KernelSurface>(surface->axes(), std::move(values));
  return {};
}

Result<void> read_gemm(const JsonDocument& document, const json& object, GpuProfile& profile) {
  constexpr std::array<std::string_view, 4> kPrecisions = {"fp32", "bf16", "fp8", "fp4"};
  constexpr double kMaxThousandths = 20'000;
  JsonFields fields(document, object);
  fields.allow_only(kPrecisions);
  if (fields.error()) return fail(*fields.error());
  for (const auto& [key, entry] : object.items()) {
    const TableObject table{document, entry};
    const Precision precision = parse_precision(key).value();
    const bool is_scaled = entry.is_object() && entry.contains("relative_rate");
    auto described = is_scaled
                         ? read_description(table, "gemm " + key, {"relative_rate"}, profile)
                         : read_description(table, "gemm " + key, {"m", "n", "k", "thousandths"}, profile);
    if (!described) return described;
    if (is_scaled) {
      if (auto scaled = scale_gemm(table, precision, profile); !scaled) return scaled;
      if (precision == Precision::Bf16)
        profile.gemm[static_cast<std::size_t>(Precision::Fp16)] =
            profile.gemm[static_cast<std::size_t>(precision)];
      continue;
    }
    auto surface = read_surface(table, {"m", "n", "k"}, "thousandths", -kMaxThousandths, kMaxThousandths,
                                [](double thousandths) { return thousandths / 1000; });
    if (!surface) return fail(surface.error());
    profile.gemm[static_cast<std::size_t>(precision)] = *surface;
    // The two half precisions run on the same units at the same rate.
    if (precision == Precision::Bf16) profile.gemm[static_cast<std::size_t>(Precision::Fp16)] = *surface;
  }
  return {};
}

/// The rates of `kernel` in `profile` or in an embedded profile, times a factor.
Result<AttentionRates> scaled_rates(const TableObject& table, const GpuProfile& profile) {
  JsonFields fields(table.document, table.object);
  const std::string kernel = fields.string("kernel");
  const std::string from = fields.string_or("from_profile", "");
  const double factor = fields.number("relative_rate", 1e-3, 1e3);
  if (fields.error()) return fail(*fields.error());
  const auto names = embedded_profile_names();
  if (!from.empty() && std::find(names.begin(), names.end(), from) == names.end())
    return fail(table.error("from_profile", expected_found(list_names(names), from)));
  GpuProfile other;
  if (!from.empty()) other = load_gpu_profile(from).value();
  const auto& rates = from.empty() ? profile.attention : other.attention;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const KernelSurface* const surface = rates[i].log_rate.get();
    if (surface == nullptr || rates[i].assumed || name_of(static_cast<AttentionKernel>(i)) != kernel)
      continue;
    std::vector<double> values = surface->values();
    for (double& value : values)
      value += std::log(factor);
    return AttentionRates{std::make_shared<const KernelSurface>(surface->axes(), std::move(values)), true};
  }
  return fail(table.error("kernel", expected_found("a generation that was measured there", kernel)));
}

Result<void> read_attention(const JsonDocument& document, const json& object, GpuProfile& profile) {
  constexpr std::array<std::string_view, 3> kKernels = {"flash1", "flash2", "flash3"};
  JsonFields fields(document, object);
  fields.allow_only(kKernels);
  if (fields.error()) return fail(*fields.error());
  // First what was measured, then what leans on it.
  for (const bool measured : {true, false}) {
    for (std::size_t i = 0; i < kKernels.size(); ++i) {
      const auto entry = object.find(kKernels[i]);
      if (entry == object.end() || entry->contains("tflops") != measured) continue;
      const TableObject table{document, *entry};
      const std::string name = fmt::format("attention {}", kKernels[i]);
      AttentionRates& rates = profile.attention[i + 1];
      if (measured) {
        auto described = read_description(table, name, {"head_size", "sequence", "heads", "tflops"}, profile);
        if (!described) return described;
        auto surface = read_surface(table, {"head_size", "sequence", "heads"}, "tflops", 1e-3, 1e6,
                                    [](double tflops) { return std::log(tflops * kTera); });
        if (!surface) return fail(surface.error());
        rates = {*surface, false};
      } else {
        auto described = read_description(table, name, {"kernel", "from_profile", "relative_rate"}, profile);
        if (!described) return described;
        auto scaled = scaled_rates(table, profile);
        if (!scaled) return fail(scaled.error());
        rates = std::move(*scaled);
      }
    }
  }
  return {};
}

Result<void> read_attention_backward(const JsonDocument& document, const json& object, GpuProfile& profile) {
  const TableObject table{document, object};
  if (auto described = read_description(table, std::string(kAttentionBackwardKey),
                                        {"heads_times_sequence", "relative_rate"}, profile);
      !described)
    return described;
  const auto work = read_sizes(table, "heads_times_sequence");
  if (!work) return fail(work.error());
  auto ratio = read_numbers(table, "relative_rate", 0.01, 100);
  if (!ratio) return fail(ratio.error());
  if (work->size() != ratio->size()) {
    return fail(table.error("relative_rate",
                            fmt::format("expected {} numbers, found '{}'", work->size(), ratio->size())));
  }
  profile.attention_backward =
      AttentionBackward(std::vector<double>(work->begin(), work->end()), std::move(*ratio));
  return {};
}

Result<void> read_message_table(const JsonDocument& document, const json& object, Collective collective,
                                CollectiveTables& tables) {
  constexpr std::array<std::string_view, 3> kKeys = {"gpus", "bytes", "ns"};
  const TableObject table{document, object};
  JsonFields fields(document, object);
  fields.allow_only(kKeys);
  const std::int64_t num_gpus = fields.integer("gpus", 2, kMostCollectiveGpus);
  if (fields.error()) return fail(*fields.error());
  const auto bytes = read_sizes(table, "bytes");
  if (!bytes) return fail(bytes.error());
  const auto times = read_numbers(table, "ns", 1, kMaxEntry);
  if (!times) return fail(times.error());
  if (times->size() != bytes->size()) {
    return fail(table.error("ns", fmt::format("expected {} times for {} GPUs, found '{}'", bytes->size(),
                                              num_gpus, times->size())));
  }
  std::vector<MessageTable::Entry> entries;
  for (std::size_t i = 0; i < bytes->size(); ++i)
    entries.push_back({static_cast<double>((*bytes)[i]), (*times)[i]});
  tables.set(collective, num_gpus, MessageTable(std::move(entries)));
  return {};
}

Result<void> read_collectives(const JsonDocument& document, const json& object, std::string_view key,
                              CollectiveTables& tables, GpuProfile& profile) {
  std::array<std::string_view, kCollectives.size()> names;
  std::transform(kCollectives.begin(), kCollectives.end(), names.begin(),
                 [](Collective collective) { return name_of(collective); });
  JsonFields fields(document, object);
  fields.allow_only(names);
  if (fields.error()) return fail(*fields.error());
  for (const Collective collective : kCollectives) {
    const auto entry = object.find(name_of(collective));
    if (entry == object.end()) continue;
    const TableObject table{document, *entry};
    if (auto described =
            read_description(table, fmt::format("{} {}", key, name_of(collective)), {"groups"}, profile);
        !described)
      return described;
    const auto groups = entry->find("groups");
    if (groups == entry->end() || !groups->is_array() || groups->empty())
      return fail(table.error("groups", "expected an array of tables by number of GPUs"));
    for (const json& group : *groups) {
      if (auto read = read_message_table(document, group, collective, tables); !read) return read;
    }
  }
  return {};
}

Result<void> read_current_collectives(const JsonDocument& document, const json& object, GpuProfile& profile) {
  return read_collectives(document, object, kCollectivesKey, profile.collectives, profile);
}

Result<void> read_old_collectives(const JsonDocument& document, const json& object, GpuProfile& profile) {
  return read_collectives(document, object, kOldCollectivesKey, profile.old_collectives, profile);
}

Result<void> read_measured_products(const JsonDocument& document, const json& object, GpuProfile& profile) {
  auto products = read_products(document, object);
  if (!products) return fail(products.error());
  static constexpr std::string_view kPrefix = "products ";
  std::erase_if(profile.tables, [](const ProfileTable& table) { return table.name.starts_with(kPrefix); });
  for (const auto& [name, entry] : object.items()) {
    const Precision precision = parse_precision(name).value();
    const std::size_t num_points = products->of(precision, ProductKind::Plain).size() +
                                   products->of(precision, ProductKind::WeightGradient).size();
    profile.tables.push_back({.name = fmt::format("{}{}", kPrefix, name),
                              .source = entry["source"].get<std::string>(),
                              .num_points = static_cast<std::int64_t>(num_points)});
  }
  profile.products = std::make_shared<const MeasuredProducts>(*std::move(products));
  return {};
}

}  // namespace

Result<void> read_tables(const JsonDocument& document, const json& profile_object, GpuProfile& profile) {
  using Reader = Result<void> (*)(const JsonDocument&, const json&, GpuProfile&);
  constexpr std::array<std::pair<std::string_view, Reader>, 6> kReaders = {
      {{kGemmKey, read_gemm},
       {kAttentionKey, read_attention},
       {kAttentionBackwardKey, read_attention_backward},
       {kCollectivesKey, read_current_collectives},
       {kOldCollectivesKey, read_old_collectives},
       {kProductsKey, read_measured_products}}};
  for (const auto& [key, reader] : kReaders) {
    const auto found = profile_object.find(key);
    if (found == profile_object.end()) continue;
    if (!found->is_object())
      return fail(
          document.error_at(*found, "", expected_found("a JSON object", found->dump().substr(0, 80))));
    if (auto read = reader(document, *found, profile); !read) return read;
  }
  return {};
}

}  // namespace vtrain
