/// Errors in an option's value. Fields of errors name options as users write them (`--cluster`). A front end
/// with other names translates them.
#pragma once

#include <string>
#include <utility>

#include "core/base/result.hpp"

namespace vtrain {

/// An error in an option's value: `--name: expected ..., found ...`, or `--name: key: ...`. An error in a
/// file or in another option already says its place, and is returned unchanged.
inline Error in_option(std::string option, Error error) {
  if (!error.file.empty() || error.field.starts_with("--")) return error;
  const bool is_named = option == "--" + error.field;
  error.field = error.field.empty() || is_named ? std::move(option) : option + ": " + error.field;
  return error;
}

/// A result whose error is an error in an option's value.
template <class T>
Result<T> in_option(std::string option, Result<T> result) {
  if (result) return result;
  return fail(in_option(std::move(option), std::move(result.error())));
}

}  // namespace vtrain
