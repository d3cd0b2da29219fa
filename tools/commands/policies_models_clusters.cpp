/// `vtrain policies`, `vtrain models`, `vtrain clusters`: lists of known names.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/profile/gpu_profile.hpp"
#include "policies/registry.hpp"
#include "tools/commands/commands.hpp"
#include "tools/format/profile_description.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The default with its unit; without a default the unit alone.
std::string default_text(const PolicyParameter& parameter) {
  if (parameter.default_value.empty()) return std::string(parameter.unit);
  return fmt::format("default {}{}{}", parameter.default_value, parameter.unit.empty() ? "" : " ",
                     parameter.unit);
}

/// Facts of a policy, a line each: its source, and the parts of a trace that it uses.
std::vector<std::string> facts_of(const PolicyInfo& policy) {
  std::vector<std::string> facts;
  if (!policy.source.empty()) facts.push_back(fmt::format("source: {}", policy.source));
  std::vector<std::string_view> uses;
  const PolicyNeeds& needs = policy.needs;
  if (policy.is_clairvoyant) uses.emplace_back("exact run times");
  if (needs.time_limits) uses.emplace_back("requested times");
  if (needs.deadlines) uses.emplace_back("deadlines");
  if (needs.curves) uses.emplace_back("models or throughput curves");
  if (needs.tenants) uses.emplace_back("tenants");
  if (needs.recorded_starts) uses.emplace_back("recorded starts");
  if (!uses.empty()) facts.push_back(fmt::format("uses: {}", fmt::join(uses, ", ")));
  return facts;
}

Result<void> list_policies(bool json) {
  if (json) {
    ordered_json list = ordered_json::array();
    for (const PolicyInfo& policy : PolicyRegistry::built_in().policies()) {
      ordered_json parameters = ordered_json::array();
      for (const PolicyParameter& parameter : policy.parameters) {
        parameters.push_back({{"name", parameter.name},
                              {"default", parameter.default_value},
                              {"unit", parameter.unit},
                              {"condition", parameter.condition},
                              {"choices", parameter.choices},
                              {"summary", parameter.summary}});
      }
      list.push_back({{"name", policy.name},
                      {"summary", policy.summary},
                      {"source", policy.source},
                      {"is_clairvoyant", policy.is_clairvoyant},
                      {"ignores_gpu_types", policy.ignores_gpu_types},
                      {"needs_recorded_starts", policy.needs.recorded_starts},
                      {"needs_deadlines", policy.needs.deadlines},
                      {"needs_time_limits", policy.needs.time_limits},
                      {"needs_tenants", policy.needs.tenants},
                      {"needs_curves", policy.needs.curves},
                      {"parameters", parameters}});
    }
    print_json(list);
    return {};
  }
  for (const PolicyInfo& policy : PolicyRegistry::built_in().policies()) {
    constexpr std::size_t kNames = 16;
    print_text(stdout, "{:<15} {}\n", policy.name,
               wrap_text(policy.summary, text_columns() - kNames, kNames));
    const auto print_indented = [](const std::string& text) {
      constexpr std::size_t kIndent = 18;
      print_text(stdout, "{:<16}{}\n", "", wrap_text(text, text_columns() - kIndent, kIndent));
    };
    for (const std::string& fact : facts_of(policy))
      print_indented(fact);
    for (const PolicyParameter& parameter : policy.parameters) {
      print_indented(fmt::format("{}: {} ({}{}{})", parameter.name, parameter.summary,
                                 default_text(parameter), parameter.condition.empty() ? "" : "; only with ",
                                 parameter.condition));
    }
  }
  print_text(stdout, "\n{}\n",
             wrap_text("Parameters are given as NAME:key=value,key=value, for instance --policy "
                       "'las:attained=time,queues=600;3600'.",
                       text_columns()));
  return {};
}

/// `0.35 B`, `70.6 B`, `671 B`.
std::string as_billions(std::int64_t count) {
  const double billions = static_cast<double>(count) / 1e9;
  if (billions >= 100) return with_thousands(std::llround(billions)) + " B";
  return fmt::format("{:.{}f} B", billions, billions < 10 ? 2 : 1);
}

ordered_json to_json(const ZooModel& entry) {
  const TransformerModel& model = entry.model();
  return {{"name", entry.name()},
          {"family", entry.family},
          {"parameters", model.num_parameters()},
          {"active_parameters", model.active_parameters()},
          {"num_layers", model.num_layers},
          {"hidden_size", model.hidden_size},
          {"num_heads", model.num_heads},
          {"num_kv_heads", model.kv_heads()},
          {"ffn_size", model.mlp_size()},
          {"num_experts", model.experts.num_experts},
          {"sequence_length", model.sequence_length},
          {"vocab_size", model.vocab_size},
          {"global_batch", entry.global_batch},
          {"global_batch_is_published", entry.batch_is_published},
          {"source", entry.source}};
}

Result<void> list_models(bool json) {
  if (json) {
    ordered_json list = ordered_json::array();
    for (const ZooModel& entry : model_zoo())
      list.push_back(to_json(entry));
    print_json(list);
    return {};
  }
  TextTable table({"model", "parameters", "active", "layers", "hidden", "heads", "kv heads", "MLP", "experts",
                   "sequence", "vocabulary", "batch"});
  for (const ZooModel& entry : model_zoo()) {
    const TransformerModel& model = entry.model();
    const MixtureOfExperts& experts = model.experts;
    table.add_row({model.name, as_billions(model.num_parameters()),
                   model.has_experts() ? as_billions(model.active_parameters()) : "",
                   with_thousands(model.num_layers), with_thousands(model.hidden_size),
                   with_thousands(model.num_heads),
                   model.has_latent_attention() ? "latent" : with_thousands(model.kv_heads()),
                   with_thousands(model.has_experts() ? experts.expert_ffn_size : model.mlp_size()),
                   model.has_experts() ? fmt::format("{} of {}", experts.top_k, experts.num_experts) : "",
                   with_thousands(model.sequence_length), with_thousands(model.vocab_size),
                   with_thousands(entry.global_batch) + (entry.batch_is_published ? " " : "~")});
  }
  print_text(stdout, "{}", table.to_string());
  print_text(stdout, "\n{}\n\nsources\n",
             wrap_text("MLP: inner size, of one expert if there are experts. batch: global batch in "
                       "sequences; ~ marks an assumed one (4 Mi tokens).",
                       text_columns()));
  std::set<std::pair<std::string_view, std::string_view>> shown;
  std::string_view family;
  for (const ZooModel& entry : model_zoo()) {
    if (!shown.emplace(entry.family, entry.source).second) continue;
    constexpr std::size_t kIndent = 18;
    print_text(stdout, "  {:<14}  {}\n", entry.family == family ? entry.name() : entry.family,
               wrap_text(entry.source, text_columns() - kIndent, kIndent));
    family = entry.family;
  }
  return {};
}

Result<void> list_clusters(bool json) {
  ordered_json list = ordered_json::array();
  TextTable table({"GPU type", "memory", "bandwidth", "peak", "GPUs a node", "network a node"});
  for (const std::string_view name : embedded_profile_names()) {
    const auto profile = load_gpu_profile(std::string(name));
    if (!profile) return fail(profile.error());
    list.push_back({{"gpu_type", name},
                    {"memory_bytes", profile->memory_capacity.value},
                    {"memory_bytes_per_second", profile->memory_bandwidth.value},
                    {"peak_flops_per_second", peak_rates_to_json(*profile)},
                    {"gpus_per_node", profile->gpus_per_node},
                    {"node_network_bytes_per_second", profile->node_network_bandwidth.value}});
    table.add_row({std::string(name), as_gibibytes(profile->memory_capacity.value),
                   fmt::format("{} GB/s", short_number(profile->memory_bandwidth.value / 1e9)),
                   fmt::format("{} TFLOP/s", short_number(profile->peak_rate.value / 1e12)),
                   with_thousands(profile->gpus_per_node),
                   fmt::format("{} GB/s", short_number(profile->node_network_bandwidth.value / 1e9))});
  }
  if (json) {
    print_json(list);
    return {};
  }
  constexpr std::string_view kForms =
      "A cluster is written NODESxGPUS:TYPE, groups joined by +: 16x8:a100, or 8x8:a100+4x4. Slurm's names "
      "of GPU types are known: nvidia_h100_80gb_hbm3 is h100. For a type that is not listed, --profile must "
      "name the profile to predict with.\n\nA JSON file {\"groups\": [{\"num_nodes\": 16, \"gpus_per_node\": "
      "8, \"gpu_type\": \"a100\"}]} says the same, and may add \"gpus_per_island\": 4 (what NVLink joins) "
      "and \"nodes_per_rack\": 8.\n\nTables of nodes, plain or compressed, are recognised by their content: "
      "of openb, PAI, spot-GPU, Philly, Helios (FILE@2020-05-01 for a day) and Lucid, cluster specs of "
      "Tiresias, Muri, ElasticFlow and Gavel, and what `sinfo -o \"%N %G %t\"` or `scontrol show node` "
      "print, also with --json.";
  print_text(stdout, "{}\n\n{}", wrap_text(kForms, text_columns()), table.to_string());
  return {};
}

void add_list(CLI::App& app, Action& action, const std::string& name, const std::string& summary,
              Result<void> (*list)(bool json)) {
  CLI::App* command =
      app.add_subcommand(name, fmt::format("{}\n\n  vtrain {}\n  vtrain {} --json", summary, name, name));
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON document");
  command->callback([=, &action] { action = [=] { return list(*json); }; });
}

}  // namespace

void add_list_commands(CLI::App& app, Action& action) {
  add_list(app, action, "policies", "List the scheduling policies with their parameters, units and defaults.",
           list_policies);
  add_list(app, action, "models", "List the models known by name.", list_models);
  add_list(app, action, "clusters", "Explain how a cluster is written and list the GPU types with a profile.",
           list_clusters);
}

}  // namespace vtrain
