/// The OpenAPI document of the service.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "tools/serve/router.hpp"

namespace vtrain::serve {

/// The document (OpenAPI 3.1) of a table of routes.
nlohmann::ordered_json openapi_document(std::span<const Route> routes, std::string_view version);

}  // namespace vtrain::serve
