// The memory model against published runs: what PyTorch reported, and that what ran is said to fit.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/profile/gpu_profile.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr double kGiB = 1073741824;

json read_cases() {
  std::ifstream file(VTRAIN_SHARED_DIR "/data/measured/cases.json");
  return file ? json::parse(file).at("cases") : json();
}

std::int64_t whole(const json& object, const char* key, std::int64_t absent) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return absent;
  return found->is_boolean() ? (found->get<bool>() ? 1 : 0) : found->get<std::int64_t>();
}

/// The model of a record: its own sizes, or those of the known model with its name.
std::optional<TransformerModel> model_of(const json& record) {
  const json& given = record.at("model");
  const std::string name = given.at("name");
  TransformerModel model;
  if (given.contains("hidden")) {
    model.hidden_size = given.at("hidden");
    model.num_heads = given.at("heads");
    model.num_kv_heads = given.at("kv_heads");
    model.ffn_size = given.at("ffn_hidden");
    model.vocab_size = given.at("vocab");
    const std::string activation = given.at("activation");
    if (activation == "swiglu") model.activation = Activation::SwiGlu;
    if (activation == "squared_relu") model.activation = Activation::SquaredRelu;
    if (given.at("pos") == "rope") {
      model.positions = Positions::Rotary;
      model.has_bias = false;
      model.tied_embeddings = false;
    }
  } else {
    const std::pair<const char*, const char*> known[] = {
        {"deepseekv2", "deepseek-v2"},     {"deepseekv3", "deepseek-v3"},  {"DeepSeekV3", "deepseek-v3"},
        {"Qwen3_235B", "qwen3-235b-a22b"}, {"Qwen3_30B", "qwen3-30b-a3b"}, {"Kimi", "kimi-k2"}};
    const char* found = nullptr;
    for (const auto& [prefix, zoo_name] : known) {
      if (name.starts_with(prefix)) found = zoo_name;
    }
    if (found == nullptr) return std::nullopt;
    model = find_model(found)->model();
  }
  model.name = name;
  model.num_layers = whole(given, "layers", model.num_layers);
  model.sequence_length = given.at("seq_len");
  // The reduced models of four layers have one without experts.
  if (model.has_experts() && model.num_layers == 4) model.experts.num_dense_layers = 1;
  return model;
}

/// The plan of a record, or nothing if the record is incomplete.
std::optional<ParallelPlan> plan_of(const json& record, const TransformerModel& model) {
  const json& parallel = record.at("parallel");
  const json& batch = record.at("batch");
  if (whole(parallel, "tp", 0) == 0 || whole(parallel, "dp", 0) == 0 || whole(batch, "micro_batch", 0) == 0)
    return std::nullopt;
  ParallelPlan plan{.tensor = whole(parallel, "tp", 1),
                    .data = whole(parallel, "dp", 1),
                    .pipeline = whole(parallel, "pp", 1),
                    .global_batch = whole(batch, "global_batch", 1),
                    .micro_batch = whole(batch, "micro_batch", 1)};
  plan.context = whole(parallel, "cp", 1);
  plan.virtual_stages = whole(parallel, "vp", 1);
  plan.expert = model.has_experts() ? whole(parallel, "ep", 1) : 1;
  const std::string precision = record.at("precision");
  plan.precision =
      precision.find("FP4") != std::string::npos ? Precision::Fp4
      : precision.find("FP8") != std::string::npos || precision == "fp8" || precision == "amp_fp8"
          ? Precision::Fp8
          : Precision::Bf16;
  const json& recompute = record.at("recompute");
  plan.recompute = recompute.is_string() && recompute.get<std::string>().starts_with("full")
                       ? Recompute::Full
                       : Recompute::None;
  const std::string framework = record.at("framework");
  const bool is_core = framework.starts_with("Megatron-Bridge") || framework.starts_with("NeMo 25") ||
                       framework.starts_with("Megatron-LM 23e");
  plan.sequence_parallel = is_core && plan.tensor > 1;
  const std::int64_t zero = whole(parallel, "zero", is_core ? 1 : 0);
  plan.sharding = zero == 3 || whole(parallel, "fsdp", 0) > 0 ? Sharding::Full
                  : zero == 1                                 ? Sharding::Optimizer
                                                              : Sharding::None;
  plan.ends_count_as_layers = model.num_layers % (plan.pipeline * plan.virtual_stages) != 0;
  return plan;
}

MemoryRules rules_of(const json& record) {
  const std::string framework = record.at("framework");
  if (framework.starts_with("Composer")) {
    MemoryRules rules = kFsdpEagerMemory;
    if (record.at("parallel").at("mixed_precision") == "PURE") rules.gradient_bytes = 2;
    return rules;
  }
  if (framework.starts_with("Megatron-LM 20") || framework.starts_with("DeepSpeed")) return {};
  MemoryRules rules = kMegatronCoreMemory;
  // The performance recipes reduce gradients in half precision.
  if (framework.starts_with("Megatron-Bridge") || framework.starts_with("NeMo 25")) rules.gradient_bytes = 2;
  return rules;
}

/// True for records whose memory does not belong to their plan. The recipes of Megatron-FSDP on Grace GPUs
/// move activations to the CPU. One row of the release 26.02.01 lacks its virtual stages or its
/// recomputation.
bool says_too_little(const json& record) {
  const std::string id = record.at("id");
  const std::string gpu = record.at("system").at("gpu");
  if (gpu.starts_with("GB") && whole(record.at("parallel"), "fsdp", 0) > 0) return true;
  return id.starts_with("mbridge_26.02.01_DGX-GB300_LLAMA3_70B_n64_MXFP8");
}

/// Memory that a process can allocate, bytes: that of the data sheet minus the drivers' part.
double capacity_of(const std::string& gpu) {
  const std::pair<const char*, double> known[] = {{"A100-SXM4-40GB", 42.3e9},
                                                  {"A100-SXM4-80GB", 85.0e9},
                                                  {"H100", 85.0e9},
                                                  {"B200", 191e9},
                                                  {"GB200", 197e9},
                                                  {"B300", 288e9},
                                                  {"GB300", 288e9}};
  double capacity = 0;
  for (const auto& [prefix, bytes] : known) {
    if (gpu.starts_with(prefix)) capacity = bytes;
  }
  return capacity;
}

TEST_CASE("memory_model: allocated memory of published runs") {
  const json cases = read_cases();
  if (cases.is_null()) {
    MESSAGE("skipped: ../shared/data/measured/cases.json is absent");
    return;
  }
  std::map<std::string, std::vector<double>> errors;
  const GpuProfile profile = load_gpu_profile("a100").value();
  for (const json& record : cases) {
    if (!record.at("measured").contains("mem_alloc_gib")) continue;
    const auto model = model_of(record);
    REQUIRE(model);
    const auto plan = plan_of(record, *model);
    REQUIRE(plan);
    CAPTURE(record.at("id").get<std::string>());
    REQUIRE(check_plan(*model, *plan));
    double used = 0;
    double with_fragmentation = 0;
    for (std::int64_t stage = 0; stage < plan->pipeline; ++stage) {
      const StageMemory memory = stage_memory(*model, *plan, stage, profile, rules_of(record));
      used = std::max(used, memory.used().value);
      with_fragmentation = std::max(with_fragmentation, (memory.used() + memory.fragmentation).value);
    }
    const std::string kind = model->has_experts() ? "experts" : "dense";
    const double allocated = record.at("measured").at("mem_alloc_gib");
    const double reserved = record.at("measured").at("mem_reserved_gib");
    errors[kind + ", allocated"].push_back(used / kGiB / allocated - 1);
    errors[kind + ", reserved"].push_back(with_fragmentation / kGiB / reserved - 1);
    CHECK(used / kGiB == doctest::Approx(allocated).epsilon(0.1));
  }
  for (const auto& [kind, values] : errors) {
    double sum = 0;
    double bias = 0;
    for (const double error : values) {
      sum += std::abs(error);
      bias += error;
    }
    const auto count = static_cast<double>(values.size());
    MESSAGE(kind << ": MAPE " << 100 * sum / count << " %, bias " << 100 * bias / count << " % over "
                 << values.size() << " runs");
    CHECK(100 * sum / count <= 5);
  }
}

TEST_CASE("memory_model: what ran fits") {
  const json cases = read_cases();
  if (cases.is_null()) {
    MESSAGE("skipped: ../shared/data/measured/cases.json is absent");
    return;
  }
  int num_runs = 0;
  int num_wrong = 0;
  for (const json& record : cases) {
    const auto model = model_of(record);
    const auto plan = model ? plan_of(record, *model) : std::nullopt;
    const double capacity = capacity_of(record.at("system").at("gpu"));
    if (!plan || capacity == 0 || says_too_little(record)) continue;
    CAPTURE(record.at("id").get<std::string>());
    REQUIRE(check_plan(*model, *plan));
    GpuProfile profile = load_gpu_profile("a100").value();
    profile.memory_capacity = Bytes(capacity);
    const MemoryEstimate memory = estimate_memory(*model, *plan, profile, rules_of(record));
    ++num_runs;
    if (memory.fits()) continue;
    ++num_wrong;
    MESSAGE("said not to fit: " << record.at("id").get<std::string>() << ", " << memory.peak.value / 1e9
                                << " of " << capacity / 1e9 << " GB");
  }
  MESSAGE(num_wrong << " of " << num_runs << " runs are said not to fit");
  CHECK(num_wrong <= 0.03 * num_runs);
}

}  // namespace
}  // namespace vtrain
