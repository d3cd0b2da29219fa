#include "docs/measured/normalise/normalised_json.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/io/json_reader.hpp"
#include "workloads/config/model_json.hpp"
#include "workloads/config/plan_json.hpp"
#include "workloads/config/stack_json.hpp"
#include "workloads/model/plan_fields.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/validation/measured_run.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// Changes of a model against another one; nothing if the model lacks a part of the other one.
std::optional<ordered_json> model_changes(const ordered_json& base, const ordered_json& model) {
  for (const auto& [key, value] : base.items()) {
    if (!model.contains(key)) return std::nullopt;
  }
  ordered_json changes = ordered_json::object();
  for (const auto& [key, value] : model.items()) {
    if (!base.contains(key) || !value.is_object()) {
      if (!base.contains(key) || base[key] != value) changes[key] = value;
      continue;
    }
    ordered_json part = ordered_json::object();
    for (const auto& [inner, inner_value] : value.items()) {
      if (!base[key].contains(inner) || base[key][inner] != inner_value) part[inner] = inner_value;
    }
    if (!part.empty()) changes[key] = std::move(part);
  }
  return changes;
}

/// A known model as JSON.
struct KnownModel {
  std::string_view name;
  ordered_json json;
};

const std::vector<KnownModel>& known_models() {
  static const std::vector<KnownModel> models = [] {
    std::vector<KnownModel> list;
    for (const ZooModel& known : model_zoo())
      list.push_back({known.name(), model_to_json(known.model())});
    return list;
  }();
  return models;
}

/// The model and its sequence length: the few changes of a known model, or else all that is not as by
/// default.
void describe_model_of(const RawCase& record, ordered_json& settings, ordered_json& plan) {
  const ordered_json model = model_to_json(record.model);
  // A nameless model would take the name of its base.
  ordered_json shortest = *model_changes(ordered_json::object(), model);
  const ordered_json defaults = model_to_json(TransformerModel{});
  for (const auto& [key, value] : defaults.items()) {
    const bool is_required = key == "vocab_size";
    if (!is_required && shortest.contains(key) && shortest[key] == value) shortest.erase(key);
  }
  std::string_view base;
  constexpr std::size_t kMostChanges = 3;  // with the name
  std::size_t fewest = kMostChanges + 1;
  for (const KnownModel& known : known_models()) {
    if (record.model.name.empty()) break;
    auto changes = model_changes(known.json, model);
    if (!changes || changes->contains("hidden_size") || changes->contains("num_heads")) continue;
    changes->erase("sequence_length");  // the plan has it
    if (changes->size() >= fewest) continue;
    fewest = changes->size();
    shortest = *std::move(changes);
    base = known.name;
  }
  if (!base.empty()) {
    ordered_json based = {{"base", base}};
    based.update(shortest);
    shortest = std::move(based);
    plan["sequence_length"] = record.model.sequence_length;
  }
  settings["model"] = shortest.size() == 1 && !base.empty() ? ordered_json(base) : std::move(shortest);
}

/// The plan: what a reader needs, and what is not as by default.
ordered_json plan_of(const RawCase& record) {
  ordered_json plan = ordered_json::object();
  const ordered_json all = plan_to_json(record.plan);
  for (const Field<ParallelPlan>& field : plan_fields()) {
    const bool is_chosen = field.key == "micro_batch" && !record.has_micro_batch;
    const bool is_needed = field.required || field.key == "precision" || !has_default(field, record.plan);
    if (is_needed && !is_chosen) plan[std::string(field.key)] = all.at(std::string(field.key));
  }
  return plan;
}

ordered_json settings_of(const RawCase& record) {
  ordered_json settings = ordered_json::object();
  ordered_json plan = plan_of(record);
  describe_model_of(record, settings, plan);
  settings["profile"] = record.profile;
  settings["stack"] = stack_to_json(record.stack);
  settings["plan"] = std::move(plan);
  return settings;
}

/// The keys of a run before its settings.
ordered_json head_of(const RawCase& record) {
  ordered_json run = {{"id", record.id}};
  if (!record.group.empty()) run["group"] = record.group;
  if (!record.source.empty()) run["source"] = record.source;
  return run;
}

/// The reasons why what was written of a record cannot be read, if any.
std::vector<std::string> unreadable(const ordered_json& run) {
  const auto document =
      JsonDocument::parse(run.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), "");
  if (!document) return {document.error().describe()};
  auto read = read_measured_run(*document, document->root());
  if (read) return std::move(read->missing);
  return {fmt::format("settings that fit together: {}", read.error().describe())};
}

/// One record as a run.
ordered_json run_of(const RawCase& record) {
  ordered_json run = head_of(record);
  std::vector<std::string> missing = record.missing;
  if (missing.empty()) {
    if (record.gpu != record.profile) run["gpu"] = record.gpu;
    if (!record.cluster.empty()) run["cluster"] = record.cluster;
    run["settings"] = settings_of(record);
    run["measured"] = record.figures;
    if (!record.assumed.empty()) run["assumed"] = record.assumed;
    run.update(ordered_json(record.remarks));
    missing = unreadable(run);
    if (!missing.empty()) run = head_of(record);
  }
  if (!missing.empty()) run["missing"] = std::move(missing);
  if (!record.unread.empty()) run["unread"] = record.unread;
  return run;
}

std::string text_of_value(const ordered_json& value);

/// A list or an object on one line, with blanks between its parts.
std::string line_of(const ordered_json& value) {
  std::string text;
  for (auto part = value.begin(); part != value.end(); ++part) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += json_string(part.key()) + ": ";
    text += text_of_value(*part);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

std::string text_of_value(const ordered_json& value) {
  if (value.is_structured()) return line_of(value);
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.is_string() ? json_string(value.get<std::string>()) : value.dump();
}

/// A run, with a line for each of its keys and for each key of its settings.
std::string text_of_run(const ordered_json& run) {
  std::string text;
  for (const auto& [key, value] : run.items()) {
    text += fmt::format("{}      {}: ", text.empty() ? "" : ",\n", json_string(key));
    if (key != "settings") {
      text += text_of_value(value);
      continue;
    }
    std::string settings;
    for (const auto& [part, inner] : value.items()) {
      settings += fmt::format("{}        {}: {}", settings.empty() ? "" : ",\n", json_string(part),
                              text_of_value(inner));
    }
    text += fmt::format("{{\n{}\n      }}", settings);
  }
  return fmt::format("    {{\n{}\n    }}", text);
}

}  // namespace

NormalisedFile normalised_file(const RawCases& raw) {
  NormalisedFile file;
  file.text = "{\n";
  if (!raw.note.empty()) file.text += fmt::format("  \"note\": {},\n", json_string(raw.note));
  if (!raw.are_measured) file.text += "  \"simulated\": true,\n";
  file.text += "  \"runs\": [";
  bool is_first = true;
  for (const RawCase& record : raw.cases) {
    const ordered_json run = run_of(record);
    if (run.contains("missing")) ++file.num_incomplete;
    file.text += (is_first ? "\n" : ",\n") + text_of_run(run);
    is_first = false;
  }
  file.text += is_first ? "]\n}\n" : "\n  ]\n}\n";
  return file;
}

}  // namespace vtrain
