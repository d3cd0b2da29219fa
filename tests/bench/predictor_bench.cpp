// How long a prediction of the MT-NLG 530B plan takes (105 layers, tensor 8 x data 12 x pipeline 35, 160
// micro-batches), reading of files excluded. Without the kernel traces at hand the work has the same shape
// and made-up times.
#include <filesystem>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "core/graph/execution_graph.hpp"
#include "core/io/input.hpp"
#include "workloads/iteration/graph_builder.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/release/release_predictor.hpp"

namespace vtrain {
namespace {

constexpr const char* kConfig = R"({"tensor_parallel_size": 8, "data_parallel_size": 12,
  "pipeline_parallel_size": 35, "global_batch_size": 1920, "micro_batch_size": 1})";

std::shared_ptr<const TracedKernels> made_up_kernels() {
  TracedKernels table;
  std::int64_t duration = 10'000;
  for (const char* name : {"Fwd_embeddings", "Fwd_transformer", "Fwd_logit", "Fwd_loss", "Bwd_embeddings",
                           "Bwd_transformer", "Bwd_logit", "WU_embeddings", "WU_transformer"}) {
    table[name].kernels.assign(20, {duration += 37'003, 1'000});
  }
  return std::make_shared<const TracedKernels>(std::move(table));
}

struct Inputs {
  VtrainConfig config = *parse_vtrain_config(kConfig, "mtnlg.json");
  std::shared_ptr<const TracedKernels> kernels = made_up_kernels();
  AllReduceTables tables{};
};

const Inputs& inputs() {
  static const Inputs kInputs = [] {
    Inputs made;
    const std::filesystem::path shared = VTRAIN_SHARED_DIR;
    const auto text =
        read_file(shared / "golden/vtrain/traces/trace_20480_8_1", vtrain::InputKind::KernelTrace);
    auto table = AllReduceTable::read(all_reduce_table_path(shared / "data/vtrain/a100", 8));
    if (text && table) {
      made.kernels = std::make_shared<const TracedKernels>(*parse_kernel_trace(*text, "trace_20480_8_1"));
      made.tables.emplace(8, *std::move(table));
    } else {
      const std::string row = "size,time,busbw\n1073741824,8196400,229.25\n";
      made.tables.emplace(8, *AllReduceTable::parse(row, "made up"));
    }
    return made;
  }();
  return kInputs;
}

VtrainWork make_work() {
  return *make_vtrain_work(inputs().config, inputs().kernels, inputs().tables);
}

void work_from_tables(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(make_work());
}
BENCHMARK(work_from_tables)->Unit(benchmark::kMicrosecond);

void fast_path(benchmark::State& state) {
  const VtrainWork made = make_work();
  for (auto _ : state)
    benchmark::DoNotOptimize(fast_iteration_times(made.work));
}
BENCHMARK(fast_path)->Unit(benchmark::kMicrosecond);

void fast_path_with_work_from_tables(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(fast_iteration_times(make_work().work));
}
BENCHMARK(fast_path_with_work_from_tables)->Unit(benchmark::kMicrosecond);

void build_operator_graph(benchmark::State& state) {
  const VtrainWork made = make_work();
  for (auto _ : state)
    benchmark::DoNotOptimize(build_graph(made.work, GraphDetail::Operators));
}
BENCHMARK(build_operator_graph)->Unit(benchmark::kMillisecond);

void simulate_operator_graph(benchmark::State& state) {
  const VtrainWork made = make_work();
  const auto graph = build_graph(made.work, GraphDetail::Operators);
  for (auto _ : state)
    benchmark::DoNotOptimize(simulate_graph(*graph));
}
BENCHMARK(simulate_operator_graph)->Unit(benchmark::kMillisecond);

void build_and_simulate_operator_graph(benchmark::State& state) {
  const VtrainWork made = make_work();
  for (auto _ : state) {
    const auto graph = build_graph(made.work, GraphDetail::Operators);
    benchmark::DoNotOptimize(simulated_iteration_times(made.work, *graph));
    state.counters["tasks"] = graph->num_tasks();
  }
}
BENCHMARK(build_and_simulate_operator_graph)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace vtrain
