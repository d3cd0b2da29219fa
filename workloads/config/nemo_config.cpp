#include "workloads/config/nemo_config.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/strings.hpp"
#include "workloads/config/megatron_config.hpp"

namespace vtrain {
namespace {

/// Sections whose settings are arguments of Megatron-Core. A longer one comes before its beginning.
constexpr auto kSections = std::to_array<std::string_view>({
    "model.config.",
    "model.optim.",
    "model.peft.",
    "model.tokenizer.",
    "model.",
    "trainer.strategy.ddp.",
    "trainer.strategy.",
    "trainer.plugins.",
    "trainer.",
    "optim.config.",
    "optim.",
    "optimizer.",
    "ddp.",
    "comm_overlap.",
    "mixed_precision.",
    "train.",
    "data.",
    "peft.",
    "rng.",
});

/// Sections without effect on time and memory of an iteration.
constexpr auto kIdle = std::to_array<std::string_view>({
    "model.data.",
    "model.mcore_customization_config.",
    "model.optim.sched.",
    "model.nsys_profile.",
    "model.gpu_profiling.",
    "model.megatron_timer_kwargs.",
    "model.ub_tp_comm_overlap_cfg",
    "model.tokenizer.use_fast",
    "model.tokenizer.library",
    "model.tokenizer.vocab_file",
    "model.tokenizer.merge_file",
    "model.tokenizer.delimiter",
    "model.tokenizer.sentencepiece_legacy",
    "model.config.rotary",
    "trainer.callbacks",
    "trainer.logger",
    "data.tokenizer",
    "data.paths",
    "defaults",
    "hydra.",
    "run.",
    "name",
    "exp_manager.",
    "s3_checkpointing.",
    "log.",
    "resume.",
    "logger.",
    "checkpoint.",
    "scheduler.",
    "tokenizer.",
    "dist.",
    "profiling.",
    "cluster",
    "env_vars",
});

/// A setting of NeMo under another name than Megatron's. A name without alias has no effect.
struct Rename {
  std::string_view name;
  std::string_view alias;
};
constexpr auto kRenames = std::to_array<Rename>({
    {"activations_checkpoint_granularity", "recompute_granularity"},
    {"activations_checkpoint_method", "recompute_method"},
    {"activations_checkpoint_num_layers", "recompute_num_layers"},
    {"add_bias_linear", "add_bias_linear"},
    {"bias", "add_bias_linear"},
    {"devices", "nproc_per_node"},
    {"gated_linear_unit", "swiglu"},
    {"num_moe_experts", "num_experts"},
    {"num_nodes", "nnodes"},
    {"overlap_grad_sync", "overlap_grad_reduce"},
    {"overlap_param_sync", "overlap_param_gather"},
    {"peft_scheme", "peft_scheme"},
    {"ub_tp_comm_overlap", "tp_comm_overlap"},
    {"use_flash_attention", "use_flash_attn"},
    {"type", "tokenizer_type"},
    {"expert_model_parallel_size", "expert_model_parallel_size"},
    {"fp8_e4m3", ""},
    {"fp8_hybrid", ""},
    {"fp8_margin", ""},
    {"mcore_gpt", ""},
    {"_partial_", ""},
    {"qkv_bias", "add_qkv_bias"},
});

/// Names of NeMo's and Megatron-Core's settings that Megatron-LM lacks, all without effect.
constexpr auto kWithoutEffect = std::to_array<std::string_view>({
    "accelerator",
    "accumulate_grad_batches",
    "activation_func",
    "apex_transformer_log_level",
    "apply_rope_fusion",
    "attention_type",
    "autocast_dtype",
    "autocast_enabled",
    "average_in_collective",
    "batch_p2p_comm",
    "batch_p2p_sync",
    "benchmark",
    "betas",
    "bias_activation_fusion",
    "bias_dropout_add_fusion",
    "bias_dropout_fusion",
    "bucket_cap_mb",
    "bucket_size",
    "check_for_nan_in_grad",
    "ckpt_async_save",
    "ckpt_load_optimizer",
    "ckpt_parallel_load",
    "ckpt_parallel_save",
    "contiguous_grad_buffer",
    "contiguous_param_buffer",
    "cpu_offloading_activations",
    "deallocate_pipeline_outputs",
    "do_layer_norm_weight_decay",
    "enable_checkpointing",
    "enable_megatron_timers",
    "enable_model_summary",
    "ffn_dropout",
    "forward_step_fn",
    "fp16_enabled",
    "fsdp_grad_reduce_dtype",
    "fsdp_sharded_checkpoint",
    "gc_interval",
    "get_attention_mask_from_fusion",
    "grad_allreduce_chunk_size_mb",
    "grad_div_ar_fusion",
    "grad_reduce_in_fp32_",
    "gradient_as_bucket_view",
    "gradient_clip_val",
    "headscale",
    "hf_hub_repo_id",
    "init_method",
    "limit_test_batches",
    "limit_val_batches",
    "log_every_n_steps",
    "max_epochs",
    "max_position_embeddings",
    "max_steps",
    "max_time",
    "megatron_amp_O2",
    "model",
    "native_amp_growth_interval",
    "native_amp_init_scale",
    "normalize_attention_scores",
    "num_sanity_val_steps",
    "nsys_profile",
    "output_layer_init_method",
    "parallel_output",
    "params_dtype",
    "pipeline_dtype",
    "post_process",
    "pre_process",
    "reduce_amax",
    "resume_from_checkpoint",
    "rotary_percentage",
    "scale_positional_embedding",
    "seq_len_interpolation_factor",
    "share_embeddings",
    "sharp",
    "sync_batch_comm",
    "tokenizer",
    "transformer_block_type",
    "transformer_layer_spec",
    "use_distributed_sampler",
    "use_emha",
    "use_scaled_init_method",
    "use_transformer_engine_full_layer_spec",
    "val_check_interval",
    "validation_param_sync_overlap",
    "gradient_reduce_div_fusion",
    "nccl_communicator_config_path",
    "drop_layers",
    "reset_lr",
    "reset_lr_steps",
    "restore_from_path",
    "restore_from_ckpt",
    "skip_train",
    "sp_vocab_size",
    "tp_only_amax_red",
    "use_te_rng_tracker",
    "fp8_params",
    "max_seq_length",
    "scatter_embedding_sequence_parallel",
    "generation_config",
    "train_iters",
    "eval_iters",
    "eval_interval",
    "manual_gc",
});

/// Classes of NeMo 2 and Megatron-Bridge and the models that they describe.
constexpr auto kClasses = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"Llama2Config70B", "llama2-70b"},       {"Llama2Config13B", "llama2-13b"},
    {"Llama2Config7B", "llama2-7b"},         {"Llama31Config405B", "llama3.1-405b"},
    {"Llama31Config70B", "llama3.1-70b"},    {"Llama31Config8B", "llama3.1-8b"},
    {"Llama32Config3B", "llama3.2-3b"},      {"Llama32Config1B", "llama3.2-1b"},
    {"Llama3Config70B", "llama3-70b"},       {"Llama3Config8B", "llama3-8b"},
    {"MixtralConfig8x22B", "mixtral-8x22b"}, {"MixtralConfig8x7B", "mixtral-8x7b"},
    {"MistralConfig7B", "mistral-7b"},       {"DeepSeekV3Config", "deepseek-v3"},
    {"DeepSeekV2Config", "deepseek-v2"},     {"GPTConfig175B", "gpt3-175b"},
    {"Qwen3Config30B_A3B", "qwen3-30b-a3b"}, {"Qwen3Config235B_A22B", "qwen3-235b-a22b"},
    {"Qwen3Config8B", "qwen3-8b"},           {"Qwen3Config14B", "qwen3-14b"},
    {"Qwen3Config32B", "qwen3-32b"},         {"Qwen2Config7B", "qwen2-7b"},
    {"Qwen2Config72B", "qwen2-72b"},
});

bool is_true(std::string_view value) {
  return equal_in_any_case(value, "true");
}

bool is_null(std::string_view value) {
  return value.empty() || value == "None" || value == "null" || value == "~";
}

/// Settings of NeMo as arguments of Megatron.
class NemoSettings {
 public:
  NemoSettings(std::span<const NamedSetting> settings, ConfigOptions options)
      : settings_(settings), options_(std::move(options)) {}

  Result<PredictConfig> config(const std::string& file) {
    for (const NamedSetting& setting : settings_)
      translate(setting);
    const auto has = [this](std::string_view alias) {
      return std::any_of(out_.begin(), out_.end(), [alias](const NamedSetting& each) {
        return each.alias == alias && !is_null(each.value);
      });
    };
    if (!has("num_layers") && options_.model.empty()) options_.model = class_model_;
    // NeMo sets the size of an MLP even if it is gated: 4 x hidden size unless it is given.
    return megatron_config(out_, file, options_, "NeMo's settings");
  }

 private:
  void add(const NamedSetting& setting, std::string_view alias, std::string value) {
    out_.push_back({setting.name, std::move(value), setting.line, std::string(alias)});
  }
  void add_idle(const NamedSetting& setting) { add(setting, "idle_" + setting.name, setting.value); }

  void translate(const NamedSetting& setting) {
    std::string_view name = setting.name;
    if (name.starts_with("training.")) name.remove_prefix(9);  // the whole configuration of a launcher
    for (const std::string_view idle : kIdle) {
      if (name.starts_with(idle)) return add_idle(setting);
    }
    if (name.ends_with("_target_")) return read_class(setting, name);
    for (const std::string_view section : kSections) {
      if (!name.starts_with(section)) continue;
      const std::string_view leaf = name.substr(section.size());
      return translate_leaf(setting, section, leaf);
    }
    add(setting, setting.name, setting.value);
  }

  void read_class(const NamedSetting& setting, std::string_view name) {
    if (name.starts_with("model")) {
      for (const auto& [known, model] : kClasses) {
        const std::string provider = [&known = known] {
          std::string text(known);
          text.replace(text.find("Config"), 6, "ModelProvider");
          return text;
        }();
        if (setting.value.ends_with(known) || setting.value.ends_with(provider)) class_model_ = model;
      }
    }
    if (equal_in_any_case(setting.value.substr(setting.value.rfind('.') + 1), "LoRA"))
      return add(setting, "lora", "true");
    add_idle(setting);
  }

  void translate_leaf(const NamedSetting& setting, std::string_view section, std::string_view leaf) {
    const std::string& value = setting.value;
    if (section == "model.tokenizer." && leaf == "type") return add(setting, "tokenizer_type", value);
    if (section == "model.tokenizer." || section == "rng.") return add_idle(setting);
    if (section == "data." && leaf != "micro_batch_size" && leaf != "global_batch_size" &&
        leaf != "seq_length" && leaf != "sequence_length" && leaf != "rampup_batch_size")
      return add_idle(setting);
    if (leaf == "sequence_length") return add(setting, "seq_length", value);
    if (leaf == "precision") return read_precision(setting);
    if (section == "mixed_precision." && leaf == "fp8") return add(setting, "fp8", value);
    if (leaf == "activation") return read_activation(setting);
    if (leaf == "share_embeddings_and_output_weights")
      return add(setting, "untie_embeddings_and_output_weights", is_true(value) ? "False" : "True");
    if (leaf == "num_query_groups" && !is_null(value)) {
      add(setting, "group_query_attention", "True");
      return add(setting, "num_query_groups", value);
    }
    if (leaf == "transformer_engine")
      return add(setting, "transformer_impl", is_true(value) ? "transformer_engine" : "local");
    if (leaf == "grad_reduce_in_fp32")
      return add(setting, "grad_reduce_in_bf16", is_true(value) ? "False" : "True");
    if (leaf == "grad_sync_dtype")
      return add(setting, "grad_reduce_in_bf16", value == "bf16" ? "True" : "False");
    if (section == "model.optim." && leaf == "name") {
      add(setting, "use_distributed_optimizer",
          value == "distributed_fused_adam" || value == "mcore_distributed_optim" ? "True" : "False");
      return add(setting, "optimizer", value);
    }
    if ((section == "optim.config." || section == "optimizer.") && leaf != "use_distributed_optimizer" &&
        leaf != "optimizer")
      return add_idle(setting);
    if (section == "model.optim." && leaf.find('.') != std::string_view::npos) return add_idle(setting);
    if (leaf == "fsdp") return add(setting, "use_torch_fsdp2", value);
    if (leaf == "fsdp_sharding_strategy")
      return add(setting, "torch_fsdp2_no_reshard_after_forward", value == "grad" ? "True" : "False");
    if (leaf == "activations_checkpoint_layers_per_pipeline" ||
        leaf == "num_micro_batches_with_partial_activation_checkpoints" ||
        leaf == "num_microbatches_with_partial_activation_checkpoints")
      return add(setting, "partial_recomputation_" + std::string(leaf), value);
    if (section == "model.peft." || section == "peft.") {
      if (leaf == "peft_scheme" && (is_null(value) || value == "none")) return add_idle(setting);
      return add(setting, leaf == "peft_scheme" ? "peft_scheme" : "idle_" + setting.name, value);
    }
    for (const Rename& rename : kRenames) {
      if (rename.name != leaf) continue;
      return rename.alias.empty() ? add_idle(setting) : add(setting, rename.alias, value);
    }
    if (std::find(kWithoutEffect.begin(), kWithoutEffect.end(), leaf) != kWithoutEffect.end())
      return add_idle(setting);
    add(setting, leaf, value);
  }

  void read_precision(const NamedSetting& setting) {
    const std::string value = lower_case(setting.value);
    if (value.starts_with("bf16")) return add(setting, "bf16", "True");
    if (value.starts_with("16") || value.starts_with("fp16")) return add(setting, "fp16", "True");
    add_idle(setting);
  }

  void read_activation(const NamedSetting& setting) {
    std::string_view kind = setting.value;
    if (kind.starts_with("fast-")) kind.remove_prefix(5);
    if (kind == "swiglu" || kind == "geglu" || kind == "reglu") return add(setting, "swiglu", "True");
    if (kind == "squared-relu") return add(setting, "squared_relu", "True");
    add_idle(setting);
  }

  std::span<const NamedSetting> settings_;
  ConfigOptions options_;
  std::vector<NamedSetting> out_;
  std::string class_model_;
};

}  // namespace

Result<PredictConfig> nemo_config(std::span<const NamedSetting> settings, const std::string& file,
                                  const ConfigOptions& options) {
  return NemoSettings(settings, options).config(file);
}

}  // namespace vtrain
