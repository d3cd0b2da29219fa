/// Lines of Slurm's configuration files (slurm.conf(5)): `Key=Value` pairs with comments, quotes and
/// continuations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// A pair of a line.
struct SlurmConfEntry {
  std::string key;    ///< as written; Slurm reads keys in any case
  std::string value;  ///< without quotes
};

/// A line with its continuations.
struct SlurmConfLine {
  std::int64_t line = 0;                  ///< number of its first line in the file
  std::vector<SlurmConfEntry> entries{};  ///< at least one
  /// Value of a key, in any case; null without it.
  const std::string* find(std::string_view key) const;
};

/// The lines that hold a pair. `#` begins a comment, `\` at the end of a line continues it. Errors: a word
/// without `=`, a quote without an end, `Include` (the lines of other files are not read).
Result<std::vector<SlurmConfLine>> read_slurm_conf_lines(std::string_view text, const std::string& file);

/// Pairs `Key=Value` of one line of `scontrol -o`. Words without `=` are dropped.
std::vector<SlurmConfEntry> slurm_pairs(std::string_view line);

}  // namespace vtrain
