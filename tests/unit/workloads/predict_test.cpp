#include "workloads/predict.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/unit/workloads/release_files.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/release/release_predictor.hpp"

namespace vtrain {
namespace {

using NoteKind = TargetNote::Kind;

ParallelPlan gpt3_plan() {
  return {.tensor = 8,
          .data = 2,
          .pipeline = 4,
          .global_batch = 64,
          .micro_batch = 1,
          .recompute = Recompute::Full,
          .precision = Precision::Bf16};
}

TransformerModel gpt3() {
  return find_model("gpt3-175b")->model();
}

/// The model of `ReleaseFiles`: 6 layers of hidden size 64.
TransformerModel small_gpt() {
  return {"small", 6, 64, 4, 2048};
}

ParallelPlan small_plan() {
  return {.tensor = 2, .data = 4, .pipeline = 3, .global_batch = 16, .micro_batch = 2};
}

Target release_target(const ReleaseFiles& files) {
  const auto target =
      resolve_target({.semantics = Semantics::Release,
                      .release = {.machine = {}, .traces = files.folder(), .collectives = files.folder()}});
  REQUIRE(target);
  return *target;
}

/// All values of a prediction, exact to the bit.
std::string all_of(const Prediction& prediction) {
  const IterationTimes& times = prediction.times;
  const Breakdown& parts = times.breakdown;
  std::string text = fmt::format(
      "{} {:a} {:a} {:a} {} {:a} {:a} {:a} {:a} {:a} {:a} {:a}", name_of(prediction.semantics),
      times.iteration.count(), times.communication_end.count(), times.communication_sum.count(),
      times.slowest_stage, parts.compute.count(), parts.tensor_comm.count(), parts.pipeline_comm.count(),
      parts.data_comm.count(), parts.optimizer.count(), parts.bubble.count(), prediction.peak_rate.value);
  for (const StageTimes& stage : times.stages)
    text += fmt::format(" {:a}/{:a}", stage.end.count(), stage.compute.count());
  if (prediction.memory)
    text += fmt::format(" {:a} on {}", prediction.memory->peak.value, prediction.memory->stage);
  for (const PredictionSource& source : prediction.provenance.sources)
    text += fmt::format("\n{} {}", source.count, source.text);
  return text + fmt::format("\n{}\n{}", fmt::join(prediction.provenance.remarks, "\n"),
                            fmt::join(prediction.provenance.fallbacks.sentences(), "\n"));
}

TEST_CASE("target: without names it is the default profile with the stack of its GPU") {
  const auto target = resolve_target({});
  REQUIRE(target);
  CHECK(target->semantics == Semantics::Physical);
  CHECK(target->profile.name == kDefaultProfile);
  CHECK(target->stack.name == default_stack(target->profile).name);
  CHECK(target->stack_is_default);
  CHECK(target->calibration.empty());
  CHECK_FALSE(target->network_is_given);
  CHECK(target->notes.empty());
  CHECK(resolve_target({.profile = "h100"})->stack.name == "megatron-core");
}

TEST_CASE("target: the GPUs of a cluster name the profile, its nodes shape it") {
  const auto target = resolve_target({.gpu_type = "NVIDIA H100 80GB HBM3", .nodes = NodeShape{.gpus = 4}});
  REQUIRE(target);
  CHECK(target->profile.base_name == "h100");
  CHECK(target->profile.gpus_per_node == 4);
  REQUIRE(target->notes.size() == 1);
  CHECK(target->notes[0].kind == NoteKind::OtherNodes);
  CHECK(target->notes[0].text.starts_with("profile h100 is of nodes of 8 GPUs, the cluster's have 4: "));
  const auto other = resolve_target({.profile = "a100", .gpu_type = "h100", .nodes = NodeShape{.gpus = 8}});
  REQUIRE(other);
  REQUIRE(other->notes.size() == 1);
  CHECK(other->notes[0].kind == NoteKind::OtherGpus);
  CHECK(other->notes[0].text == "profile a100 takes the place of the cluster's h100");
}

TEST_CASE("target: GPUs without a profile are an error unless one may be assumed") {
  const auto refused = resolve_target({.gpu_type = "k80"});
  REQUIRE(!refused);
  CHECK(refused.error().field.starts_with("gpu_type"));
  const auto assumed = resolve_target({.gpu_type = "k80", .assumes_profile = true});
  REQUIRE(assumed);
  CHECK(assumed->profile.name == kDefaultProfile);
  REQUIRE(assumed->notes.size() == 1);
  CHECK(assumed->notes[0].kind == NoteKind::AssumedProfile);
  CHECK(assumed->notes[0].text.starts_with("models run on k80 as fast as on a100: "));
}

TEST_CASE("target: unknown names and constants are named by their fields") {
  CHECK(resolve_target({.profile = "h1000"}).error().field == "profile");
  CHECK(resolve_target({.profile = "h100:nvlink_domain=x"}).error().field == "profile: nvlink_domain");
  CHECK(resolve_target({.stack = "megatron-kore"}).error().field == "stack");
  const auto missing = resolve_target({.calibration = "/nonexistent/factors.json"});
  REQUIRE(!missing);
  CHECK(missing.error().file == "/nonexistent/factors.json");
  CHECK(parse_semantics("vtrain") == Semantics::Release);
  CHECK_FALSE(parse_semantics("release"));
}

TEST_CASE("target: a calibration has factors for some stacks and GPUs") {
  Calibration calibration{.file = "factors.json"};
  calibration.stacks.push_back({.stack = "megatron-core", .profile = "h100", .factors = {1.1, 1.2, 1.3}});
  const auto corrected = resolve_target({.profile = "h100", .calibration = "unread"}, calibration);
  REQUIRE(corrected);
  CHECK(corrected->stack.factors == KernelFactors{1.1, 1.2, 1.3});
  CHECK(corrected->calibration == "factors.json");
  CHECK(describe_calibration(corrected->calibration, corrected->stack) == "calibrated with factors.json");
  const auto without = resolve_target({.profile = "a100"}, calibration);
  REQUIRE(without);
  CHECK(without->stack.factors == KernelFactors{});
  CHECK(describe_calibration(without->calibration, without->stack).starts_with("not calibrated, "));
  const auto published = resolve_target(
      {.profile = "a100", .stack = "fsdp-eager", .calibration = std::string(kPublishedCalibration)});
  REQUIRE(published);
  CHECK(published->stack.factors != KernelFactors{});
}

TEST_CASE("predict: the physical semantics is that of the physical predictor") {
  const auto target = resolve_target({.profile = "a100", .node_network = BytesPerSecond(1e11)});
  REQUIRE(target);
  const auto prediction = predict(gpt3(), gpt3_plan(), *target);
  REQUIRE(prediction);
  const auto expected = predict_physical(gpt3(), gpt3_plan(), target->profile, target->stack);
  REQUIRE(expected);
  CHECK(prediction->times.iteration == fast_iteration_times(expected->work).iteration);
  CHECK(prediction->times.stages.size() == 4);
  REQUIRE(prediction->memory);
  CHECK(prediction->memory->peak == expected->memory.peak);
  CHECK(prediction->plan == gpt3_plan());
  CHECK(prediction->peak_rate == target->profile.peak_rate);
  CHECK(prediction->work.stages.size() == 4);
  const PredictionProvenance& from = prediction->provenance;
  CHECK(from.fallbacks.sentences() == expected->provenance.fallbacks.sentences());
  CHECK(from.remarks == expected->provenance.remarks);
  REQUIRE(from.sources.size() >= 4);
  CHECK(from.sources[0].kind == SourceKind::Profile);
  CHECK(from.sources[1].kind == SourceKind::Stack);
  CHECK(from.sources[2].kind == SourceKind::Collectives);
  CHECK(from.sources[3].kind == SourceKind::Network);
  CHECK(from.sources[3].text == "network of a node: 800 Gbit/s, from the configuration");
}

TEST_CASE("predict: the release's semantics is that of its own configuration") {
  const ReleaseFiles files;
  const Target target = release_target(files);
  const auto prediction = predict(small_gpt(), small_plan(), target);
  REQUIRE(prediction);
  const auto config = make_vtrain_config(small_gpt(), small_plan(), {});
  REQUIRE(config);
  const auto expected = predict_vtrain(*config, files.folder(), files.folder());
  REQUIRE(expected);
  CHECK(prediction->times.iteration == fast_iteration_times(expected->work).iteration);
  CHECK_FALSE(prediction->memory);
  CHECK(prediction->kernels);
  // As in the test of `predict_vtrain`: four collectives beyond the tables, one operator without kernels.
  CHECK(prediction->provenance.fallbacks.missing ==
        std::vector<std::string>{"4 all-reduces beyond the tables, by bandwidth",
                                 "WU_logit has no kernels in the trace and takes no time"});
  REQUIRE(prediction->provenance.sources.size() == 2);
  CHECK(prediction->provenance.sources[0].kind == SourceKind::Kernels);
  CHECK(prediction->provenance.sources[1].kind == SourceKind::Collectives);
  CHECK(prediction->provenance.sources[1].count == 0);
}

TEST_CASE("predict: the release takes the batch of a single stage as one micro-batch") {
  const ReleaseFiles files;
  ParallelPlan plan = small_plan();
  plan.pipeline = 1;
  plan.global_batch = 8;
  plan.micro_batch = 1;
  const auto prediction = predict(small_gpt(), plan, release_target(files));
  REQUIRE(prediction);
  CHECK(prediction->plan.micro_batch == 2);
}

TEST_CASE("predict: what cannot be predicted is an error of its field") {
  const auto field_of = [](const TransformerModel& model, const ParallelPlan& plan, const Target& target) {
    const auto prediction = predict(model, plan, target);
    REQUIRE(!prediction);
    CHECK(prediction.error().kind != ErrorKind::Failed);
    return prediction.error().field;
  };
  const Target physical = resolve_target({}).value();
  ParallelPlan plan = gpt3_plan();
  plan.tensor = 7;
  CHECK(field_of(gpt3(), plan, physical) == "tensor");
  CHECK(field_of(gpt3(), {}, physical) == "global_batch");
  CHECK(field_of({}, gpt3_plan(), physical) == "num_layers");
  plan = gpt3_plan();
  plan.precision = Precision::Fp8;
  CHECK(field_of(gpt3(), plan, physical) == "precision");
  CHECK(field_of(gpt3(), gpt3_plan(), {}) == "profile");

  const ReleaseFiles files;
  const Target release = release_target(files);
  plan = small_plan();
  plan.data = 0;
  CHECK(field_of(small_gpt(), plan, release) == "data_parallel_size");
  plan = small_plan();
  plan.data = 3;
  CHECK(field_of(small_gpt(), plan, release) == "global_batch_size");
  plan = small_plan();
  plan.context = 2;
  CHECK(field_of(small_gpt(), plan, release) == "plan");
  CHECK(field_of(find_model("llama3-8b")->model(), small_plan(), release) == "model");
  TransformerModel other = small_gpt();
  other.hidden_size = 128;  // no trace of it
  CHECK(predict(other, small_plan(), release).error().file.ends_with("trace_128_2_2"));
  CHECK(field_of(small_gpt(), small_plan(), resolve_target({.semantics = Semantics::Release}).value()) ==
        "trace_path");
}

TEST_CASE("predict: constants without a finite time are an error, not an exception") {
  Target target = resolve_target({}).value();
  target.profile.memory_bandwidth = BytesPerSecond(0);
  const auto prediction = predict(gpt3(), gpt3_plan(), target);
  REQUIRE(!prediction);
  CHECK(prediction.error().kind == ErrorKind::Failed);
}

TEST_CASE("predict: threads that share a target predict what one does") {
  const ReleaseFiles files;
  const std::array<Target, 2> targets = {
      resolve_target({.profile = "h100", .calibration = std::string(kPublishedCalibration)}).value(),
      release_target(files)};
  const auto predict_all = [&targets] {
    std::string text;
    for (const Schedule schedule : {Schedule::OneForwardOneBackward, Schedule::GPipe}) {
      for (const std::int64_t virtual_stages : {1, 2}) {
        if (schedule == Schedule::GPipe && virtual_stages > 1) continue;
        ParallelPlan plan = gpt3_plan();
        plan.schedule = schedule;
        plan.virtual_stages = virtual_stages;
        text += all_of(predict(gpt3(), plan, targets[0]).value());
      }
    }
    return text + all_of(predict(small_gpt(), small_plan(), targets[1]).value());
  };
  const std::string expected = predict_all();
  std::array<std::string, 2> found;
  {
    std::vector<std::jthread> threads;
    for (std::string& text : found) {
      threads.emplace_back([&text, &predict_all] {
        for (int i = 0; i < 4; ++i)
          text = predict_all();
      });
    }
  }
  for (const std::string& text : found)
    CHECK(text == expected);
}

}  // namespace
}  // namespace vtrain
