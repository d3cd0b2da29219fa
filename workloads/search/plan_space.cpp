#include "workloads/search/plan_space.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/profile/gpu_profile.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

/// The divisors of a number, ascending.
std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  for (std::int64_t divisor = 1; divisor * divisor <= number; ++divisor) {
    if (number % divisor != 0) continue;
    low.push_back(divisor);
    if (divisor * divisor != number) high.push_back(number / divisor);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

/// The powers of two up to `most` that divide `number`; only 1 unless `wanted`.
std::vector<std::int64_t> powers_of_two(std::int64_t number, std::int64_t most, bool wanted) {
  std::vector<std::int64_t> powers = {1};
  while (wanted && powers.back() * 2 <= most && number % (powers.back() * 2) == 0)
    powers.push_back(powers.back() * 2);
  return powers;
}

/// Tokens of a micro-batch of several sequences: no larger one has been of use to anyone.
constexpr std::int64_t kMostTokens = 1 << 18;

/// The choices that recompute something of the model.
std::vector<Recompute> recompute_choices(const TransformerModel& model, const PlanChoices& choices) {
  std::vector<Recompute> recompute = choices.recompute;
  if (choices.latent_recompute && model.has_latent_attention()) recompute.push_back(Recompute::Selective);
  return recompute;
}

/// Collects the plans of one search.
class PlanLister {
 public:
  PlanLister(const TransformerModel& model, std::int64_t num_gpus, std::int64_t global_batch,
             const GpuProfile& profile, const PlanChoices& choices, const PlanLimits& limits)
      : model_(model),
        num_gpus_(num_gpus),
        global_batch_(global_batch),
        most_tensor_(std::max(2 * profile.gpus_per_node, profile.nvlink_domain)),
        nvlink_domain_(profile.nvlink_domain),
        choices_(choices),
        recompute_(recompute_choices(model, choices)),
        limits_(limits) {}

  std::vector<ParallelPlan> list() {
    constexpr std::int64_t kLeastTokens = 1024;
    ParallelPlan plan{.global_batch = global_batch_, .precision = choices_.precision};
    for (const std::int64_t tensor : powers_of_two(tensor_divisor(), most_tensor_, choices_.tensor)) {
      plan.tensor = tensor;
      plan.sequence_parallel = tensor > 1 && choices_.sequence_parallel;
      const std::int64_t most = model_.sequence_length / kLeastTokens;
      for (const std::int64_t context : powers_of_two(model_.sequence_length, most, choices_.context)) {
        plan.context = context;
        const bool splits_tokens = !plan.sequence_parallel || model_.sequence_length / context % tensor == 0;
        if (splits_tokens && num_gpus_ % (tensor * context) == 0) add_pipelines(plan);
      }
    }
    return std::move(plans_);
  }

 private:
  /// Number that tensor parallelism must divide, from heads of each kind, groups of a state space's heads,
  /// and columns of MLPs and shared experts.
  std::int64_t tensor_divisor() const {
    std::int64_t divisor = std::gcd(model_.num_heads, model_.kv_heads());
    if (model_.state_space.num_heads > 0) divisor = std::gcd(divisor, model_.state_space.num_groups);
    if (model_.has_experts()) divisor = std::gcd(divisor, model_.experts.shared_ffn_size);
    return std::gcd(divisor, mlp_columns(model_));
  }

  /// Adds the plans of a tensor and context degree.
  void add_pipelines(ParallelPlan& plan) {
    const std::int64_t most_experts = model_.has_experts() ? model_.experts.num_experts : 1;
    for (const std::int64_t expert :
         powers_of_two(model_.has_experts() ? most_experts : 1, most_experts, choices_.expert)) {
      plan.expert = expert;
      for (const std::int64_t pipeline : divisors_of(num_gpus_ / plan.tensor / plan.context)) {
        if (pipeline > 1 && !choices_.pipeline) break;
        plan.pipeline = pipeline;
        plan.data = num_gpus_ / plan.tensor / plan.context / pipeline;
        if (global_batch_ % plan.data == 0 && limits_.allow(plan)) add_expert_tensors(plan);
      }
    }
  }

  /// Adds the plans whose experts are whole, and those that share them as the rest of the layer is shared.
  void add_expert_tensors(ParallelPlan& plan) {
    const std::int64_t stage_gpus = plan.tensor * plan.context * plan.data;
    plan.expert_tensor = 1;
    if (stage_gpus % plan.expert == 0) add_stages(plan);
    if (!model_.has_experts() || !choices_.expert || plan.tensor == 1) return;
    const bool divides =
        model_.experts.expert_ffn_size % plan.tensor == 0 && stage_gpus % (plan.expert * plan.tensor) == 0;
    plan.expert_tensor = plan.tensor;
    if (divides) add_stages(plan);
    plan.expert_tensor = 1;
  }

  /// Adds the plans of all degrees but virtual stages: with as many layers on each stage, and with fewer on
  /// those that have the embedding and the output layer.
  void add_stages(ParallelPlan& plan) {
    if (plan.pipeline > model_.num_layers) return;
    for (const bool ends_count : {false, true}) {
      if (ends_count && (plan.pipeline == 1 || !choices_.ends_count_as_layers)) continue;
      plan.ends_count_as_layers = ends_count;
      add_virtual_stages(plan);
    }
  }

  void add_virtual_stages(ParallelPlan& plan) {
    const bool interleaves = choices_.virtual_stages && plan.pipeline > 1;
    const std::int64_t most = interleaves ? model_.num_layers / plan.pipeline : 1;
    for (plan.virtual_stages = 1; plan.virtual_stages <= most; ++plan.virtual_stages) {
      if (!splits_layers(plan)) continue;
      for (const std::int64_t micro_batch : divisors_of(global_batch_ / plan.data)) {
        if (micro_batch > 1 && micro_batch * model_.sequence_length > kMostTokens) break;
        plan.micro_batch = micro_batch;
        add_choices(plan);
      }
    }
  }

  /// True if the layers can be cut into the plan's chunks. All are equal; if the ends count as layers, the
  /// last chunk has the rest. The chunk of the embedding also has a layer.
  bool splits_layers(const ParallelPlan& plan) const {
    const std::int64_t num_chunks = plan.pipeline * plan.virtual_stages;
    if (!plan.ends_count_as_layers) return model_.num_layers % num_chunks == 0;
    // Two chunks of as many layers are those without the ends.
    if (num_chunks == 2 && model_.num_layers % 2 == 0) return false;
    const std::int64_t slots = model_.num_layers + 2;
    const std::int64_t size = (slots + num_chunks - 1) / num_chunks;
    return size >= 2 && (num_chunks - 1) * size < slots;
  }

  void add_choices(ParallelPlan& plan) {
    // Condition of `check_schedule` on virtual stages.
    if (plan.virtual_stages > 1 && plan.num_micro_batches() % plan.pipeline != 0) return;
    for (const Recompute recompute : recompute_) {
      plan.recompute = recompute;
      for (const Sharding sharding : choices_.sharding) {
        plan.sharding = sharding;
        // Alone, a replica has nothing to share.
        if (plan.data * plan.context == 1 && sharding != choices_.sharding.front()) continue;
        // With several stages the weights stay gathered either way.
        if (plan.pipeline > 1 && sharding == Sharding::Gradients) continue;
        add_sets(plan);
      }
    }
  }

  /// Adds the plans whose weights are sharded over all replicas, and over the largest sets that an NVLink
  /// domain has room for.
  void add_sets(ParallelPlan& plan) {
    plan.replicate = 1;
    add_schedules(plan);
    if (!shards_weights(plan.sharding)) return;
    const std::int64_t replicas = plan.num_replicas();
    std::int64_t set = std::min(replicas, nvlink_domain_ / plan.tensor);
    while (set > 1 && replicas % set != 0)
      --set;
    if (set <= 1 || set == replicas || set * plan.tensor % (plan.expert * plan.expert_tensor) != 0) return;
    plan.replicate = replicas / set;
    add_schedules(plan);
    plan.replicate = 1;
  }

  void add_schedules(ParallelPlan& plan) {
    for (const Schedule schedule : choices_.schedules) {
      if (schedule != choices_.schedules.front() && (plan.pipeline == 1 || plan.virtual_stages > 1)) continue;
      plan.schedule = schedule;
      plans_.push_back(plan);
    }
  }

  const TransformerModel& model_;
  std::int64_t num_gpus_;
  std::int64_t global_batch_;
  std::int64_t most_tensor_;
  std::int64_t nvlink_domain_;
  const PlanChoices& choices_;
  std::vector<Recompute> recompute_;
  const PlanLimits& limits_;
  std::vector<ParallelPlan> plans_;
};

}  // namespace

bool PlanLimits::allow(const ParallelPlan& plan) const {
  return plan.tensor == tensor.value_or(plan.tensor) && plan.context == context.value_or(plan.context) &&
         plan.pipeline == pipeline.value_or(plan.pipeline) && plan.data == data.value_or(plan.data);
}

std::vector<ParallelPlan> enumerate_plans(const TransformerModel& model, GpuCount num_gpus,
                                          std::int64_t global_batch, const GpuProfile& profile,
                                          const PlanChoices& choices, const PlanLimits& limits) {
  if (num_gpus.value < 1 || global_batch < 1) return {};
  return PlanLister(model, num_gpus.value, global_batch, profile, choices, limits).list();
}

}  // namespace vtrain
