#include "sched/disruption/failure_rates.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace vtrain {
namespace {

constexpr double kHour = 3600;

FailureRates rates(const std::string& text, const std::string& cluster = "4x8:a100+2x4:h100") {
  const auto parsed = FailureRates::parse(text, *ClusterSpec::parse(cluster));
  if (!parsed) FAIL(parsed.error().describe());
  return *parsed;
}

template <class Draw>
double mean_of(int draws, Draw draw) {
  double sum = 0;
  for (int i = 0; i < draws; ++i)
    sum += Seconds(draw()).count();
  return sum / draws;
}

}  // namespace

TEST_CASE("failure_rates: a node fails itself or through one of its GPUs, by type") {
  const FailureRates node = rates("mtbf=100h");
  CHECK(node.mtbf_s(NodeId(0)) == doctest::Approx(100 * kHour));
  CHECK(node.mtbf_s(NodeId(5)) == doctest::Approx(100 * kHour));
  CHECK(node.detection() == std::chrono::seconds(60));
  // 1 / (1/100 + 8/400) = 33.3 h with eight GPUs, 1 / (1/100 + 4/400) = 50 h with four.
  const FailureRates both = rates("mtbf=100h,gpu-mtbf=400h");
  CHECK(both.mtbf_s(NodeId(3)) == doctest::Approx(100 * kHour / 3));
  CHECK(both.mtbf_s(NodeId(4)) == doctest::Approx(50 * kHour));
  const FailureRates typed = rates("mtbf=100h,mtbf:h100=7h,detect=0s");
  CHECK(typed.mtbf_s(NodeId(3)) == doctest::Approx(100 * kHour));
  CHECK(typed.mtbf_s(NodeId(4)) == doctest::Approx(7 * kHour));
  CHECK(typed.detection() == std::chrono::seconds(0));
  CHECK(std::isinf(rates("mtbf:h100=7h").mtbf_s(NodeId(0))));
}

TEST_CASE("failure_rates: upper and lower case of GPU types are the same") {
  const FailureRates typed = rates("mtbf=100h,mtbf:a100=7h,gpu-mtbf:H100=40h", "4x8:A100+2x4:h100");
  CHECK(typed.mtbf_s(NodeId(0)) == doctest::Approx(7 * kHour));
  // 1 / (1/100 + 4/40) = 9.09 h.
  CHECK(typed.mtbf_s(NodeId(4)) == doctest::Approx(100 * kHour / 11));
}

TEST_CASE("failure_rates: a job fails when any of its nodes does") {
  // Llama 3 (2024): 419 unexpected interruptions in 54 days on 2,048 nodes of 8 GPUs are one every 6,300 h
  // and node, and one every 3.1 h for the job.
  const FailureRates llama = rates("mtbf=6300h", "2048x8:h100");
  CHECK(llama.job_mtbf_s(GpuCount(16'384)) / kHour == doctest::Approx(3.076).epsilon(0.001));
  CHECK(llama.job_mtbf_s(GpuCount(1)) == doctest::Approx(6300 * kHour));
  CHECK(llama.job_mtbf_s(GpuCount(9)) == doctest::Approx(3150 * kHour));
}

TEST_CASE("failure_rates: draws have the means that were asked for, and the shapes") {
  for (const char* shape : {"1", "0.7", "3"}) {
    CAPTURE(shape);
    const FailureRates weibull = rates(std::string("mtbf=100h,shape=") + shape);
    RandomStream random(1, "up times");
    // The standard error of 40,000 draws is below 1 % for these shapes.
    const double mean = mean_of(40'000, [&] { return weibull.draw_up_time(NodeId(0), random); });
    CHECK(mean == doctest::Approx(100 * kHour).epsilon(0.03));
  }
  const FailureRates repair = rates("mtbf=100h,repair=4h");
  RandomStream random(2, "repairs");
  CHECK(mean_of(100'000, [&] { return repair.draw_repair_time(random); }) ==
        doctest::Approx(4 * kHour).epsilon(0.03));
  // The median of a lognormal is exp(mu), here 4 h / sqrt(e).
  std::vector<double> times;
  for (int i = 0; i < 20'001; ++i)
    times.push_back(Seconds(repair.draw_repair_time(random)).count());
  std::nth_element(times.begin(), times.begin() + 10'000, times.end());
  CHECK(times[10'000] == doctest::Approx(4 * kHour / std::sqrt(std::exp(1.0))).epsilon(0.03));
  const FailureRates fixed = rates("mtbf=100h,repair=4h,repair-sigma=0");
  CHECK(Seconds(fixed.draw_repair_time(random)).count() == doctest::Approx(4 * kHour));
}

TEST_CASE("failure_rates: a wrong setting is an error that says what is there") {
  const ClusterSpec cluster = *ClusterSpec::parse("4x8:a100");
  const std::vector<std::pair<std::string, std::string>> wrong = {{"", "mtbf"},
                                                                  {"repair=4h", "mtbf"},
                                                                  {"mtbf", "key=value"},
                                                                  {"mtbf=", "duration"},
                                                                  {"mtbf=12", "duration"},
                                                                  {"mtbf=10s", "at least 60s"},
                                                                  {"mtbf=-4h", "duration"},
                                                                  {"mtbf=5h,sharp=1", "shape"},
                                                                  {"mtbf:h100=5h", "'h100'"},
                                                                  {"mtbf:=5h", "mtbf:: expected a GPU type"},
                                                                  {"mtbf:a100=5h,mtbf:A100=6h", "twice"},
                                                                  {"mtbf=5h,shape=0", "0.1"},
                                                                  {"mtbf=5h,repair-sigma=9", "5"},
                                                                  {"mtbf=5h,repair=0s", "at least 1s"}};
  for (const auto& text_and_message : wrong) {
    const std::string& text = text_and_message.first;
    CAPTURE(text);
    const auto parsed = FailureRates::parse(text, cluster);
    REQUIRE_FALSE(parsed);
    CAPTURE(parsed.error().describe());
    CHECK(parsed.error().describe().find(text_and_message.second) != std::string::npos);
  }
}

}  // namespace vtrain
