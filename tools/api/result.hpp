/// Errors that input can cause, and the result type of functions that may meet one.
///
/// `Result<T>` holds a `T` or an `Error`; it is `tl::expected`, whose interface is that of C++23's
/// std::expected: `if (result) use(*result); else report(result.error());`. No function of the public headers
/// throws because of input. Only running out of memory, outside of `Scenario`, can throw.
///
/// An `Error` gives the place: `file`, `line` (from 1) and `field` (a column, a key or an option as users
/// write it). Its `message` has the expected and the found value. `describe()` joins them as `file:line:
/// field: message`. `kind` tells bad input (`InvalidInput`, `NotFound`, `Io`) from a run that failed
/// (`Failed`); the command line maps the first three to exit code 2 and the last to 1.
#pragma once

#include "core/base/result.hpp"
