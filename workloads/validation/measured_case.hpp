/// Measured training iterations, with all that is needed to predict them.
///
///     [{"id": "8b on 16", "group": "ours", "source": "log of 2026-03-01",
///       "settings": {"model": "llama3-8b", "profile": "h100", "stack": "torchtitan",
///                    "plan": {"data": 16, "global_batch": 32, "micro_batch": 1, "recompute": "selective"}},
///       "measured": {"tokens_per_s_per_gpu": 7400}}]
///
/// A file is a list of runs, or an object with `runs`. Each run states model, profile, stack and plan as a
/// configuration of `vtrain predict` (`predict_config.hpp`); docs/measured/README.md defines all keys. Files
/// that state them in other ways are turned into such runs by the program `normalise` (docs/measured).
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
  std::string source{};   ///< document that published the run; may be empty
  std::string profile{};  ///< name of the GPU's profile, with constants that differ in this cluster
  std::string gpu{};      ///< the GPU's name at the source; tells configurations apart
  TransformerModel model{};
  ParallelPlan plan{};
  Stack stack{};                ///< the stack, changed where the run differs
  std::string cluster{};        ///< text on nodes and network that tells configurations apart; may be empty
  bool has_micro_batch = true;  ///< false: `plan.micro_batch` must be chosen
  Seconds measured{0};
  std::optional<Bytes> allocated{};  ///< measured peak of the tensors of the fullest GPU
  std::optional<Bytes> reserved{};   ///< measured peak of the allocator
  /// Reasons why the case cannot be predicted; empty if it can.
  std::vector<std::string> missing{};
  /// Values that the source lacks and that were completed.
  std::vector<std::string> assumed{};
  /// Keys that are not used, of the run or at its source, for instance `system.network`.
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
  bool are_measured = true;  ///< false: the times were made by vTrain's simulator
  std::vector<MeasuredCase> cases{};
};

/// Reads a file of measured runs. A run that lacks data or has an unreadable field is kept with a list of
/// what is missing. A malformed file is an error, and so is a file without a readable run. The error of a
/// file that is not normalised names the command that does it.
Result<MeasuredCases> parse_measured_cases(std::string text, const std::string& file);

/// Reads measured runs from a file, compressed or not.
Result<MeasuredCases> read_measured_cases(const std::filesystem::path& path);

}  // namespace vtrain
