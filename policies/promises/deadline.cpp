/// `deadline`: promises deadlines that it keeps, and runs the shortest other jobs on the GPUs left over.
#include "core/base/numbers.hpp"
#include "policies/base/policies.hpp"
#include "policies/promises/promise_policy.hpp"

namespace vtrain {

MadePolicy make_deadline(const PolicyArguments& arguments) {
  constexpr double kMostMargin = 100;
  const auto margin = parse_number(arguments["margin"], 0, kMostMargin);
  if (!margin) return fail(arguments.bad_value("margin", "a number from 0 to 100"));
  return std::make_unique<PromisePolicy>(PromiseOptions{.only_promised = arguments["unpromised"] == "reject",
                                                        .rejects_late = arguments["late"] == "reject",
                                                        .margin = *margin,
                                                        .keeps_running = arguments["running"] == "keep"});
}

}  // namespace vtrain
