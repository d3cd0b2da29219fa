/// Tools that models may call. None reads a file or runs a program that a model names.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "workloads/calibration/calibration.hpp"

namespace vtrain::mcp {

/// Surroundings of a call.
struct CallContext {
  const Calibration& calibration;        ///< factors of predictions
  std::function<bool()> is_cancelled{};  ///< true: nobody waits for the answer
};

/// A row of the table of tools.
struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;               ///< use of the tool, as models read it
  nlohmann::ordered_json (*input_schema)();   ///< JSON Schema of its arguments
  nlohmann::ordered_json (*output_schema)();  ///< JSON Schema of its answer
  /// Answers arguments, a JSON text. Errors have a place in the arguments.
  Result<nlohmann::ordered_json> (*call)(const std::string& arguments, const CallContext& context);
};

/// All tools.
std::span<const Tool> tools();

}  // namespace vtrain::mcp
