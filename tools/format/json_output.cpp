#include "tools/format/json_output.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/units.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/physical/memory_model.hpp"

namespace vtrain {

std::string json_text(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void print_json(const nlohmann::ordered_json& document, std::FILE* stream) {
  fmt::print(stream, "{}", json_text(document));
}

nlohmann::ordered_json breakdown_to_json(const Breakdown& breakdown) {
  const auto seconds = [](Nanoseconds time) { return Seconds(time).count(); };
  return {{"compute_s", seconds(breakdown.compute)},
          {"tensor_comm_s", seconds(breakdown.tensor_comm)},
          {"pipeline_comm_s", seconds(breakdown.pipeline_comm)},
          {"data_comm_s", seconds(breakdown.data_comm)},
          {"optimizer_s", seconds(breakdown.optimizer)},
          {"bubble_s", seconds(breakdown.bubble)}};
}

nlohmann::ordered_json memory_to_json(const MemoryEstimate& memory) {
  return {{"peak_bytes_per_gpu", memory.peak.value},
          {"capacity_bytes", memory.capacity.value},
          {"stage", memory.stage},
          {"fits", memory.fits()}};
}

}  // namespace vtrain
