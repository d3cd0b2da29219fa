#include "tools/mcp/eta_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/serve/file_names.hpp"

namespace vtrain::mcp {
namespace {

using nlohmann::ordered_json;
using serve::NameRule;

constexpr std::int64_t kMostSamples = 1000;
constexpr std::int64_t kMostSeed = (std::int64_t{1} << 53) - 1;  // as JavaScript has them

constexpr NameRule kEtaNames[] = {
    {"", "cluster", serve::names_cluster_file, serve::kShortCluster},
    {"", "profile", serve::names_profile_file, serve::kKnownProfile},
    {"", "calibration", serve::names_calibration_file, serve::kKnownCalibration},
    {"", "policy", serve::names_policy_file, serve::kPolicyAlone},
};

/// A key of a question that is a text.
struct TextKey {
  std::string_view key;
  std::string& (*member)(EtaRequest& request);
  std::string_view meaning;
};

const std::array<TextKey, 9> kTexts = {{
    {"policy", [](EtaRequest& r) -> std::string& { return r.policy; },
     "scheduling policy with parameters: easy (default), conservative, fifo, fit-first, slurm (with "
     "slurm.conf "
     "among the texts), kueue (with ClusterQueues among them), ..."},
    {"job", [](EtaRequest& r) -> std::string& { return r.job; },
     "id of a pending job: answer for it alone, with changes that make it start earlier"},
    {"cluster", [](EtaRequest& r) -> std::string& { return r.cluster; },
     "cluster in place of the nodes in the texts, as 16x8:a100 (nodes x GPUs : type)"},
    {"placement", [](EtaRequest& r) -> std::string& { return r.placement; },
     "rule that chooses the GPUs of a job: count (default), yarn, consolidate, ..."},
    {"at", [](EtaRequest& r) -> std::string& { return r.at; },
     "instant of the texts in UTC, as 2026-11-25T09:16:18; default: the latest time in them"},
    {"time_zone", [](EtaRequest& r) -> std::string& { return r.zone; },
     "zone of times in the texts that name none, as Europe/Berlin; default: UTC"},
    {"profile", [](EtaRequest& r) -> std::string& { return r.pricing.profile; },
     "GPU profile for jobs that name their model; default: that of the cluster's GPUs"},
    {"stack", [](EtaRequest& r) -> std::string& { return r.pricing.stack; },
     "software stack for jobs that name their model"},
    {"calibration", [](EtaRequest& r) -> std::string& { return r.pricing.calibration; },
     "published, or nothing"},
}};

/// Texts of dumps under a key, named by their place.
Result<std::vector<DumpText>> read_texts(const JsonDocument& document, const nlohmann::json& object,
                                         std::string_view key) {
  std::vector<DumpText> dumps;
  const auto list = object.find(key);
  if (list == object.end() || list->is_null()) return dumps;
  if (!list->is_array()) return fail(document.error_at(object, key, "expected a list of texts"));
  for (std::size_t i = 0; i < list->size(); ++i) {
    const nlohmann::json& text = (*list)[i];
    std::string name = fmt::format("{}[{}]", key, i);
    if (!text.is_string())
      return fail({.field = std::move(name), .message = "expected a text: the output of a command"});
    dumps.push_back({.name = std::move(name), .text = text.get<std::string>()});
  }
  return dumps;
}

}  // namespace

Result<EtaRequest> read_eta_question(const JsonDocument& document, const nlohmann::json& object,
                                     const Calibration& calibration) {
  if (!object.is_object()) return fail({.message = "expected an object"});
  if (auto checked = serve::refuse_files(document, object, kEtaNames); !checked)
    return fail(std::move(checked.error()));
  EtaRequest request;
  request.pricing.calibration = calibration.file;
  JsonFields fields(document, object);
  std::vector<std::string_view> known = {"now", "history", "models", "samples", "seed"};
  for (const TextKey& each : kTexts) {
    known.push_back(each.key);
    std::string& member = each.member(request);
    member = fields.string_or(each.key, member);
  }
  fields.allow_only(known);
  request.samples = fields.integer_or("samples", 1, kMostSamples, request.samples);
  request.seed = static_cast<std::uint64_t>(fields.integer_or("seed", 0, kMostSeed, 1));
  std::string models = fields.string_or("models", "");
  if (!models.empty()) request.models = {.name = "models", .text = std::move(models)};
  if (fields.error()) return fail(*fields.error());
  for (const auto& [key, dumps] : {std::pair("now", &request.now), std::pair("history", &request.history)}) {
    auto texts = read_texts(document, object, key);
    if (!texts) return fail(std::move(texts.error()));
    *dumps = *std::move(texts);
  }
  if (request.now.empty())
    return fail({.field = "now", .message = "missing: outputs of the scheduler's commands"});
  return request;
}

Error in_question(Error error) {
  if (!error.field.starts_with("--")) return error;
  error.field.erase(0, 2);
  std::ranges::replace(error.field, '-', '_');
  if (error.field == "calibrate") error.field = "calibration";
  return error;
}

ordered_json eta_question_schema(bool for_one_job) {
  const ordered_json text = {{"type", "string"}};
  const auto texts = [&](std::string_view meaning) {
    return ordered_json{{"type", "array"}, {"items", text}, {"description", meaning}};
  };
  ordered_json schema = {{"type", "object"}, {"additionalProperties", false}};
  schema["required"] = for_one_job ? ordered_json{"now", "job"} : ordered_json{"now"};
  ordered_json& properties = schema["properties"];
  properties["now"] = texts(
      "texts, not names of files: what the scheduler's commands printed at about one instant. Slurm: "
      "scontrol "
      "show job|node|partition -o, squeue --json, sinfo --json, slurm.conf, sacctmgr show assoc -P, ...; "
      "Kubernetes with Kueue: kubectl get workloads,clusterqueues,localqueues,resourceflavors,nodes -A -o "
      "json");
  properties["now"]["minItems"] = 1;
  properties["history"] =
      texts("texts of sacct -P or --json with past jobs, from which run times of waiting jobs are drawn");
  properties["models"] = {{"type", "string"},
                          {"description",
                           "text of a CSV table with the models that jobs train: job (id, or name with *), "
                           "model, global_batch, tokens or iterations, plan"}};
  for (const TextKey& each : kTexts)
    properties[std::string(each.key)] = {{"type", "string"}, {"description", each.meaning}};
  properties["samples"] = {{"type", "integer"},
                           {"minimum", 1},
                           {"maximum", kMostSamples},
                           {"description", "simulations; default 200"}};
  properties["seed"] = {{"type", "integer"},
                        {"minimum", 0},
                        {"maximum", kMostSeed},
                        {"description", "seed of the draws; default 1"}};
  return schema;
}

ordered_json eta_answer_schema() {
  const ordered_json list = {{"type", "array"}, {"items", {{"type", "object"}}}};
  return {{"type", "object"},
          {"description", "as `vtrain eta --json` prints it; instants are seconds since 1970"},
          {"properties",
           {{"now", {{"type", "integer"}, {"description", "instant of the texts"}}},
            {"policy", {{"type", "string"}}},
            {"jobs", list},
            {"stuck", list},
            {"suggestions", list},
            {"assumptions", {{"type", "array"}, {"items", {{"type", "string"}}}}}}}};
}

}  // namespace vtrain::mcp
