/// Counters, gauges and histograms in Prometheus' text format (version 0.0.4).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace vtrain::serve {

/// Labels of a series as the text has them: `route="/v1/predict",code="200"`; values are escaped by
/// `label`.
std::string label(std::string_view name, std::string_view value);

/// Kinds of metrics.
enum class MetricKind { Counter, Gauge, Histogram };

/// Name, kind and meaning of a metric.
struct MetricFamily {
  std::string_view name;                  ///< `vtrain_http_requests_total`
  MetricKind kind = MetricKind::Counter;  ///< kind of its series
  std::string_view help;                  ///< sentence
};

/// The values of all metrics. Threads may share it.
class Metrics {
 public:
  /// Adds to a counter. A family or series that is new begins at 0.
  void count(const MetricFamily& family, const std::string& labels = {}, double by = 1);
  /// Adds a duration in seconds to a histogram.
  void observe(const MetricFamily& family, const std::string& labels, double seconds);
  /// Has a gauge, or a counter that something else keeps, read for each text. `read` may be called by any
  /// thread.
  void watch(const MetricFamily& family, const std::string& labels, std::function<double()> read);

  /// Has something done before each text, such as a count that several gauges read. Other functions of this
  /// class must not be called there.
  void before_text(std::function<void()> prepare);

  /// All metrics, families in the order of their names.
  std::string text() const;

 private:
  /// Upper bounds of buckets in seconds: 100 us to a minute.
  static constexpr std::array<double, 12> kBounds = {0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                     0.05,   0.1,    0.5,   1,      10,    60};
  struct Series {
    double value = 0;                                     ///< count, or the sum of a histogram
    std::array<std::uint64_t, kBounds.size()> buckets{};  ///< observations up to each bound
    std::uint64_t observations = 0;
    std::function<double()> read{};  ///< function that replaces `value`; empty for none
  };
  struct Family {
    MetricFamily meaning;
    std::map<std::string, Series> series;
  };

  Series& series(const MetricFamily& family, const std::string& labels);

  mutable std::mutex mutex_;
  std::map<std::string_view, Family> families_;
  std::function<void()> prepare_{};  ///< empty: nothing
};

}  // namespace vtrain::serve
