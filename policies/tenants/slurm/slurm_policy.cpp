#include "policies/base/policies.hpp"
namespace vtrain {
MadePolicy make_slurm(const PolicyArguments& arguments) {
  return fail(arguments.bad_value("conf", "slurm.conf"));
}
}  // namespace vtrain
