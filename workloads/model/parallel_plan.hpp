/// Parallel plans: the distribution of one iteration of a model over GPUs and time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/kernels/precision.hpp"
#include "workloads/model/model.hpp"
#include "workloads/pipeline/schedule.hpp"

namespace vtrain {

/// Activations of the forward pass that are recomputed in the backward pass.
enum class Recompute : std::uint8_t {
  None,       ///< no activation: all are kept
  Selective,  ///< those that are cheap and large, by the stack's rule
  Full,       ///< all but the input of each layer: the layer's forward pass runs again
};

/// State that data-parallel replicas divide among themselves (Rajbhandari et al., "ZeRO", SC'20).
enum class Sharding : std::uint8_t {
  None,       ///< each replica holds everything; gradients are all-reduced
  Optimizer,  ///< ZeRO-1, Megatron's distributed optimizer: reduce-scatter of gradients, all-gather of
              ///< weights
  Full,       ///< ZeRO-3 or FSDP: weights too; gathered layer by layer, before each pass
  Gradients,  ///< ZeRO-2 as FSDP has it (SHARD_GRAD_OP, reshard_after_forward off): weights are gathered for
              ///< the forward pass and kept for the backward pass
};

/// The kernels of attention.
enum class AttentionChoice : std::uint8_t {
  Stack,    ///< the kernels of the software stack
  Flash2,   ///< flash attention 2 (Dao, 2023)
  Flash3,   ///< flash attention 3 (Shah et al., 2024)
  Cudnn,    ///< fused attention of cuDNN
  Unfused,  ///< products and softmax as separate kernels
};

/// True if a GPU holds only its part of the weights while it does not compute with them.
constexpr bool shards_weights(Sharding sharding) {
  return sharding == Sharding::Full || sharding == Sharding::Gradients;
}

/// `none`, `selective`, `full`.
std::string_view name_of(Recompute recompute);
/// All names, in the order of `Recompute`.
std::span<const std::string_view> recompute_names();
/// The value of such a name; the error lists the known ones.
Result<Recompute> parse_recompute(std::string_view name);
/// `none`, `optimizer`, `full`, `gradients`.
std::string_view name_of(Sharding sharding);
/// All names, in the order of `Sharding`.
std::span<const std::string_view> sharding_names();
/// The value of such a name; the error lists the known ones.
Result<Sharding> parse_sharding(std::string_view name);

/// `stack`, `flash-2`, `flash-3`, `cudnn`, `unfused`.
std::string_view name_of(AttentionChoice attention);
/// All names, in the order of `AttentionChoice`.
std::span<const std::string_view> attention_names();

/// A parallel plan: tensor x context x data x pipeline GPUs. `plan_fields` has a row for each member. A new
/// member needs a row there, and code that uses it.
struct ParallelPlan {
  std::int64_t tensor = 1;                ///< GPUs that split each layer's weights
  std::int64_t data = 1;                  ///< replicas with different sequences
  std::int64_t pipeline = 1;              ///< pipeline stages
  std::int64_t global_batch = 0;          ///< sequences an iteration
  std::int64_t micro_batch = 0;           ///< sequences a micro-batch
  Recompute recompute = Recompute::Full;  ///< activations that the backward pass computes again
  /// Norms and dropout are split along the sequence over the tensor-parallel group (Korthikanti et al.,
  /// 2022).
  bool sequence_parallel = false;
  std::int64_t context = 1;                             ///< parts of a sequence on different GPUs
  std::int64_t virtual_stages = 1;                      ///< model chunks on each pipeline stage
  std::int64_t expert = 1;                              ///< GPUs over which the experts of a layer are spread
  Sharding sharding = Sharding::None;                   ///< training state that replicas split among them
  Schedule schedule = Schedule::OneForwardOneBackward;  ///< order in which stages work on micro-batches
  Precision precision = Precision::Fp16;                ///< format of matrix products
  /// The embedding counts as a layer of the first stage, and the output layer as one of the last, when layers
  /// are spread evenly (Megatron-Core: account_for_embedding_in_pipeline_split,
  /// account_for_loss_in_pipeline_split).
  bool ends_count_as_layers = false;
  /// GPUs that split each expert's weights by columns; `tensor` splits the rest of the layer (Megatron-Core:
  /// expert_tensor_parallel_size).
  std::int64_t expert_tensor = 1;
  /// Layers of each stage whose activations wait for the backward pass in the memory of the CPU
  /// (Transformer Engine: cpu_offloading_num_layers).
  std::int64_t offloaded_layers = 0;
  /// With full recomputation, number of layers that run again in each model chunk of a stage, from the first
  /// on; the others keep their activations. 0: all run again (Megatron-LM: recompute_method block,
  /// recompute_num_layers).
  std::int64_t recomputed_layers = 0;
  /// Number of sets of replicas, with `Sharding::Full` and `Gradients`. Weights are fully sharded within a
  /// set; neighbours are in one set (hybrid sharding: data_parallel_replicate_degree of torchtitan,
  /// num_distributed_optimizer_instances of Megatron-FSDP).
  std::int64_t replicate = 1;
  AttentionChoice attention = AttentionChoice::Stack;  ///< kernel of attention

  /// All GPUs of the plan.
  GpuCount num_gpus() const {
    return GpuCount(static_cast<std::int32_t>(tensor * context * data * pipeline));
  }
  /// Micro-batches of each pipeline in an iteration.
  std::int64_t num_micro_batches() const { return global_batch / data / micro_batch; }
  /// Replicas of the weights, each for a part of the batch or of its sequences.
  std::int64_t num_replicas() const { return data * context; }
  friend bool operator==(const ParallelPlan&, const ParallelPlan&) = default;
};

/// Bound of `global_batch`, far beyond every run so far.
inline constexpr std::int64_t kMaxGlobalBatch = 100'000'000;

/// Largest number of layers in a model chunk, with the embedding and the output layer if they count as
/// layers.
std::int64_t chunk_size(const TransformerModel& model, const ParallelPlan& plan);

/// Consecutive layers of a model.
struct LayerRange {
  std::int64_t first = 0;  ///< first layer, from 0
  std::int64_t count = 0;  ///< number of layers
};

/// The layers of one model chunk of a stage. The first chunks of all stages come first, in the order of the
/// stages, then the second ones. All chunks have one size. With `ends_count_as_layers`, the first and the
/// last chunk of the model hold one layer less, and the last one also lacks the layers missing to a multiple.
/// The plan must have passed `check_plan`.
LayerRange chunk_layers(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                        std::int64_t chunk);

/// Layers of each stage, in the order of the stages.
std::vector<std::int64_t> layers_by_stage(const TransformerModel& model, const ParallelPlan& plan);

/// Layout of the layers in Megatron-Core's notation (`--pipeline-model-parallel-layout`):
/// `Et*19|(t*20|)*2t*19L`. Chunks are in the order of `chunk_layers`: the embedding E, layers t, layers of
/// multi-token prediction m, the loss L.
std::string pipeline_layout(const TransformerModel& model, const ParallelPlan& plan);

/// Columns of the model's dense MLPs, 0 if no layer has one.
std::int64_t mlp_columns(const TransformerModel& model);

/// Checks the model (`check_model`) and that the plan fits it; the error names the field of the plan. Tensor
/// divides the heads, the groups of a state space, and the columns of MLPs and shared experts. It divides the
/// heads of keys and values, or they divide it. With sequence parallelism it divides the tokens too. Context
/// divides the tokens. Pipeline x virtual stages divides the layers; with `ends_count_as_layers` it must
/// leave no chunk empty. Data divides the global batch, and the micro-batch divides the rest of it. Expert
/// divides the experts, and expert x expert tensor the GPUs that share a layer's data. Replicate, if weights
/// are fully sharded, divides the replicas and leaves each set all experts. No stage offloads or recomputes
/// more layers than it has. The schedule can run a pipeline of this shape (`check_schedule`).
Result<void> check_plan(const TransformerModel& model, const ParallelPlan& plan);

}  // namespace vtrain
