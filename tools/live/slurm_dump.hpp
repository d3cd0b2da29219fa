/// Dumps of Slurm's commands, as records: `scontrol show … [-o]`, tables with `|`, JSON.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "core/io/json_reader.hpp"
#include "tools/live/live_record.hpp"

namespace vtrain {

/// Reads a dump, whose kind its content tells. Errors: a dump of another command, cut JSON, a row with
/// another number of columns than its header.
Result<LiveRecords> read_slurm_dump(std::string text, const std::string& file);
/// Reads a dump in JSON in the same way.
Result<LiveRecords> read_slurm_json(const JsonDocument& document);

}  // namespace vtrain
