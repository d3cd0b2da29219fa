/// Published measurements of training iterations in the forms that their sources have, read from files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/validation/measured_case.hpp"

namespace vtrain {

/// One record, completed.
struct RawCase : MeasuredCase {
  /// A node's GPUs and network, if the record names them; else the profile's. If only the GPUs are named, the
  /// node has the adapters of that many GPUs. `profile` has them in its name once a record has been read.
  std::optional<std::int64_t> gpus_per_node{};
  std::optional<BytesPerSecond> node_network{};
  nlohmann::json remarks = nlohmann::json::object();  ///< `derived` and `caveats`, where the record has them
  nlohmann::json source{};                            ///< what the record says of its source; null if nothing
  nlohmann::json figures{};  ///< the measured figures as an object, with a derived time
};

/// The records of one file.
struct RawCases {
  std::string file{};
  std::string note{};        ///< the file's note
  bool are_measured = true;  ///< false for the public single-node table, whose times vTrain's simulator made
  std::vector<RawCase> cases{};
};

/// Reads a file of measured iterations:
///  * JSON with a key `cases` (schema version 1): records with `model`, `system`, `parallel`, `batch`,
///    `precision`, `recompute`, `framework` and `measured`;
///  * CSV tables of the public vTrain release. The table without the column `Parameters (billion)` holds
///    output of its simulator, not measurements: its times are exactly affine in micro-batches and layers. A
///    record or row that lacks data or has an unreadable field is kept with a list of what is missing. A
///    malformed file is an error, and so is a file without a readable record.
Result<RawCases> parse_raw_cases(std::string text, const std::string& file);

/// Reads measured iterations from a file, compressed or not.
Result<RawCases> read_raw_cases(const std::filesystem::path& path);

/// The records as cases to predict.
MeasuredCases measured_cases(const RawCases& raw);

}  // namespace vtrain
