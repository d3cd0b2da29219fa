// What a second implementation of the physical model, in another language and from the full published tables,
// predicts: iterations and the parts of a layer. Not measurements.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "docs/measured/normalise/raw_case.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/validation/case_prediction.hpp"

namespace vtrain {
namespace {

TransformerModel llama(const char* name) {
  TransformerModel model = find_model(name)->model();
  model.sequence_length = 8192;
  return model;
}

/// Plan of Llama 3 70B on 64 H100 in fp8, Megatron-Bridge's published recipe.
ParallelPlan plan_70b() {
  return {.tensor = 4,
          .data = 2,
          .pipeline = 8,
          .global_batch = 128,
          .micro_batch = 1,
          .recompute = Recompute::None,
          .sequence_parallel = true,
          .virtual_stages = 5,
          .sharding = Sharding::Optimizer,
          .precision = Precision::Fp8};
}

/// The file of an embedded profile, changed: no rates of a power limit, conversions to 8 bits in addition to
/// the tables, and backward products as fast as forward ones.
std::filesystem::path as_second_implementation(const testing::TemporaryFolder& folder,
                                               const std::string& name) {
  const auto constant = [](const char* constant_name, int value, const char* unit) {
    return fmt::format(R"("{}": {{"value": {}, "unit": "{}", "source": "second implementation"}})",
                       constant_name, value, unit);
  };
  const std::string constants = fmt::format(
      "{}, {}, {}, {}", constant("sustained_rate", 0, "FLOP/s"), constant("sustained_rate_fp8", 0, "FLOP/s"),
      constant("conversion_traffic", 5, "B"), constant("split_accumulation_factor", 1, "1"));
  return folder.write(
      name + ".json",
      fmt::format(
          R"({{"schema": "vtrain-gpu-profile", "version": 2, "name": "{0}", "description": "", "extends": "{0}",
               "constants": {{{1}}}}})",
          name, constants));
}

GpuProfile load_profile(const std::string& name) {
  const testing::TemporaryFolder folder;
  return load_gpu_profile(as_second_implementation(folder, name).string()).value();
}

/// Megatron-Bridge as in the second implementation: gathered data have 16 bits.
Stack megatron_bridge() {
  Stack stack = find_stack("megatron-bridge").value();
  stack.gathers_converted_inputs = false;
  return stack;
}

double iteration_ms(const TransformerModel& model, const ParallelPlan& plan, const char* profile) {
  const auto predicted = predict_physical(model, plan, load_profile(profile), megatron_bridge());
  REQUIRE(predicted);
  return Seconds(fast_iteration_times(predicted->work).iteration).count() * 1e3;
}

/// Time of the operators of a pass that are communication, or of the others, ms.
double part_ms(const std::vector<Operator>& pass, bool communication) {
  double sum = 0;
  for (const Operator& op : pass) {
    if (is_collective(op.kind) == communication) sum += op.duration.count() / 1e6;
  }
  return sum;
}

TEST_CASE("physical_semantics: iterations of Llama 3 as a second implementation predicts them") {
  // It adds up 1F1B in closed form, where here the schedule is simulated, and takes products for whole that
  // are cut into pieces here: on H100 pieces of 2,048 tokens take 3 % longer.
  const double whole_ms = iteration_ms(llama("llama3-70b"), plan_70b(), "h100") / 1.03;
  CHECK(whole_ms == doctest::Approx(10'058.0).epsilon(0.01));
  ParallelPlan plan = plan_70b();
  plan.data = 4;
  plan.pipeline = 16;
  plan.virtual_stages = 4;
  plan.global_batch = 1536;
  plan.ends_count_as_layers = true;  // 126 layers and the two ends over 64 chunks
  CHECK(iteration_ms(llama("llama3.1-405b"), plan, "gb200") == doctest::Approx(57'888.2).epsilon(0.02));
}

TEST_CASE("layer_cost: parts of a layer as a second implementation computes them") {
  const TransformerModel model = llama("llama3-70b");
  const GpuProfile h100 = load_profile("h100");
  Stack stack = megatron_bridge();
  const LayerCosts overlapped = layer_costs(model, layer_key(plan_70b()), h100, stack);
  // Without overlap products are whole.
  stack.overlap.tensor = false;
  const LayerCosts costs = layer_costs(model, layer_key(plan_70b()), h100, stack);
  // Forward: products 2.795, attention 0.461, memory-bound kernels 0.535. Backward: 6.056, 1.282, 1.147.
  CHECK(part_ms(costs.layers[0].forward, false) == doctest::Approx(2.795 + 0.461 + 0.535).epsilon(0.01));
  CHECK(part_ms(costs.layers[0].backward, false) == doctest::Approx(6.056 + 1.282 + 1.147).epsilon(0.01));
  // What shows of the tensor-parallel collectives, in each pass.
  CHECK(part_ms(overlapped.layers[0].forward, true) == doctest::Approx(0.564).epsilon(0.01));
  CHECK(part_ms(overlapped.layers[0].backward, true) == doctest::Approx(0.564).epsilon(0.01));
  // Logits and loss, without the final norm; it counts 20 bytes a logit.
  stack.loss_bytes_per_logit = 20;
  const LayerCosts with_its_loss = layer_costs(model, layer_key(plan_70b()), h100, stack);
  CHECK(part_ms(with_its_loss.head.forward, false) == doctest::Approx(7.069).epsilon(0.02));
  CHECK(part_ms(with_its_loss.head.backward, false) == doctest::Approx(12.535).epsilon(0.02));
}

TEST_CASE("physical_semantics: MPT 7B on 128 H100 as a second implementation predicts it") {
  const std::filesystem::path file = VTRAIN_SHARED_DIR "/data/measured/cases.json";
  if (!std::filesystem::exists(file)) {
    MESSAGE("skipped: ", file.string(), " absent");
    return;
  }
  MeasuredCases cases = measured_cases(read_raw_cases(file).value());
  std::erase_if(cases.cases, [](const MeasuredCase& measured) {
    return measured.id != "mpt_h100_80gb_7b_s2048_n128_mb6_amp_bf16";
  });
  REQUIRE(cases.cases.size() == 1);
  const testing::TemporaryFolder folder;
  CaseTargets targets = CaseTargets::open(as_second_implementation(folder, "h100").string()).value();
  const CasePredictions predictions = predict_cases(cases, targets);
  REQUIRE(predictions.predicted.size() == 1);
  CHECK(predictions.predicted[0].predicted.count() == doctest::Approx(1.0996).epsilon(0.01));
}

}  // namespace
}  // namespace vtrain
