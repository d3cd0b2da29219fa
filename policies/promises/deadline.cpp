/// `deadline`: promises deadlines that it keeps, and runs the shortest other jobs on the GPUs left over.
#include "policies/base/policies.hpp"
#include "policies/promises/promise_policy.hpp"

namespace vtrain {

MadePolicy make_deadline(const PolicyArguments& arguments) {
  return std::make_unique<PromisePolicy>(PromiseOptions{.rejects_late = arguments["late"] == "reject"});
}

}  // namespace vtrain
