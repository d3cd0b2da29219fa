// Known answers: the counts that come with the published traces.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "tests/support/shared_data.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/trace_format.hpp"

using vtrain::have;
using vtrain::read_trace;
using vtrain::Trace;
using vtrain::TraceStatistics;

namespace {

const std::filesystem::path kShared = VTRAIN_SHARED_DIR;

struct ItpCluster {
  std::int64_t jobs;
  double span_days;
  std::array<std::int64_t, 7> by_num_gpus;  ///< number of jobs with 1, 2, 4, ... 64 GPUs
  std::array<std::int64_t, 3> percentiles;  ///< p50, p90 and p99 of durations in seconds
  std::int64_t gpu_hours;
};

// The table in the traces' README. Where its percentiles, which interpolate, are no value of the sample, the
// nearest rank stands here, counted with a separate script.
constexpr std::array<ItpCluster, 10> kItp = {{
    {1595, 33.8, {1530, 11, 6, 5, 6, 11, 26}, {8287, 29937, 55621}, 22740},
    {5778, 59.7, {4937, 102, 301, 352, 36, 36, 14}, {6178, 56639, 221652}, 123748},
    {3011, 49.3, {1014, 85, 0, 1777, 94, 24, 17}, {9856, 55108, 183760}, 165443},
    {15802, 59.5, {11924, 125, 532, 2779, 182, 254, 6}, {7949, 29003, 257715}, 705683},
    {3629, 59.3, {3465, 50, 37, 77, 0, 0, 0}, {7699, 16587, 59812}, 14303},
    {2396, 59.6, {1073, 6, 148, 1082, 59, 20, 8}, {4320, 54381, 288653}, 123879},
    {12699, 59.4, {9854, 836, 1071, 936, 2, 0, 0}, {7399, 55278, 394793}, 366800},
    {13047, 42.4, {12558, 217, 262, 1, 0, 9, 0}, {13677, 28659, 56994}, 67100},
    {11134, 52.4, {11134, 0, 0, 0, 0, 0, 0}, {11764, 23033, 26105}, 39001},
    {260, 32.8, {193, 51, 14, 0, 2, 0, 0}, {17716, 68253, 137632}, 4023},
}};

std::string itp_path(int cluster) {
  return (kShared / "data/traces/itp" /
          ("cluster" + std::string(cluster < 10 ? "0" : "") + std::to_string(cluster) + ".csv.gz"))
      .string();
}

}  // namespace

TEST_CASE("published traces: the ITP clusters have the counts of their README") {
  if (!have(kShared / "data/traces/itp")) return;
  std::int64_t jobs = 0;
  double gpu_hours = 0;
  for (int cluster = 1; cluster <= 10; ++cluster) {
    const auto trace = read_trace(itp_path(cluster));
    REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
    CHECK(trace->format == "itp");
    const TraceStatistics statistics = vtrain::trace_statistics(trace->workload);
    const ItpCluster& expected = kItp[static_cast<std::size_t>(cluster - 1)];
    CAPTURE(cluster);
    CHECK(statistics.jobs == expected.jobs);
    CHECK(std::llround(statistics.gpu_hours) == expected.gpu_hours);
    CHECK(std::llround(vtrain::to_seconds(statistics.span()) / 8640) ==
          std::llround(expected.span_days * 10));
    std::int64_t counted = 0;
    for (std::size_t i = 0; i < expected.by_num_gpus.size(); ++i) {
      const auto found = statistics.by_num_gpus.find(1 << i);
      const std::int64_t count = found == statistics.by_num_gpus.end() ? 0 : found->second.jobs;
      CHECK(count == expected.by_num_gpus[i]);
      counted += count;
    }
    CHECK(counted == statistics.jobs);
    const auto& percentiles = statistics.duration.percentiles;  // 10, 25, 50, 75, 90, 95, 99
    CHECK(percentiles[2] == std::chrono::seconds(expected.percentiles[0]));
    CHECK(percentiles[4] == std::chrono::seconds(expected.percentiles[1]));
    CHECK(percentiles[6] == std::chrono::seconds(expected.percentiles[2]));
    CHECK(statistics.duration.minimum >= std::chrono::seconds(600));
    jobs += statistics.jobs;
    gpu_hours += statistics.gpu_hours;
  }
  CHECK(jobs == 69'351);
  CHECK(std::llround(gpu_hours) == 1'632'720);
}

TEST_CASE("published traces: Philly has the counts of its README") {
  const std::filesystem::path path = kShared / "data/traces/philly/philly_reconstructed.csv.gz";
  if (!have(path)) return;
  const auto trace = read_trace(path.string());
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->format == "philly");
  const TraceStatistics statistics = vtrain::trace_statistics(trace->workload);
  CHECK(statistics.jobs == 109'570);
  CHECK(std::llround(statistics.gpu_hours) == 2'679'962);
  const std::map<std::int32_t, std::int64_t> by_num_gpus = {
      {1, 95'483}, {2, 2'469}, {4, 5'227}, {6, 1},    {7, 2},  {8, 5'361}, {12, 12},
      {16, 775},   {20, 1},    {24, 34},   {32, 194}, {48, 2}, {64, 6},    {128, 3}};
  CHECK(statistics.by_num_gpus.size() == by_num_gpus.size());
  for (const auto& [num_gpus, count] : by_num_gpus)
    CHECK(statistics.by_num_gpus.at(num_gpus).jobs == count);
  const std::map<std::string, std::int64_t> by_tenant = {
      {"6214e9", 51'258}, {"11cb48", 19'051}, {"6c71a0", 14'783}, {"b436b2", 9'032}, {"ee9e8c", 5'472},
      {"103959", 2'677},  {"0e4a51", 2'465},  {"7f04ca", 1'461},  {"ed69ec", 1'400}, {"2869ce", 956},
      {"e13805", 938},    {"51b7ef", 63},     {"23dbec", 8},      {"795a4c", 3},     {"925e2b", 3}};
  CHECK(statistics.tenants.size() == by_tenant.size());
  for (const vtrain::NamedShare& tenant : statistics.tenants) {
    CAPTURE(tenant.name);
    CHECK(by_tenant.at(tenant.name) == tenant.share.jobs);
  }
  // p95 and p99 by nearest rank, counted with a separate script; the README's interpolate.
  const std::array<int, 7> percentiles = {55, 110, 1195, 4082, 27'509, 97'131, 594'683};
  for (std::size_t i = 0; i < percentiles.size(); ++i) {
    CHECK(statistics.duration.percentiles[i] == std::chrono::seconds(percentiles[i]));
  }
  CHECK(statistics.duration.maximum == std::chrono::seconds(5'196'151));
}

TEST_CASE("published traces: the same jobs as Tiresias CSV and as Batsim JSON") {
  const std::filesystem::path csv = kShared / "golden/tiresias/syn480.csv";
  const std::filesystem::path json = kShared / "golden/batsim/syn480_over.json";
  if (!have(csv) || !have(json)) return;
  const auto tiresias = read_trace(csv.string());
  const auto batsim = read_trace(json.string());
  REQUIRE_MESSAGE(tiresias.has_value(), tiresias.error().describe());
  REQUIRE_MESSAGE(batsim.has_value(), batsim.error().describe());
  CHECK(tiresias->format == "tiresias");
  CHECK(batsim->format == "batsim");
  CHECK(batsim->num_gpus == 64);
  REQUIRE(tiresias->workload.jobs.size() == 480);
  REQUIRE(batsim->workload.jobs.size() == 480);
  for (std::size_t i = 0; i < 480; ++i) {
    const vtrain::Job& a = tiresias->workload.jobs[i];
    const vtrain::Job& b = batsim->workload.jobs[i];
    CHECK(a.name == b.name);
    CHECK(a.submit == b.submit);
    CHECK(a.duration == b.duration);
    CHECK(a.num_gpus == b.num_gpus);
    CHECK(b.requested_time > b.duration);
  }
}

TEST_CASE("published traces: Tiresias' own file of 60 jobs") {
  const std::filesystem::path path = kShared / "data/traces/tiresias/60_job.csv";
  if (!have(path)) return;
  const auto trace = read_trace(path.string());
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  REQUIRE(trace->workload.jobs.size() == 60);
  // The first row is 0,1,0,606,vgg19,164,30.
  const vtrain::Job& job = trace->workload.jobs[0];
  CHECK(job.duration == std::chrono::seconds(164));
  CHECK(job.iterations == 606);
  CHECK(trace->workload.models[job.model.value] == "vgg19");
}
