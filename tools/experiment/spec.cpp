#include "tools/experiment/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "policies/registry.hpp"
#include "tools/experiment/file_hash.hpp"
#include "tools/experiment/variation.hpp"
#include "traces/synthesis/generator.hpp"
#include "workloads/calibration/prediction_interval.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kRunTimes = {"trace", "predicted"};
constexpr std::array<std::string_view, 3> kTimelines = {"auto", "always", "never"};
constexpr std::array<std::string_view, 4> kObjectives = {"", "time", "cost", "gpus"};
constexpr double kMostSeed = 9223372036854775807.0;
constexpr std::string_view kVaryKey = "vary";

/// Calls `visit(field, value)` for each field of a spec: the only list of fields.
template <class Visit>
void for_each_field(auto& spec, const Visit& visit) requires requires {
  spec.placement;
}
{
  visit(SpecField{"trace", "files", "--trace"}, spec.trace.files);
  visit(SpecField{"trace", "format", "--format"}, spec.trace.format);
  visit(SpecField{"trace", "throughputs", "--throughputs"}, spec.trace.throughputs);
  visit(SpecField{"trace", "throughputs_gpu", "--throughputs-gpu"}, spec.trace.throughputs_gpu);
  visit(SpecField{"trace", "strict", "--strict"}, spec.trace.strict);
  visit(SpecField{"", "cluster", "--cluster"}, spec.cluster);
  visit(SpecField{"", "reference", "--reference"}, spec.reference);
  visit(SpecField{"", "tenant_tree", "--tenant-tree"}, spec.tenant_tree);
  visit(SpecField{"", "placement", "--placement"}, spec.placement);
  visit(SpecField{"", "policies", "--policies"}, spec.policies);
  visit(SpecField{"", "seeds", "--seeds"}, spec.seeds);
  visit(SpecField{"", "baseline", "--baseline"}, spec.baseline);
  visit(SpecField{"", kVaryKey, "--vary"}, spec.vary);
  visit(SpecField{"", "goal", "--goal"}, spec.goal);
  visit(SpecField{"", "price", "--price"}, spec.price);
  visit(SpecField{"pricing", "profile", "--profile"}, spec.pricing.profile);
  visit(SpecField{"pricing", "stack", "--stack"}, spec.pricing.stack);
  visit(SpecField{"pricing", "calibration", "--calibrate"}, spec.pricing.calibration);
  visit(SpecField{"pricing", "curves", "--curves"}, spec.pricing.kind);
  visit(SpecField{"pricing", "prediction_error", "--prediction-error"}, spec.pricing.prediction_error);
  auto& changes = spec.transformations;
  visit(SpecField{"transformations", "statuses", "--statuses"}, changes.statuses);
  visit(SpecField{"transformations", "resample", "--resample"}, changes.resample);
  visit(SpecField{"transformations", "tenants", "--tenants"}, changes.tenants);
  visit(SpecField{"transformations", "assign", "--assign"}, changes.assign);
  visit(SpecField{"transformations", "run_times", "--run-times", kRunTimes}, changes.run_times);
  visit(SpecField{"transformations", "deadlines", "--deadlines"}, changes.deadlines);
  visit(SpecField{"transformations", "estimates", "--estimates"}, changes.estimates);
  visit(SpecField{"transformations", "seed", "--seed", {}, 0, kMostSeed}, changes.seed);
  visit(SpecField{"transformations", "load", "--load", {}, 0, kMostLoad}, changes.load);
  auto& disruptions = spec.disruptions;
  visit(SpecField{"disruptions", "interruption_cost", "--interruption-cost"}, disruptions.interruption_cost);
  visit(SpecField{"disruptions", "failures", "--failures"}, disruptions.failures);
  visit(SpecField{"disruptions", "outages", "--outages"}, disruptions.outages);
  visit(SpecField{"disruptions", "checkpoints", "--checkpoints"}, disruptions.checkpoints);
  visit(SpecField{"disruptions", "checkpoint_cost", "--checkpoint-cost"}, disruptions.checkpoint_cost);
  visit(SpecField{"disruptions", "checkpoint_bandwidth", "--checkpoint-bandwidth"},
        disruptions.checkpoint_bandwidth);
  visit(SpecField{"disruptions", "spread_factor", "--spread-factor", {}, 0.01, 1}, disruptions.spread_factor);
  visit(SpecField{"", "timeline", "--timeline", kTimelines}, spec.timeline);
  visit(SpecField{"", "by", "--by"}, spec.by);
  visit(SpecField{"", "spreadsheet_safe", "--spreadsheet-safe"}, spec.spreadsheet_safe);
  visit(SpecField{"", "command", ""}, spec.command);
}

/// Calls `visit(field, value)` for each field of a plan search.
template <class Visit>
void for_each_field(auto& spec, const Visit& visit) requires requires {
  spec.model;
}
{
  visit(SpecField{"", "model", "model"}, spec.model);
  visit(SpecField{"", "gpus", "--gpus"}, spec.gpus);
  visit(SpecField{"target", "cluster", "--cluster"}, spec.target.cluster);
  visit(SpecField{"target", "profile", "--profile"}, spec.target.profile);
  visit(SpecField{"target", "stack", "--stack"}, spec.target.stack);
  visit(SpecField{"target", "calibration", "--calibrate"}, spec.target.calibration);
  visit(SpecField{"target", "precision", "--precision"}, spec.target.precision);
  visit(SpecField{"target", "set_up", "--set-up", kSetUpNames}, spec.target.set_up);
  visit(SpecField{"target", "headroom", "--headroom", {}, 0, 90}, spec.target.headroom);
  visit(SpecField{"", "global_batch", "--global-batch", {}, 0, kMaxGlobalBatch}, spec.global_batch);
  visit(SpecField{"", "objective", "--objective", kObjectives}, spec.objective);
  visit(SpecField{"", "deadline", "--deadline"}, spec.deadline);
  visit(SpecField{"", "tokens", "--tokens"}, spec.tokens);
  visit(SpecField{"", "price", "--price"}, spec.price);
  visit(SpecField{"", "top", "--top", {}, 0, kMostSeed}, spec.top);
  visit(SpecField{"", "beside", "--beside"}, spec.beside);
  visit(SpecField{"", "sequence_length", "--sequence-length", {}, 0, kMaxSequenceLength},
        spec.sequence_length);
  visit(SpecField{"", "offload", "--offload"}, spec.offload);
  visit(SpecField{"", "partial_recompute", "--partial-recompute"}, spec.partial_recompute);
  visit(SpecField{"", "zero_bubble", "--zero-bubble"}, spec.zero_bubble);
}

/// Paths and hashes of a spec's files, relative to the spec's folder; null for a pipe or the like.
ordered_json files_to_json(std::span<const SpecFile> files, const fs::path& folder) {
  ordered_json listed = ordered_json::object();
  for (const SpecFile& file : files) {
    std::error_code failed;
    fs::path path = file.path;
    ordered_json place;
    if (fs::is_regular_file(path, failed)) {
      if (path.is_relative())
        path = fs::relative(fs::absolute(path), fs::absolute(folder.empty() ? "." : folder), failed);
      place = path.string();
    }
    listed[file.name] = {{"path", place}, {"sha256", file.sha256}};
  }
  return listed;
}

template <class Spec>
ordered_json fields_to_json(const Spec& spec, std::span<const SpecFile> files, const fs::path& folder) {
  ordered_json document = {{"spec_version", kSpecVersion}};
  for_each_field(spec, [&](const SpecField& field, const auto& value) {
    ordered_json& object = field.group.empty() ? document : document[std::string(field.group)];
    object[std::string(field.key)] = value;
  });
  document["files"] = files_to_json(files, folder);
  return document;
}

/// Reads the value of a field, if it is there.
class FieldReader {
 public:
  FieldReader(JsonFields& fields, const json& object) : fields_(fields), object_(object) {}

  void read(const SpecField& field, std::string& value) {
    value = fields_.string_or(field.key, value);
    const bool is_known =
        field.choices.empty() || std::ranges::find(field.choices, value) != field.choices.end();
    if (!is_known) fields_.complain(field.key, expected_found("one of " + list_names(field.choices), value));
  }
  void read(const SpecField& field, bool& value) { value = fields_.boolean_or(field.key, value); }
  void read(const SpecField& field, double& value) {
    value = fields_.number_or(field.key, field.low, field.high, value);
  }
  template <class Integer>
  requires std::is_integral_v<Integer>
  void read(const SpecField& field, Integer& value) {
    const std::int64_t high = field.high >= kMostSeed ? INT64_MAX : static_cast<std::int64_t>(field.high);
    value = static_cast<Integer>(fields_.integer_or(field.key, static_cast<std::int64_t>(field.low), high,
                                                    static_cast<std::int64_t>(value)));
  }
  void read(const SpecField& field, std::vector<std::string>& value) {
    if (!fields_.has(field.key)) return;
    const json& list = *object_.find(field.key);
    if (field.key == kVaryKey && list.is_object()) {
      value = read_variations(fields_, list);
      return;
    }
    const bool is_list_of_texts =
        list.is_array() && std::ranges::all_of(list, [](const json& item) { return item.is_string(); });
    if (!is_list_of_texts) {
      fields_.complain(field.key, expected_found("a list of strings", list.dump()));
    } else if (!fields_.error()) {
      value = list.template get<std::vector<std::string>>();
    }
  }

 private:
  JsonFields& fields_;
  const json& object_;
};

/// Reads the files of a spec in `folder`, and checks that their hashes are unchanged.
Result<std::vector<SpecFile>> read_files(const JsonDocument& document, const json& files,
                                         const fs::path& folder) {
  std::vector<SpecFile> listed;
  if (!files.is_object())
    return fail(document.error_at(files, "", expected_found("a JSON object", files.type_name())));
  for (const auto& [name, entry] : files.items()) {
    constexpr std::array<std::string_view, 2> kKeys = {"path", "sha256"};
    JsonFields fields(document, entry);
    fields.allow_only(kKeys);
    const fs::path path = fields.string_or("path", "");
    const std::string hash = fields.string("sha256");
    if (fields.error()) return fail(*fields.error());
    if (path.empty())
      return fail(
          document.error_at(files, name, "was read from a pipe or the like, which is gone: name a file"));
    SpecFile file{name, path.is_absolute() ? path.string() : (folder / path).lexically_normal().string(),
                  hash};
    std::error_code failed;
    if (fs::equivalent(file.path, name, failed)) file.path = name;
    auto found = sha256_of_file(file.path);
    if (!found) return fail(document.error_at(entry, "path", found.error().describe()));
    if (*found != hash)
      return fail(document.error_at(
          entry, "sha256",
          fmt::format("expected {}, found {}: {} is not the file that it was", hash, *found, file.path)));
    listed.push_back(std::move(file));
  }
  return listed;
}

/// Lists the files of a hand-written spec without a list: values that name files in its folder.
void list_named_files(auto& spec) {
  const auto list = [&files = spec.files](const std::string& name) {
    std::string path = files.locate(name);
    if (path != name && std::ranges::find(files.listed, name, &SpecFile::name) == files.listed.end())
      files.listed.push_back({name, std::move(path)});
  };
  for_each_field(spec, [&list](const SpecField&, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>) {
      list(value);
    } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
      std::ranges::for_each(value, list);
    }
  });
}

/// Error if a policy of a spec is unknown or has a wrong parameter.
Result<void> check_policies(const JsonDocument& document, const json& object, const ScenarioSpec& spec) {
  for (std::size_t i = 0; i < spec.policies.size(); ++i) {
    const auto policy = PolicyRegistry::built_in().parse(spec.policies[i]);
    if (policy) continue;
    const Error& error = policy.error();
    return fail(document.error_at(object, fmt::format("policies[{}]", i),
                                  error.field.empty() ? error.message : error.field + ": " + error.message));
  }
  return {};
}
/// Accepts a plan search, which has no policies.
Result<void> check_policies(const JsonDocument&, const json&, const PlanSpec&) {
  return {};
}

/// Object with the spec: the document itself, or its member `spec`.
Result<const json*> find_spec(const JsonDocument& document) {
  const json& root = document.root();
  if (!root.is_object())
    return fail(document.error_at(root, "", expected_found("a JSON object", root.type_name())));
  if (root.contains("spec")) return &root["spec"];
  if (root.contains("spec_version")) return &root;
  const bool is_old_run = root.contains("command") && root["command"].is_string() && root.contains("version");
  if (!is_old_run) return fail(document.error_at(root, "spec_version", "missing: this is no spec"));
  return fail(document.error_at(
      root, "spec",
      fmt::format("missing: vtrain 0.1 kept no spec of its runs; repeat this one by its command: {}",
                  root["command"].get<std::string>())));
}

template <class Spec>
Result<SpecDocument<Spec>> parse_spec(std::string text, const fs::path& file) {
  auto parsed = JsonDocument::parse(std::move(text), file.string());
  if (!parsed) return fail(std::move(parsed.error()));
  const auto document = std::make_shared<const JsonDocument>(*std::move(parsed));
  const auto found = find_spec(*document);
  if (!found) return fail(found.error());
  const json& object = **found;
  JsonFields outermost(*document, object);
  if (const std::int64_t version = outermost.integer("spec_version", 1, INT32_MAX);
      !outermost.error() && version != kSpecVersion)
    outermost.complain("spec_version", expected_found(std::to_string(kSpecVersion), std::to_string(version)));

  // Keys by the object that has them.
  std::map<std::string_view, std::vector<std::string_view>> keys = {{"", {"spec_version", "files"}}};
  Spec spec;
  for_each_field(spec, [&](const SpecField& field, const auto&) {
    if (!field.group.empty() && !keys.contains(field.group)) keys[""].push_back(field.group);
    keys[field.group].push_back(field.key);
  });
  outermost.allow_only(keys[""]);
  if (outermost.error()) return fail(*outermost.error());
  for (const auto& [group, known] : keys) {
    if (!group.empty() && !outermost.has(group)) continue;
    const json& part = group.empty() ? object : *object.find(group);
    JsonFields fields(*document, part);
    fields.allow_only(known);
    FieldReader reader(fields, part);
    if (!fields.error()) {
      const std::string_view here = group;
      for_each_field(spec, [&reader, here](const SpecField& field, auto& value) {
        if (field.group == here) reader.read(field, value);
      });
    }
    if (fields.error()) return fail(*fields.error());
  }
  spec.files.folder = file.parent_path();
  if (outermost.has("files")) {
    auto files = read_files(*document, *object.find("files"), spec.files.folder);
    if (!files) return fail(std::move(files.error()));
    spec.files.listed = *std::move(files);
  }
  list_named_files(spec);
  if (auto checked = check_policies(*document, object, spec); !checked) return fail(checked.error());
  return SpecDocument<Spec>{std::move(spec), document};
}

template <class Spec>
Result<SpecDocument<Spec>> read_spec(const fs::path& file) {
  auto text = read_file(file, InputKind::Provenance);
  if (!text) return fail(std::move(text.error()));
  return parse_spec<Spec>(*std::move(text), file);
}

/// Error for an option whose value is not an allowed word, or is out of range.
template <class Spec>
Result<void> check_fields(const Spec& spec) {
  std::optional<Error> error;
  for_each_field(spec, [&error](const SpecField& field, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if (error) return;
    if constexpr (std::is_same_v<Value, std::string>) {
      if (!field.choices.empty() && std::ranges::find(field.choices, value) == field.choices.end())
        error = Error{.field = std::string(field.option),
                      .message = expected_found("one of " + list_names(field.choices), value)};
    } else if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
      const auto number = static_cast<double>(value);
      if (!(number >= field.low && number <= field.high))
        error = Error{.field = std::string(field.option),
                      .message = expected_found(fmt::format("a number from {} to {}", field.low, field.high),
                                                std::to_string(value))};
    }
  });
  if (error) return fail(*std::move(error));
  return {};
}

/// The JSON Schema of a field's value.
ordered_json schema_of(const SpecField& field, const auto& value) {
  using Value = std::decay_t<decltype(value)>;
  ordered_json schema;
  if constexpr (std::is_same_v<Value, bool>) {
    schema["type"] = "boolean";
  } else if constexpr (std::is_arithmetic_v<Value>) {
    schema["type"] = std::is_integral_v<Value> ? "integer" : "number";
    schema["minimum"] = field.low;
    if (field.high < kMostSeed) schema["maximum"] = field.high;
  } else {
    schema["type"] = "string";
    if (!field.choices.empty()) schema["enum"] = field.choices;
  }
  schema["default"] = value;
  schema["description"] = fmt::format("as {} of the command line", field.option);
  return schema;
}

template <class Spec>
Error located(const JsonDocument& document, Error error) {
  if (!error.file.empty()) return error;
  const json& root = document.root();
  const json& object = root.contains("spec") ? root["spec"] : root;
  std::string path;
  const std::string option = error.field.substr(0, error.field.find(':'));
  const Spec empty;
  for_each_field(empty, [&](const SpecField& field, const auto&) {
    if (field.option.empty() || field.option != option) return;
    path = field.group.empty() ? std::string(field.key) : fmt::format("{}.{}", field.group, field.key);
  });
  if (path.empty()) {
    error.file = document.file();
    return error;
  }
  Error in_file = document.error_at(object, path, error.message);
  in_file.kind = error.kind;
  return in_file;
}

}  // namespace

std::string SpecFiles::locate(const std::string& name) const {
  for (const SpecFile& file : listed) {
    if (file.name == name) return file.path;
  }
  if (folder.empty() || name.empty() || fs::path(name).is_absolute()) return name;
  std::error_code failed;
  const fs::path in_folder = folder / name;
  return fs::exists(in_folder, failed) ? in_folder.lexically_normal().string() : name;
}

std::string SpecFiles::with_names(std::string text) const {
  for (const SpecFile& file : listed) {
    if (file.path == file.name) continue;
    for (std::size_t at = text.find(file.path); at != std::string::npos;
         at = text.find(file.path, at + file.name.size()))
      text.replace(at, file.path.size(), file.name);
  }
  return text;
}

ordered_json spec_to_json(const ScenarioSpec& spec, std::span<const SpecFile> files, const fs::path& folder) {
  return fields_to_json(spec, files, folder);
}

ordered_json spec_to_json(const PlanSpec& spec, std::span<const SpecFile> files, const fs::path& folder) {
  return fields_to_json(spec, files, folder);
}

Result<SpecDocument<ScenarioSpec>> read_scenario_spec(const fs::path& file) {
  return read_spec<ScenarioSpec>(file);
}

Result<SpecDocument<ScenarioSpec>> parse_scenario_spec(std::string text, const fs::path& file) {
  return parse_spec<ScenarioSpec>(std::move(text), file);
}

Result<SpecDocument<PlanSpec>> parse_plan_search(std::string text, const fs::path& file) {
  return parse_spec<PlanSpec>(std::move(text), file);
}

Result<SpecDocument<PlanSpec>> read_plan_spec(const fs::path& file) {
  return read_spec<PlanSpec>(file);
}

Result<void> set_option(ScenarioSpec& spec, std::string_view option, std::string_view value) {
  const std::string name = fmt::format("--{}", option);
  std::vector<std::string_view> known;
  Result<void> set;
  bool found = false;
  for_each_field(spec, [&](const SpecField& field, auto& to) {
    using Value = std::decay_t<decltype(to)>;
    constexpr std::string_view kDashes = "--";
    if constexpr (!std::is_same_v<Value, std::vector<std::string>> && !std::is_same_v<Value, bool>) {
      if (!field.option.starts_with(kDashes)) return;
      known.push_back(field.option.substr(kDashes.size()));
      if (field.option != name) return;
      found = true;
      if constexpr (std::is_same_v<Value, std::string>) {
        to = value;
      } else {
        const auto number = parse_number(value, field.low, field.high);
        if (!number) {
          set = fail({.field = name, .message = number.error().message});
        } else {
          to = static_cast<Value>(*number);
        }
      }
    }
  });
  if (found) return set;
  return fail(
      {.field = "--vary", .message = with_guess(fmt::format("'{}' cannot vary", option), option, known)});
}

ordered_json plan_spec_schema() {
  ordered_json schema = {{"type", "object"}, {"additionalProperties", false}};
  schema["required"] = {"spec_version", "model"};
  ordered_json& properties = schema["properties"];
  properties["spec_version"] = {{"type", "integer"}, {"const", kSpecVersion}};
  const PlanSpec defaults;
  for_each_field(defaults, [&properties](const SpecField& field, const auto& value) {
    ordered_json* object = &properties;
    if (!field.group.empty()) {
      ordered_json& group = properties[std::string(field.group)];
      group["type"] = "object";
      group["additionalProperties"] = false;
      object = &group["properties"];
    }
    (*object)[std::string(field.key)] = schema_of(field, value);
  });
  return schema;
}

Result<void> check_spec(const ScenarioSpec& spec) {
  return check_fields(spec);
}

Result<void> check_spec(const PlanSpec& spec) {
  return check_fields(spec);
}

template <>
Error SpecDocument<ScenarioSpec>::in_file(Error error) const {
  return located<ScenarioSpec>(*document, std::move(error));
}

template <>
Error SpecDocument<PlanSpec>::in_file(Error error) const {
  return located<PlanSpec>(*document, std::move(error));
}

}  // namespace vtrain
