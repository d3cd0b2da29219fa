#include "profiler/attribution.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

namespace vtrain::profiler {
namespace {

KernelRecord kernel(std::int64_t start, std::int64_t end, std::uint32_t correlation, std::string name = "k",
                    std::uint32_t stream = 7) {
  return {start, end, correlation, stream, std::move(name)};
}

TEST_CASE("attribution: records out of order, the range known only after the kernel") {
  Activity activity;
  activity.kernels = {kernel(300, 310, 12, "c"), kernel(100, 110, 10, "a"), kernel(200, 210, 11, "b")};
  activity.ranges = {{12, 2}, {11, 1}, {10, 1}};
  const Attribution found = attribute(activity);
  REQUIRE(found.ranges.size() == 2);
  REQUIRE(found.ranges.at(1).size() == 2);
  CHECK(found.ranges.at(1)[0].name == "a");
  CHECK(found.ranges.at(1)[1].name == "b");
  REQUIRE(found.ranges.at(2).size() == 1);
  CHECK(found.ranges.at(2)[0].name == "c");
}

TEST_CASE("attribution: a kernel belongs to the range of its launch, whenever it runs") {
  // The launch of range 1 runs on a slow stream and ends after range 2's kernel.
  Activity activity;
  activity.kernels = {kernel(500, 900, 1, "late", 8), kernel(400, 450, 2, "early", 9)};
  activity.ranges = {{1, 1}, {2, 2}};
  const Attribution found = attribute(activity);
  CHECK(found.ranges.at(1)[0].name == "late");
  CHECK(found.ranges.at(2)[0].name == "early");
}

TEST_CASE("attribution: kernels outside every range are left out") {
  Activity activity;
  activity.kernels = {kernel(1, 2, 5), kernel(3, 4, 6)};
  activity.ranges = {{6, 1}};
  const Attribution found = attribute(activity);
  REQUIRE(found.ranges.size() == 1);
  REQUIRE(found.ranges.at(1).size() == 1);
  CHECK(found.ranges.at(1)[0].start_ns == 3);
}

TEST_CASE("attribution: all kernels of a graph share the id of its launch") {
  Activity activity;
  activity.kernels = {kernel(20, 30, 9, "second", 2), kernel(10, 18, 9, "first", 1),
                      kernel(10, 25, 9, "beside", 2)};
  activity.ranges = {{9, 4}};
  const auto kernels = attribute(activity).ranges.at(4);
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0].name == "first");  // equal starts: the one that ends first
  CHECK(kernels[1].name == "beside");
  CHECK(kernels[2].name == "second");
}

TEST_CASE("attribution: the inner of two ranges counts") {
  Activity activity;
  activity.kernels = {kernel(1, 2, 3)};
  activity.ranges = {{3, 8}, {3, 5}};
  CHECK(attribute(activity).ranges.count(8) == 1);
  CHECK(attribute(activity).ranges.count(5) == 0);
}

/// Three repetitions of a kernel of 100 ns and one of 20 ns, with a gap of 5 ns. Gaps of 10, 20 and 30 ns
/// follow the repetitions.
Activity three_repetitions() {
  Activity activity;
  std::int64_t now = 0;
  for (std::uint32_t i = 1; i <= 3; ++i) {
    activity.kernels.push_back(kernel(now, now + 100, 2 * i, "gemm"));
    activity.kernels.push_back(kernel(now + 105, now + 125, 2 * i + 1, "bias"));
    activity.ranges.push_back({2 * i, i});
    activity.ranges.push_back({2 * i + 1, i});
    now += 125 + 10 * i;
  }
  return activity;
}

TEST_CASE("summarize: durations, gaps and spread of repetitions") {
  const auto warm = summarize(attribute(three_repetitions()), 1, 3, true);
  REQUIRE(warm);
  CHECK(warm->repetitions == 3);
  CHECK(warm->time_ns == 125);
  CHECK(warm->low_ns == 125);
  CHECK(warm->high_ns == 125);
  REQUIRE(warm->kernels.size() == 2);
  CHECK(warm->kernels[0].name == "gemm");
  CHECK(warm->kernels[0].duration_ns == 100);
  CHECK(warm->kernels[0].gap_ns == 5);
  CHECK(warm->kernels[1].duration_ns == 20);
  CHECK(warm->kernels[1].gap_ns == 15);  // median of 10 and 20; nothing follows the third
  const auto cold = summarize(attribute(three_repetitions()), 1, 3, false);
  REQUIRE(cold);
  CHECK(!cold->kernels[1].gap_ns);
  CHECK(cold->kernels[0].gap_ns == 5);
}

TEST_CASE("summarize: kernels on two streams overlap, so that gaps are negative and time is not their sum") {
  Activity activity;
  activity.kernels = {kernel(0, 100, 1, "a", 1), kernel(40, 70, 2, "b", 2)};
  activity.ranges = {{1, 1}, {2, 1}};
  const auto measured = summarize(attribute(activity), 1, 1, false);
  REQUIRE(measured);
  CHECK(measured->time_ns == 100);  // the first kernel ends last
  CHECK(measured->kernels[0].gap_ns == -60);
}

TEST_CASE("summarize: a repetition that lost a kernel does not count") {
  Activity activity = three_repetitions();
  activity.kernels.erase(activity.kernels.begin() + 3);  // the second one's bias
  const auto measured = summarize(attribute(activity), 1, 3, true);
  REQUIRE(measured);
  CHECK(measured->repetitions == 2);
  CHECK(measured->kernels.size() == 2);
  CHECK(!measured->kernels[1].gap_ns);  // no two whole repetitions follow each other
}

TEST_CASE("summarize: one odd kernel choice does not count, lost range records neither") {
  Activity activity = three_repetitions();
  activity.kernels[0].name = "gemm_other";
  CHECK(summarize(attribute(activity), 1, 3, true)->repetitions == 2);
  activity = three_repetitions();
  activity.ranges.erase(activity.ranges.begin(), activity.ranges.begin() + 2);
  CHECK(summarize(attribute(activity), 1, 3, true)->repetitions == 2);
}

TEST_CASE("summarize: nothing if more than half of the repetitions are lost") {
  Activity activity = three_repetitions();
  activity.kernels.resize(2);
  CHECK(!summarize(attribute(activity), 1, 3, true));
  CHECK(!summarize({}, 1, 3, true));
}

TEST_CASE("attribution: quantiles are linear between ranks") {
  // numpy.percentile([1, 2, 3, 4, 10], [10, 50, 90]): ranks 0.4, 2, 3.6.
  const Spread spread = spread_of({10, 4, 1, 3, 2});
  CHECK(spread.low == doctest::Approx(1.4));
  CHECK(spread.median == 3);
  CHECK(spread.high == doctest::Approx(7.6));
  CHECK(quantile({5, 7}, 0.5) == 6);
  CHECK(quantile({5}, 0.9) == 5);
  CHECK_THROWS_AS(quantile({}, 0.5), std::logic_error);
}

}  // namespace
}  // namespace vtrain::profiler
