/// The configuration files of the public vTrain release: a model, a parallel plan and the machine it runs on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

/// The machine of a configuration, and the folder of its measured kernels.
struct ReleaseMachine {
  std::string gpu_name = "A100";  ///< name of the GPU in any case
  std::int64_t node_size = 8;     ///< GPUs a node
  /// Bandwidth of a node, Gbit/s; absent if the file has none, for which the release takes 800.
  std::optional<double> inter_node_bandwidth{};
  double intra_node_bandwidth = 150;  ///< bus bandwidth within a node, GB/s
  std::string trace_path{};  ///< folder of kernel traces, relative to the current folder; may be empty
};

/// One configuration, complete and checked.
struct VtrainConfig {
  std::string file{};        ///< name that the user gave; may be empty
  TransformerModel model{};  ///< model of the file
  ParallelPlan plan{};       ///< plan of the file
  /// The micro-batch in the file. The release takes the batch of a one-stage plan as one micro-batch, and
  /// `plan` holds that. A model of the hardware needs the real micro-batch.
  std::int64_t given_micro_batch = 0;
  ReleaseMachine machine{};  ///< machine of the file
};

/// Most pipeline stages that are accepted; a bound on the memory that a plan takes.
inline constexpr std::int64_t kMaxStages = 1024;
/// Most layers that are accepted; a bound on the memory that a plan takes.
inline constexpr std::int64_t kMaxLayers = 65536;

/// Reads a configuration. Absent keys have the release's defaults; the three parallel sizes and `num_gpus`
/// may be null, as long as one follows from the others. `use_gradient_bucket`, `ddp_bucket_size`,
/// `pipeline_scheduling` and `model_arch` are accepted and ignored. As in the release, a plan of one stage
/// takes its whole batch as one micro-batch, for any `micro_batch_size`.
///
/// Errors name file, line and field: malformed JSON, an unknown key (with the nearest known one), a number
/// out of range, a plan that does not divide (with both fields), a plan without micro-batches.
Result<VtrainConfig> parse_vtrain_config(std::string text, const std::string& file);

/// Makes a configuration of a model and a plan without a file. A plan of one stage gets its whole batch as
/// one micro-batch. Errors name the key of the release's file, or `model` and `plan` for a model or a plan
/// that such a file cannot describe: anything but a GPT, other ways of splitting it, other formats than fp16.
Result<VtrainConfig> make_vtrain_config(const TransformerModel& model, const ParallelPlan& plan,
                                        const ReleaseMachine& machine);

}  // namespace vtrain
