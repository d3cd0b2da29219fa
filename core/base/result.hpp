/// Errors that a user can cause, and the result type of functions that may meet one.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

/// All types and functions of the library.
namespace vtrain {

/// Kind of an error. The command line maps every kind but `Failed` to exit code 2.
enum class ErrorKind {
  InvalidInput,  ///< a file, an option or a request has an unusable value
  NotFound,      ///< a file, a name or a table entry does not exist
  Io,            ///< the operating system refused to read or write
  Failed,        ///< correct input, but the run could not be finished (exit code 1)
};

/// One error, with the place in the input that caused it. Empty members are left out of the text.
struct Error {
  ErrorKind kind = ErrorKind::InvalidInput;  ///< kind of the error
  std::string file{};                        ///< the file as the user named it
  std::int64_t line = 0;                     ///< 1-based, 0 when unknown
  std::string field{};                       ///< the column, key or option
  std::string message{};  ///< the problem, for instance "expected a whole number, found '1.5'"

  /// `file:line: field: message`.
  std::string describe() const;
};

/// A value, or the error that prevented it. (`std::expected` once the compiler has it.)
template <class T>
using Result = tl::expected<T, Error>;

/// Makes the error value of a `Result`: `return fail(error);`
inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

/// The usual message of a bad value: `expected EXPECTED, found 'FOUND'`. A long `found` is cut.
std::string expected_found(std::string_view expected, std::string_view found);

}  // namespace vtrain
