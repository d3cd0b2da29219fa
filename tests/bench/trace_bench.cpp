// Reading and making traces: jobs (rows) a second. Text is in memory, so that no disk is measured.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>

#include "core/io/input.hpp"
#include "tests/bench/memory_peak.hpp"
#include "tests/unit/traces/zoo_catalog.hpp"
#include "traces/formats/formats.hpp"
#include "traces/synthesis/generator.hpp"
#include "traces/trace_format.hpp"

namespace {

constexpr std::int64_t kJobs = 1'000'000;
constexpr std::size_t kPhillyJobs = 109'570;

vtrain::GeneratorOptions options() {
  vtrain::GeneratorOptions options;
  options.num_jobs = kJobs;
  options.cluster = vtrain::GpuCount(10'240);
  return options;
}

/// Jobs with every column of our CSV but the requested time.
const vtrain::Workload& workload() {
  static const vtrain::Workload jobs = *vtrain::generate_trace(
      options(),
      vtrain::testing::zoo_with([](std::string_view, std::int32_t, vtrain::GpuCount, vtrain::GpuTypeId) {
        return vtrain::Result<vtrain::Nanoseconds>(vtrain::Nanoseconds(1.234567891e9));
      }));
  return jobs;
}

/// The jobs of `workload` as an ITP file, with ids as long as a UUID.
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

/// 2017-10-01 plus the time, as logs write dates.
std::string date(vtrain::SimTime time) {
  constexpr std::int64_t kOrigin = 1'506'816'000;
  const std::time_t seconds =
      kOrigin + std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc);
  return text;
}

/// The jobs as SWF, one line per job.
std::string swf_text() {
  std::string text = "; Version: 2.2\n";
  std::size_t number = 0;
  for (const vtrain::Job& job : workload().jobs) {
    text += std::to_string(++number) + " " +
            std::to_string(job.submit.time_since_epoch().count() / 1'000'000'000) + " 60 " +
            std::to_string(job.duration.count() / 1'000'000'000 + 1) + " " +
            std::to_string(job.num_gpus.value) + " -1 -1 -1 86400 -1 1 17 4 -1 -1 -1 -1 -1\n";
  }
  return text;
}

std::string json_lines_text() {
  std::string text;
  std::size_t number = 0;
  for (const vtrain::Job& job : workload().jobs) {
    text += "{\"job_id\":\"" + std::to_string(++number) + "\",\"tenant\":\"vision\",\"submit_s\":" +
            std::to_string(job.submit.time_since_epoch().count() / 1'000'000'000) +
            ",\"num_gpus\":" + std::to_string(job.num_gpus.value) +
            ",\"duration_s\":" + std::to_string(job.duration.count() / 1'000'000'000 + 1) +
            ",\"status\":\"completed\"}\n";
  }
  return text;
}

/// A log with as many jobs as the Philly log, with one to three attempts each, indented as the published
/// file.
std::string philly_log_text() {
  std::string text = "[\n";
  for (std::size_t i = 0; i < kPhillyJobs; ++i) {
    const vtrain::Job& job = workload().jobs[i];
    text += i == 0 ? "    {\n" : ",\n    {\n";
    text +=
        "        \"status\": \"Pass\",\n        \"vc\": \"ee9e8c\",\n        \"jobid\": "
        "\"application_1506638472019_" +
        std::to_string(i) + "\",\n        \"attempts\": [";
    const std::size_t num_attempts = 1 + i % 3;
    vtrain::SimTime now = job.submit;
    for (std::size_t k = 0; k < num_attempts; ++k) {
      text +=
          std::string(k == 0 ? "" : ",") + "\n            {\n                \"start_time\": \"" + date(now);
      now += std::chrono::seconds(600);
      text += "\",\n                \"end_time\": \"" + date(now) +
              "\",\n                \"detail\": [\n                    {\n                        \"ip\": "
              "\"m47\",\n                        \"gpus\": [";
      for (int gpu = 0; gpu < std::min(job.num_gpus.value, 8); ++gpu)
        text += std::string(gpu == 0 ? "" : ",") + "\n                            \"gpu" +
                std::to_string(gpu) + "\"";
      text += "\n                        ]\n                    }\n                ]\n            }";
    }
    text += "\n        ],\n        \"submitted_time\": \"" + date(job.submit) +
            "\",\n        \"user\": \"ce2f4c\"\n    }";
  }
  return text + "\n]\n";
}

/// A Helios log in which half of the rows have no GPU, as in the published log.
std::string helios_text() {
  std::string text =
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n";
  for (std::size_t i = 0; i < workload().jobs.size(); ++i) {
    const vtrain::Job& job = workload().jobs[i];
    text += std::to_string(1'000'000 + i) + ",uXBbc,vcJkd," +
            std::to_string(i % 2 == 0 ? 0 : job.num_gpus.value) + ",4,1,COMPLETED," + date(job.submit) + "," +
            date(job.submit + std::chrono::seconds(60)) + "," +
            date(job.submit + std::chrono::seconds(4000)) + ",3940,60\n";
  }
  return text;
}

void read(benchmark::State& state, const std::string& text, std::int64_t num_rows = kJobs,
          const std::string& file = "bench") {
  vtrain::reset_peak();
  for (auto _ : state) {
    auto trace = vtrain::parse_trace(text, file);
    if (!trace) return state.SkipWithError(trace.error().describe().c_str());
    benchmark::DoNotOptimize(trace->workload.jobs.data());
  }
  state.counters["bytes_per_row"] = static_cast<double>(vtrain::peak_bytes()) / static_cast<double>(num_rows);
  state.SetItemsProcessed(state.iterations() * num_rows);
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

/// The rows of the ITP file in an order that must be sorted.
void BM_ReadItpUnsorted(benchmark::State& state) {
  std::string text = itp_text();
  const std::size_t header = text.find('\n') + 1;
  const std::size_t middle = text.find('\n', text.size() / 2) + 1;
  read(state, text.substr(0, header) + text.substr(middle) + text.substr(header, middle - header));
}
BENCHMARK(BM_ReadItpUnsorted)->Unit(benchmark::kMillisecond);

void BM_ReadSwf(benchmark::State& state) {
  read(state, swf_text());
}
BENCHMARK(BM_ReadSwf)->Unit(benchmark::kMillisecond);

void BM_ReadJsonLines(benchmark::State& state) {
  read(state, json_lines_text());
}
BENCHMARK(BM_ReadJsonLines)->Unit(benchmark::kMillisecond);

/// A Batsim file in which each job has its own profile, the most expensive case.
std::string batsim_text() {
  std::string jobs;
  std::string profiles;
  std::size_t number = 0;
  for (const vtrain::Job& job : workload().jobs) {
    const std::string end = ++number < workload().jobs.size() ? ",\n" : "\n";
    const std::string profile = "\"delay " + std::to_string(number) + "\"";
    jobs += "{\"id\": \"" + std::to_string(number) +
            "\", \"subtime\": " + std::to_string(job.submit.time_since_epoch().count() / 1'000'000'000) +
            ".5, \"res\": " + std::to_string(job.num_gpus.value) +
            ", \"walltime\": -1, \"profile\": " + profile + "}" + end;
    profiles += profile + ": {\"type\": \"delay\", \"delay\": " +
                std::to_string(job.duration.count() / 1'000'000'000 + 1) + "}" + end;
  }
  return "{\n\"nb_res\": 10240,\n\"jobs\": [\n" + jobs + "],\n\"profiles\": {\n" + profiles + "}\n}\n";
}

void BM_ReadBatsim(benchmark::State& state) {
  read(state, batsim_text());
}
BENCHMARK(BM_ReadBatsim)->Unit(benchmark::kMillisecond);

void BM_ReadPhillyLog(benchmark::State& state) {
  read(state, philly_log_text(), kPhillyJobs);
}
BENCHMARK(BM_ReadPhillyLog)->Unit(benchmark::kMillisecond);

void BM_ReadHelios(benchmark::State& state) {
  read(state, helios_text());
}
BENCHMARK(BM_ReadHelios)->Unit(benchmark::kMillisecond);

/// Benchmarks of published files, if they exist: one of each format.
[[maybe_unused]] const bool kPublished = [] {
  for (const char* const name :
       {"itp/cluster04.csv.gz", "philly/philly_reconstructed.csv.gz", "philly/philly_pollux.csv.gz",
        "alibaba-openb-2023/openb_pod_list_default.csv.gz", "elasticflow/philly_103959.csv.gz",
        "gavel/msr_seed0_6214e9.trace.gz", "chronus/trace_job_Philly_SLO.csv.gz", "muri/trace2.csv.gz",
        "shockwave/900_0.2_5_100_5_15_0-0.5-0.5_0.6-0.3-0.09-0.01_multigpu_dynamic.trace.gz",
        "tiresias/60_job.csv"}) {
    const std::string path = std::string(VTRAIN_SHARED_DIR) + "/data/traces/" + name;
    if (!std::filesystem::exists(path)) continue;
    benchmark::RegisterBenchmark((std::string("BM_ReadPublished/") + name).c_str(), [path](benchmark::State&
                                                                                               state) {
      const auto text = vtrain::read_file(path, vtrain::InputKind::Trace);
      const auto trace = vtrain::parse_trace(*text, path);
      read(state, *text, static_cast<std::int64_t>(trace->workload.jobs.size()), path);
    })->Unit(benchmark::kMillisecond);
  }
  return true;
}();

void BM_WriteVtrainCsv(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(vtrain::to_vtrain_csv(workload()));
  state.SetItemsProcessed(state.iterations() * kJobs);
}
BENCHMARK(BM_WriteVtrainCsv)->Unit(benchmark::kMillisecond);

void BM_GenerateRigid(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(vtrain::generate_trace(options(), {}));
  state.SetItemsProcessed(state.iterations() * kJobs);
}
BENCHMARK(BM_GenerateRigid)->Unit(benchmark::kMillisecond);

}  // namespace
