/// Files that are published beside traces and are none: what they are, so that nobody has to guess.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vtrain {

/// What a file is that is no trace.
struct AuxiliaryFile {
  std::string what{};         ///< for people: `load of a virtual cluster over time (Helios)`
  std::string unit{};         ///< what is counted: `rows`, `files`, `job types`
  std::int64_t count = 0;     ///< how many of them
  std::int64_t num_jobs = 0;  ///< the jobs that a table of counts adds up to, 0 when it has none
};

/// Tells from the beginning of a text what it is, where that might be taken for a trace or is often given as
/// one: vtrain's own outputs, the JSON of sacct, a page, an archive, nothing. Empty for any other text.
std::string describe_other_file(std::string_view head);

/// Tells from the content: series of load, summaries, topologies and lists of sizes of the traces of Helios,
/// Acme, Philly and Alibaba; throughput tables of ElasticFlow and Gavel; the column names that are published
/// apart from PAI's tables; archives. Nothing for any other text, and for a table with a malformed row.
std::optional<AuxiliaryFile> recognise_auxiliary_file(std::string_view text);

}  // namespace vtrain
