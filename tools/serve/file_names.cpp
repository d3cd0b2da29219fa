#include "tools/serve/file_names.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/strings.hpp"
#include "core/profile/gpu_profile.hpp"
#include "policies/registry.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/config/model_file.hpp"

namespace vtrain::serve {
namespace {

/// The text under a key; empty for none, or for another type, which the reader of the request refuses.
std::string text_at(const nlohmann::json& object, std::string_view key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>()
                                                                           : std::string();
}

}  // namespace

bool names_model_file(const std::string& model) {
  return is_model_path(model);
}

bool names_profile_file(const std::string& profile) {
  const std::string_view base = split_once(profile, ':').first;
  return !base.empty() && (is_profile_path(std::string(base)) || embedded_profile_of(base).empty());
}

bool names_cluster_file(const std::string& cluster) {
  return !cluster.empty() && (cluster.front() < '0' || cluster.front() > '9' ||
                              cluster.find_first_of("/.@") != std::string::npos);
}

bool names_calibration_file(const std::string& calibration) {
  return !calibration.empty() && calibration != kPublishedCalibration;
}

bool names_policy_file(const std::string& policy) {
  const auto arguments = PolicyRegistry::built_in().parse(policy);
  if (!arguments) return false;
  return std::ranges::any_of(arguments->policy().parameters, [&](const PolicyParameter& each) {
    const bool is_path = each.is_file || each.name == "folder";  // a folder has several such files
    return is_path && !(*arguments)[each.name].empty();
  });
}

Result<void> refuse_files(const JsonDocument& document, const nlohmann::json& object,
                          std::span<const NameRule> rules) {
  if (!object.is_object()) return {};  // its reader complains
  for (const NameRule& rule : rules) {
    const auto group = rule.group.empty() ? object.end() : object.find(rule.group);
    if (!rule.group.empty() && group == object.end()) continue;
    const nlohmann::json& part = rule.group.empty() ? object : *group;
    const std::string name = text_at(part, rule.key);
    if (rule.names_file(name))
      return fail(document.error_at(part, rule.key, expected_found(rule.expected, name)));
  }
  if (const auto files = object.find("files"); files != object.end() && !files->empty())
    return fail(document.error_at(object, "files", "a request may name no files"));
  return {};
}

}  // namespace vtrain::serve
