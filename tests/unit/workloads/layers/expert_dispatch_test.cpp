#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <doctest/doctest.h>

#include "core/profile/gpu_profile.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/stack/kernel_cost.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

const GpuProfile& h100() {
  static const GpuProfile profile = load_gpu_profile("h100").value();
  return profile;
}

/// A model with 1,024 tokens of 2,048 columns and 64 experts in 8 groups; a token goes to 3 groups.
TransformerModel grouped_model() {
  TransformerModel model{"", 2, 2048, 16, 1024};
  model.experts = {
      .num_experts = 64, .top_k = 6, .expert_ffn_size = 512, .num_groups = 8, .groups_per_token = 3};
  REQUIRE(check_model(model));
  return model;
}

/// Mean number of `num_places` that a token goes to, over all choices of groups, with experts drawn one by
/// one.
double places_hit(const MixtureOfExperts& experts, std::int64_t num_places) {
  const auto groups = static_cast<unsigned>(experts.num_groups);
  const std::int64_t in_group = experts.num_experts / experts.num_groups;
  double sum = 0;
  int num_choices = 0;
  for (std::uint32_t choice = 0; choice < 1U << groups; ++choice) {
    if (std::popcount(choice) != experts.groups_per_token) continue;
    ++num_choices;
    for (std::int64_t place = 0; place < num_places; ++place) {
      int here = 0;
      int in_reach = 0;
      for (std::int64_t expert = 0; expert < experts.num_experts; ++expert) {
        if ((choice >> (expert / in_group) & 1U) == 0) continue;
        ++in_reach;
        if (expert * num_places / experts.num_experts == place) ++here;
      }
      sum += 1 - std::pow(1 - static_cast<double>(here) / in_reach, static_cast<double>(experts.top_k));
    }
  }
  return sum / num_choices;
}

double dispatch_ns(const TransformerModel& model, std::int64_t expert) {
  Stack stack = find_stack("megatron-core").value();
  stack.dispatch = TokenDispatch::OnePerGpu;
  const LayerCosts costs =
      layer_costs(model, {.expert = expert, .micro_batch = 1, .precision = Precision::Bf16}, h100(), stack);
  for (const Operator& op : costs.layers[1].forward) {
    if (op.name == "dispatch") return op.duration.count();
  }
  return 0;
}

TEST_CASE("expert_dispatch: copies go to the GPUs and nodes that a token's groups are on") {
  TransformerModel model = grouped_model();
  for (const auto& chosen : {std::pair{8, 3}, {8, 8}, {1, 1}, {16, 2}, {2, 1}}) {
    model.experts.num_groups = chosen.first;
    model.experts.groups_per_token = chosen.second;
    for (const std::int64_t gpus : {2, 4, 8, 16, 32, 64}) {
      CAPTURE(chosen.first);
      CAPTURE(chosen.second);
      CAPTURE(gpus);
      const double token_bytes = 1'024.0 * 2 * 2'048;
      const std::int64_t in_node = std::min<std::int64_t>(gpus, 8);
      double expected =
          collective_time(h100(), Collective::AllToAll, {.size = in_node, .per_node = 8},
                          Bytes(token_bytes * places_hit(model.experts, gpus)), Libraries::Current)
              .time.count();
      if (gpus > 8) {
        const std::int64_t nodes = gpus / 8;
        const double others = static_cast<double>(nodes - 1) / static_cast<double>(nodes);
        expected += send_time(h100(), false, Bytes(token_bytes * places_hit(model.experts, nodes) * others))
                        .time.count();
      }
      CHECK(dispatch_ns(model, gpus) == std::round(expected));
    }
  }
}

TEST_CASE("expert_dispatch: gathers of weights do not hide behind dispatches over the same links") {
  const TransformerModel model = grouped_model();
  const auto forward = [&](std::int64_t expert, double contention) {
    Stack stack = find_stack("fsdp-eager").value();
    stack.data_parallel = {.contention = contention, .memory_traffic = 0};
    GpuProfile profile = h100();
    profile.node_network_bandwidth = BytesPerSecond(1e9);  // so that gathers are longer than all else
    const LayerKey key{
        .expert = expert, .micro_batch = 1, .is_sharded = true, .replicas = 64, .precision = Precision::Bf16};
    return layer_costs(model, key, profile, stack).layers[1].forward;
  };
  // Weights are sharded across nodes, experts across nodes or within.
  for (const std::int64_t expert : {32, 8}) {
    CAPTURE(expert);
    double gather = 0;
    double cover = 0;
    for (const Operator& op : forward(expert, 1)) {
      if (op.name == "weight_gather") {
        gather = op.duration.count();
      } else if (expert == 8 || (op.name != "dispatch" && op.name != "combine")) {
        cover += op.duration.count() + op.gap.count();
      }
    }
    const Operator shown = forward(expert, 0).back();
    REQUIRE(shown.name == "weight_gather");
    CHECK(shown.duration.count() == doctest::Approx(gather - cover).epsilon(1e-9));
  }
}

TEST_CASE("expert_dispatch: sizes that do not go together are errors") {
  const auto field_of_error = [](auto change) {
    TransformerModel model = grouped_model();
    change(model.experts);
    const auto checked = check_model(model);
    REQUIRE(!checked);
    return checked.error().field;
  };
  CHECK(field_of_error([](MixtureOfExperts& e) { e.num_groups = 0; }) == "experts.num_groups");
  CHECK(field_of_error([](MixtureOfExperts& e) { e.num_groups = 7; }) == "experts.num_groups");
  CHECK(field_of_error([](MixtureOfExperts& e) { e.num_groups = 1024; }) == "experts.num_groups");
  CHECK(field_of_error([](MixtureOfExperts& e) { e.groups_per_token = 9; }) == "experts.groups_per_token");
  // Three groups of eight experts.
  CHECK(field_of_error([](MixtureOfExperts& e) { e.top_k = 25; }) == "experts.top_k");
}

}  // namespace
}  // namespace vtrain
