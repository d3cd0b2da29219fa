#include "sched/metrics/metric_table.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string_view>

#include "sched/metrics/metrics.hpp"

namespace vtrain {
namespace {

TEST_CASE("metric_table: every row has a key or a title, and one value") {
  std::set<std::string_view> keys;
  for (const Metric& metric : run_metrics()) {
    CAPTURE(metric.key);
    CAPTURE(metric.title);
    CHECK((!metric.key.empty() || !metric.title.empty()));
    CHECK(metric.title.empty() == metric.meaning.empty());
    CHECK((metric.short_title.empty() || !metric.title.empty()));
    const bool has_one = (metric.of_jobs == nullptr) != (metric.of_run == nullptr);
    CHECK(has_one);
    if (!metric.key.empty()) CHECK(keys.insert(metric.key).second);
    const bool is_time = metric.unit == MetricUnit::Duration || metric.unit == MetricUnit::Period;
    CHECK(metric.key.ends_with("_s") == is_time);
  }
  for (const Metric& metric : loss_metrics()) {
    CAPTURE(metric.title);
    CHECK_FALSE(metric.title.empty());
    const bool has_value = metric.of_run != nullptr;
    CHECK(has_value);
  }
}

TEST_CASE("metric_table: counts over no jobs are 0, all else does not exist") {
  const Summary nothing;
  for (const Metric& metric : run_metrics()) {
    CAPTURE(metric.key);
    const bool is_counted = metric.unit == MetricUnit::Count || metric.unit == MetricUnit::Flag;
    if (is_counted)
      CHECK(metric.value(nothing) == 0);
    else
      CHECK(std::isnan(metric.value(nothing)));
  }
  for (const Metric& metric : loss_metrics())
    CHECK(std::isnan(metric.value(nothing)));
}

}  // namespace
}  // namespace vtrain
