#include "tools/serve/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vtrain::serve {
namespace {

std::string_view name_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::Counter:
      return "counter";
    case MetricKind::Gauge:
      return "gauge";
    case MetricKind::Histogram:
      break;
  }
  return "histogram";
}

std::string in_braces(const std::string& labels) {
  return labels.empty() ? labels : "{" + labels + "}";
}

}  // namespace

std::string label(std::string_view name, std::string_view value) {
  std::string text = fmt::format("{}=\"", name);
  for (const char letter : value) {
    if (letter == '\n') {
      text += "\\n";
      continue;
    }
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + '"';
}

Metrics::Series& Metrics::series(const MetricFamily& family, const std::string& labels) {
  return families_.try_emplace(family.name, Family{family, {}}).first->second.series[labels];
}

void Metrics::count(const MetricFamily& family, const std::string& labels, double by) {
  const std::lock_guard lock(mutex_);
  series(family, labels).value += by;
}

void Metrics::observe(const MetricFamily& family, const std::string& labels, double seconds) {
  const std::lock_guard lock(mutex_);
  Series& to = series(family, labels);
  to.value += seconds;
  ++to.observations;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (seconds <= kBounds[i]) ++to.buckets[i];
  }
}

void Metrics::watch(const MetricFamily& family, const std::string& labels, std::function<double()> read) {
  const std::lock_guard lock(mutex_);
  series(family, labels).read = std::move(read);
}

void Metrics::before_text(std::function<void()> prepare) {
  const std::lock_guard lock(mutex_);
  prepare_ = std::move(prepare);
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  if (prepare_) prepare_();
  std::string text;
  for (const auto& [name, family] : families_) {
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, family.meaning.help, name,
                        name_of(family.meaning.kind));
    for (const auto& [labels, series] : family.series) {
      if (family.meaning.kind != MetricKind::Histogram) {
        text += fmt::format("{}{} {}\n", name, in_braces(labels), series.read ? series.read() : series.value);
        continue;
      }
      const std::string before = labels.empty() ? "" : labels + ",";
      for (std::size_t i = 0; i < kBounds.size(); ++i)
        text += fmt::format("{}_bucket{{{}le=\"{}\"}} {}\n", name, before, kBounds[i], series.buckets[i]);
      text += fmt::format("{}_bucket{{{}le=\"+Inf\"}} {}\n", name, before, series.observations);
      text += fmt::format("{}_sum{} {}\n", name, in_braces(labels), series.value);
      text += fmt::format("{}_count{} {}\n", name, in_braces(labels), series.observations);
    }
  }
  return text;
}

}  // namespace vtrain::serve
