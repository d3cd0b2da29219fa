/// The page of the service: what is where, and a form that asks whether a job can be admitted.
#pragma once

#include <vector>

#include "tools/serve/router.hpp"

namespace vtrain::serve {

/// Rows of the page and of its files, for everybody: the page itself asks for a token where the other routes
/// need one. All are left out of `/openapi.json`.
std::vector<Route> page_routes();

}  // namespace vtrain::serve
