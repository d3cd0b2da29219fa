#include "workloads/release/release_config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain {
namespace {

constexpr std::string_view kNumGpus = "num_gpus";
constexpr std::string_view kTensor = "tensor_parallel_size";
constexpr std::string_view kData = "data_parallel_size";
constexpr std::string_view kPipeline = "pipeline_parallel_size";
constexpr std::string_view kGlobalBatch = "global_batch_size";
constexpr std::string_view kMicroBatch = "micro_batch_size";
constexpr std::string_view kLayers = "num_layers";
constexpr std::string_view kHidden = "hidden_size";
constexpr std::string_view kHeads = "num_attention_heads";
constexpr std::string_view kLength = "max_length";
constexpr std::string_view kVocab = "vocab_size";

constexpr std::array<std::string_view, 21> kKnownKeys = {kNumGpus,
                                                         "gpu_name",
                                                         kTensor,
                                                         kData,
                                                         kPipeline,
                                                         kGlobalBatch,
                                                         kMicroBatch,
                                                         kLayers,
                                                         kHidden,
                                                         kHeads,
                                                         kLength,
                                                         kVocab,
                                                         "use_gradient_bucket",
                                                         "ddp_bucket_size",
                                                         "use_checkpoint",
                                                         "model_arch",
                                                         "pipeline_scheduling",
                                                         "inter_node_bandwidth",
                                                         "intra_node_bandwidth",
                                                         "node_size",
                                                         "trace_path"};

// Far above anything that is built, and small enough for every product of them to fit its type.
constexpr std::int64_t kMaxParallel = 1 << 20;
constexpr std::int64_t kMaxBatch = 1 << 24;
constexpr std::int64_t kMaxHidden = 1 << 20;
constexpr std::int64_t kMaxLength = 1 << 24;
constexpr std::int64_t kMaxVocab = 1 << 27;
constexpr double kMinBandwidth = 1e-6;
constexpr double kMaxBandwidth = 1e9;

/// The sizes that determine the split of the model. 0 means null.
struct Split {
  std::int64_t num_gpus = 0;
  std::int64_t tensor = 0;
  std::int64_t data = 0;
  std::int64_t pipeline = 0;
};

/// Fills in the one size that is null: `num_gpus` as the product, or one parallel size as the quotient,
/// rounded down.
void complete_split(JsonFields& fields, Split& split) {
  struct Size {
    std::string_view key;
    std::int64_t& value;
    std::int64_t high;
  };
  const Size sizes[] = {{kTensor, split.tensor, kMaxParallel},
                        {kData, split.data, kMaxParallel},
                        {kPipeline, split.pipeline, kMaxStages}};
  const Size* open = nullptr;
  std::int64_t product = 1;
  for (const Size& size : sizes) {
    if (size.value != 0) {
      product *= size.value;
    } else if (open != nullptr || split.num_gpus == 0) {
      const std::string_view needed = split.num_gpus == 0 ? "num_gpus" : open->key;
      fields.complain(size.key,
                      fmt::format("missing: expected a whole number, unless it follows from {}", needed));
      return;
    } else {
      open = &size;
    }
  }
  if (open != nullptr) {
    open->value = split.num_gpus / product;
    if (open->value < 1 || open->value > open->high) {
      fields.complain(kNumGpus, fmt::format("expected {} x {} to {} GPUs, so that {} follows, found '{}'",
                                            product, 1, open->high, open->key, split.num_gpus));
    }
  } else if (product > INT32_MAX) {
    fields.complain(kTensor, expected_found(fmt::format("{} * {} * {} of at most {}", kTensor, kData,
                                                        kPipeline, INT32_MAX),
                                            std::to_string(product)));
  } else if (split.num_gpus == 0) {
    split.num_gpus = product;
  } else if (split.num_gpus != product) {
    fields.complain(kNumGpus,
                    expected_found(fmt::format("{} * {} * {} = {}", kTensor, kData, kPipeline, product),
                                   std::to_string(split.num_gpus)));
  }
}

/// A value that another one must divide.
struct Multiple {
  std::string_view key;
  std::int64_t value;
  std::string_view divisor_key;
  std::int64_t divisor;
};

/// The release's checks, in its order. The error names the key.
Result<void> check_release_plan(const VtrainConfig& config) {
  const ParallelPlan& plan = config.plan;
  const TransformerModel& model = config.model;
  for (const Multiple& each : {Multiple{kGlobalBatch, plan.global_batch, kData, plan.data},
                               Multiple{kGlobalBatch, plan.global_batch, kMicroBatch, plan.micro_batch},
                               Multiple{kLayers, model.num_layers, kPipeline, plan.pipeline},
                               Multiple{kHidden, model.hidden_size, kHeads, model.num_heads},
                               Multiple{kHeads, model.num_heads, kTensor, plan.tensor}}) {
    if (each.value % each.divisor == 0) continue;
    return fail(
        {.field = std::string(each.key),
         .message = expected_found(fmt::format("a multiple of {} ({})", each.divisor_key, each.divisor),
                                   std::to_string(each.value))});
  }
  if (plan.num_micro_batches() < 1) {
    return fail({.field = std::string(kMicroBatch),
                 .message = expected_found(fmt::format("at most {} / {} = {}, which leaves one micro-batch",
                                                       kGlobalBatch, kData, plan.global_batch / plan.data),
                                           std::to_string(plan.micro_batch))});
  }
  return {};
}

/// Checks every size against the range that files may state.
Result<void> check_release_sizes(const TransformerModel& model, const ParallelPlan& plan) {
  struct Size {
    std::string_view key;
    std::int64_t value;
    std::int64_t high;
  };
  for (const Size& size :
       {Size{kTensor, plan.tensor, kMaxParallel}, Size{kData, plan.data, kMaxParallel},
        Size{kPipeline, plan.pipeline, kMaxStages}, Size{kGlobalBatch, plan.global_batch, kMaxBatch},
        Size{kMicroBatch, plan.micro_batch, kMaxBatch}, Size{kLayers, model.num_layers, kMaxLayers},
        Size{kHidden, model.hidden_size, kMaxHidden}, Size{kHeads, model.num_heads, kMaxHidden},
        Size{kLength, model.sequence_length, kMaxLength}, Size{kVocab, model.vocab_size, kMaxVocab}}) {
    if (size.value >= 1 && size.value <= size.high) continue;
    return fail({.field = std::string(size.key),
                 .message = expected_found(expected_integer(1, size.high), std::to_string(size.value))});
  }
  const std::int64_t num_gpus = plan.tensor * plan.data * plan.pipeline;
  if (num_gpus <= INT32_MAX) return {};
  return fail({.field = std::string(kNumGpus),
               .message = expected_found(expected_integer(1, INT32_MAX), std::to_string(num_gpus))});
}

/// True for a GPT, which its sizes describe.
bool is_gpt(const TransformerModel& model) {
  const TransformerModel gpt{.name = model.name,
                             .num_layers = model.num_layers,
                             .hidden_size = model.hidden_size,
                             .num_heads = model.num_heads,
                             .sequence_length = model.sequence_length,
                             .vocab_size = model.vocab_size,
                             .num_kv_heads = model.num_kv_heads,
                             .size_per_head = model.size_per_head,
                             .ffn_size = model.ffn_size,
                             .dropout = model.dropout};
  return model == gpt && model.kv_heads() == model.num_heads &&
         model.head_size() * model.num_heads == model.hidden_size &&
         model.mlp_size() == 4 * model.hidden_size;
}

/// True for a plan that splits a model in no other way than the release can.
bool is_release_plan(const ParallelPlan& plan) {
  return plan == ParallelPlan{.tensor = plan.tensor,
                              .data = plan.data,
                              .pipeline = plan.pipeline,
                              .global_batch = plan.global_batch,
                              .micro_batch = plan.micro_batch,
                              .recompute = plan.recompute} &&
         plan.recompute != Recompute::Selective;
}

}  // namespace

Result<VtrainConfig> parse_vtrain_config(std::string text, const std::string& file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  JsonFields fields(*document, document->root());
  fields.allow_only(kKnownKeys);

  VtrainConfig config;
  config.file = file;
  config.model.name = std::filesystem::path(file).stem().string();
  ReleaseMachine& machine = config.machine;
  machine.gpu_name = fields.string_or("gpu_name", machine.gpu_name);
  machine.trace_path = fields.string_or("trace_path", "");
  machine.node_size = fields.integer_or("node_size", 1, kMaxParallel, machine.node_size);
  if (fields.has("inter_node_bandwidth"))
    machine.inter_node_bandwidth = fields.number("inter_node_bandwidth", kMinBandwidth, kMaxBandwidth);
  machine.intra_node_bandwidth =
      fields.number_or("intra_node_bandwidth", kMinBandwidth, kMaxBandwidth, machine.intra_node_bandwidth);
  config.model.num_layers = fields.integer_or(kLayers, 1, kMaxLayers, 105);
  config.model.hidden_size = fields.integer_or(kHidden, 1, kMaxHidden, 20480);
  config.model.num_heads = fields.integer_or(kHeads, 1, kMaxHidden, 128);
  config.model.sequence_length = fields.integer_or(kLength, 1, kMaxLength, 2048);
  config.model.vocab_size = fields.integer_or(kVocab, 1, kMaxVocab, 50257);
  config.plan.recompute = fields.boolean_or("use_checkpoint", true) ? Recompute::Full : Recompute::None;
  config.plan.global_batch = fields.integer_or(kGlobalBatch, 1, kMaxBatch, 1920);

  Split split;
  split.num_gpus = fields.integer_or(kNumGpus, 1, INT32_MAX, 0);
  split.tensor = fields.integer_or(kTensor, 1, kMaxParallel, 0);
  split.data = fields.integer_or(kData, 1, kMaxParallel, 0);
  split.pipeline = fields.integer_or(kPipeline, 1, kMaxStages, 0);
  if (!fields.error()) complete_split(fields, split);
  if (fields.error()) return fail(*fields.error());
  config.plan.tensor = split.tensor;
  config.plan.data = split.data;
  config.plan.pipeline = split.pipeline;
  const bool is_one_stage = split.pipeline == 1;
  const std::int64_t whole_batch = config.plan.global_batch / split.data;
  config.given_micro_batch = is_one_stage ? fields.integer_or(kMicroBatch, 1, kMaxBatch, whole_batch)
                                          : fields.integer(kMicroBatch, 1, kMaxBatch);
  config.plan.micro_batch = is_one_stage ? whole_batch : config.given_micro_batch;
  if (!fields.error()) {
    if (const auto checked = check_release_plan(config); !checked)
      fields.complain(checked.error().field, checked.error().message);
  }
  if (fields.error()) return fail(*fields.error());
  return config;
}

Result<VtrainConfig> make_vtrain_config(const TransformerModel& model, const ParallelPlan& plan,
                                        const ReleaseMachine& machine) {
  if (auto checked = check_release_sizes(model, plan); !checked) return fail(std::move(checked.error()));
  if (!is_gpt(model)) {
    return fail(
        {.field = "model",
         .message = expected_found("a GPT, which the public vTrain release knows alone", model.name)});
  }
  if (!is_release_plan(plan)) {
    return fail({.field = "plan",
                 .message = "expected tensor, data and pipeline parallelism in fp16 with recompute full or "
                            "none, which the public vTrain release knows alone"});
  }
  VtrainConfig config{
      .model = model, .plan = plan, .given_micro_batch = plan.micro_batch, .machine = machine};
  if (plan.pipeline == 1) config.plan.micro_batch = std::max<std::int64_t>(1, plan.global_batch / plan.data);
  if (auto checked = check_release_plan(config); !checked) return fail(std::move(checked.error()));
  return config;
}

}  // namespace vtrain
