/// JSON documents as commands print and write them.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace vtrain {

struct Breakdown;
struct MemoryEstimate;

/// The document with an indentation of two and a newline at its end. Bytes that are no UTF-8, which file
/// names may have, become U+FFFD.
std::string json_text(const nlohmann::ordered_json& document);

/// Prints it, on standard output unless another stream is given.
void print_json(const nlohmann::ordered_json& document, std::FILE* stream = stdout);

/// What an iteration's time is made of, in seconds.
nlohmann::ordered_json breakdown_to_json(const Breakdown& breakdown);

/// Peak and capacity of the fullest GPU, in bytes, its stage, and whether it fits.
nlohmann::ordered_json memory_to_json(const MemoryEstimate& memory);

}  // namespace vtrain
