/// Validators of option values. Messages give the expected and the found value, as for files. Validators of
/// numbers are for `transform`, not for `check`: CLI11 would then read `010` as 8 and reject `1.0`.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace CLI {
class Validator;
}  // namespace CLI

namespace vtrain {

/// A whole number in [low, high], as `parse_integer` reads it.
CLI::Validator whole_number(std::int64_t low, std::int64_t high = std::numeric_limits<std::int64_t>::max());

/// A whole number in [low, high], which may end in K (1,024) or M (1,048,576): `128K` is 131,072.
CLI::Validator binary_count(std::int64_t low, std::int64_t high);

/// Help of options that take the length of sequences by `binary_count`.
inline constexpr const char* kSequenceLengthHelp =
    "Tokens per sequence: 8192, 128K (131,072), 1M (1,048,576); default: the model's";

/// A number of GPUs, from 1 to the size of the largest cluster.
CLI::Validator gpu_count();

/// A number in [low, high].
CLI::Validator number_between(double low, double high);

/// A finite number above 0.
CLI::Validator number_above_zero();

/// The name of a file to write as plain text, for `check`. Rejects `-`, which means standard input, and names
/// with an ending of compressed files.
CLI::Validator plain_file();

/// One of some words, for `check`.
CLI::Validator one_of(std::vector<std::string_view> words);

}  // namespace vtrain
