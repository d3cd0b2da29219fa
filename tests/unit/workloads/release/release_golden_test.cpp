// Known answers of the public vTrain release, if they are at hand. They are third-party data and not part of
// the project.
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include <doctest/doctest.h>

#include "core/io/input.hpp"
#include "core/kernels/kernel_trace.hpp"
#include "workloads/iteration/graph_builder.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/release/release_predictor.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

const std::filesystem::path kShared = VTRAIN_SHARED_DIR;
const std::filesystem::path kGolden = kShared / "golden" / "vtrain";
/// Tolerance, because the release adds fractional terms in another order.
constexpr double kTolerance_ns = 1;
/// Largest graph of kernels that is built; larger graphs would only take longer.
constexpr std::int64_t kMaxKernelTasks = 100'000;

bool is_absent() {
  if (std::filesystem::exists(kGolden / "golden.json.gz")) return false;
  MESSAGE("skipped: " << kGolden.string() << " absent");
  return true;
}

json read_json(const std::filesystem::path& path) {
  const auto text = read_file(path, InputKind::KernelTrace);
  REQUIRE(text);
  return json::parse(*text);
}

/// Parses each trace and table only once, so that the test is fast.
class GoldenInputs {
 public:
  GoldenInputs() {
    for (std::int64_t num_gpus = kMinTableGpus; num_gpus <= kMaxTableGpus; ++num_gpus) {
      auto table =
          AllReduceTable::read(all_reduce_table_path(kShared / "data" / "vtrain" / "a100", num_gpus));
      REQUIRE(table);
      tables_.emplace(num_gpus, *std::move(table));
    }
  }

  std::shared_ptr<const TracedKernels> kernels(const std::string& name) {
    std::shared_ptr<const TracedKernels>& entry = traces_[name];
    if (!entry) {
      const auto text = read_file(kGolden / "traces" / name, InputKind::KernelTrace);
      REQUIRE(text);
      auto parsed = parse_kernel_trace(*text, name);
      REQUIRE(parsed);
      entry = std::make_shared<const TracedKernels>(std::move(*parsed));
    }
    return entry;
  }

  const AllReduceTables& tables() const { return tables_; }

 private:
  AllReduceTables tables_;
  std::map<std::string, std::shared_ptr<const TracedKernels>> traces_;
};

Result<VtrainConfig> config_of(const json& item) {
  json config = item.at("config");
  if (item.at("num_gpus_patched").get<bool>()) config["num_gpus"] = nullptr;
  return parse_vtrain_config(config.dump(), item.at("name").get<std::string>());
}

void check_near(Nanoseconds found, const json& expected) {
  CHECK(std::abs(found.count() - expected.get<double>()) <= kTolerance_ns);
}

void check_times(const IterationTimes& times, const json& item) {
  check_near(times.iteration, item.at("iteration_time_ns"));
  check_near(times.communication_end, item.at("comm_end_ns"));
  check_near(times.communication_sum, item.at("comm_sum_ns"));
  const json& ends = item.at("gpu_end_ns");
  REQUIRE(times.stages.size() == ends.size());
  for (std::size_t stage = 0; stage < times.stages.size(); ++stage) {
    check_near(times.stages[stage].end, ends[stage]);
    CHECK(times.stages[stage].compute.count() == item.at("gpu_compute_ns")[stage].get<double>());
  }
  const Breakdown& parts = times.breakdown;
  const Nanoseconds sum = parts.compute + parts.tensor_comm + parts.pipeline_comm + parts.data_comm +
                          parts.optimizer + parts.bubble;
  CHECK(std::abs((sum - times.iteration).count()) <= kTolerance_ns);
}

void check_work(const VtrainConfig& config, const IterationWork& work, const json& item) {
  CHECK(work.num_micro_batches == item.at("num_microbatch").get<std::int64_t>());
  CHECK(config.plan.micro_batch == item.at("effective_micro_batch").get<std::int64_t>());
  if (work.stages.size() > 1) {
    check_near(work.stages.front().chunks[0].send_forward.hold, item.at("p2p_gap_ns"));
    check_near(work.stages.back().chunks[0].send_backward.hold, item.at("p2p_gap_ns"));
    CHECK(work.stages.front().chunks[0].send_backward.hold.count() == 0);
    CHECK(work.stages.back().chunks[0].send_forward.hold.count() == 0);
  }
  for (const Operator& op : work.stages.front().chunks[0].forward) {
    if (op.kind == TaskKind::TensorComm) check_near(op.duration, item.at("tp_allreduce_ns"));
  }
  for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
    const auto& reduction = work.stages[stage].data_parallel;
    CHECK(reduction.size() == (config.plan.data > 1 ? 1 : 0));
    if (!reduction.empty()) check_near(reduction.front().duration, item.at("dp_allreduce_ns")[stage]);
  }
}

std::int64_t count_collectives(const ExecutionGraph& graph) {
  std::int64_t count = 0;
  for (TaskId task = 0; task < graph.num_tasks(); ++task)
    count += is_collective(graph[task].kind) ? 1 : 0;
  return count;
}

TEST_CASE("vtrain_golden: kernels of every trace file") {
  if (is_absent()) return;
  GoldenInputs inputs;
  const json golden = read_json(kGolden / "golden.json.gz");
  const json& files = golden.at("functions");
  CHECK(files.size() == 84);
  for (const auto& trace : files.items()) {
    const std::string file = trace.key();
    CAPTURE(file);
    const auto kernels = inputs.kernels(file);
    CHECK(kernels->size() == trace.value().size());
    for (const auto& function : trace.value().items()) {
      const std::string name = function.key();
      const json& expected = function.value();
      CAPTURE(name);
      const auto found = kernels->find(name);
      REQUIRE(found != kernels->end());
      CHECK(found->second.kernels.size() == expected.at("kernels").get<std::size_t>());
      CHECK(found->second.duration_ns() == expected.at("dur_ns").get<std::int64_t>());
      CHECK(found->second.duration_ns() + found->second.inner_gap_ns() ==
            expected.at("span_ns").get<std::int64_t>());
      CHECK(found->second.kernels.back().gap_ns == expected.at("dropped_last_gap_ns").get<std::int64_t>());
    }
  }
}

TEST_CASE("vtrain_golden: every case, by fast path, graph of operators and graph of kernels") {
  if (is_absent()) return;
  GoldenInputs inputs;
  const json golden = read_json(kGolden / "golden.json.gz");
  CHECK(golden.at("cases").size() == 263);
  int num_kernel_graphs = 0;
  for (const json& item : golden.at("cases")) {
    const auto name = item.at("name").get<std::string>();
    CAPTURE(name);
    const auto config = config_of(item);
    REQUIRE(config);
    const auto made =
        make_vtrain_work(*config, inputs.kernels(item.at("trace").get<std::string>()), inputs.tables());
    REQUIRE(made);
    check_work(*config, made->work, item);
    check_times(fast_iteration_times(made->work), item);

    const auto operators = build_graph(made->work, GraphDetail::Operators);
    REQUIRE(operators);
    CHECK(operators->num_tasks() == item.at("operator_nodes").get<std::int64_t>());
    check_times(simulated_iteration_times(made->work, *operators), item);
    if (item.at("unique_nodes").get<std::int64_t>() > kMaxKernelTasks) continue;
    ++num_kernel_graphs;
    const auto graph = build_graph(made->work, GraphDetail::Kernels);
    REQUIRE(graph);
    CHECK(graph->num_tasks() == item.at("unique_nodes").get<std::int64_t>());
    // The release lists a collective twice, on the stream of its stage and on that of communication.
    CHECK(graph->num_tasks() + count_collectives(*graph) == item.at("logged_nodes").get<std::int64_t>());
    check_times(simulated_iteration_times(made->work, *graph), item);
  }
  CHECK(num_kernel_graphs >= 50);
}

TEST_CASE("vtrain_golden: configurations without answers are predicted, and both ways agree") {
  if (is_absent()) return;
  GoldenInputs inputs;
  const json cases = read_json(kGolden / "without_answers.json.gz").at("cases");
  CHECK(cases.size() == 127);
  for (const json& item : cases) {
    const auto name = item.at("name").get<std::string>();
    CAPTURE(name);
    const auto config = config_of(item);
    REQUIRE(config);
    const auto made =
        make_vtrain_work(*config, inputs.kernels(item.at("trace").get<std::string>()), inputs.tables());
    REQUIRE(made);
    const IterationTimes fast = fast_iteration_times(made->work);
    CHECK(fast.iteration.count() > 0);
    const auto graph = build_graph(made->work, GraphDetail::Operators);
    REQUIRE(graph);
    const IterationTimes simulated = simulated_iteration_times(made->work, *graph);
    CHECK(std::abs((fast.iteration - simulated.iteration).count()) <= kTolerance_ns);
    CHECK(std::abs((fast.communication_end - simulated.communication_end).count()) <= kTolerance_ns);
    for (std::size_t stage = 0; stage < fast.stages.size(); ++stage) {
      CHECK(std::abs((fast.stages[stage].end - simulated.stages[stage].end).count()) <= kTolerance_ns);
      CHECK(fast.stages[stage].compute == simulated.stages[stage].compute);
    }
  }
}

}  // namespace
}  // namespace vtrain
