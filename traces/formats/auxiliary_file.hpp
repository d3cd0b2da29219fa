/// Files that are published together with traces but are no traces. A description says what they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vtrain {

/// Description of a file that is no trace.
struct AuxiliaryFile {
  std::string what{};         ///< text for people: `load of a virtual cluster over time (Helios)`
  std::string unit{};         ///< unit of `count`: `rows`, `files`, `job types`
  std::int64_t count = 0;     ///< number of these units
  std::int64_t num_jobs = 0;  ///< total jobs in a table of counts, 0 when it has none
};

/// Describes a text by its beginning if users often give such a text as a trace: vtrain's own outputs, the
/// JSON of sacct, a web page, an archive, an empty file. Returns an empty string for any other text.
std::string describe_other_file(std::string_view head);

/// Recognises auxiliary files by their content. Known are series of load, summaries, topologies and lists of
/// sizes of the traces of Helios, Acme, Philly and Alibaba. Throughput tables of ElasticFlow and Gavel, the
/// separate column names of PAI's tables, and archives are known too. Returns nothing for any other text, and
/// for a table with a malformed row.
std::optional<AuxiliaryFile> recognise_auxiliary_file(std::string_view text);

}  // namespace vtrain
