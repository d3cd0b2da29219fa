#include "workloads/config/deepspeed_config.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "workloads/config/framework_config.hpp"
#include "workloads/model/plan_fields.hpp"

namespace vtrain {
namespace {

using enum SettingEffect;

constexpr std::string_view kOtherSequences = "sequences that grow during training are not modelled";
constexpr std::string_view kOtherCommunication = "this compressed communication is not modelled";

// Source: runtime/constants.py, runtime/zero/config.py and docs/_pages/config-json.md of
// microsoft/DeepSpeed@38327e07f.
constexpr auto kDeepSpeedRows = std::to_array<SettingRow>({
    {"zero_optimization.offload_optimizer.device", Refused, "an optimizer on the CPU is not modelled",
     "none"},
    {"zero_optimization.offload_param.device", Refused, "weights in the memory of the CPU are not modelled",
     "none"},
    {"zero_optimization.cpu_offload", Refused, "an optimizer on the CPU is not modelled"},
    {"zero_optimization.cpu_offload_param", Refused, "weights in the memory of the CPU are not modelled"},
    {"zero_optimization.zero_quantized_weights", Refused, kOtherCommunication},
    {"zero_optimization.zero_quantized_gradients", Refused, kOtherCommunication},
    {"zero_optimization.zero_quantized_nontrainable_weights", Refused, kOtherCommunication},
    {"zero_optimization.zero_hpz_partition_size", Refused,
     "a second copy of sharded weights in each node is not modelled", "1"},
    {"zero_optimization.mics_shard_size", Refused, "weights sharded in groups are not modelled for DeepSpeed",
     "-1"},
    {"zero_optimization.zeropp_loco_param.*", Refused, kOtherCommunication},
    {"zero_optimization.mics_*", None},
    {"zero_optimization.*", None},
    {"curriculum_learning.enabled", Refused, kOtherSequences},
    {"data_efficiency.enabled", Refused, kOtherSequences},
    {"data_efficiency.data_sampling.enabled", Refused, kOtherSequences},
    {"data_efficiency.data_routing.enabled", Refused, kOtherSequences},
    {"progressive_layer_drop.enabled", Refused, "layers that are dropped are not modelled"},
    {"compression_training.*", Refused, "compression during training is not modelled", "true|0"},
    {"quantize_training.enabled", Refused, "quantisation during training is not modelled"},
    {"sparse_attention.mode", Refused, "sparse attention is not modelled"},
    {"elasticity.enabled", Refused, "batches that follow the number of GPUs are not modelled"},
    {"sequence_parallel_size", Refused, "DeepSpeed's sequence parallelism (Ulysses) is not modelled", "1"},
    {"hybrid_engine.enabled", Refused, "reinforcement learning is not modelled"},
    {"activation_checkpointing.cpu_checkpointing", Refused,
     "activations in the memory of the CPU are modelled as --plan offloaded-layers"},
    {"activation_checkpointing.partition_activations", NotCounted, "the memory that it saves is not counted"},
    {"activation_checkpointing.*", None},
    {"optimizer.type", NotCounted, "the optimizer is taken to be Adam, and its communication plain",
     "Adam|AdamW|FusedAdam|Lion|adam|adamw|auto"},
    {"optimizer.*", None},
    {"scheduler.*", None},
    {"communication_data_type", NotCounted, "gradients are taken to be reduced as the stack does",
     "bf16|bfp16|auto"},
    {"data_types.*", NotCounted, "gradients are taken to be added up as the stack does", "fp32|auto"},
    {"grad_accum_dtype", NotCounted, "gradients are taken to be added up as the stack does", "fp32|auto"},
    {"fp16.fp16_master_weights_and_grads", Refused, "master weights in 16 bits are not modelled"},
    {"fp16.*", None},
    {"bf16.*", None},
    {"bfloat16.*", None},
    {"amp.*", None},
    {"aio.*", None},
    {"autotuning.*", None},
    {"bf16_*", None},
    {"checkpoint.*", None},
    {"comms_logger.*", None},
    {"comms_config.*", None},
    {"comet.*", None},
    {"compile.*", None},
    {"compression_*", None},
    {"csv_monitor.*", None},
    {"curriculum_learning.*", None},
    {"data_efficiency.*", None},
    {"dataloader_drop_last", None},
    {"disable_allgather", None},
    {"dump_state", None},
    {"eigenvalue.*", None},
    {"elasticity.*", None},
    {"flops_profiler.*", None},
    {"gradient_clipping", None},
    {"gradient_predivide_factor", None},
    {"graph_harvesting", None},
    {"hybrid_engine.*", None},
    {"memory_breakdown", None},
    {"monitor_config.*", None},
    {"nebula.*", None},
    {"prescale_gradients", None},
    {"progressive_layer_drop.*", None},
    {"quantize_training.*", None},
    {"seq_parallel_comm_data_type", None},
    {"sparse_gradients", None},
    {"steps_per_print", None},
    {"tensorboard.*", None},
    {"timers.*", None},
    {"train_steps", None},
    {"torch_autocast.*", None},
    {"wall_clock_breakdown", None},
    {"use_data_before_expert_parallelism", None},
    {"wandb.*", None},
    {"zero_allow_untested_optimizer", None},
    {"zero_force_ds_cpu_optimizer", None},
});

/// The settings that are not filled in by another program.
std::vector<NamedSetting> without_auto(std::span<const NamedSetting> settings) {
  std::vector<NamedSetting> given(settings.begin(), settings.end());
  for (NamedSetting& setting : given) {
    if (setting.value == "auto") setting.value = "None";
    setting.alias = setting.name;
  }
  return given;
}

void read_batches(SettingReader& read, ParallelPlan& plan, const ConfigOptions& options) {
  const std::int64_t micro = read.integer("train_micro_batch_size_per_gpu", 1, kMaxPlanSize, 0);
  const std::int64_t steps = read.integer("gradient_accumulation_steps", 1, kMaxPlanSize, 0);
  const std::int64_t all = read.integer("train_batch_size", 1, kMaxPlanSize, 0);
  plan.micro_batch = micro;
  plan.global_batch = all;
  apply_plan_options(read, plan, options);
  // Two of three sizes give the third (_configure_train_batch_size of runtime/config.py).
  if (plan.micro_batch == 0 && plan.global_batch > 0)
    plan.micro_batch = plan.global_batch / plan.data / std::max<std::int64_t>(steps, 1);
  if (plan.global_batch == 0)
    plan.global_batch = plan.micro_batch * std::max<std::int64_t>(steps, 1) * plan.data;
  read.note_place("micro_batch", "train_micro_batch_size_per_gpu");
  read.note_place("global_batch", "train_batch_size");
  if (plan.micro_batch == 0) {
    return read.complain("train_micro_batch_size_per_gpu",
                         "missing: expected it, train_batch_size, or for instance --plan mbs=1,gbs=128");
  }
  const bool is_given = all > 0 && steps > 0 && !has_plan_option(options, "micro_batch") &&
                        !has_plan_option(options, "global_batch");
  if (is_given && plan.micro_batch * steps * plan.data != all) {
    read.complain(
        "train_batch_size",
        expected_found(fmt::format("micro-batch {} x accumulation {} x {} replicas = {}", plan.micro_batch,
                                   steps, plan.data, plan.micro_batch * steps * plan.data),
                       std::to_string(all)));
  }
}

}  // namespace

Result<PredictConfig> deepspeed_config(std::span<const NamedSetting> settings, const std::string& file,
                                       const ConfigOptions& options) {
  const std::vector<NamedSetting> given = without_auto(settings);
  SettingReader read(given, "DeepSpeed's settings", file);
  if (options.model.empty()) {
    read.complain("--model",
                  "missing: DeepSpeed's settings have no model; say for instance --model llama3-8b");
    return fail(*read.error());
  }
  auto model = load_named_model(options.model, options.sequence_length);
  if (!model) return fail(std::move(model.error()));
  PredictConfig config;
  config.model = *std::move(model);
  ParallelPlan& plan = config.plan;
  plan = {.recompute = Recompute::None, .precision = Precision::Fp32};
  plan.tensor = read.integer("tensor_parallel.autotp_size", 0, kMaxDegree, 1);
  plan.tensor = std::max<std::int64_t>(plan.tensor, 1);
  read.note_place("tensor", "tensor_parallel.autotp_size");
  using Stage = std::pair<std::string_view, Sharding>;
  static constexpr std::array kStages = {Stage{"0", Sharding::None}, Stage{"1", Sharding::Optimizer},
                                         Stage{"2", Sharding::Gradients}, Stage{"3", Sharding::Full}};
  plan.sharding = read.choice<Sharding>("zero_optimization.stage", kStages, Sharding::None);
  read.note_place("sharding", "zero_optimization.stage");
  if (plan.sharding == Sharding::Gradients)
    read.remark(
        "zero_optimization.stage 2: taken as FSDP without resharding, which also shards weights between "
        "iterations");
  const bool fills_precision = std::any_of(settings.begin(), settings.end(), [](const NamedSetting& setting) {
    return setting.name.ends_with("16.enabled") && setting.value == "auto";
  });
  if (read.flag("fp16.enabled")) plan.precision = Precision::Fp16;
  if (read.flag("bf16.enabled") || read.flag("bfloat16.enabled")) plan.precision = Precision::Bf16;
  if (fills_precision && plan.precision == Precision::Fp32) {
    plan.precision = Precision::Bf16;
    read.remark("bf16.enabled auto: bf16 is assumed; --plan precision=fp16 changes it");
  }
  config.has_precision = true;
  const bool checkpoints = std::any_of(settings.begin(), settings.end(), [](const NamedSetting& setting) {
    return setting.name.starts_with("activation_checkpointing.");
  });
  if (checkpoints) plan.recompute = Recompute::Full;
  if (!has_plan_option(options, "recompute")) {
    read.remark(
        checkpoints
            ? "activation_checkpointing: all layers are taken to run again; --plan recompute=none changes it"
            : "the training script decides on recomputation: none is assumed; --plan recompute=full changes "
              "it");
  }
  apply_plan_options(read, plan, options);
  const std::int64_t micro = read.integer("train_micro_batch_size_per_gpu", 1, kMaxPlanSize, 0);
  const std::int64_t steps = read.integer("gradient_accumulation_steps", 1, kMaxPlanSize, 0);
  const std::int64_t all = read.integer("train_batch_size", 1, kMaxPlanSize, 0);
  // All three sizes give the number of replicas.
  const std::int64_t replicas =
      micro > 0 && steps > 0 && all % (micro * steps) == 0 ? all / micro / steps : 0;
  set_gpus(read, plan, options.num_gpus > 0 ? 0 : replicas * plan.tensor * plan.context * plan.pipeline,
           options);
  if (!read.error()) read_batches(read, plan, options);
  config.stack = shards_weights(plan.sharding) ? "fsdp-eager" : "deepspeed-megatron";
  read.judge_the_rest(kDeepSpeedRows);
  return finish_config(read, std::move(config), options);
}

}  // namespace vtrain
