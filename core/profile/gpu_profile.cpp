#include "core/profile/gpu_profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/io/embedded_file.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "core/kernels/kernel_recording.hpp"
#include "core/profile/constants.hpp"
#include "core/profile/recording_profile.hpp"
#include "core/profile/tables.hpp"

namespace vtrain {

namespace embedded {
std::span<const EmbeddedFile> gpu_profiles();
}  // namespace embedded

namespace {

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Words of lower-case letters and digits in a text.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  const auto in_word = [](char letter) { return (letter >= 'a' && letter <= 'z') || is_digit(letter); };
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = std::find_if(at, text.end(), in_word);
    at = std::find_if_not(begin, text.end(), in_word);
    if (begin != at)
      words.push_back(
          text.substr(static_cast<std::size_t>(begin - text.begin()), static_cast<std::size_t>(at - begin)));
  }
  return words;
}

/// The text of an embedded profile; empty if there is none of this name.
std::string_view embedded_text(std::string_view name) {
  for (const EmbeddedFile& file : embedded::gpu_profiles()) {
    if (file.name == name) return file.text;
  }
  return {};
}

Error unknown_profile(std::string_view name, std::string_view advice) {
  const std::string meant = did_you_mean(name, embedded_profile_names());
  return {
      .kind = ErrorKind::NotFound,
      .field = "profile",
      .message = fmt::format("unknown profile '{}'; {}known are {}{}", printable(name),
                             meant.empty() ? "" : meant + " ", list_names(embedded_profile_names()), advice)};
}

/// Bytes of one element of a product's inputs with its part of the scaling factors: in 4 bits, one byte per
/// 16 elements.
double input_size(Precision precision) {
  const double scales = precision == Precision::Fp4 ? 1.0 / 16 : 0;
  return product_input_bytes(precision) + scales;
}

/// The constant of a profile, if unchanged from the profile that it was made from; else the end.
std::vector<ProfileConstant>::iterator inherited(const GpuProfile& from, GpuProfile& profile,
                                                 std::string_view name) {
  const auto named = [name](const ProfileConstant& constant) { return constant.name == name; };
  const auto before = std::find_if(from.constants.begin(), from.constants.end(), named);
  const auto now = std::find_if(profile.constants.begin(), profile.constants.end(), named);
  const bool is_inherited = before != from.constants.end() && now != profile.constants.end() &&
                            before->value == now->value && before->source == now->source;
  return is_inherited ? now : profile.constants.end();
}

/// Removes measurements of the extended profile that do not hold for the extending one.
void drop_superseded(const GpuProfile& extended, GpuProfile& profile) {
  const auto drop_constant = [&](std::string_view name) {
    const auto now = inherited(extended, profile, name);
    const bool is_inherited = now != profile.constants.end();
    if (is_inherited) profile.constants.erase(now);
    return is_inherited;
  };
  if (profile.peak_rate != extended.peak_rate && drop_constant("sustained_rate"))
    profile.sustained_rate = FlopsPerSecond(0);
  if (profile.peak_rate_fp8 != extended.peak_rate_fp8 && drop_constant("sustained_rate_fp8"))
    profile.sustained_rate_fp8 = FlopsPerSecond(0);
  if (profile.nvlink_bandwidth != extended.nvlink_bandwidth) {
    profile.collectives = {};
    profile.old_collectives = {};
    std::erase_if(profile.tables, [](const ProfileTable& table) {
      return table.name.find("collectives") != std::string::npos;
    });
  }
}

/// Adapts measurements to changed constants: rates under the power limit to peaks, collectives to links.
Result<void> scale_measured(const GpuProfile& plain, GpuProfile& profile) {
  struct Follower {
    std::string_view peak, sustained;
    FlopsPerSecond GpuProfile::*peak_rate;
    FlopsPerSecond GpuProfile::*sustained_rate;
  };
  for (const Follower& rate :
       {Follower{"peak_rate", "sustained_rate", &GpuProfile::peak_rate, &GpuProfile::sustained_rate},
        Follower{"peak_rate_fp8", "sustained_rate_fp8", &GpuProfile::peak_rate_fp8,
                 &GpuProfile::sustained_rate_fp8}}) {
    const double factor = (profile.*rate.peak_rate).value / (plain.*rate.peak_rate).value;
    if (profile.*rate.peak_rate == plain.*rate.peak_rate ||
        inherited(plain, profile, rate.sustained) == profile.constants.end())
      continue;
    const std::string value = fmt::format("{}TFLOP/s", (plain.*rate.sustained_rate).value * factor / 1e12);
    const std::string source = fmt::format("that of {} in proportion to {}", plain.name, rate.peak);
    if (auto set = set_constant(profile, rate.sustained, value, source); !set) return set;
  }
  if (profile.nvlink_bandwidth == plain.nvlink_bandwidth) return {};
  const double factor = profile.nvlink_bandwidth.value / plain.nvlink_bandwidth.value;
  profile.collectives = plain.collectives.scaled_to_bandwidth(factor);
  profile.old_collectives = plain.old_collectives.scaled_to_bandwidth(factor);
  for (ProfileTable& table : profile.tables) {
    if (table.name.find("collectives") != std::string::npos)
      table.source += fmt::format("; scaled to {:.3g} times the bandwidth of {}", factor, plain.name);
  }
  return {};
}

/// The NVLink domain in nodes of another size. A domain of a node stays a node; a part of a node is limited
/// to a node; a domain over several nodes is unchanged.
std::int64_t nvlink_domain_in(const GpuProfile& profile, std::int64_t gpus_per_node) {
  if (profile.nvlink_domain == profile.gpus_per_node) return gpus_per_node;
  if (profile.nvlink_domain > profile.gpus_per_node) return profile.nvlink_domain;
  return std::min(profile.nvlink_domain, gpus_per_node);
}

/// A recording as a profile that extends its GPU's profile.
Result<GpuProfile> load_recording(std::string text, const std::string& file) {
  const auto recording = parse_kernel_recording(std::move(text), file);
  if (!recording) return fail(recording.error());
  const std::string base(embedded_profile_of(recording->device.name));
  if (base.empty()) {
    return fail({.kind = ErrorKind::NotFound,
                 .file = file,
                 .field = "device",
                 .message = fmt::format("no profile of the program is of '{}'; `vtrain profile import FOLDER "
                                        "--base NAME` makes one that extends another GPU's",
                                        printable(recording->device.name))});
  }
  auto profile = recording_to_profile(*recording, base, recording->made_by);
  if (!profile) return fail(profile.error());
  return parse_gpu_profile(std::move(*profile), file);
}

/// Loads a profile without changed constants.
Result<GpuProfile> load_unchanged(const std::string& base) {
  if (is_profile_path(base)) {
    const std::filesystem::path file = recording_file(base);
    auto text = read_file(file, InputKind::Profile);
    if (!text) return fail(std::move(text.error()));
    if (is_kernel_recording(*text)) return load_recording(std::move(*text), file.string());
    return parse_gpu_profile(std::move(*text), base);
  }
  const std::string_view embedded = embedded_profile_of(base);
  if (embedded.empty()) return fail(unknown_profile(base, ", or the path of a JSON file"));
  if (const auto behind = split_once(base, ':').second) {
    return fail({.field = "profile",
                 .message = expected_found("constants that differ behind the colon, such as nvlink_domain=72",
                                           *behind)});
  }
  return parse_gpu_profile(std::string(embedded_text(embedded)), fmt::format("embedded {}.json", embedded));
}

}  // namespace

std::string_view name_of(AttentionKernel kernel) {
  constexpr std::array<std::string_view, kNumAttentionKernels> kNames = {"unfused", "flash1", "flash2",
                                                                         "flash3"};
  return kNames[static_cast<std::size_t>(kernel)];
}

AttentionBackward::AttentionBackward(std::vector<double> work, std::vector<double> ratio)
    : work_(std::move(work)), ratio_(std::move(ratio)) {
  if (work_.empty() || work_.size() != ratio_.size() ||
      std::adjacent_find(work_.begin(), work_.end(), std::greater_equal<>()) != work_.end())
    throw std::logic_error("attention backward: expected rising work and as many ratios");
  for (const double amount : work_)
    log_work_.push_back(std::log(amount));
}

double AttentionBackward::relative_rate(double heads_times_sequence) const {
  if (work_.empty()) return 1;
  const auto above = std::upper_bound(work_.begin(), work_.end(), heads_times_sequence);
  if (above == work_.begin()) return ratio_.front();
  if (above == work_.end()) return ratio_.back();
  const auto high = static_cast<std::size_t>(above - work_.begin());
  const double part =
      (std::log(heads_times_sequence) - log_work_[high - 1]) / (log_work_[high] - log_work_[high - 1]);
  return ratio_[high - 1] + (ratio_[high] - ratio_[high - 1]) * part;
}

FlopsPerSecond GpuProfile::peak_rate_of(Precision precision) const {
  switch (precision) {
    case Precision::Fp32:
      return peak_rate_fp32;
    case Precision::Fp16:
    case Precision::Bf16:
      return peak_rate;
    case Precision::Fp8:
      return peak_rate_fp8;
    case Precision::Fp4:
      return peak_rate_fp4;
  }
  return peak_rate;
}

FlopsPerSecond GpuProfile::sustained_rate_of(Precision precision) const {
  switch (precision) {
    case Precision::Fp16:
    case Precision::Bf16:
      return sustained_rate;
    case Precision::Fp8:
      return sustained_rate_fp8;
    case Precision::Fp32:
    case Precision::Fp4:
      return {};
  }
  return {};
}

std::string_view GpuProfile::source_of(std::string_view table) const {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [table](const ProfileTable& other) { return other.name == table; });
  return found == tables.end() ? std::string_view{} : std::string_view(found->source);
}

Nanoseconds gemm_roofline(const GpuProfile& profile, Precision precision, double m, double n, double k) {
  const double output_size = precision == Precision::Fp32 ? 4 : 2;
  const Flops arithmetic(2 * m * n * k);
  const Bytes traffic(input_size(precision) * (m * k + n * k) + output_size * m * n);
  return std::max(arithmetic / profile.peak_rate_of(precision), traffic / profile.memory_bandwidth);
}

Result<void> check_precision(const GpuProfile& profile, Precision precision) {
  if (profile.peak_rate_of(precision).value > 0) return {};
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < kNumPrecisions; ++i) {
    const auto other = static_cast<Precision>(i);
    if (profile.peak_rate_of(other).value > 0) known.push_back(name_of(other));
  }
  return fail(
      {.field = "precision",
       .message = expected_found(fmt::format("one of {}, the formats of {}", list_names(known), profile.name),
                                 name_of(precision))});
}

Result<GpuProfile> parse_gpu_profile(std::string text, const std::string& file) {
  constexpr std::array<std::string_view, 13> kKeys = {
      "schema",        "version",          "name",      "description", "made_by",
      "extends",       "constants",        kGemmKey,    kAttentionKey, kAttentionBackwardKey,
      kCollectivesKey, kOldCollectivesKey, kProductsKey};
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  JsonFields fields(*document, document->root());
  fields.allow_only(kKeys);
  const std::string schema = fields.string("schema");
  if (schema != kProfileSchema) fields.complain("schema", expected_found(kProfileSchema, schema));
  fields.integer("version", kProfileVersion, kProfileVersion);
  const std::string name = fields.string("name");
  const std::string base = fields.string_or("extends", "");
  const std::string description = fields.string_or("description", "");
  const std::string made_by = fields.string_or("made_by", "");
  if (!base.empty() && embedded_text(base).empty())
    fields.complain("extends", unknown_profile(base, "").message);
  if (base.empty() && !fields.has("constants")) fields.complain("constants", "missing");
  if (fields.error()) return fail(*fields.error());

  GpuProfile profile;
  if (!base.empty()) profile = load_gpu_profile(base).value();
  profile.name = name;
  profile.base_name = name;
  profile.description = description;
  profile.made_by = made_by;
  if (fields.has("constants")) {
    const GpuProfile extended = profile;
    if (auto read = read_constants(*document, document->root()["constants"], profile); !read)
      return fail(read.error());
    drop_superseded(extended, profile);
  }
  if (auto complete = check_constants(*document, document->root(), profile); !complete)
    return fail(complete.error());
  if (auto read = read_tables(*document, document->root(), profile); !read) return fail(read.error());
  return profile;
}

std::span<const std::string_view> embedded_profile_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> listed;
    for (const EmbeddedFile& file : embedded::gpu_profiles())
      listed.push_back(file.name);
    return listed;
  }();
  return names;
}

std::string_view embedded_profile_of(std::string_view gpu) {
  const std::string name = lower_case(gpu);
  const std::vector<std::string_view> words = words_of(name);
  const auto is_part = [](std::string_view word) {
    return word == "mig" || word == "grid" ||
           (word.size() >= 2 && is_digit(word[0]) && word[1] == 'g' &&
            (word.size() == 2 || is_digit(word[2])));
  };
  std::string_view best;
  std::size_t most_parts = 0;
  for (const std::string_view candidate : embedded_profile_names()) {
    const std::vector<std::string_view> parts = words_of(candidate);
    const auto has = [](const auto& list, std::string_view word) {
      return std::find(list.begin(), list.end(), word) != list.end();
    };
    const bool named =
        std::all_of(parts.begin(), parts.end(), [&](std::string_view part) { return has(words, part); });
    const bool other = std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return (word == "pcie" || word == "nvl" || is_part(word)) && !has(parts, word);
    });
    if (!named || other || parts.size() <= most_parts) continue;
    best = candidate;
    most_parts = parts.size();
  }
  return best;
}

ProfileName split_profile_name(const std::string& name) {
  // A path may have colons and equals signs, too.
  std::error_code no_path;
  if (std::filesystem::exists(name, no_path)) return {.base = name, .constants = ""};
  const std::size_t equals = name.find('=');
  const std::size_t colon = name.rfind(':', equals);
  if (equals == std::string::npos || colon == std::string::npos) return {.base = name, .constants = ""};
  return {.base = name.substr(0, colon), .constants = name.substr(colon + 1)};
}

bool is_profile_path(const std::string& base) {
  if (!embedded_text(base).empty()) return false;
  std::error_code no_path;
  return base.find('/') != std::string::npos || base.ends_with(".json") ||
         (std::filesystem::is_directory(base, no_path) &&
          std::filesystem::exists(recording_file(base), no_path));
}

Result<GpuProfile> load_gpu_profile(const std::string& name) {
  const auto [base, constants] = split_profile_name(name);
  auto profile = load_unchanged(base);
  if (!profile || constants.empty()) return profile;
  const GpuProfile plain = *profile;
  for (const std::string_view constant : split(constants, ',')) {
    const auto [key, value] = split_once(constant, '=');
    if (auto set = set_constant(*profile, key, value.value_or(""), "given with the profile's name"); !set)
      return fail(std::move(set.error()));
  }
  const std::int64_t domain = nvlink_domain_in(plain, profile->gpus_per_node);
  if (constants.find("nvlink_domain") == std::string::npos && domain != profile->nvlink_domain) {
    if (auto set = set_constant(*profile, "nvlink_domain", std::to_string(domain), "as gpus_per_node"); !set)
      return fail(std::move(set.error()));
  }
  if (auto scaled = scale_measured(plain, *profile); !scaled) return fail(std::move(scaled.error()));
  profile->name += ":" + printable(constants);
  profile->description += "; with " + printable(constants);
  return profile;
}

Result<GpuProfile> load_gpu_profile(const std::string& name, const NodeShape& nodes) {
  auto profile = load_gpu_profile(name);
  if (!profile) return profile;
  const std::int64_t domain =
      nodes.gpus_per_island > 0 ? nodes.gpus_per_island : nvlink_domain_in(*profile, nodes.gpus);
  std::string constants;
  if (nodes.gpus != profile->gpus_per_node) constants = fmt::format("gpus_per_node={}", nodes.gpus);
  if (domain != profile->nvlink_domain || !constants.empty())
    constants += fmt::format("{}nvlink_domain={}", constants.empty() ? "" : ",", domain);
  if (nodes.gpus != profile->gpus_per_node) {
    const double part = static_cast<double>(nodes.gpus) / static_cast<double>(profile->gpus_per_node);
    constants +=
        fmt::format(",node_network_bandwidth={}GB/s", profile->node_network_bandwidth.value * part / 1e9);
  }
  if (constants.empty()) return profile;
  return load_gpu_profile(name + (split_profile_name(name).constants.empty() ? ":" : ",") + constants);
}

}  // namespace vtrain
