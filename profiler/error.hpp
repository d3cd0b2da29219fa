/// Errors of the profiler. It is built with the standard library and CUDA alone, so errors are exceptions,
/// caught once in `command.hpp`.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace vtrain::profiler {

/// Error in the user's input: a command line or a table. Its exit code is 2; other exceptions have 1.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `where: expected X, found 'Y'`; a long Y is cut.
inline InputError expected_found(std::string_view where, std::string_view expected, std::string_view found) {
  constexpr std::size_t kLongest = 60;
  std::string text(where);
  if (!text.empty()) text += ": ";
  text.append("expected ").append(expected).append(", found '").append(found.substr(0, kLongest));
  return InputError(text + (found.size() > kLongest ? "...'" : "'"));
}

}  // namespace vtrain::profiler
