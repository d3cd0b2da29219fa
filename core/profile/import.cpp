#include "core/profile/import.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "core/kernels/published_samples.hpp"
#include "core/profile/constants.hpp"
#include "core/profile/surface_fit.hpp"
#include "core/profile/tables.hpp"
#include "core/profile/writer.hpp"

namespace vtrain {

namespace embedded {
extern const std::string_view gpu_devices;
}  // namespace embedded

namespace {

using nlohmann::json;

constexpr std::string_view kDevicesSchema = "vtrain-gpu-devices";
constexpr std::int64_t kDevicesVersion = 1;

/// An entry of a device's `tables`, and the folder of its files.
struct TableEntry {
  const JsonDocument& document;
  const json& object;
  const std::filesystem::path& folder;

  Error error(std::string_view key, std::string message) const {
    return document.error_at(object, key, std::move(message));
  }
};

/// The fields of an entry, complaining about keys that are not in `known`.
Result<JsonFields> open_fields(const TableEntry& entry, std::span<const std::string_view> known) {
  JsonFields fields(entry.document, entry.object);
  fields.allow_only(known);
  if (fields.error()) return fail(*fields.error());
  return fields;
}

/// Files of an entry: names and source.
struct TableFiles {
  std::vector<std::string> names;
  std::string source;
};

Result<TableFiles> read_files(const TableEntry& entry, std::span<const std::string_view> known) {
  auto fields = open_fields(entry, known);
  if (!fields) return fail(fields.error());
  TableFiles files{.names = {}, .source = fields->string("source")};
  if (fields->error()) return fail(*fields->error());
  const json names = entry.object.value("files", json());
  if (!names.is_array() || names.empty())
    return fail(entry.error("files", "expected an array of file names"));
  for (const json& name : names) {
    if (!name.is_string() || std::filesystem::path(name.get<std::string>()).is_absolute()) {
      return fail(entry.error(fmt::format("files[{}]", files.names.size()),
                              expected_found("a file name relative to the folder", name.dump())));
    }
    files.names.push_back(name.get<std::string>());
    files.source += fmt::format("{} {}", files.names.size() == 1 ? ":" : ",", files.names.back());
  }
  return files;
}

/// The samples of every file, one stack each.
template <class Sample>
Result<std::vector<std::vector<Sample>>> read_stacks(
    const TableEntry& entry, const TableFiles& files,
    Result<std::vector<Sample>> (*parse)(std::string_view, const std::string&)) {
  std::vector<std::vector<Sample>> stacks;
  for (const std::string& name : files.names) {
    const std::filesystem::path path = entry.folder / name;
    const auto text = read_file(path, InputKind::KernelTable);
    if (!text) return fail(text.error());
    auto samples = parse(*text, path.string());
    if (!samples) return fail(samples.error());
    stacks.push_back(std::move(*samples));
  }
  return stacks;
}

/// The operators of all files of an entry.
Result<std::vector<OperatorSample>> read_operators(const TableEntry& entry, const TableFiles& files) {
  const auto stacks = read_stacks(entry, files, parse_operator_table);
  if (!stacks) return fail(stacks.error());
  std::vector<OperatorSample> all;
  for (const auto& stack : *stacks)
    all.insert(all.end(), stack.begin(), stack.end());
  return all;
}

Result<void> add_gemm(const TableEntry& entry, const GpuProfile& device, ProfileText& profile) {
  constexpr std::array<std::string_view, 2> kKeys = {"source", "files"};
  const auto files = read_files(entry, kKeys);
  if (!files) return fail(files.error());
  const auto stacks = read_stacks(entry, *files, parse_gemm_table);
  if (!stacks) return fail(stacks.error());
  for (const Precision precision : {Precision::Bf16, Precision::Fp8, Precision::Fp4}) {
    const bool measured =
        std::any_of(stacks->begin(), stacks->end(), [&](const std::vector<GemmSample>& stack) {
          return std::any_of(stack.begin(), stack.end(),
                             [&](const GemmSample& sample) { return sample.precision == precision; });
        });
    if (!measured) continue;
    if (device.peak_rate_of(precision).value == 0) {
      return fail(entry.error(
          "files", fmt::format("the tables have {0} products, but peak_rate_{0} of the device is 0",
                               name_of(precision))));
    }
    auto fit = fit_gemm(device, precision, *stacks);
    if (!fit) return fail(entry.error("files", fit.error().message));
    profile.add_gemm(precision, *fit, files->source);
  }
  return {};
}

/// Adds products of a machine relative to the extended profile's.
Result<void> add_relative_gemm(const TableEntry& entry, const GpuProfile& base, ProfileText& profile) {
  constexpr std::array<std::string_view, 2> kKeys = {"source", "files"};
  const auto files = read_files(entry, kKeys);
  if (!files) return fail(files.error());
  const auto operators = read_operators(entry, *files);
  if (!operators) return fail(operators.error());
  const auto rate = fit_relative_rate(base, *operators);
  if (!rate) return fail(entry.error("files", rate.error().message));
  profile.add_relative_gemm(Precision::Bf16, *rate, files->source);
  return {};
}

/// Adds a grid line for an unmeasured head size, at a rate relative to the nearest measured one.
Result<void> add_head_size(const TableEntry& entry, const std::string& key, const json& rate,
                           KernelSurface& surface) {
  const auto head_size = parse_integer(key, 1, 1 << 16);
  if (!head_size) return fail(entry.error("head_size_rates." + key, head_size.error().message));
  if (!rate.is_number() || !(rate > 0 && rate < 100))
    return fail(entry.error("head_size_rates." + key, expected_found("a number above 0", rate.dump())));
  KernelSurface::Axes axes = surface.axes();
  const auto place = std::lower_bound(axes[0].begin(), axes[0].end(), *head_size);
  if (place != axes[0].end() && *place == *head_size)
    return fail(entry.error("head_size_rates." + key, "this head size was measured"));
  axes[0].insert(place, *head_size);
  std::vector<double> values;
  for (const std::int64_t size : axes[0]) {
    for (const std::int64_t sequence : axes[1]) {
      for (const std::int64_t heads : axes[2]) {
        const double value =
            surface.at({static_cast<double>(size), static_cast<double>(sequence), static_cast<double>(heads)})
                .value;
        values.push_back(size == *head_size ? value + std::log(rate.get<double>()) : value);
      }
    }
  }
  surface = KernelSurface(std::move(axes), std::move(values));
  return {};
}

Result<void> add_attention(const TableEntry& entry, AttentionKernel kernel, ProfileText& profile) {
  constexpr std::array<std::string_view, 3> kMeasuredKeys = {"source", "files", "head_size_rates"};
  constexpr std::array<std::string_view, 4> kAssumedKeys = {"source", "kernel", "from_profile",
                                                            "relative_rate"};
  if (!entry.object.contains("files")) {
    auto fields = open_fields(entry, kAssumedKeys);
    if (!fields) return fail(fields.error());
    const std::string from = fields->string("kernel");
    const std::string from_profile = fields->string_or("from_profile", "");
    const double rate = fields->number("relative_rate", 1e-3, 1e3);
    const std::string source = fields->string("source");
    if (fields->error()) return fail(*fields->error());
    profile.add_assumed_attention(kernel, from, from_profile, rate, source);
    return {};
  }
  const auto files = read_files(entry, kMeasuredKeys);
  if (!files) return fail(files.error());
  const auto stacks = read_stacks(entry, *files, parse_attention_table);
  if (!stacks) return fail(stacks.error());
  auto fit = fit_attention(*stacks);
  if (!fit) return fail(entry.error("files", fit.error().message));
  const json rates = entry.object.value("head_size_rates", json::object());
  if (!rates.is_object()) return fail(entry.error("head_size_rates", "expected rates by head size"));
  for (const auto& [key, rate] : rates.items()) {
    if (auto added = add_head_size(entry, key, rate, fit->surface); !added) return added;
  }
  profile.add_attention(kernel, *fit, files->source);
  return {};
}

Result<void> add_attentions(const TableEntry& entry, ProfileText& profile) {
  constexpr std::array<std::string_view, 3> kKernels = {"flash1", "flash2", "flash3"};
  if (auto fields = open_fields(entry, kKernels); !fields) return fail(fields.error());
  for (std::size_t i = 0; i < kKernels.size(); ++i) {
    const auto found = entry.object.find(kKernels[i]);
    if (found == entry.object.end()) continue;
    const TableEntry kernel{entry.document, *found, entry.folder};
    if (auto added = add_attention(kernel, static_cast<AttentionKernel>(i + 1), profile); !added)
      return added;
  }
  return {};
}

Result<void> add_attention_backward(const TableEntry& entry, ProfileText& profile) {
  constexpr std::array<std::string_view, 2> kKeys = {"source", "files"};
  const auto files = read_files(entry, kKeys);
  if (!files) return fail(files.error());
  const auto operators = read_operators(entry, *files);
  if (!operators) return fail(operators.error());
  const auto fit = fit_attention_backward(*operators);
  if (!fit) return fail(entry.error("files", fit.error().message));
  profile.add_attention_backward(*fit, files->source);
  return {};
}

/// Adds a table of collectives of either kind; the name tells the kind.
Result<std::vector<CollectiveSample>> parse_collectives(std::string_view text, const std::string& file) {
  const bool one_size = std::filesystem::path(file).filename().string().starts_with("AR_GPU");
  return one_size ? parse_all_reduce_table(text, file) : parse_nccl_table(text, file);
}

Result<void> add_collectives(const TableEntry& entry, std::string_view key, ProfileText& profile) {
  constexpr std::array<std::string_view, 2> kKeys = {"source", "files"};
  const auto files = read_files(entry, kKeys);
  if (!files) return fail(files.error());
  const auto stacks = read_stacks(entry, *files, parse_collectives);
  if (!stacks) return fail(stacks.error());
  profile.add_collectives(key, fit_collectives(*stacks), files->source);
  return {};
}

Result<void> add_tables(const JsonDocument& document, const json& tables, const GpuProfile& device,
                        const std::filesystem::path& folder, ProfileText& profile) {
  constexpr std::array<std::string_view, 5> kKeys = {kGemmKey, kAttentionKey, kAttentionBackwardKey,
                                                     kCollectivesKey, kOldCollectivesKey};
  JsonFields fields(document, tables);
  fields.allow_only(kKeys);
  if (fields.error()) return fail(*fields.error());
  for (const std::string_view key : kKeys) {
    const auto found = tables.find(key);
    if (found == tables.end()) continue;
    const TableEntry entry{document, *found, folder};
    const Result<void> added = key == kGemmKey                ? add_gemm(entry, device, profile)
                               : key == kAttentionKey         ? add_attentions(entry, profile)
                               : key == kAttentionBackwardKey ? add_attention_backward(entry, profile)
                                                              : add_collectives(entry, key, profile);
    if (!added) return added;
  }
  return {};
}

/// The parsed file and the object of its devices.
Result<JsonDocument> open_devices(const DeviceFile& devices) {
  constexpr std::array<std::string_view, 4> kKeys = {"schema", "version", "constants", "devices"};
  auto document = JsonDocument::parse(devices.text, devices.name);
  if (!document) return document;
  JsonFields fields(*document, document->root());
  fields.allow_only(kKeys);
  const std::string schema = fields.string("schema");
  if (schema != kDevicesSchema) fields.complain("schema", expected_found(kDevicesSchema, schema));
  fields.integer("version", kDevicesVersion, kDevicesVersion);
  if (!fields.error() && !document->root().value("devices", json()).is_object())
    fields.complain("devices", "expected devices by name");
  if (fields.error()) return fail(*fields.error());
  return document;
}

std::vector<std::string> keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items())
    keys.push_back(item.key());
  return keys;
}

Error unknown_device(const DeviceFile& devices, const std::string& device, const json& known) {
  const std::vector<std::string> keys = keys_of(known);
  const std::vector<std::string_view> names(keys.begin(), keys.end());
  return {.kind = ErrorKind::NotFound,
          .file = devices.name,
          .field = "device",
          .message = fmt::format("unknown device '{}'; {}", printable(device), suggest_name(device, names))};
}

}  // namespace

DeviceFile embedded_device_file() {
  return {.text = std::string(embedded::gpu_devices), .name = "embedded devices.json"};
}

Result<std::string> import_gpu_profile(const DeviceFile& devices, const std::string& device,
                                       const std::filesystem::path& folder, const std::string& made_by) {
  constexpr std::array<std::string_view, 4> kKeys = {"description", "extends", "constants", "tables"};
  const auto document = open_devices(devices);
  if (!document) return fail(document.error());
  const json& root = document->root();
  const auto entry = root["devices"].find(device);
  if (entry == root["devices"].end()) return fail(unknown_device(devices, device, root["devices"]));
  JsonFields fields(*document, *entry);
  fields.allow_only(kKeys);
  const std::string description = fields.string("description");
  const std::string base = fields.string_or("extends", "");
  const auto embedded_names = embedded_profile_names();
  if (!base.empty() && std::find(embedded_names.begin(), embedded_names.end(), base) == embedded_names.end())
    fields.complain("extends", expected_found(list_names(embedded_names), base));
  if (fields.error()) return fail(*fields.error());

  GpuProfile constants;
  constexpr std::string_view kConstants = "constants";
  if (base.empty() && root.contains(kConstants)) {
    if (auto read = read_constants(*document, root[kConstants], constants); !read) return fail(read.error());
  }
  if (entry->contains(kConstants)) {
    if (auto read = read_constants(*document, (*entry)[kConstants], constants); !read)
      return fail(read.error());
  }
  if (base.empty()) {
    if (auto complete = check_constants(*document, *entry, constants); !complete)
      return fail(complete.error());
  }
  ProfileText profile(device, description, made_by, base);
  profile.add_constants(constants.constants);
  if (entry->contains("tables") && !base.empty()) {
    const json& tables = (*entry)["tables"];
    JsonFields known(*document, tables);
    known.allow_only(std::array{kGemmKey, kAttentionKey});
    if (known.error()) return fail(*known.error());
    if (tables.contains(kGemmKey)) {
      const TableEntry gemm{*document, tables[kGemmKey], folder};
      if (auto added = add_relative_gemm(gemm, load_gpu_profile(base).value(), profile); !added)
        return fail(added.error());
    }
    if (tables.contains(kAttentionKey)) {
      const TableEntry attention{*document, tables[kAttentionKey], folder};
      if (auto added = add_attentions(attention, profile); !added) return fail(added.error());
    }
  } else if (entry->contains("tables")) {
    if (auto added = add_tables(*document, (*entry)["tables"], constants, folder, profile); !added)
      return fail(added.error());
  }
  return std::move(profile).finish();
}

}  // namespace vtrain
