#include "workloads/model/zoo.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"

namespace vtrain {
namespace {

constexpr std::string_view kGpt2 =
    "Radford et al., Language Models are Unsupervised Multitask Learners, 2019, table 2; batch of 512";
constexpr std::string_view kGpt3 =
    "Brown et al., Language Models are Few-Shot Learners, NeurIPS 2020, table 2.1; batch in tokens / 2048";
constexpr std::string_view kGpt3Heads =
    "Brown et al., NeurIPS 2020, table 2.1; 16 heads of 128 (the table's 24 do not divide 2048)";
constexpr std::string_view kGpt3Hidden =
    "Brown et al., NeurIPS 2020, table 2.1; hidden size 40 x 128 = 5120 (the table prints 5140)";
constexpr std::string_view kNemoGpt3 =
    "NVIDIA/NeMo-Megatron-Launcher, launcher_scripts/conf/training/gpt3/*.yaml";
constexpr std::string_view kMegatron =
    "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC'21, table 1";
constexpr std::string_view kMtNlg =
    "Smith et al., Using DeepSpeed and Megatron to Train Megatron-Turing NLG 530B, 2022, section 3";
constexpr std::string_view kNeoX = "Black et al., GPT-NeoX-20B, 2022, section 2; 3.15 million tokens a batch";
constexpr std::string_view kOpt =
    "Zhang et al., OPT: Open Pre-trained Transformer Language Models, 2022, table 1; batch in tokens / 2048";
constexpr std::string_view kBert =
    "Devlin et al., BERT, 2019, section 3 and appendix A.2; without pooler and the heads' own layer";
constexpr std::string_view kMpt =
    "MosaicML LLM Foundry, scripts/train/benchmarking and yamls/pretrain (mpt-*.yaml)";
constexpr std::string_view kLlama2 =
    "Touvron et al., Llama 2, 2023, table 1 and section 2; config.json of meta-llama/Llama-2-*-hf";
constexpr std::string_view kLlama3 =
    "Llama Team, The Llama 3 Herd of Models, 2024, tables 3 and 4; config.json of meta-llama/Llama-3*";
constexpr std::string_view kMistral = "Jiang et al., Mistral 7B, 2023, table 1";
constexpr std::string_view kMixtral =
    "Jiang et al., Mixtral of Experts, 2024, table 1; config.json of mistralai/Mixtral-8x*-v0.1";
constexpr std::string_view kQwen2 =
    "Yang et al., Qwen2 Technical Report, 2024, table 1; config.json of Qwen/Qwen2-*";
constexpr std::string_view kQwen25 =
    "Qwen Team, Qwen2.5 Technical Report, 2024, table 1; config.json of Qwen/Qwen2.5-*";
constexpr std::string_view kQwen3 =
    "Qwen Team, Qwen3 Technical Report, 2025, tables 1 and 2; config.json of Qwen/Qwen3-*";
constexpr std::string_view kDeepSeek2 =
    "DeepSeek-AI, DeepSeek-V2, 2024, section 3.1 and appendix B; config.json of deepseek-ai/DeepSeek-V2*";
constexpr std::string_view kDeepSeek3 =
    "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, section 4.2; without multi-token prediction";
constexpr std::string_view kKimi =
    "Kimi Team, Kimi K2, 2025, table 2; config.json of moonshotai/Kimi-K2-Base";
constexpr std::string_view kNemotron =
    "Nvidia, Nemotron-4 340B Technical Report, 2024, table 1; Parmar et al., Nemotron-4 15B, 2024, table 1";
constexpr std::string_view kOldNemotron =
    "NVIDIA-NeMo/Megatron-Bridge, nemotron_provider.py: Nemotron3ModelProvider8B and 22B, of 2023 and 2024";
constexpr std::string_view kGptOss =
    "OpenAI, gpt-oss-120b and gpt-oss-20b Model Card, 2025, table 1; config.json of openai/gpt-oss-*";
constexpr std::string_view kNemotron3 =
    "NVIDIA, Nemotron 3, 2025; config.json of nvidia/NVIDIA-Nemotron-3-*; without multi-token prediction";
constexpr std::string_view kNemotronH =
    "NVIDIA, Nemotron-H, arXiv:2504.03624, table 1; nemotron_h_provider.py of NVIDIA-NeMo/Megatron-Bridge";
constexpr std::string_view kGrok = "xAI, repository grok-1, README and run.py, 2024";

/// The sizes of one line of a published table.
struct Sizes {
  std::string_view name{};
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;   ///< 0: as many as heads
  std::int64_t ffn = 0;        ///< 0: 4 x hidden
  std::int64_t head_size = 0;  ///< 0: hidden / heads
  bool tied = false;
};

constexpr Dropout kNoDropout = {};

/// A model of GPT-2's architecture. `batch` 0: not published.
ZooModel gpt(std::string_view family, std::string_view source, const Sizes& sizes, std::int64_t sequence,
             std::int64_t vocabulary, std::int64_t batch) {
  return {.family = family,
          .architecture = {.name = std::string(sizes.name),
                           .num_layers = sizes.layers,
                           .hidden_size = sizes.hidden,
                           .num_heads = sizes.heads,
                           .sequence_length = sequence,
                           .vocab_size = vocabulary},
          .global_batch = batch > 0 ? batch : kUsualBatchTokens / sequence,
          .batch_is_published = batch > 0,
          .source = source};
}

/// A model of Llama's architecture. `batch` 0: not published.
ZooModel llama(std::string_view family, std::string_view source, const Sizes& sizes, std::int64_t sequence,
               std::int64_t vocabulary, std::int64_t batch = 0) {
  return {.family = family,
          .architecture = {.name = std::string(sizes.name),
                           .num_layers = sizes.layers,
                           .hidden_size = sizes.hidden,
                           .num_heads = sizes.heads,
                           .sequence_length = sequence,
                           .vocab_size = vocabulary,
                           .num_kv_heads = sizes.kv_heads,
                           .size_per_head = sizes.head_size,
                           .ffn_size = sizes.ffn,
                           .activation = Activation::SwiGlu,
                           .normalization = Normalization::RmsNorm,
                           .positions = Positions::Rotary,
                           .tied_embeddings = sizes.tied,
                           .has_bias = false,
                           .dropout = kNoDropout},
          .global_batch = batch > 0 ? batch : kUsualBatchTokens / sequence,
          .batch_is_published = batch > 0,
          .source = source};
}

void add_gpt(std::vector<ZooModel>& zoo) {
  const auto gpt2 = [&zoo](const Sizes& sizes) {
    ZooModel model = gpt("GPT-2", kGpt2, sizes, 1024, 50257, 512);
    model.architecture.dropout = {.attention = true, .hidden = true};
    zoo.push_back(model);
  };
  gpt2({"gpt2-124m", 12, 768, 12});
  gpt2({"gpt2-355m", 24, 1024, 16});
  gpt2({"gpt2-774m", 36, 1280, 20});
  gpt2({"gpt2-1.5b", 48, 1600, 25});
  const auto gpt3 = [&zoo](const Sizes& sizes, std::int64_t batch, std::string_view source = kGpt3) {
    zoo.push_back(gpt("GPT-3", source, sizes, 2048, 50257, batch));
  };
  gpt3({"gpt3-125m", 12, 768, 12}, 256);
  gpt3({"gpt3-350m", 24, 1024, 16}, 256);
  gpt3({"gpt3-760m", 24, 1536, 16}, 256);
  gpt3({"gpt3-1.3b", 24, 2048, 16}, 512, kGpt3Heads);
  gpt3({"gpt3-2.7b", 32, 2560, 32}, 512);
  gpt3({"gpt3-5b", 24, 4096, 32}, 2048, kNemoGpt3);
  gpt3({"gpt3-6.7b", 32, 4096, 32}, 1024);
  gpt3({"gpt3-13b", 40, 5120, 40}, 1024, kGpt3Hidden);
  gpt3({"gpt3-20b", 44, 6144, 48}, 2048, kNemoGpt3);
  gpt3({"gpt3-175b", 96, 12288, 96}, 1536);
  const auto megatron = [&zoo](const Sizes& sizes, std::int64_t batch) {
    zoo.push_back(gpt("Megatron", kMegatron, sizes, 2048, 51200, batch));
  };
  megatron({"megatron-1.7b", 24, 2304, 24}, 512);
  megatron({"megatron-3.6b", 30, 3072, 32}, 512);
  megatron({"megatron-7.5b", 36, 4096, 32}, 512);
  megatron({"megatron-18.4b", 40, 6144, 48}, 1024);
  megatron({"megatron-39.1b", 48, 8192, 64}, 1536);
  megatron({"megatron-76.1b", 60, 10240, 80}, 1792);
  megatron({"megatron-145.6b", 80, 12288, 96}, 2304);
  megatron({"megatron-310.1b", 96, 16384, 128}, 2160);
  megatron({"megatron-529.6b", 105, 20480, 128}, 2520);
  megatron({"megatron-1008b", 128, 25600, 160}, 3072);
  zoo.push_back(gpt("MT-NLG", kMtNlg, {"mtnlg-530b", 105, 20480, 128}, 2048, 50257, 1920));
  ZooModel neox = gpt("GPT-NeoX", kNeoX, {"gpt-neox-20b", 44, 6144, 64}, 2048, 50432, 1538);
  neox.architecture.positions = Positions::Rotary;
  neox.architecture.tied_embeddings = false;
  neox.architecture.dropout = kNoDropout;
  zoo.push_back(neox);
}

void add_opt(std::vector<ZooModel>& zoo) {
  const auto opt = [&zoo](const Sizes& sizes, std::int64_t batch) {
    ZooModel model = gpt("OPT", kOpt, sizes, 2048, 50272, batch);
    model.architecture.activation = Activation::Relu;
    model.architecture.dropout = {.attention = false, .hidden = true};
    zoo.push_back(model);
  };
  opt({"opt-125m", 12, 768, 12}, 256);
  opt({"opt-1.3b", 24, 2048, 32}, 512);
  opt({"opt-2.7b", 32, 2560, 32}, 512);
  opt({"opt-6.7b", 32, 4096, 32}, 1024);
  opt({"opt-13b", 40, 5120, 40}, 2048);
  opt({"opt-30b", 48, 7168, 56}, 2048);
  opt({"opt-66b", 64, 9216, 72}, 1024);
  opt({"opt-175b", 96, 12288, 96}, 1024);
}

void add_bert(std::vector<ZooModel>& zoo) {
  const auto bert = [&zoo](const Sizes& sizes) {
    ZooModel model = gpt("BERT", kBert, sizes, 512, 30522, 256);
    model.architecture.is_bidirectional = true;
    model.architecture.dropout = {.attention = true, .hidden = true};
    zoo.push_back(model);
  };
  bert({"bert-base", 12, 768, 12});
  bert({"bert-large", 24, 1024, 16});
}

/// Adds MPT, which has biases and learned positions in the LLM Foundry's benchmarks.
void add_mpt(std::vector<ZooModel>& zoo) {
  const auto mpt = [&zoo](const Sizes& sizes) {
    ZooModel model = gpt("MPT", kMpt, sizes, 2048, 50368, 0);
    model.architecture.dropout = kNoDropout;
    zoo.push_back(model);
  };
  mpt({"mpt-125m", 12, 768, 12});
  mpt({"mpt-350m", 24, 1024, 16});
  mpt({"mpt-760m", 24, 1536, 12});
  mpt({"mpt-1b", 24, 2048, 16});
  mpt({"mpt-3b", 32, 2560, 20});
  mpt({"mpt-7b", 32, 4096, 32});
  mpt({"mpt-13b", 40, 5120, 40});
  mpt({"mpt-30b", 48, 7168, 56});
  mpt({"mpt-70b", 80, 8192, 64});
}

void add_llama(std::vector<ZooModel>& zoo) {
  const auto llama2 = [&zoo](const Sizes& sizes) {
    zoo.push_back(llama("Llama 2", kLlama2, sizes, 4096, 32000, 1024));
  };
  llama2({"llama2-7b", 32, 4096, 32, 0, 11008});
  llama2({"llama2-13b", 40, 5120, 40, 0, 13824});
  llama2({"llama2-70b", 80, 8192, 64, 8, 28672});
  const auto llama3 = [&zoo](std::string_view family, const Sizes& sizes, std::int64_t batch = 0) {
    zoo.push_back(llama(family, kLlama3, sizes, 8192, 128256, batch));
  };
  llama3("Llama 3", {"llama3-8b", 32, 4096, 32, 8, 14336});
  llama3("Llama 3", {"llama3-70b", 80, 8192, 64, 8, 28672});
  llama3("Llama 3.1", {"llama3.1-8b", 32, 4096, 32, 8, 14336});
  llama3("Llama 3.1", {"llama3.1-70b", 80, 8192, 64, 8, 28672});
  llama3("Llama 3.1", {"llama3.1-405b", 126, 16384, 128, 8, 53248}, 2048);
  llama3("Llama 3.2", {"llama3.2-1b", 16, 2048, 32, 8, 8192, 0, true});
  llama3("Llama 3.2", {"llama3.2-3b", 28, 3072, 24, 8, 8192, 0, true});
}

void add_mistral(std::vector<ZooModel>& zoo) {
  ZooModel mistral = llama("Mistral", kMistral, {"mistral-7b", 32, 4096, 32, 8, 14336}, 8192, 32000);
  mistral.architecture.window = {.size = 4096};
  zoo.push_back(mistral);
  const auto mixtral = [&zoo](const Sizes& sizes) {
    ZooModel model = llama("Mixtral", kMixtral, sizes, 32768, 32000);
    model.architecture.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = sizes.ffn};
    zoo.push_back(model);
  };
  mixtral({"mixtral-8x7b", 32, 4096, 32, 8, 14336});
  mixtral({"mixtral-8x22b", 56, 6144, 48, 8, 16384});
}

void add_qwen(std::vector<ZooModel>& zoo) {
  const auto qwen2 = [&zoo](std::string_view family, std::string_view source, const Sizes& sizes,
                            std::int64_t vocabulary) {
    ZooModel model = llama(family, source, sizes, 4096, vocabulary);
    model.architecture.has_qkv_bias = true;
    zoo.push_back(model);
  };
  qwen2("Qwen2", kQwen2, {"qwen2-0.5b", 24, 896, 14, 2, 4864, 0, true}, 151936);
  qwen2("Qwen2", kQwen2, {"qwen2-1.5b", 28, 1536, 12, 2, 8960, 0, true}, 151936);
  qwen2("Qwen2", kQwen2, {"qwen2-7b", 28, 3584, 28, 4, 18944}, 152064);
  qwen2("Qwen2", kQwen2, {"qwen2-72b", 80, 8192, 64, 8, 29568}, 152064);
  qwen2("Qwen2.5", kQwen25, {"qwen2.5-0.5b", 24, 896, 14, 2, 4864, 0, true}, 151936);
  qwen2("Qwen2.5", kQwen25, {"qwen2.5-1.5b", 28, 1536, 12, 2, 8960, 0, true}, 151936);
  qwen2("Qwen2.5", kQwen25, {"qwen2.5-3b", 36, 2048, 16, 2, 11008, 0, true}, 151936);
  qwen2("Qwen2.5", kQwen25, {"qwen2.5-7b", 28, 3584, 28, 4, 18944}, 152064);
  qwen2("Qwen2.5", kQwen25, {"qwen2.5-14b", 48, 5120, 40, 8, 13824}, 152064);
  qwen2("Qwen2.5", kQwen25, {"qwen2.5-32b", 64, 5120, 40, 8, 27648}, 152064);
  qwen2("Qwen2.5", kQwen25, {"qwen2.5-72b", 80, 8192, 64, 8, 29568}, 152064);
  const auto qwen3 = [&zoo](const Sizes& sizes, const MixtureOfExperts& experts = {}) {
    ZooModel model = llama("Qwen3", kQwen3, sizes, 4096, 151936);
    model.architecture.has_qk_norm = true;
    model.architecture.experts = experts;
    zoo.push_back(model);
  };
  qwen3({"qwen3-0.6b", 28, 1024, 16, 8, 3072, 128, true});
  qwen3({"qwen3-1.7b", 28, 2048, 16, 8, 6144, 128, true});
  qwen3({"qwen3-4b", 36, 2560, 32, 8, 9728, 128, true});
  qwen3({"qwen3-8b", 36, 4096, 32, 8, 12288, 128});
  qwen3({"qwen3-14b", 40, 5120, 40, 8, 17408, 128});
  qwen3({"qwen3-32b", 64, 5120, 64, 8, 25600, 128});
  qwen3({"qwen3-30b-a3b", 48, 2048, 32, 4, 6144, 128},
        {.num_experts = 128, .top_k = 8, .expert_ffn_size = 768});
  qwen3({"qwen3-235b-a22b", 94, 4096, 64, 4, 12288, 128},
        {.num_experts = 128, .top_k = 8, .expert_ffn_size = 1536});
}

void add_deepseek(std::vector<ZooModel>& zoo) {
  const auto deepseek = [&zoo](ZooModel model, const MixtureOfExperts& experts,
                               std::int64_t query_rank = 1536) {
    model.architecture.experts = experts;
    model.architecture.latent = {.query_rank = query_rank,
                                 .kv_rank = 512,
                                 .plain_head_size = 128,
                                 .rotary_head_size = 64,
                                 .value_head_size = 128};
    zoo.push_back(model);
  };
  deepseek(llama("DeepSeek", kDeepSeek2, {"deepseek-v2-lite", 27, 2048, 16, 0, 10944}, 4096, 102400, 4608),
           {.num_experts = 64,
            .top_k = 6,
            .expert_ffn_size = 1408,
            .shared_ffn_size = 2816,
            .num_dense_layers = 1},
           0);
  deepseek(llama("DeepSeek", kDeepSeek2, {"deepseek-v2", 60, 5120, 128, 0, 12288}, 4096, 102400, 9216),
           {.num_experts = 160,
            .top_k = 6,
            .expert_ffn_size = 1536,
            .shared_ffn_size = 3072,
            .num_dense_layers = 1,
            .num_groups = 8,
            .groups_per_token = 3});
  deepseek(llama("DeepSeek", kDeepSeek3, {"deepseek-v3", 61, 7168, 128, 0, 18432}, 4096, 129280, 15360),
           {.num_experts = 256,
            .top_k = 8,
            .expert_ffn_size = 2048,
            .shared_ffn_size = 2048,
            .num_dense_layers = 3,
            .num_groups = 8,
            .groups_per_token = 4});
  deepseek(llama("Kimi", kKimi, {"kimi-k2", 61, 7168, 64, 0, 18432}, 4096, 163840, 16384),
           {.num_experts = 384,
            .top_k = 8,
            .expert_ffn_size = 2048,
            .shared_ffn_size = 2048,
            .num_dense_layers = 1});
}

void add_gpt_oss(std::vector<ZooModel>& zoo) {
  const auto gpt_oss = [&zoo](const Sizes& sizes, std::int64_t num_experts) {
    ZooModel model = llama("gpt-oss", kGptOss, sizes, 4096, 201088);
    model.architecture.has_bias = true;
    model.architecture.scales_rotation = true;
    model.architecture.has_attention_sinks = true;
    model.architecture.clamps_activation = true;
    model.architecture.window = {.size = 128, .full_every = 2};
    model.architecture.experts = {.num_experts = num_experts, .top_k = 4, .expert_ffn_size = sizes.ffn};
    zoo.push_back(model);
  };
  gpt_oss({"gpt-oss-20b", 24, 2880, 64, 8, 2880, 64}, 32);
  gpt_oss({"gpt-oss-120b", 36, 2880, 64, 8, 2880, 64}, 128);
}

/// Hybrids of state space, attention and experts.
void add_nemotron3(std::vector<ZooModel>& zoo) {
  const auto nemotron3 = [&zoo](const Sizes& sizes, std::string_view pattern, std::int64_t space_heads,
                                const MixtureOfExperts& experts) {
    ZooModel model = llama("Nemotron 3", kNemotron3, sizes, 8192, 131072);
    model.architecture.activation = Activation::SquaredRelu;
    model.architecture.positions = Positions::None;
    model.architecture.layer_pattern = pattern;
    model.architecture.state_space = {
        .num_heads = space_heads, .head_size = 64, .state_size = 128, .num_groups = 8};
    model.architecture.experts = experts;
    zoo.push_back(model);
  };
  nemotron3({"nemotron-3-nano", 52, 2688, 32, 2, 1856, 128},
            "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", 64,
            {.num_experts = 128, .top_k = 6, .expert_ffn_size = 1856, .shared_ffn_size = 3712});
  nemotron3({"nemotron-3-super", 88, 4096, 32, 2, 2688, 128},
            "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME", 128,
            {.num_experts = 512,
             .top_k = 22,
             .expert_ffn_size = 2688,
             .shared_ffn_size = 5376,
             .latent_size = 1024});
  nemotron3(
      {"nemotron-3-ultra", 108, 8192, 64, 2, 5120, 128},
      "MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*"
      "EMEMEMEME",
      256,
      {.num_experts = 512,
       .top_k = 22,
       .expert_ffn_size = 5120,
       .shared_ffn_size = 10240,
       .latent_size = 2048});
}

void add_others(std::vector<ZooModel>& zoo) {
  ZooModel nemotron_h =
      llama("Nemotron-H", kNemotronH, {"nemotron-h-56b", 118, 8192, 64, 8, 32768}, 8192, 131072);
  nemotron_h.architecture.activation = Activation::SquaredRelu;
  nemotron_h.architecture.positions = Positions::None;
  nemotron_h.architecture.layer_pattern =
      "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-"
      "M-M-M-M-M*-M-M-M-M-M-";
  nemotron_h.architecture.state_space = {
      .num_heads = 256, .head_size = 64, .state_size = 256, .num_groups = 8};
  zoo.push_back(nemotron_h);
  const auto nemotron = [&zoo](std::string_view family, std::string_view source, const Sizes& sizes,
                               std::int64_t batch = 0) {
    ZooModel model = llama(family, source, sizes, 4096, 256000, batch);
    model.architecture.activation = Activation::SquaredRelu;
    model.architecture.normalization = Normalization::LayerNorm;
    zoo.push_back(model);
  };
  nemotron("Nemotron", kOldNemotron, {"nemotron-8b", 32, 4096, 32, 32, 16384});
  nemotron("Nemotron", kOldNemotron, {"nemotron-22b", 40, 6144, 48, 48, 24576});
  nemotron("Nemotron-4", kNemotron, {"nemotron4-15b", 32, 6144, 48, 8, 24576}, 1152);
  nemotron("Nemotron-4", kNemotron, {"nemotron4-340b", 96, 18432, 96, 8, 73728}, 2304);
  ZooModel grok = llama("Grok", kGrok, {"grok-1", 64, 6144, 48, 8, 32768, 0, true}, 8192, 131072);
  grok.architecture.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 32768};
  zoo.push_back(grok);
}

}  // namespace

std::span<const ZooModel> model_zoo() {
  static const std::vector<ZooModel> zoo = [] {
    std::vector<ZooModel> models;
    add_bert(models);
    add_gpt(models);
    add_opt(models);
    add_mpt(models);
    add_llama(models);
    add_mistral(models);
    add_qwen(models);
    add_deepseek(models);
    add_gpt_oss(models);
    add_nemotron3(models);
    add_others(models);
    return models;
  }();
  return zoo;
}

Result<ZooModel> find_model(std::string_view name) {
  const std::span<const ZooModel> zoo = model_zoo();
  const auto found =
      std::find_if(zoo.begin(), zoo.end(), [name](const ZooModel& model) { return model.name() == name; });
  if (found != zoo.end()) return *found;
  std::vector<std::string_view> names;
  for (const ZooModel& model : zoo)
    names.push_back(model.name());
  const std::string meant = did_you_mean(name, names);
  return fail({.kind = ErrorKind::NotFound,
               .field = "model",
               .message = fmt::format(
                   "unknown model '{}'; {}", name,
                   meant.empty() ? fmt::format("`vtrain models` lists all {}", names.size()) : meant)});
}

}  // namespace vtrain
