#include "policies/list/las.hpp"

#include "policies/elasticflow/elasticflow_las.hpp"
#include "policies/list/las_queues.hpp"

namespace vtrain {

Result<std::unique_ptr<Policy>> make_las(const PolicyArguments& arguments) {
  auto options = las_options(arguments);
  if (!options) return fail(options.error());
  if (arguments["preset"] == "elasticflow") return make_elasticflow_las(arguments, *options);
  options->service = arguments["attained"] == "time" ? ServiceKind::Time : ServiceKind::GpuTime;
  return std::make_unique<LasQueues>(*std::move(options));
}

}  // namespace vtrain
