#include "policies/list/ordered_jobs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.hpp"

namespace vtrain {

TEST_CASE("ordered_jobs: keys are compared member by member, then the stamps") {
  const ListedJob first{{1, 9, 9}, 9, JobId(0), GpuCount(1)};
  const ListedJob second{{2, 0, 9}, 9, JobId(1), GpuCount(1)};
  const ListedJob third{{2, 1, 0}, 9, JobId(2), GpuCount(1)};
  const ListedJob fourth{{2, 1, 1}, 0, JobId(3), GpuCount(1)};
  const ListedJob fifth{{2, 1, 1}, 1, JobId(4), GpuCount(1)};
  CHECK(first < second);
  CHECK(second < third);
  CHECK(third < fourth);
  CHECK(fourth < fifth);
  CHECK_FALSE(fifth < fourth);
}

TEST_CASE("ordered_jobs: equals a sorted list under random insertions, searches and removals") {
  RandomStream random(5, "ordered_jobs");
  constexpr std::uint32_t kKinds = 3;
  OrderedJobs jobs(kKinds);
  std::vector<ListedJob> list;
  std::int64_t stamp = 0;
  for (int round = 0; round < 6000; ++round) {
    // Swells to about a thousand jobs, so that blocks split, and empties again, so that they merge.
    const bool swell = round / 1500 % 2 == 0;
    if (list.empty() || random.below(6) < (swell ? 5u : 1u)) {
      const ListedJob job{
          {static_cast<std::int64_t>(random.below(30)), static_cast<std::int64_t>(random.below(3)), 0},
          random.below(2) == 0 ? ++stamp : -++stamp,
          JobId(static_cast<std::uint32_t>(round)),
          GpuCount(static_cast<std::int32_t>(1 + random.below(64))),
          static_cast<std::uint32_t>(random.below(kKinds))};
      jobs.insert(job);
      list.insert(std::upper_bound(list.begin(), list.end(), job), job);
    } else {
      const std::size_t which = random.below(list.size());
      jobs.erase(list[which]);
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(which));
    }
    REQUIRE(jobs.empty() == list.empty());
    if (round % 20 != 0) continue;
    std::vector<GpuCount> limits;
    for (std::uint32_t kind = 0; kind < kKinds; ++kind)
      limits.emplace_back(static_cast<std::int32_t>(random.below(65)));
    // No sizes, some, or all but a few.
    OrderedJobs::Sizes without = 0;
    for (std::int32_t size = 1; size <= 64; ++size) {
      if (random.below(20) < static_cast<std::uint64_t>(round / 20 % 3) * 9)
        without |= OrderedJobs::size(GpuCount(size));
    }
    auto position = jobs.first_fitting({}, limits, without);
    for (const ListedJob& job : list) {
      const bool left_out = job.num_gpus.value < 63 && (without >> job.num_gpus.value & 1) != 0;
      if (left_out || job.num_gpus > limits[job.kind]) continue;
      REQUIRE(position);
      REQUIRE(jobs.at(*position).job == job.job);
      ++position->index;
      position = jobs.first_fitting(*position, limits, without);
    }
    REQUIRE_FALSE(position);
  }
}

}  // namespace vtrain
