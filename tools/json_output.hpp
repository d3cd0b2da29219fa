/// JSON documents as commands print and write them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace vtrain {

/// The document with an indentation of two and a newline at its end. Bytes that are no UTF-8, which file
/// names may have, become U+FFFD.
std::string json_text(const nlohmann::ordered_json& document);

/// Prints it on standard output.
void print_json(const nlohmann::ordered_json& document);

}  // namespace vtrain
