#include "workloads/jobs/job.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"

namespace vtrain {
namespace {

TEST_CASE("job: texts that are kept stay where they are, whatever their number and length") {
  Workload workload;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 5000; ++i)
    texts.push_back(std::to_string(i) + std::string(i % 97, 'x'));
  texts.push_back(std::string(200'000, 'y'));
  texts.emplace_back("short again");
  std::vector<std::string_view> kept;
  for (const std::string& text : texts)
    kept.push_back(workload.keep(text));
  CHECK(std::equal(texts.begin(), texts.end(), kept.begin()));

  const Workload moved = std::move(workload);
  CHECK(std::equal(texts.begin(), texts.end(), kept.begin()));
}

TEST_CASE("job: sorting by submission is that of the standard library, ties included") {
  RandomStream random(7);
  for (const std::size_t size : {0, 1, 2, 3, 10, 100, 1000}) {
    Workload workload;
    for (std::size_t i = 0; i < size; ++i) {
      Job job;
      job.submit = SimTime(SimDuration(static_cast<std::int64_t>(random.uniform() * 50)));
      job.num_gpus = GpuCount(static_cast<std::int32_t>(i + 1));
      workload.jobs.push_back(job);
    }
    std::vector<Job> expected = workload.jobs;
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Job& a, const Job& b) { return a.submit < b.submit; });
    workload.sort_by_submission();
    CHECK(std::equal(
        expected.begin(), expected.end(), workload.jobs.begin(), workload.jobs.end(),
        [](const Job& a, const Job& b) { return a.submit == b.submit && a.num_gpus == b.num_gpus; }));
  }
}

}  // namespace
}  // namespace vtrain
