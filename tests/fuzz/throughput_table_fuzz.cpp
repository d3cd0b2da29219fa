#include <cstdint>
#include <cstdlib>
#include <string>

#include "workloads/jobs/throughput_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto table = vtrain::parse_throughput_table(text, "input")) {
    for (const auto& row : table->rows()) {
      if (row.iterations_per_s.size() != table->levels().size()) std::abort();
      for (const vtrain::GpuCount level : table->levels()) {
        if (!(table->iterations_per_s(row.global_batch, level) >= 0)) std::abort();
      }
    }
  } else if (table.error().message.empty()) {
    std::abort();
  }
  if (const auto by_gpu = vtrain::parse_gavel_throughputs(text, "input")) {
    for (const auto& [gpu_type, tables] : *by_gpu) {
      for (const auto& [model, table] : tables.tables()) {
        const auto duration = tables.duration(model, 0, table.levels().front(), 1000);
        if (duration ? duration->count() <= 0 : duration.error().message.empty()) std::abort();
      }
    }
  }
  return 0;
}
