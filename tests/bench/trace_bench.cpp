// Reading and making traces: jobs (rows) a second. Text is in memory, so that no disk is measured.
#include <benchmark/benchmark.h>

#include <string>

#include "traces/trace_format.hpp"
#include "traces/trace_generator.hpp"
#include "traces/vtrain_csv.hpp"

namespace {

constexpr std::int64_t kJobs = 1'000'000;

vtrain::GeneratorOptions options() {
  vtrain::GeneratorOptions options;
  options.num_jobs = kJobs;
  options.cluster = vtrain::GpuCount(10'240);
  return options;
}

/// Jobs with every column of our CSV but the requested time.
const vtrain::Workload& workload() {
  static const vtrain::Workload jobs =
      *vtrain::generate_trace(options(), [](std::string_view, std::int32_t, vtrain::GpuCount) {
        return vtrain::Result<vtrain::Nanoseconds>(vtrain::Nanoseconds(1.234567891e9));
      });
  return jobs;
}

/// The same jobs as an ITP file, with ids as long as a UUID.
std::string itp_text() {
  std::string text = "job_id,submission_time,duration,num_gpu\n";
  std::size_t number = 0;
  for (const vtrain::Job& job : workload().jobs) {
    std::string id = std::to_string(number++ * 0x9e3779b97f4a7c15u);
    id.resize(36, '-');
    text += id + "," + std::to_string(job.submit.time_since_epoch().count() / 1'000'000'000) + "," +
            std::to_string(job.duration.count() / 1'000'000'000) + "," + std::to_string(job.num_gpus.value) +
            "\n";
  }
  return text;
}

void read(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    auto trace = vtrain::parse_trace(text, "bench");
    if (!trace) return state.SkipWithError(trace.error().describe().c_str());
    benchmark::DoNotOptimize(trace->workload.jobs.data());
  }
  state.SetItemsProcessed(state.iterations() * kJobs);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void BM_ReadVtrainCsv(benchmark::State& state) {
  read(state, vtrain::to_vtrain_csv(workload()));
}
BENCHMARK(BM_ReadVtrainCsv)->Unit(benchmark::kMillisecond);

void BM_ReadItp(benchmark::State& state) {
  read(state, itp_text());
}
BENCHMARK(BM_ReadItp)->Unit(benchmark::kMillisecond);

void BM_WriteVtrainCsv(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(vtrain::to_vtrain_csv(workload()));
  state.SetItemsProcessed(state.iterations() * kJobs);
}
BENCHMARK(BM_WriteVtrainCsv)->Unit(benchmark::kMillisecond);

void BM_GenerateRigid(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(vtrain::generate_trace(options(), nullptr));
  state.SetItemsProcessed(state.iterations() * kJobs);
}
BENCHMARK(BM_GenerateRigid)->Unit(benchmark::kMillisecond);

}  // namespace
