#include "workloads/physical/stage_costs.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "tests/unit/workloads/release_a100.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/physical/memory_model.hpp"

namespace vtrain {
namespace {

TEST_CASE("stage_costs: collectives take multiprocessors and memory bandwidth, at most all") {
  const BytesPerSecond bandwidth(2e12);
  const DataParallelCost cost{.contention = 0.1, .memory_traffic = 3};
  // 200 MB arrive in 1 ms: 600 MB move, 0.3 of what memory moves in that time.
  CHECK(cost.share(Nanoseconds(1e6), Bytes(2e8), bandwidth) == doctest::Approx(0.4));
  CHECK(cost.share(Nanoseconds(1e6), Bytes(0), bandwidth) == doctest::Approx(0.1));
  CHECK(cost.share(Nanoseconds(1e6), Bytes(2e9), bandwidth) == 1);
}

TEST_CASE("stage_costs: an overlapped reduction costs the computation what it takes from it") {
  const TransformerModel model{"", 8, 1024, 16, 2048};
  Stack stack = megatron();
  ParallelPlan plan{.data = 64, .global_batch = 64, .micro_batch = 1, .precision = Precision::Fp16};
  const Nanoseconds long_pass(1e12);
  const auto reduction = [&] {
    const LayerCosts costs = layer_costs(model, layer_key(plan), a100(), stack);
    return StageCosts(model, plan, a100(), stack, costs).reduction(0, long_pass, long_pass).count();
  };
  for (const Sharding sharding : {Sharding::None, Sharding::Optimizer}) {
    plan.sharding = sharding;
    stack.gradient_bytes = 4;
    stack.overlap.data_parallel = false;
    const double all = reduction();
    stack.overlap.data_parallel = true;
    // Sums of gradients have 4 bytes like what is summed up, weights have 2. A layer's share shows in full.
    const double arriving = (sharding == Sharding::None ? 8 : 6) * stage_parameters(model, plan, 0).total();
    const double moving_ns = 3 * arriving / a100().memory_bandwidth.value * 1e9;
    CHECK(std::abs(reduction() - (all / 8 + 7.0 / 8 * (0.15 * all + moving_ns))) <= 2);
    stack.data_parallel.memory_traffic = 0;
    CHECK(std::abs(reduction() - (all / 8 + 7.0 / 8 * 0.15 * all)) <= 2);
    stack.data_parallel = {};
  }
}

TEST_CASE(
    "stage_costs: sets of replicas reduce parts of gradients once an iteration, where the optimizer spans "
    "them") {
  const TransformerModel model{"", 8, 1024, 16, 2048};
  Stack stack = *find_stack("megatron-bridge");
  stack.overlap.data_parallel = false;
  ParallelPlan plan{
      .data = 32, .global_batch = 64, .micro_batch = 1, .sharding = Sharding::Full, .replicate = 4};
  const auto reduction = [&] {
    const LayerCosts costs = layer_costs(model, layer_key(plan), a100(), stack);
    return StageCosts(model, plan, a100(), stack, costs)
        .reduction(0, Nanoseconds(1e12), Nanoseconds(1e12))
        .count();
  };
  // An eighth of the parameters between four nodes: gradients and weights of 2 bytes.
  const double part = stage_parameters(model, plan, 0).total() / 8;
  const auto time_of = [&](Collective collective) {
    return collective_time(a100(), collective, {.size = 4, .per_node = 1}, Bytes(2 * part), stack.libraries)
        .time.count();
  };
  CHECK(std::abs(reduction() - time_of(Collective::ReduceScatter) - time_of(Collective::AllGather)) <= 1);
  // Computation hides what is reduced, but no gathers of several stages.
  plan.pipeline = 2;
  const double all = reduction();
  stack.memory.shards_optimizer_over_sets = false;
  plan.replicate = 1;
  plan.data = 8;
  const double gathers = reduction();
  plan.replicate = 4;
  plan.data = 32;
  stack.memory.shards_optimizer_over_sets = true;
  stack.overlap.data_parallel = true;
  CHECK(gathers > 0);
  CHECK(all > reduction());
  CHECK(reduction() > gathers);
}

TEST_CASE(
    "stage_costs: what an optimizer updates of experts is divided by the GPUs that hold the same ones") {
  TransformerModel model{"", 4, 1024, 16, 2048};
  model.experts = {.num_experts = 16, .top_k = 2, .expert_ffn_size = 512};
  model.has_bias = false;
  model.prediction.depth = 1;
  Stack stack = *find_stack("fsdp-eager");
  stack.updates_weights = true;
  ParallelPlan plan{
      .data = 32, .global_batch = 64, .micro_batch = 1, .expert = 8, .sharding = Sharding::Optimizer};
  const auto optimizer = [&] {
    const LayerCosts costs = layer_costs(model, layer_key(plan), a100(), stack);
    return StageCosts(model, plan, a100(), stack, costs).optimizer(0);
  };
  const auto time_for = [](double parameters) {
    const Bytes traffic = a100().optimizer_traffic * parameters;
    return Nanoseconds(std::round(memory_kernel_time(a100(), MemoryKernel::Optimizer, traffic, 1).count()));
  };
  // In five layers, with that which predicts further, 16 / 8 experts of two matrices.
  const double routed = 5 * 2 * 2 * 1024 * 512.0;
  const double shared = stage_parameters(model, plan, 0).total() - routed;
  CHECK(optimizer() == time_for(shared / 32 + routed / 4));
  // Four sets of 8 replicas, each with all experts and an optimizer of its own.
  plan.expert = 1;
  plan.sharding = Sharding::Full;
  plan.replicate = 4;
  stack.memory.shards_optimizer_over_sets = false;
  CHECK(optimizer() == time_for((shared + 8 * routed) / 8));
}

TEST_CASE("stage_costs: without sequence parallelism each GPU sends all, or its part to be gathered") {
  const TransformerModel model{"", 8, 1024, 16, 2048};
  ParallelPlan plan{.tensor = 4, .pipeline = 4, .global_batch = 8, .micro_batch = 2};
  const Bytes activations(2.0 * 2 * 2048 * 1024);
  // All 16 GPUs are within one NVLink domain.
  GpuProfile profile = a100();
  profile.gpus_per_node = profile.nvlink_domain = 16;
  const auto message = [&](const Stack& stack) {
    const LayerCosts costs = layer_costs(model, layer_key(plan), profile, stack);
    const StageCosts stages(model, plan, profile, stack, costs);
    // Passes that are longer than any message.
    const Send send = stages.sends(stages.layers(0, 0), Nanoseconds(1e12), Nanoseconds(1e12)).forward;
    return send.hold + send.latency;
  };
  const auto time_of = [&](Bytes size) { return send_time(profile, true, size).time; };
  const Stack core = *find_stack("megatron-core");
  const Stack old = *find_stack("megatron-2021");
  const Bytes part(activations.value / 4);
  const Nanoseconds gather =
      collective_time(profile, Collective::AllGather, {.size = 4, .per_node = 4}, activations, old.libraries)
          .time;
  CHECK(std::abs((message(core) - time_of(activations)).count()) <= 1);
  CHECK(std::abs((message(old) - time_of(part) - gather).count()) <= 1);
  plan.sequence_parallel = true;
  CHECK(std::abs((message(core) - time_of(part)).count()) <= 1);
  CHECK(std::abs((message(old) - time_of(part)).count()) <= 1);
}

TEST_CASE("stage_costs: the GPU waits for what of the copies of a chunk is longer than its pass") {
  const TransformerModel model{"", 16, 1024, 16, 2048};
  const Stack stack = *find_stack("megatron-core");
  GpuProfile profile = a100();
  profile.host_bandwidth = BytesPerSecond(1e9);
  const ParallelPlan plan{.data = 1,
                          .pipeline = 2,
                          .global_batch = 8,
                          .micro_batch = 1,
                          .virtual_stages = 2,
                          .offloaded_layers = 4};
  const LayerCosts costs = layer_costs(model, layer_key(plan), profile, stack);
  const StageCosts stages(model, plan, profile, stack, costs);
  const double copies = offloaded_activations(model, plan, 0, stack.memory).value / 2;
  REQUIRE(copies > 1000);
  CHECK(stages.offload_wait(0, Nanoseconds(0)).count() == std::round(copies));
  CHECK(stages.offload_wait(0, Nanoseconds(1000)).count() == std::round(copies - 1000));
  CHECK(stages.offload_wait(0, Nanoseconds(2 * copies)).count() == 0);
}

TEST_CASE("stage_costs: chunks of a stage are reduced beside the passes of the others") {
  const TransformerModel model{"", 16, 1024, 16, 2048};
  Stack stack = megatron();
  stack.data_parallel.memory_traffic = 0;
  ParallelPlan plan{.data = 16, .pipeline = 4, .global_batch = 128, .micro_batch = 1, .virtual_stages = 2};
  const LayerCosts costs = layer_costs(model, layer_key(plan), a100(), stack);
  const auto reduction = [&](double backward_ns) {
    const StageCosts stages(model, plan, a100(), stack, costs);
    return stages.reduction(0, Nanoseconds(1e12), Nanoseconds(backward_ns)).count();
  };
  const double all = reduction(0);
  stack.overlap.data_parallel = true;
  const auto shown = [&](double hidden) { return all - hidden + 0.15 * hidden; };
  // Beside the reduction of the last chunk four micro-batches run through the first one: half of the stage.
  CHECK(std::abs(reduction(all / 18) - shown(0.1 * all)) <= 2);
  // The first chunk is the last to be reduced.
  CHECK(std::abs(reduction(10 * all) - shown(all / 2)) <= 2);
  plan.global_batch = 32;
  CHECK(std::abs(reduction(all / 18) - shown(0.05 * all)) <= 2);
  plan.virtual_stages = 1;
  CHECK(std::abs(reduction(all / 18) - shown(0.05 * all)) <= 2);
  CHECK(std::abs(reduction(10 * all) - shown(all - all / 4)) <= 2);
}

TEST_CASE("stage_costs: the first and the last stage sum the gradients of the embedding that both hold") {
  TransformerModel model{"", 16, 1024, 16, 2048};
  const Stack stack = megatron();
  ParallelPlan plan{.tensor = 2, .data = 4, .pipeline = 4, .global_batch = 64, .micro_batch = 1};
  const auto reductions = [&] {
    const LayerCosts costs = layer_costs(model, layer_key(plan), a100(), stack);
    const StageCosts stages(model, plan, a100(), stack, costs);
    std::vector<double> all;
    for (std::int64_t stage = 0; stage < plan.pipeline; ++stage)
      all.push_back(stages.embedding_reduction(stage).count());
    return all;
  };
  const double bytes = stack.gradient_bytes * static_cast<double>(model.vocab_size) * 1024 / 2;
  const auto between = [&](std::int64_t per_node, double parts) {
    return std::round(collective_time(a100(), Collective::AllReduce, {.size = 2, .per_node = per_node},
                                      Bytes(bytes / parts), stack.libraries)
                          .time.count());
  };
  const double across = between(1, 1);
  CHECK(across > 0);
  CHECK(reductions() == std::vector<double>{across, 0, 0, across});
  plan.data = 1;  // all stages in one node
  CHECK(reductions() == std::vector<double>{between(2, 1), 0, 0, between(2, 1)});
  CHECK(between(2, 1) < across);
  plan.data = 4;
  plan.sharding = Sharding::Full;
  CHECK(reductions().front() == between(1, 4));
  plan.sharding = Sharding::None;
  model.tied_embeddings = false;
  CHECK(reductions() == std::vector<double>(4, 0));
  model.prediction.depth = 1;  // from the embedding of the tokens after the next
  CHECK(reductions() == std::vector<double>{across, 0, 0, across});
  plan.pipeline = 1;
  CHECK(reductions() == std::vector<double>{0});
}

TEST_CASE("stage_costs: activations that leave the NVLink domain between stages take the network") {
  const TransformerModel model{"", 32, 1024, 16, 2048};
  Stack stack = megatron();
  const auto send = [&](std::int64_t data, std::int64_t pipeline, std::int64_t virtual_stages) {
    const ParallelPlan plan{.data = data,
                            .pipeline = pipeline,
                            .global_batch = 64 * data,
                            .micro_batch = 1,
                            .virtual_stages = virtual_stages};
    const LayerCosts costs = layer_costs(model, layer_key(plan), a100(), stack);
    const StageCosts stages(model, plan, a100(), stack, costs);
    const Send sent = stages.sends(stages.layers(0, 0), Nanoseconds(1e12), Nanoseconds(1e12)).forward;
    return (stack.sends_hold_stage ? sent.hold : sent.latency).count();
  };
  stack.sends_hold_stage = false;
  const double within = send(2, 4, 1);
  const double across = send(8, 4, 1);
  CHECK(across > 2 * within);
  CHECK(send(4, 2, 1) == within);
  CHECK(send(32, 2, 1) == across);
  // Of 15 links one between two nodes; of 16 with the one back to the first stage, that one too.
  CHECK(std::abs(send(1, 16, 1) - (within + (across - within) / 15)) <= 1);
  CHECK(std::abs(send(1, 16, 2) - (within + (across - within) * 2 / 16)) <= 1);
  // Stages of 7 GPUs of 8: none of the links stays within nodes for all replicas.
  CHECK(std::abs(send(7, 4, 1) - across) <= 1);
  // Who holds the stage holds it for the slowest.
  stack.sends_hold_stage = true;
  CHECK(send(1, 16, 1) == across);
  CHECK(send(2, 4, 1) == within);
}

TEST_CASE("stage_costs: a link that is busy with the message before stalls the stage") {
  const TransformerModel model{"", 32, 1024, 16, 2048};
  Stack stack = megatron();
  stack.sends_hold_stage = false;
  // Of 15 links one leaves the node.
  ParallelPlan plan{.data = 1, .pipeline = 16, .global_batch = 512, .micro_batch = 1};
  const LayerCosts costs = layer_costs(model, layer_key(plan), a100(), stack);
  const auto sends = [&](std::int64_t stage, Nanoseconds forward, Nanoseconds backward) {
    const StageCosts stages(model, plan, a100(), stack, costs);
    return stages.sends(stages.layers(stage, 0), forward, backward);
  };
  const Nanoseconds mean = sends(1, Nanoseconds(1e12), Nanoseconds(0)).forward.latency;
  stack.sends_hold_stage = true;
  const Nanoseconds slowest = sends(1, Nanoseconds(0), Nanoseconds(0)).forward.hold;
  stack.sends_hold_stage = false;
  REQUIRE(slowest > 2 * mean);
  const Nanoseconds third = slowest / 3;
  for (const std::int64_t stage : {0, 1, 15}) {
    CAPTURE(stage);
    // Both directions are busy at once, so that one of the two passes waits for both.
    const StageCosts::Sends late = sends(stage, third / 2, third / 2);
    CHECK((late.forward.stall() + late.backward.stall() - (slowest - third)).count() == doctest::Approx(0));
    CHECK(late.forward.hold.count() + late.backward.hold.count() == 0);
    CHECK(late.forward.latency.count() == 0);
    CHECK(late.backward.latency == (stage == 1 ? mean : Nanoseconds(0)));
    const StageCosts::Sends early = sends(stage, slowest / 2, slowest / 2);
    CHECK((early.forward.stall() + early.backward.stall()).count() == 0);
  }
  plan.schedule = Schedule::GPipe;
  const StageCosts::Sends apart = sends(1, third, 2 * third);
  CHECK(apart.forward.link_wait == slowest - third);
  CHECK((apart.backward.link_wait - third).count() == doctest::Approx(0));
}

}  // namespace
}  // namespace vtrain
