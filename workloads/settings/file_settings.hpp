/// Settings from TOML, YAML and JSON: each value under its path, `parallelism.tensor_parallel_degree`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/settings/named_setting.hpp"

namespace vtrain {

class JsonDocument;

/// Largest number of settings of a file.
inline constexpr std::size_t kMostSettings = 100'000;

/// Reads TOML. A list is a text of its values, as in TOML. Errors name file and line.
Result<std::vector<NamedSetting>> parse_toml_settings(std::string_view text, const std::string& file);

/// Reads YAML, one document. A list is a text of its values. References of OmegaConf (`${model.hidden_size}`,
/// `${.encoder_seq_length}`, `${multiply:a, b}` and the like) are replaced where their values are in the
/// file. Errors name file and line.
Result<std::vector<NamedSetting>> parse_yaml_settings(const std::string& text, const std::string& file);

/// The values of a JSON object. A list is its JSON.
std::vector<NamedSetting> json_settings(const JsonDocument& document);

}  // namespace vtrain
