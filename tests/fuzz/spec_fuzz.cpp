/// Specs of scenarios: a spec that was read is equal after conversion to JSON and back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/experiment/spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = vtrain::parse_scenario_spec({reinterpret_cast<const char*>(data), size}, "spec.json");
  if (!read) return 0;
  const auto to_text = [](const vtrain::ScenarioSpec& spec) {
    return vtrain::spec_to_json(spec, {}, "").dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const std::string text = to_text(read->spec);
  const auto again = vtrain::parse_scenario_spec(text, "spec.json");
  if (!again || to_text(again->spec) != text) std::abort();
  return 0;
}
