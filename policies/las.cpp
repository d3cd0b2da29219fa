#include "policies/las.hpp"

#include "policies/elasticflow_las.hpp"
#include "policies/las_queues.hpp"

namespace vtrain {

Result<std::unique_ptr<Policy>> make_las(const PolicyArguments& arguments) {
  auto options = las_options(arguments);
  if (!options) return fail(options.error());
  const std::string_view attained = arguments["attained"];
  if (attained != "time" && attained != "gpu-time") {
    return fail(arguments.bad_value("attained", "time or gpu-time"));
  }
  const std::string_view preset = arguments["preset"];
  if (preset == "elasticflow") return make_elasticflow_las(arguments, *options);
  if (preset != "none") return fail(arguments.bad_value("preset", "none or elasticflow"));
  options->service = attained == "time" ? ServiceKind::Time : ServiceKind::GpuTime;
  return std::make_unique<LasQueues>(*std::move(options));
}

}  // namespace vtrain
