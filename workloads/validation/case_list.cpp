#include "workloads/validation/case_list.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/io/input.hpp"

namespace vtrain {

Result<void> check_number_of_cases(std::size_t num_cases, const std::string& file) {
  const std::size_t most = input_limit(InputKind::Measurements).lines;
  if (num_cases <= most) return {};
  return fail({.kind = ErrorKind::Io,
               .file = file,
               .message = fmt::format("has more than {} measured cases, the limit of a file; --max-input "
                                      "raises it",
                                      with_thousands(static_cast<std::int64_t>(most)))});
}

}  // namespace vtrain
