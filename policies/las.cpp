#include "policies/las.hpp"

#include "policies/las_queues.hpp"

namespace vtrain {

Result<std::unique_ptr<Policy>> make_las(const PolicyArguments& arguments) {
  auto options = las_options(arguments);
  if (!options) return fail(options.error());
  const std::string_view attained = arguments["attained"];
  if (attained != "time" && attained != "gpu-time") {
    return fail(arguments.bad_value("attained", "time or gpu-time"));
  }
  options->service = attained == "time" ? ServiceKind::Time : ServiceKind::GpuTime;
  return std::make_unique<LasQueues>(*std::move(options));
}

}  // namespace vtrain
