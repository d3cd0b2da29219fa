/// Published measurements of training iterations, as they stand in files, and what is needed to predict them.
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
  std::string gpu{};      ///< as the record names it
  TransformerModel model{};
  ParallelPlan plan{};
  Stack stack{};  ///< with what the record says otherwise
  /// Of a node, where the record says it; else as the profile has it. The adapters are those of as many GPUs
  /// where only the GPUs are named.
  std::optional<std::int64_t> gpus_per_node{};
  std::optional<BytesPerSecond> node_network{};
  std::string cluster{};  ///< these, where they are named beside the GPU: other clusters are other cases
  bool has_micro_batch = true;  ///< else `plan.micro_batch` must be chosen
  Seconds measured{0};
  std::optional<Bytes> allocated{};  ///< measured peak of the tensors of the fullest GPU
  std::optional<Bytes> reserved{};   ///< measured peak of the allocator
  /// Why the case cannot be predicted; empty if it can.
  std::vector<std::string> missing{};
  /// What the record does not say and was completed, with where from.
  std::vector<std::string> assumed{};
  /// Keys of the record that mean nothing here, as `system.network`.
  std::vector<std::string> unread{};

  /// Equal for records of the same configuration.
  std::string configuration() const;
  /// Equal for records among which a user would choose a plan: model, sequence, GPUs, batch and stack.
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
///  * CSV tables of the public vTrain release. That without the column `Parameters (billion)` holds the
///    output of its simulator and no measurement: its times are exactly affine in micro-batches and layers.
/// A record or row that does not suffice, or of which a field cannot be read, is kept with what is missing. A
/// malformed file is an error, and so is one of which no record can be read.
Result<MeasuredCases> parse_measured_cases(std::string text, const std::string& file);

/// The same from a file, packed or not.
Result<MeasuredCases> read_measured_cases(const std::filesystem::path& path);

}  // namespace vtrain
