#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/base/utf8.hpp"
#include "traces/synthesis/generator.hpp"
#include "traces/synthesis/shape_json.hpp"

/// Checks that any bytes give an error that can be shown, or a shape. The shape is equal after writing and
/// reading it, and generates jobs.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  const auto shape = vtrain::parse_shape({reinterpret_cast<const char*>(data), size}, "input");
  if (!shape) {
    require(!shape.error().message.empty() && vtrain::is_printable(shape.error().describe()));
    return 0;
  }
  const std::string written = vtrain::shape_to_json(*shape);
  const auto again = vtrain::parse_shape(written, "written");
  require(again.has_value() && vtrain::shape_to_json(*again) == written);
  vtrain::GeneratorOptions options;
  options.num_jobs = 20;
  options.cluster = vtrain::GpuCount(0);
  options.load = 0;
  options.shape = *shape;
  options.arrivals = shape->arrivals;
  options.num_tenants = 0;
  options.models = {};
  options.deadlines.reset();
  const auto workload = vtrain::generate_trace(options, {});
  if (!workload) {
    require(!workload.error().message.empty());
    return 0;
  }
  vtrain::SimTime previous{};
  for (const vtrain::Job& job : workload->jobs) {
    require(job.submit >= previous && job.duration.count() > 0 && job.num_gpus.value >= 1);
    previous = job.submit;
  }
  return 0;
}
