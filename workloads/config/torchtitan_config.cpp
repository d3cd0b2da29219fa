#include "workloads/config/torchtitan_config.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "workloads/config/framework_config.hpp"
#include "workloads/model/plan_fields.hpp"

namespace vtrain {
namespace {

using enum SettingEffect;

/// torchtitan/models/*/__init__.py of pytorch/torchtitan.
struct Flavor {
  std::string_view name;
  std::string_view flavor;
  std::string_view model;  ///< name among `vtrain models`
};
constexpr auto kFlavors = std::to_array<Flavor>({
    {"llama2", "7B", "llama2-7b"},
    {"llama2", "13B", "llama2-13b"},
    {"llama2", "70B", "llama2-70b"},
    {"llama3", "8B", "llama3-8b"},
    {"llama3", "70B", "llama3-70b"},
    {"llama3", "405B", "llama3.1-405b"},
    {"deepseek_v3", "16B", "deepseek-v2-lite"},
    {"deepseek_v3", "236B", "deepseek-v2"},
    {"deepseek_v3", "671B", "deepseek-v3"},
    {"qwen3", "0.6B", "qwen3-0.6b"},
    {"qwen3", "1.7B", "qwen3-1.7b"},
    {"qwen3", "4B", "qwen3-4b"},
    {"qwen3", "8B", "qwen3-8b"},
    {"qwen3", "14B", "qwen3-14b"},
    {"qwen3", "32B", "qwen3-32b"},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
    {"gpt_oss", "20b", "gpt-oss-20b"},
    {"gpt_oss", "120b", "gpt-oss-120b"},
});

constexpr auto kTorchTitanRows = std::to_array<SettingRow>({
    {"training.enable_cpu_offload", Refused, "weights and optimizer on the CPU are not modelled"},
    {"training.dtype", NotCounted, "weights and optimizer are taken to have single precision", "float32"},
    {"training.mixed_precision_reduce", NotCounted, "gradients are taken to be reduced in single precision",
     "float32"},
    {"training.debug_moe_force_load_balance", None},
    {"training.data_parallel_type", Refused,
     "expected fsdp: plain replicas have data_parallel_replicate_degree", "fsdp"},
    {"parallelism.module_fqns_per_model_part", Refused,
     "stages with other numbers of layers are not modelled"},
    {"parallelism.pipeline_parallel_split_points", Refused,
     "stages with other numbers of layers are not modelled"},
    {"experimental.pipeline_parallel_split_points", Refused,
     "stages with other numbers of layers are not modelled"},
    {"parallelism.pipeline_parallel_schedule_csv", Refused, "schedules from a file are not modelled"},
    {"experimental.pipeline_parallel_schedule_csv", Refused, "schedules from a file are not modelled"},
    {"parallelism.context_parallel_rotate_method", NotCounted, "keys and values are taken to be gathered",
     "allgather"},
    {"experimental.context_parallel_rotate_method", NotCounted, "keys and values are taken to be gathered",
     "allgather"},
    {"parallelism.enable_compiled_autograd", None},
    {"parallelism.expert_parallel_comm_backend", NotCounted,
     "tokens are taken to be dispatched by standard all-to-alls", "standard"},
    {"optimizer.name", NotCounted, "the optimizer is taken to be AdamW", "AdamW|Adam"},
    {"optimizer.early_step_in_backward", NotCounted, "the optimizer is taken to run after the backward pass"},
    {"optimizer.*", None},
    {"activation_checkpoint.memory_budget", None},
    {"activation_checkpoint.*", None},
    {"float8.enable_fsdp_float8_all_gather", None},
    {"float8.*", None},
    {"mx.*", None},
    {"quantize.*", None},
    {"fault_tolerance.enable", Refused, "replicas that are added and lost are not modelled"},
    {"fault_tolerance.semi_sync_method", Refused, "replicas that seldom synchronise are not modelled"},
    {"training.*", None},
    {"model.*", None},
    {"parallelism.*", None},
    {"experimental.*", None},
    {"compile.*", None},
    {"checkpoint.*", None},
    {"comm.*", None},
    {"debug.*", None},
    {"fault_tolerance.*", None},
    {"job.*", None},
    {"lr_scheduler.*", None},
    {"memory_estimation.*", None},
    {"metrics.*", None},
    {"profiling.*", None},
    {"validation.*", None},
});

/// Keys that are read, as `training.` and the like of several years; the first present one counts.
using SettingNames = std::initializer_list<std::string_view>;

/// Settings of a TOML on their way to a configuration.
class TorchTitanSettings {
 public:
  TorchTitanSettings(std::span<const NamedSetting> settings, const std::string& file,
                     const ConfigOptions& options)
      : read_(settings, "torchtitan's settings", file), options_(options) {}

  Result<PredictConfig> config() {
    PredictConfig config;
    config.plan = {.recompute = Recompute::None, .sequence_parallel = false, .precision = Precision::Bf16};
    if (auto model = read_model())
      config.model = *std::move(model);
    else
      return fail(std::move(model.error()));
    read_degrees(config);
    read_recompute(config);
    read_precision(config);
    read_stack(config);
    read_.judge_the_rest(kTorchTitanRows);
    return finish_config(read_, std::move(config), options_);
  }

 private:
  /// The first of these names that is present, or the first one. Marks all as read.
  std::string_view present(SettingNames names) {
    std::string_view found = *names.begin();
    bool is_found = false;
    for (const std::string_view name : names) {
      if (!read_.has(name) || is_found) continue;
      found = name;
      is_found = true;
    }
    return found;
  }

  std::int64_t degree(SettingNames names, std::string_view field, std::int64_t absent = 1) {
    const std::string_view name = present(names);
    if (!field.empty()) read_.note_place(field, name);
    return read_.integer(name, 1, kMaxDegree, absent);
  }

  Result<TransformerModel> read_model() {
    const std::int64_t length = options_.sequence_length > 0
                                    ? options_.sequence_length
                                    : read_.integer("training.seq_len", 1, kMaxSequenceLength, 2048);
    read_.note_place("sequence_length", "training.seq_len");
    const std::string name = read_.text("model.name", "llama3");
    std::string flavor = read_.text("model.flavor", "debugmodel");
    if (!options_.model.empty()) return load_named_model(options_.model, length);
    for (const std::string_view suffix : {"_flex", "_varlen", "_flex_attn", "_varlen_attn"}) {
      if (!flavor.ends_with(suffix)) continue;
      read_.remark(fmt::format(
          "model.flavor {}: tokens are taken to attend to all before them, by the kernels of the stack",
          printable(flavor)));
      flavor.resize(flavor.size() - suffix.size());
    }
    std::string known;
    for (const Flavor& each : kFlavors) {
      if (each.name == name && each.flavor == flavor)
        return load_named_model(std::string(each.model), length);
      if (each.name == name) known += (known.empty() ? "" : ", ") + std::string(each.flavor);
    }
    if (known.empty()) {
      read_.complain(
          "model.name",
          expected_found("llama2, llama3, deepseek_v3, qwen3 or gpt_oss, or another model by --model", name));
    } else {
      read_.complain("model.flavor",
                     expected_found(fmt::format("one of {}, or another model by --model", known), flavor));
    }
    return fail(*read_.error());
  }

  void read_degrees(PredictConfig& config) {
    ParallelPlan& plan = config.plan;
    plan.tensor = degree({"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"}, "tensor");
    plan.context =
        degree({"parallelism.context_parallel_degree", "experimental.context_parallel_degree"}, "context");
    plan.pipeline = degree({"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree",
                            "training.pipeline_parallel_degree"},
                           "pipeline");
    // torchtitan has sequence parallelism wherever it has tensor parallelism (parallelize.py).
    plan.sequence_parallel = plan.tensor > 1;
    const std::int64_t expert =
        degree({"parallelism.expert_parallel_degree", "experimental.expert_parallel_degree"}, "expert");
    const std::int64_t expert_tensor = degree({"parallelism.expert_tensor_parallel_degree"}, "expert_tensor");
    if (config.model.has_experts()) {
      plan.expert = expert;
      // Without expert parallelism, tensor parallelism splits experts too.
      plan.expert_tensor = expert == 1 ? plan.tensor : expert_tensor;
    }
    const std::int64_t replicate =
        degree({"parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree"},
               "replicate");
    const std::string_view shard_name =
        present({"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree",
                 "training.data_parallel_degree"});
    const std::int64_t shard = read_.integer(shard_name, -1, kMaxDegree, -1);
    read_.note_place("data", shard_name);
    apply_plan_options(read_, plan, options_);
    const std::int64_t others = plan.tensor * plan.context * plan.pipeline;
    set_gpus(read_, plan, shard > 0 ? others * shard * replicate : 0, options_);
    read_stages(config);
    const std::int64_t sharded = plan.data / std::max<std::int64_t>(replicate, 1);
    if (plan.data % replicate != 0)
      read_.complain(
          present({"parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree"}),
          expected_found(fmt::format("a divisor of the {} replicas", plan.data), std::to_string(replicate)));
    const std::string policy = read_.text("parallelism.fsdp_reshard_after_forward", "default");
    const bool reshards = policy == "always" || (policy != "never" && plan.pipeline == 1);
    if (sharded > 1 || plan.context > 1) {
      plan.sharding = reshards ? Sharding::Full : Sharding::Gradients;
      plan.replicate = replicate;
    }
    read_batches(plan);
  }

  void read_batches(ParallelPlan& plan) {
    const std::string_view local_name = present({"training.local_batch_size", "training.batch_size"});
    const std::int64_t local = read_.integer(local_name, 1, kMaxPlanSize, 8);
    const std::int64_t global = read_.integer("training.global_batch_size", -1, kMaxPlanSize, -1);
    plan.micro_batch = local;
    read_.note_place("micro_batch", local_name);
    const std::int64_t size =
        read_.integer("parallelism.pipeline_parallel_microbatch_size", 1, kMaxPlanSize, 1);
    const std::int64_t count =
        read_.integer("experimental.pipeline_parallel_microbatches", 0, kMaxPlanSize, 0);
    if (plan.pipeline > 1) {
      // As of 2024 the number of micro-batches is given, and that of the stages by default.
      const bool is_old = read_.has("experimental.pipeline_parallel_degree");
      const std::int64_t number = count > 0 ? count : plan.pipeline * plan.virtual_stages;
      plan.micro_batch = is_old ? std::max<std::int64_t>(local / number, 1) : size;
    }
    plan.global_batch = global > 0 ? global : local * plan.data;
    read_.note_place("global_batch", global > 0 ? "training.global_batch_size" : local_name);
    apply_plan_options(read_, plan, options_);
  }

  void read_stages(PredictConfig& config) {
    ParallelPlan& plan = config.plan;
    const std::string_view name =
        present({"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"});
    const std::string schedule = read_.text(name, "1F1B");
    const std::int64_t first =
        read_.integer("parallelism.pipeline_parallel_first_stage_less_layers", 0, kMaxDegree, 1);
    const std::int64_t last =
        read_.integer("parallelism.pipeline_parallel_last_stage_less_layers", 0, kMaxDegree, 1);
    const std::int64_t of_stage =
        read_.integer("parallelism.pipeline_parallel_layers_per_stage", 1, kMaxDegree, 0);
    if (plan.pipeline == 1) return;
    const std::string lower = lower_case(schedule);
    if (lower != "1f1b" && lower != "gpipe" && lower != "interleaved1f1b")
      return read_.complain(
          name, expected_found("1F1B, Interleaved1F1B or GPipe: other schedules are not modelled", schedule));
    if (lower == "gpipe") plan.schedule = Schedule::GPipe;
    read_.note_place("schedule", name);
    if (first > 1 || first != last)
      return read_.complain("parallelism.pipeline_parallel_first_stage_less_layers",
                            expected_found("1 or 0 on both ends: other stages are not modelled",
                                           fmt::format("{} and {}", first, last)));
    plan.ends_count_as_layers = first == 1;
    const bool is_looped = lower == "interleaved1f1b";
    plan.virtual_stages = is_looped ? 2 : 1;
    if (of_stage > 0) {
      const std::int64_t layers = config.model.num_layers + first + last;
      const std::int64_t stages = (layers + of_stage - 1) / of_stage;
      if (stages % plan.pipeline != 0)
        return read_.complain(
            "parallelism.pipeline_parallel_layers_per_stage",
            expected_found(fmt::format("layers that make a multiple of {} stages", plan.pipeline),
                           std::to_string(of_stage)));
      plan.virtual_stages = stages / plan.pipeline;
      read_.note_place("virtual_stages", "parallelism.pipeline_parallel_layers_per_stage");
    }
  }

  void read_recompute(PredictConfig& config) {
    ParallelPlan& plan = config.plan;
    using Kind = std::pair<std::string_view, Recompute>;
    static constexpr std::array kKinds = {Kind{"none", Recompute::None}, Kind{"full", Recompute::Full},
                                          Kind{"selective", Recompute::Selective}};
    if (has_plan_option(options_, "recompute")) {
      read_.text("activation_checkpoint.mode");
      read_.text("activation_checkpoint.selective_ac_option");
      return;
    }
    plan.recompute = read_.choice<Recompute>("activation_checkpoint.mode", kKinds, Recompute::Selective);
    read_.note_place("recompute", "activation_checkpoint.mode");
    const std::string option = read_.text("activation_checkpoint.selective_ac_option", "2");
    if (plan.recompute != Recompute::Selective || option == "op") return;
    const auto every = parse_integer(option, 1, kMaxDegree);
    if (!every)
      return read_.complain("activation_checkpoint.selective_ac_option",
                            expected_found("op or a number of layers", option));
    // Every so many layers run again: as many of each chunk as that is.
    plan.recompute = Recompute::Full;
    const std::int64_t chunks = std::max<std::int64_t>(plan.pipeline * plan.virtual_stages, 1);
    if (*every > 1)
      plan.recomputed_layers = std::max<std::int64_t>(config.model.num_layers / chunks / *every, 1);
    read_.remark(
        fmt::format("activation_checkpoint.selective_ac_option {}: one of {} layers runs again, by number",
                    *every, *every));
  }

  void read_precision(PredictConfig& config) {
    ParallelPlan& plan = config.plan;
    config.has_precision = true;
    if (has_plan_option(options_, "precision")) return;
    if (read_.text("training.mixed_precision_param", "bfloat16") == "float32")
      plan.precision = Precision::Fp32;
    bool has_float8 = read_.flag("float8.enable_float8_linear");
    for (const std::string& converter : read_.words("model.converters")) {
      if (converter == "float8" || converter == "mx" || converter.starts_with("quantize.linear.float8") ||
          converter.starts_with("quantize.linear.mx") || converter.starts_with("quantize.grouped_mm"))
        has_float8 = true;
      else
        read_.complain("model.converters",
                       expected_found("float8 or mx: other converters are not modelled", converter));
    }
    if (has_float8) plan.precision = Precision::Fp8;
    read_.note_place("precision", "model.converters");
  }

  void read_stack(PredictConfig& config) {
    const bool is_old_key = read_.has("training.compile");
    const bool is_compiled = read_.flag("compile.enable", read_.flag("training.compile"));
    const std::vector<std::string> components = read_.words("compile.components");
    const auto compiles = [&](std::string_view what) {
      return components.empty() || std::find(components.begin(), components.end(), what) != components.end();
    };
    const bool is_old = is_old_key && (read_.has("training.tensor_parallel_degree") ||
                                       read_.has("training.data_parallel_shard_degree") ||
                                       read_.has("training.data_parallel_degree"));
    const std::string_view recipe_name =
        present({"quantize.linear.float8.recipe_name", "float8.recipe_name"});
    const std::string recipe = read_.text(recipe_name);
    const bool is_async = read_.flag("parallelism.enable_async_tensor_parallel",
                                     read_.flag("experimental.enable_async_tensor_parallel"));
    if (is_async && is_compiled && config.plan.tensor > 1)
      read_.remark(fmt::format("{}: collectives of tensor parallelism are taken not to overlap products",
                               "enable_async_tensor_parallel"));
    if (!is_compiled || !compiles("model"))
      read_eager_stack(config, is_compiled && compiles("loss"));
    else if (is_old || !compiles("loss"))
      config.stack = "torchtitan-2024";
    else if (config.plan.precision == Precision::Fp8 && recipe.starts_with("rowwise"))
      config.stack = "torchtitan-rowwise";
    else
      config.stack = "torchtitan";
    if (read_.has("model.norm_type")) read_.text("model.norm_type");
  }

  /// Layers are not compiled, but the loss may be.
  void read_eager_stack(PredictConfig& config, bool compiles_loss) {
    config.stack = "torchtitan-eager";
    if (!compiles_loss) return;
    config.changed_stack = with_compiled_loss(find_stack(config.stack).value());
    read_.remark("compile.components: the loss is compiled, layers are not");
  }

  SettingReader read_;
  const ConfigOptions& options_;
};

}  // namespace

Result<PredictConfig> torchtitan_config(std::span<const NamedSetting> settings, const std::string& file,
                                        const ConfigOptions& options) {
  return TorchTitanSettings(settings, file, options).config();
}

}  // namespace vtrain
