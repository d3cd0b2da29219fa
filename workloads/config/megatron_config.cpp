#include "workloads/config/megatron_config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "workloads/config/framework_config.hpp"
#include "workloads/settings/megatron_options.hpp"
#include "workloads/model/model_fields.hpp"
#include "workloads/model/plan_fields.hpp"

namespace vtrain {
namespace {

/// Bound of counts in arguments; `check_model` and `check_plan` have closer ones.
constexpr std::int64_t kMost = 1'000'000'000;

constexpr auto kMegatronPlan = std::to_array<SettingField>({
    {"tensor_model_parallel_size", "tensor"},
    {"model_parallel_size", "tensor"},
    {"pipeline_model_parallel_size", "pipeline"},
    {"context_parallel_size", "context"},
    {"moe_expert_parallel_size", "expert"},
    {"expert_model_parallel_size", "expert"},
    {"micro_batch_size", "micro_batch"},
    {"batch_size", "micro_batch"},
});

constexpr auto kMegatronModel = std::to_array<SettingField>({
    {"num_layers", "num_layers"},
    {"hidden_size", "hidden_size"},
    {"num_attention_heads", "num_heads"},
    {"kv_channels", "size_per_head"},
    {"encoder_seq_length", "sequence_length"},
    {"seq_length", "sequence_length"},
    {"add_qkv_bias", "has_qkv_bias"},
});

constexpr auto kMegatronExperts = std::to_array<SettingField>({
    {"topk", "top_k"},
    {"moe_router_topk", "top_k"},
    {"moe_shared_expert_intermediate_size", "shared_ffn_size"},
    {"moe_train_capacity_factor", "capacity_factor"},
    {"moe_expert_capacity_factor", "capacity_factor"},
    {"moe_latent_size", "latent_size"},
    {"moe_router_num_groups", "num_groups"},
    {"moe_router_group_topk", "groups_per_token"},
});

constexpr auto kMegatronLatent = std::to_array<SettingField>({
    {"q_lora_rank", "query_rank"},
    {"kv_lora_rank", "kv_rank"},
    {"qk_head_dim", "plain_head_size"},
    {"qk_pos_emb_head_dim", "rotary_head_size"},
    {"v_head_dim", "value_head_size"},
});

constexpr auto kMegatronSpace = std::to_array<SettingField>({
    {"mamba_num_heads", "num_heads"},
    {"mamba_head_dim", "head_size"},
    {"mamba_state_dim", "state_size"},
    {"mamba_num_groups", "num_groups"},
});

constexpr auto kMegatronPlanOptions = std::to_array<MegatronPlanOption>({
    {"tensor-model-parallel-size", false, "GPUs that split the matrices of each layer"},
    {"pipeline-model-parallel-size", false, "pipeline stages"},
    {"num-layers-per-virtual-pipeline-stage", false, "layers of a model chunk"},
    {"num-virtual-stages-per-pipeline-rank", false, "model chunks on each stage"},
    {"account-for-embedding-in-pipeline-split", true, "the embedding counts as a layer"},
    {"account-for-loss-in-pipeline-split", true, "the output layer counts as a layer"},
    {"context-parallel-size", false, "GPUs that split each sequence"},
    {"expert-model-parallel-size", false, "GPUs over which the experts of a layer are spread"},
    {"expert-tensor-parallel-size", false, "GPUs that split the matrices of each expert"},
    {"micro-batch-size", false, "sequences that go through a stage together"},
    {"global-batch-size", false, "sequences an iteration"},
    {"seq-length", false, "tokens of a sequence"},
    {"sequence-parallel", true, "norms and dropout are split over the tensor-parallel GPUs"},
    {"recompute-activations", true, "selective recomputation"},
    {"recompute-granularity", false, "full or selective"},
    {"recompute-method", false, "uniform or block"},
    {"recompute-num-layers", false, "layers of each chunk that run again, by method block"},
    {"cpu-offloading-num-layers", false, "layers of a stage whose activations wait in the CPU's memory"},
    {"use-distributed-optimizer", true, "the optimizer's state is shared by replicas"},
    {"use-megatron-fsdp", true, "sharding by --data-parallel-sharding-strategy"},
    {"use-torch-fsdp2", true, "replicas share weights too"},
    {"data-parallel-sharding-strategy", false, "no_shard, optim or optim_grads_params"},
    {"num-distributed-optimizer-instances", false, "sets of replicas that each hold all weights"},
    {"attention-backend", false, "auto, flash, fused, unfused or local"},
    {"fp16", true, "precision"},
    {"bf16", true, "precision"},
    {"fp8-format", false, "precision: hybrid or e4m3"},
});

/// Reader of lists in Python's notation.
class LayerList {
 public:
  explicit LayerList(std::string_view text) : text_(text) {}

  std::optional<std::vector<std::int64_t>> parse() {
    auto all = sum(0);
    skip();
    if (!all || at_ != text_.size()) return std::nullopt;
    return all;
  }

 private:
  using List = std::optional<std::vector<std::int64_t>>;
  static constexpr std::size_t kMostValues = 100'000;
  static constexpr int kMostDepth = 16;

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'))
      ++at_;
  }
  bool take(char letter) {
    skip();
    if (at_ == text_.size() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }
  std::optional<std::int64_t> integer() {
    skip();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0 || value > std::ssize(text_) + kMost) return std::nullopt;
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  List sum(int depth) {
    List all = product(depth);
    while (all && take('+')) {
      const List more = product(depth);
      if (!more || all->size() + more->size() > kMostValues) return std::nullopt;
      all->insert(all->end(), more->begin(), more->end());
    }
    return all;
  }
  List product(int depth) {
    List all = atom(depth);
    while (all && take('*')) {
      const auto times = integer();
      if (!times ||
          all->size() * static_cast<std::size_t>(std::min<std::int64_t>(*times, kMost)) > kMostValues)
        return std::nullopt;
      const std::vector<std::int64_t> once = *all;
      all->clear();
      for (std::int64_t i = 0; i < *times && !once.empty(); ++i)
        all->insert(all->end(), once.begin(), once.end());
    }
    return all;
  }
  List atom(int depth) {
    if (depth > kMostDepth) return std::nullopt;
    if (take('(')) {
      List inner = sum(depth + 1);
      return inner && take(')') ? inner : std::nullopt;
    }
    if (!take('[')) return std::nullopt;
    std::vector<std::int64_t> values;
    if (take(']')) return values;
    do {
      const auto value = integer();
      if (!value || values.size() == kMostValues) return std::nullopt;
      values.push_back(*value);
    } while (take(','));
    return take(']') ? List(values) : std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Arguments on their way to a configuration.
class MegatronArguments {
 public:
  MegatronArguments(std::span<const NamedSetting> settings, const ConfigOptions& options, std::string format,
                    const std::string& file)
      : read_(settings, std::move(format), file), options_(options) {}

  Result<PredictConfig> config() {
    PredictConfig config;
    config.plan = {.micro_batch = 0, .recompute = Recompute::None, .precision = Precision::Fp32};
    if (auto model = read_model(); !model)
      return fail(std::move(model.error()));
    else
      config.model = *std::move(model);
    read_plan(config);
    config.stack = stack_of(config);
    read_.judge_the_rest(megatron_rows());
    return finish_config(read_, std::move(config), options_);
  }

 private:
  Result<TransformerModel> read_model() {
    const bool has_sizes = read_.has("num_layers") || read_.has("hidden_size");
    if (!has_sizes && !options_.model.empty()) {
      const std::int64_t length = read_.integer(
          "seq_length", 1, kMaxSequenceLength, read_.integer("encoder_seq_length", 1, kMaxSequenceLength, 0));
      return load_named_model(options_.model, length);
    }
    TransformerModel model;
    model.dropout = Dropout{.attention = read_.number("attention_dropout", 0, 1, 0.1) > 0,
                            .hidden = read_.number("hidden_dropout", 0, 1, 0.1) > 0};
    read_.copy<TransformerModel>(kMegatronModel, model_fields(), model);
    for (const std::string_view name : {"num_layers", "hidden_size", "num_attention_heads", "seq_length"}) {
      if (read_.has(name) || (name == "seq_length" && read_.has("encoder_seq_length"))) continue;
      read_.complain(name,
                     "missing: the model is given by --num-layers, --hidden-size, "
                     "--num-attention-heads and --seq-length, or by --model");
    }
    read_attention(model);
    read_mlp(model);
    read_positions(model);
    read_vocabulary(model);
    read_experts(model);
    read_hybrid(model);
    if (const std::int64_t depth = read_.integer("mtp_num_layers", 0, kMost, 0); depth > 0) {
      model.prediction = {
          .depth = depth, .shares_weights = read_.flag("mtp_use_repeated_layer"), .layer_pattern = {}};
      read_.note_place("prediction.depth", "mtp_num_layers");
    }
    read_.flag("mtp_use_repeated_layer");
    if (read_.error()) return fail(*read_.error());
    return model;
  }

  void read_attention(TransformerModel& model) {
    model.num_kv_heads = read_.integer("num_key_value_heads", 0, kMost, 0);
    const std::int64_t groups = read_.integer("num_query_groups", 0, kMost, 1);
    if (read_.flag("group_query_attention")) model.num_kv_heads = groups;
    read_.note_place("num_kv_heads",
                     read_.has("num_query_groups") ? "num_query_groups" : "num_key_value_heads");
    model.has_bias = !read_.flag("disable_bias_linear") && read_.flag("add_bias_linear", true);
    model.has_qkv_bias = model.has_qkv_bias && !model.has_bias;
    const bool is_latent = read_.flag("multi_latent_attention");
    model.has_qk_norm = read_.flag("qk_layernorm") && !is_latent;
    const double scale = read_.number("mscale", -1e9, 1e9, 1);
    const double scale_of_all = read_.number("mscale_all_dim", -1e9, 1e9, 1);
    LatentAttention latent{.query_rank = 0,
                           .kv_rank = 32,
                           .plain_head_size = 128,
                           .rotary_head_size = 64,
                           .value_head_size = 128};
    read_.copy<LatentAttention>(kMegatronLatent, latent_fields(), latent, "latent.");
    if (is_latent) {
      model.latent = latent;
      model.size_per_head = 0;
      model.scales_rotation = scale != scale_of_all && read_.text("rope_type", "yarn") == "yarn" &&
                              read_.number("rotary_scaling_factor", 0, 1e9, 1) > 1;
    }
    model.has_attention_sinks = read_.text("softmax_type", "vanilla") == "learnable";
    read_window(model);
  }

  void read_window(TransformerModel& model) {
    const std::vector<std::string> sizes = read_.words("window_size");
    const std::string every = read_.text("window_attn_skip_freq");
    if (sizes.empty()) return;
    const auto left = parse_integer(sizes.front(), 0, kMost);
    if (!left)
      return read_.complain("window_size",
                            expected_found("two numbers, as 127,0", read_.text("window_size")));
    model.window.size = *left + 1;
    if (!every.empty()) {
      const auto number = parse_integer(every, 0, kMost);
      if (!number)
        return read_.complain("window_attn_skip_freq",
                              expected_found("a whole number: lists of layers are not modelled", every));
      model.window.full_every = *number;
    }
    if (model.window.size >= model.sequence_length) model.window = {};
    read_.note_place("window.size", "window_size");
    read_.note_place("window.full_every", "window_attn_skip_freq");
  }

  void read_mlp(TransformerModel& model) {
    const bool is_gated = read_.flag("swiglu") || read_.flag("quick_geglu") || read_.flag("geglu");
    read_.flag("quick_geglu");
    read_.flag("geglu");
    const bool is_squared = read_.flag("squared_relu");
    if (is_gated) model.activation = Activation::SwiGlu;
    if (is_squared) model.activation = Activation::SquaredRelu;
    model.clamps_activation = read_.has("activation_func_clamp_value");
    read_.number("glu_linear_offset", -1e9, 1e9, 0);
    // validate_args: a gated MLP has 2/3 of the usual size, a multiple of 64.
    const std::int64_t usual = is_gated ? 8 * model.hidden_size / 3 / 64 * 64 : 4 * model.hidden_size;
    model.ffn_size = read_.integer("ffn_hidden_size", 1, kMost, usual);
    read_.note_place("ffn_size", "ffn_hidden_size");
    using Norm = std::pair<std::string_view, Normalization>;
    static constexpr std::array kNorms = {
        Norm{"LayerNorm", Normalization::LayerNorm},   Norm{"layernorm", Normalization::LayerNorm},
        Norm{"RMSNorm", Normalization::RmsNorm},       Norm{"rmsnorm", Normalization::RmsNorm},
        Norm{"layernorm1p", Normalization::LayerNorm}, Norm{"rms_norm", Normalization::RmsNorm}};
    model.normalization = read_.choice<Normalization>("normalization", kNorms, Normalization::LayerNorm);
    model.tied_embeddings = !read_.flag("untie_embeddings_and_output_weights");
  }

  void read_positions(TransformerModel& model) {
    using Kind = std::pair<std::string_view, Positions>;
    static constexpr std::array kKinds = {Kind{"learned_absolute", Positions::Learned},
                                          Kind{"rope", Positions::Rotary}, Kind{"yarn", Positions::Rotary},
                                          Kind{"none", Positions::None}};
    model.positions = read_.choice<Positions>("position_embedding_type", kKinds, Positions::Learned);
    if (read_.flag("use_rotary_position_embeddings")) model.positions = Positions::Rotary;
    if (read_.has("rotary_position_embeddings_theta"))
      read_.number("rotary_position_embeddings_theta", 0, 1e12, 1e4);
    if (read_.text("position_embedding_type") == "yarn") model.scales_rotation = true;
  }

  /// Words of the vocabulary. Megatron pads them to a multiple of `make_vocab_size_divisible_by` x tensor.
  void read_vocabulary(TransformerModel& model) {
    const std::int64_t padded = read_.integer("padded_vocab_size", 1, kMost, 0);
    const std::int64_t multiple = read_.integer("make_vocab_size_divisible_by", 1, 1'000'000, 128) *
                                  read_.integer("tensor_model_parallel_size", 1, kMaxDegree, 1);
    const std::string tokenizer = read_.text("tokenizer_type");
    std::int64_t words = read_.integer("vocab_size", 1, kMost, 0);
    read_.note_place("vocab_size", padded > 0 ? "padded_vocab_size" : "vocab_size");
    if (padded > 0) {
      model.vocab_size = padded;
      return;
    }
    // NullTokenizer has one word more, the end of a document (megatron/training/tokenizer/tokenizer.py).
    if (words > 0 && tokenizer == "NullTokenizer") ++words;
    if (words == 0 && tokenizer == "Llama2Tokenizer") words = 32000;
    if (words == 0) {
      constexpr std::int64_t kGpt2Words = 50257;
      words = kGpt2Words;
      if (!tokenizer.empty() && tokenizer != "GPT2BPETokenizer")
        read_.remark(
            fmt::format("{} {} has a vocabulary that the file does not give: {} words are assumed; "
                        "--vocab-size gives them",
                        read_.written("tokenizer_type"), printable(tokenizer), with_thousands(kGpt2Words)));
    }
    model.vocab_size = (words + multiple - 1) / multiple * multiple;
  }

  void read_experts(TransformerModel& model) {
    MixtureOfExperts experts{.top_k = 2};
    const std::vector<std::string> counts = read_.words("num_experts");
    read_.copy<MixtureOfExperts>(kMegatronExperts, expert_fields(), experts, "experts.");
    experts.expert_ffn_size = read_.integer("moe_ffn_hidden_size", 1, kMost, model.ffn_size);
    const std::string layers = read_.text("moe_layer_freq", "1");
    if (counts.empty()) return;
    const auto count = parse_integer(counts.front(), 0, kMost);
    if (!count || counts.size() > 1) {
      return read_.complain("num_experts",
                            count ? "experts that differ by layer are not modelled" : count.error().message);
    }
    const bool is_single = *count == 1 && read_.has("topk");  // a dense model of Megatron-DeepSpeed
    if (*count == 0 || (*count == 1 && (is_single || !read_.has("moe_router_topk")))) return;
    experts.num_experts = *count;
    if (layers != "1") {
      const auto list = parse_layer_list(layers);
      if (!list)
        return read_.complain(
            "moe_layer_freq",
            expected_found("1 or a list, as [0]*3+[1]*58: experts in every so many layers are not modelled",
                           layers));
      const auto first = std::find(list->begin(), list->end(), 1);
      if (std::ssize(*list) != model.num_layers ||
          std::any_of(first, list->end(), [](std::int64_t kind) { return kind != 1; })) {
        return read_.complain(
            "moe_layer_freq",
            expected_found(fmt::format("{} layers, first those without experts", model.num_layers), layers));
      }
      experts.num_dense_layers = first - list->begin();
    }
    read_.note_place("experts.num_experts", "num_experts");
    read_.note_place("experts.expert_ffn_size", "moe_ffn_hidden_size");
    read_.note_place("experts.num_dense_layers", "moe_layer_freq");
    model.experts = experts;
  }

  void read_hybrid(TransformerModel& model) {
    StateSpace space{.head_size = 64, .state_size = 128, .num_groups = 8};
    read_.copy<StateSpace>(kMegatronSpace, state_space_fields(), space, "state_space.");
    const std::string_view name =
        read_.has("hybrid_layer_pattern") ? "hybrid_layer_pattern" : "hybrid_override_pattern";
    model.layer_pattern = read_.text(name);
    read_.note_place("layer_pattern", name);
    if (model.layer_pattern.empty()) return;
    if (model.layer_pattern.find('M') == std::string::npos) return;
    // mamba_mixer.py: the inner layer has twice the hidden size unless the heads are given.
    if (space.num_heads == 0 && space.head_size > 0)
      space.num_heads = 2 * model.hidden_size / space.head_size;
    model.state_space = space;
  }

  void read_plan(PredictConfig& config) {
    ParallelPlan& plan = config.plan;
    const TransformerModel& model = config.model;
    read_.copy<ParallelPlan>(kMegatronPlan, plan_fields(), plan);
    if (plan.micro_batch == 0) read_.complain("micro_batch_size", "missing: expected --micro-batch-size");
    read_.integer("transformer_pipeline_model_parallel_size", 1, kMaxDegree, 1);
    // expert_tensor_parallel_size is tensor_model_parallel_size unless given.
    plan.expert_tensor = read_.integer("expert_tensor_parallel_size", 1, kMaxDegree, plan.tensor);
    read_.note_place("expert_tensor", "expert_tensor_parallel_size");
    if (!model.has_experts()) {
      plan.expert_tensor = 1;
    }
    // Without tensor parallelism Megatron-LM switches sequence parallelism off (validate_args).
    plan.sequence_parallel = read_.flag("sequence_parallel") && plan.tensor > 1;
    read_.note_place("sequence_parallel", "sequence_parallel");
    read_precision(config);
    read_stages(model, plan);
    read_recomputation(model, plan);
    read_sharding(plan);
    read_attention_kernels(plan);
    const std::string exchange = fmt::format("{}", fmt::join(read_.words("cp_comm_type"), " "));
    if (plan.context > 1 && !exchange.empty() && exchange != "p2p")
      read_.complain("cp_comm_type", expected_found("p2p: other exchanges are not modelled", exchange));
    read_gpus(plan);
  }

  void read_gpus(ParallelPlan& plan) {
    std::int64_t num_gpus = read_.integer("world_size", 1, kMost, 0);
    const std::string_view per_node = read_.has("nproc_per_node") ? "nproc_per_node" : "num_gpus";
    const std::string_view nodes = read_.has("nnodes") ? "nnodes" : "num_nodes";
    if (num_gpus == 0 && options_.num_gpus == 0 && read_.has(per_node)) {
      num_gpus = read_.integer(per_node, 1, kMaxDegree, 1) * read_.integer(nodes, 1, kMaxDegree, 1);
    } else if (options_.num_gpus > 0) {
      read_.text(per_node);
      read_.text(nodes);
    }
    read_.text("data_parallel_size");
    apply_plan_options(read_, plan, options_);
    set_gpus(read_, plan, num_gpus, options_);
    plan.global_batch = read_.integer("global_batch_size", 1, kMaxPlanSize, plan.micro_batch * plan.data);
    read_.note_place("global_batch", "global_batch_size");
    apply_plan_options(read_, plan, options_);
  }

  void read_precision(PredictConfig& config) {
    ParallelPlan& plan = config.plan;
    if (read_.flag("fp16")) plan.precision = Precision::Fp16;
    if (read_.flag("bf16")) plan.precision = Precision::Bf16;
    const bool has_fp8 = read_.has("fp8_format") || (read_.has("fp8") && read_.text("fp8") != "False") ||
                         read_.flag("fp8_hybrid") || read_.flag("fp8_e4m3");
    read_.flag("fp8_e4m3");
    if (has_fp8) plan.precision = Precision::Fp8;
    if (read_.has("fp4_format") || (read_.has("fp4") && read_.text("fp4") != "False"))
      plan.precision = Precision::Fp4;
    config.has_precision = true;
  }

  void read_stages(const TransformerModel& model, ParallelPlan& plan) {
    const bool embedding = read_.flag("account_for_embedding_in_pipeline_split");
    const bool loss = read_.flag("account_for_loss_in_pipeline_split");
    if (embedding != loss) {
      read_.complain(
          embedding ? "account_for_embedding_in_pipeline_split" : "account_for_loss_in_pipeline_split",
          "expected together with the other end: one end alone that counts as a layer is not modelled");
    }
    plan.ends_count_as_layers = embedding && loss;
    const std::int64_t per_chunk = read_.integer("num_layers_per_virtual_pipeline_stage", 1, kMost, 0);
    plan.virtual_stages = read_.integer("virtual_pipeline_model_parallel_size", 1, kMaxDegree, 1);
    plan.virtual_stages =
        read_.integer("num_virtual_stages_per_pipeline_rank", 1, kMaxDegree, plan.virtual_stages);
    if (per_chunk > 0 && plan.virtual_stages == 1) {
      const std::int64_t layers = model.num_layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
      const std::int64_t of_stage = layers / plan.pipeline;
      if (layers % plan.pipeline != 0 || of_stage % per_chunk != 0) {
        read_.complain("num_layers_per_virtual_pipeline_stage",
                       expected_found(fmt::format("a divisor of the {} layers of a stage", of_stage),
                                      std::to_string(per_chunk)));
      } else {
        plan.virtual_stages = of_stage / per_chunk;
      }
    }
    for (const std::string_view name :
         {"num_layers_per_virtual_pipeline_stage", "virtual_pipeline_model_parallel_size",
          "num_virtual_stages_per_pipeline_rank"}) {
      if (read_.has(name)) read_.note_place("virtual_stages", name);
    }
    if (read_.flag("enable_zbh1_pipeline") || read_.flag("enable_zero_bubble") ||
        read_.flag("enable_zbh1_exact_semantics"))
      plan.schedule = Schedule::ZeroBubble;
    read_.flag("enable_zero_bubble");
    read_.flag("enable_zbh1_exact_semantics");
    layout_ = read_.text("pipeline_model_parallel_layout");
    if (!layout_.empty()) {
      // A layout that is the even one is the plan's.
      std::string even;
      if (check_plan_of_layout(model, plan)) even = pipeline_layout(model, plan);
      if (layout_ != even)
        read_.complain("pipeline_model_parallel_layout",
                       expected_found(even.empty() ? "an even layout: others are not modelled"
                                                   : even + ": other layouts are not modelled",
                                      layout_));
    }
  }

  /// True if the stages of a plan can be laid out.
  static bool check_plan_of_layout(const TransformerModel& model, ParallelPlan plan) {
    plan.data = 1;
    plan.context = 1;
    plan.expert = 1;
    plan.expert_tensor = 1;
    plan.tensor = 1;
    plan.sequence_parallel = false;
    plan.global_batch = plan.micro_batch * plan.pipeline;
    return check_plan(model, plan).has_value();
  }

  void read_recomputation(const TransformerModel& model, ParallelPlan& plan) {
    using Kind = std::pair<std::string_view, Recompute>;
    static constexpr std::array kKinds = {Kind{"full", Recompute::Full},
                                          Kind{"selective", Recompute::Selective}};
    if (read_.flag("recompute_activations")) plan.recompute = Recompute::Selective;
    plan.recompute = read_.choice<Recompute>("recompute_granularity", kKinds, plan.recompute);
    for (const std::string_view name : {"checkpoint_activations", "deepspeed_activation_checkpointing"}) {
      if (read_.flag(name)) plan.recompute = Recompute::Full;
    }
    const std::string_view method_name =
        read_.has("activations_checkpoint_method") ? "activations_checkpoint_method" : "recompute_method";
    const std::string method = read_.text(method_name);
    if (method_name == "activations_checkpoint_method") plan.recompute = Recompute::Full;
    if (!method.empty() && method != "uniform" && method != "block")
      read_.complain(method_name, expected_found("uniform or block", method));
    const std::string_view count_name = read_.has("activations_checkpoint_num_layers")
                                            ? "activations_checkpoint_num_layers"
                                            : "recompute_num_layers";
    const std::int64_t count = read_.integer(count_name, 0, kMaxDegree, 0);
    if (plan.recompute == Recompute::Full && method == "block") {
      plan.recomputed_layers = count;
      if (count == 0) plan.recompute = Recompute::None;
      read_.note_place("recomputed_layers", count_name);
    } else if (plan.recompute == Recompute::Full && method == "uniform" && count > 1) {
      read_.remark(fmt::format("{} {}: the inputs of all layers are taken to be kept",
                               read_.written(count_name), count));
    }
    read_.note_place("recompute", "recompute_granularity");
    const std::vector<std::string> modules = read_.words("recompute_modules");
    for (const std::string& name : modules) {
      if (plan.recompute != Recompute::Selective || name == "core_attn" ||
          (name == "mla_up_proj" && model.has_latent_attention()))
        continue;
      read_.complain("recompute_modules", expected_found("core_attn, or mla_up_proj with latent attention: "
                                                         "recomputation of other modules is not modelled",
                                                         name));
    }
    const bool offloads = read_.flag("cpu_offloading", read_.has("cpu_offloading_num_layers"));
    plan.offloaded_layers = read_.integer("cpu_offloading_num_layers", 0, kMaxDegree, 0);
    if (!offloads) {
      plan.offloaded_layers = 0;
      read_.flag("cpu_offloading_weights");
    }
    read_.note_place("offloaded_layers", "cpu_offloading_num_layers");
  }

  void read_sharding(ParallelPlan& plan) {
    if (read_.flag("use_distributed_optimizer")) plan.sharding = Sharding::Optimizer;
    const bool is_fsdp = read_.flag("use_megatron_fsdp") || read_.flag("use_custom_fsdp");
    read_.flag("use_custom_fsdp");
    using Kind = std::pair<std::string_view, Sharding>;
    static constexpr std::array kKinds = {Kind{"no_shard", Sharding::None},
                                          Kind{"optim", Sharding::Optimizer},
                                          Kind{"optim_grads_params", Sharding::Full}};
    if (is_fsdp)
      plan.sharding = read_.choice<Sharding>("data_parallel_sharding_strategy", kKinds, Sharding::None);
    else
      read_.text("data_parallel_sharding_strategy");
    if (read_.flag("use_torch_fsdp2")) {
      plan.sharding = read_.flag("torch_fsdp2_no_reshard_after_forward") ||
                              !read_.flag("torch_fsdp2_reshard_after_forward", true)
                          ? Sharding::Gradients
                          : Sharding::Full;
    }
    read_.flag("torch_fsdp2_no_reshard_after_forward");
    read_.flag("torch_fsdp2_reshard_after_forward");
    if (read_.has("zero_stage")) {
      static constexpr std::array kStages = {Kind{"0", Sharding::None},      Kind{"0.0", Sharding::None},
                                             Kind{"1", Sharding::Optimizer}, Kind{"1.0", Sharding::Optimizer},
                                             Kind{"2", Sharding::Gradients}, Kind{"3", Sharding::Full}};
      if (read_.flag("deepspeed"))
        plan.sharding = read_.choice<Sharding>("zero_stage", kStages, Sharding::None);
    }
    read_.note_place("sharding", "use_distributed_optimizer");
    const std::int64_t sets = read_.integer("num_distributed_optimizer_instances", 1, kMaxDegree, 1);
    read_.note_place("replicate", "num_distributed_optimizer_instances");
    if (shards_weights(plan.sharding)) {
      plan.replicate = sets;
    } else if (sets > 1) {
      read_.complain(
          "num_distributed_optimizer_instances",
          expected_found("1: several sets of replicas are modelled with fully sharded weights only",
                         std::to_string(sets)));
    }
  }

  void read_attention_kernels(ParallelPlan& plan) {
    using Kind = std::pair<std::string_view, AttentionChoice>;
    static constexpr std::array kKinds = {Kind{"auto", AttentionChoice::Stack},
                                          Kind{"flash", AttentionChoice::Stack},
                                          Kind{"fused", AttentionChoice::Cudnn},
                                          Kind{"unfused", AttentionChoice::Unfused},
                                          Kind{"local", AttentionChoice::Unfused},
                                          Kind{"AttnBackend.auto", AttentionChoice::Stack},
                                          Kind{"AttnBackend.flash", AttentionChoice::Stack},
                                          Kind{"AttnBackend.fused", AttentionChoice::Cudnn},
                                          Kind{"AttnBackend.unfused", AttentionChoice::Unfused},
                                          Kind{"AttnBackend.local", AttentionChoice::Unfused}};
    plan.attention = read_.choice<AttentionChoice>("attention_backend", kKinds, AttentionChoice::Stack);
    const std::int64_t version = read_.integer("flash_attention_version", 2, 4, 0);
    if (version == 2) plan.attention = AttentionChoice::Flash2;
    if (version == 3) plan.attention = AttentionChoice::Flash3;
    const bool has_flash = read_.flag("use_flash_attn") || read_.flag("use_flash_attn_v1") ||
                           read_.flag("use_flash_attn_v2") || read_.flag("use_flash_attn_triton");
    if (read_.flag("use_flash_attn_v2")) plan.attention = AttentionChoice::Flash2;
    read_.flag("use_flash_attn_v1");
    read_.flag("use_flash_attn_triton");
    read_.flag("use_flash_attn_builder");
    if (read_.text("transformer_impl") == "local" && !has_flash) plan.attention = AttentionChoice::Unfused;
    read_.note_place("attention", "attention_backend");
  }

  /// The stack whose rules are nearest to the arguments; a remark says what differs.
  std::string stack_of(const PredictConfig& config) {
    const bool is_deepspeed = read_.flag("deepspeed");
    bool is_old = false;
    for (const std::string_view name :
         {"DDP_impl", "activations_checkpoint_method", "activations_checkpoint_num_layers",
          "checkpoint_activations", "model_parallel_size", "distribute_checkpointed_activations"}) {
      if (read_.has(name)) is_old = true;
    }
    const bool overlaps_gradients = read_.flag("overlap_grad_reduce");
    const bool overlaps_gathers = read_.flag("overlap_param_gather");
    const bool overlaps_tensor = read_.flag("tp_comm_overlap");
    const bool overlaps_experts = read_.flag("overlap_moe_expert_parallel_comm");
    const bool has_short_gradients = read_.flag("grad_reduce_in_bf16");
    const bool has_fused_loss = read_.flag("cross_entropy_loss_fusion");
    read_.text("cross_entropy_fusion_impl");
    if (is_deepspeed) return "deepspeed-megatron";
    if (is_old) return "megatron-2021";
    const bool overlaps_all =
        overlaps_gradients && has_short_gradients && (overlaps_tensor || config.plan.tensor == 1);
    if (overlaps_all && overlaps_experts) return "megatron-bridge-overlap";
    if (overlaps_all) return "megatron-bridge";
    std::vector<std::string> differing;
    const auto differs = [&](bool is_given, std::string_view name) {
      if (is_given) differing.push_back(read_.written(name));
    };
    const bool has_replicas = config.plan.num_replicas() > 1;
    differs(overlaps_gradients && has_replicas, "overlap_grad_reduce");
    differs(overlaps_gathers && has_replicas, "overlap_param_gather");
    differs(overlaps_tensor && config.plan.tensor > 1, "tp_comm_overlap");
    differs(overlaps_experts, "overlap_moe_expert_parallel_comm");
    differs(has_short_gradients, "grad_reduce_in_bf16");
    differs(has_fused_loss, "cross_entropy_loss_fusion");
    if (!differing.empty()) {
      read_.remark(
          fmt::format("{}: stack megatron-core does without; --stack megatron-bridge has overlap, gradients "
                      "of 16 bits and a fused loss",
                      fmt::join(differing, ", ")));
    }
    return "megatron-core";
  }

  SettingReader read_;
  const ConfigOptions& options_;
  std::string layout_;
};

}  // namespace

std::optional<std::vector<std::int64_t>> parse_layer_list(std::string_view text) {
  return LayerList(text).parse();
}

std::span<const MegatronPlanOption> megatron_plan_options() {
  return kMegatronPlanOptions;
}

Result<PredictConfig> megatron_config(std::span<const NamedSetting> settings, const std::string& file,
                                      const ConfigOptions& options, std::string format) {
  std::vector<NamedSetting> all(settings.begin(), settings.end());
  all.insert(all.end(), options.settings.begin(), options.settings.end());
  return MegatronArguments(all, options, std::move(format), file).config();
}

}  // namespace vtrain
