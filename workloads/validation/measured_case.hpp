/// Published measurements of training iterations, read from files, with the inputs needed to predict them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// One measured configuration.
struct MeasuredCase {
  std::string id{};
  std::string group{};    ///< source, GPU and kind, for instance `mbridge-gb200-nvfp4`
  std::string profile{};  ///< name of the GPU's profile
  std::string gpu{};      ///< the GPU's name in the record
  TransformerModel model{};
  ParallelPlan plan{};
  Stack stack{};  ///< the stack, changed where the record differs
  /// A node's GPUs and network, if the record names them; else the profile's. If only the GPUs are named, the
  /// node has the adapters of that many GPUs.
  std::optional<std::int64_t> gpus_per_node{};
  std::optional<BytesPerSecond> node_network{};
  std::string cluster{};        ///< node's GPUs and network if the record names them; tells cases apart
  bool has_micro_batch = true;  ///< false: `plan.micro_batch` must be chosen
  Seconds measured{0};
  std::optional<Bytes> allocated{};  ///< measured peak of the tensors of the fullest GPU
  std::optional<Bytes> reserved{};   ///< measured peak of the allocator
  /// Reasons why the case cannot be predicted; empty if it can.
  std::vector<std::string> missing{};
  /// Values that the record lacks and that were completed, with their sources.
  std::vector<std::string> assumed{};
  /// Keys of the record that are not used, for instance `system.network`.
  std::vector<std::string> unread{};

  /// Text that is equal for records of the same configuration.
  std::string configuration() const;
  /// Text that is equal for records among which a user would choose a plan: model, sequence, GPUs, batch and
  /// stack.
  std::string choice() const;
};

/// The cases of one file.
struct MeasuredCases {
  std::string file{};
  bool are_measured = true;  ///< false for the public single-node table, whose times vTrain's simulator made
  std::vector<MeasuredCase> cases{};
};

/// Reads a file of measured iterations:
///  * JSON with a key `cases` (schema version 1): records with `model`, `system`, `parallel`, `batch`,
///    `precision`, `recompute`, `framework` and `measured`;
///  * CSV tables of the public vTrain release. The table without the column `Parameters (billion)` holds
///    output of its simulator, not measurements: its times are exactly affine in micro-batches and layers. A
///    record or row that lacks data or has an unreadable field is kept with a list of what is missing. A
///    malformed file is an error, and so is a file without a readable record.
Result<MeasuredCases> parse_measured_cases(std::string text, const std::string& file);

/// Reads measured iterations from a file, compressed or not.
Result<MeasuredCases> read_measured_cases(const std::filesystem::path& path);

}  // namespace vtrain
