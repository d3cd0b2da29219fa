#include "traces/synthesis/shape_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMostGpus = 10'000'000;
constexpr std::size_t kMostEntries = 10'000;
constexpr double kMostWeight = 1e15;
constexpr double kMostSeconds = Seconds(kMaxTraceTime).count();
constexpr double kMostAmplitude = 0.99;

/// A list as `[a, b]`.
template <class Numbers>
std::string list_json(const Numbers& numbers) {
  std::string text;
  for (const double number : numbers)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", number);
  return "[" + text + "]";
}

/// Entries as a list, one per line, with an indent of two blanks.
template <class Entries, class Show>
std::string table_json(const Entries& entries, Show show) {
  std::string text;
  for (const auto& entry : entries)
    text += (text.empty() ? "\n    " : ",\n    ") + show(entry);
  return "[" + text + "\n  ]";
}

/// Reads the parts of one document; stops at the first error.
class ShapeReader {
 public:
  explicit ShapeReader(const JsonDocument& document) : document_(document), root_(document.root()) {}

  Result<WorkloadShape> read() {
    JsonFields top(document_, root_);
    constexpr std::array<std::string_view, 11> kKeys = {
        "vtrain_generator",   "name",      "summary", "jobs",         "arrivals", "gpus",
        "duration_fractions", "durations", "tenants", "tenant_sizes", "statuses"};
    top.allow_only(kKeys);
    top.integer("vtrain_generator", kVersion, kVersion);
    shape_.name = top.string("name");
    shape_.summary = top.string_or("summary", "");
    shape_.num_jobs = top.integer("jobs", 2, kMostShapeJobs);
    for (const auto& [key, text] : {std::pair("name", &shape_.name), std::pair("summary", &shape_.summary)}) {
      if (text->size() > kMaxNameBytes || !is_plain_text(*text))
        top.complain(key,
                     fmt::format("expected text of at most {} bytes without control characters, found '{}'",
                                 kMaxNameBytes, printable(*text).substr(0, 80)));
    }
    if (top.error()) return fail(*top.error());
    const bool read = read_arrivals() && read_gpus() && read_fractions() && read_gaps() && read_statuses() &&
                      read_durations() && read_tenants() && read_tenant_sizes();
    if (!read) return fail(error_);
    return std::move(shape_);
  }

 private:
  bool complain(const json& object, std::string_view key, std::string message) {
    error_ = document_.error_at(object, key, std::move(message));
    return false;
  }
  bool take(const JsonFields& fields) {
    if (fields.error()) error_ = *fields.error();
    return !fields.error();
  }

  /// The list under a key, null if it is no list of 1 to `kMostEntries` entries.
  const json* list(const json& object, std::string_view key) {
    const auto found = object.find(key);
    if (found == object.end()) {
      complain(object, key, "missing");
    } else if (!found->is_array() || found->empty() || found->size() > kMostEntries) {
      complain(object, key,
               fmt::format("expected a list of 1 to {} entries, found {}", with_thousands(kMostEntries),
                           found->is_array() ? with_thousands(static_cast<std::int64_t>(found->size()))
                                             : std::string(found->type_name())));
    } else {
      return &*found;
    }
    return nullptr;
  }

  /// Reads the numbers of a list, each in [low, high].
  bool numbers(const json& object, std::string_view key, double low, double high, std::vector<double>& to) {
    const json* const entries = list(object, key);
    if (entries == nullptr) return false;
    for (const json& entry : *entries) {
      const double number = entry.is_number() ? entry.get<double>() : low - 1;
      if (!(number >= low && number <= high)) {
        return complain(entry, "",
                        expected_found(fmt::format("a number from {} to {}", low, high), entry.dump()));
      }
      to.push_back(number);
    }
    return true;
  }

  bool read_arrivals() {
    if (!root_.contains("arrivals")) return complain(root_, "arrivals", "missing");
    JsonFields fields(document_, root_["arrivals"]);
    constexpr std::array<std::string_view, 6> kKeys = {"process",       "mean_gap_s", "gap_sigma",
                                                       "day_amplitude", "day_peak_s", "gap_seconds"};
    fields.allow_only(kKeys);
    const std::string process = fields.string("process");
    if (const auto arrivals = parse_arrivals(process)) {
      shape_.arrivals = *arrivals;
    } else {
      fields.complain("process", arrivals.error().message);
    }
    shape_.mean_gap = Seconds(fields.number("mean_gap_s", 0, kMostSeconds));
    shape_.gap_sigma = fields.number("gap_sigma", 0, kMostGapSigma);
    shape_.day_amplitude = fields.number("day_amplitude", 0, kMostAmplitude);
    shape_.day_peak = Seconds(fields.number("day_peak_s", 0, 86400));
    return take(fields);
  }

  bool read_gpus() {
    const json* const entries = list(root_, "gpus");
    if (entries == nullptr) return false;
    for (const json& entry : *entries) {
      JsonFields fields(document_, entry);
      constexpr std::array<std::string_view, 2> kKeys = {"num_gpus", "jobs"};
      fields.allow_only(kKeys);
      const GpuCount num_gpus(static_cast<std::int32_t>(fields.integer("num_gpus", 1, kMostGpus)));
      const double weight = fields.number("jobs", 0, kMostWeight);
      if (!take(fields)) return false;
      if (weight == 0) return complain(entry, "jobs", "expected a number of jobs above 0, found 0");
      if (!shape_.gangs.empty() && num_gpus <= shape_.gangs.back().num_gpus)
        return complain(entry, "num_gpus",
                        expected_found("ascending numbers of GPUs", std::to_string(num_gpus.value)));
      shape_.gangs.push_back({num_gpus, weight});
    }
    return true;
  }

  bool read_fractions() {
    if (!numbers(root_, "duration_fractions", 0, 1, fractions_)) return false;
    const bool ascending =
        std::adjacent_find(fractions_.begin(), fractions_.end(), std::greater_equal<>()) == fractions_.end();
    if (ascending && fractions_.size() >= 2 && fractions_.front() == 0 && fractions_.back() == 1) return true;
    return complain(root_, "duration_fractions",
                    expected_found("ascending fractions from 0 to 1", list_json(fractions_)));
  }

  bool read_gaps() {
    const json& arrivals = root_["arrivals"];
    if (!arrivals.contains("gap_seconds")) return true;
    std::vector<double>& gaps = shape_.gap_seconds;
    if (!numbers(arrivals, "gap_seconds", 0, kMostSeconds, gaps)) return false;
    if (gaps.size() == fractions_.size() && std::is_sorted(gaps.begin(), gaps.end()) && gaps.back() > 0)
      return true;
    return complain(
        arrivals, "gap_seconds",
        expected_found(
            fmt::format("{} gaps that do not descend, one a fraction, the last above 0", fractions_.size()),
            list_json(gaps)));
  }

  /// Reads rows of `width` numbers under a key.
  bool rows(const json& object, std::string_view key, std::size_t width,
            std::vector<std::vector<double>>& to) {
    const json* const entries = list(object, key);
    if (entries == nullptr) return false;
    for (const json& entry : *entries) {
      std::vector<double>& row = to.emplace_back();
      const bool fits = entry.is_array() && entry.size() == width;
      for (std::size_t i = 0; fits && i < width; ++i)
        row.push_back(entry[i].is_number() ? entry[i].get<double>() : -1);
      const bool valid = fits && std::all_of(row.begin(), row.end(), [](double number) {
                           return number >= 0 && number <= kMostWeight;
                         });
      if (!valid) {
        return complain(entry, "",
                        expected_found(fmt::format("a row of {} numbers from 0 to {}", width, kMostWeight),
                                       entry.dump()));
      }
    }
    return true;
  }

  bool read_durations() {
    const json* const entries = list(root_, "durations");
    if (entries == nullptr) return false;
    for (const json& entry : *entries) {
      JsonFields fields(document_, entry);
      constexpr std::array<std::string_view, 4> kKeys = {"most_gpus", "size_exponent", "seconds", "statuses"};
      fields.allow_only(kKeys);
      DurationQuantiles quantiles;
      quantiles.most_gpus = GpuCount(static_cast<std::int32_t>(fields.integer("most_gpus", 1, kMostGpus)));
      quantiles.size_exponent = fields.number_or("size_exponent", kLeastSizeExponent, kMostSizeExponent, 0);
      if (!take(fields)) return false;
      if (!shape_.durations.empty() && quantiles.most_gpus <= shape_.durations.back().most_gpus) {
        return complain(
            entry, "most_gpus",
            expected_found("ascending numbers of GPUs", std::to_string(quantiles.most_gpus.value)));
      }
      // The range is for run times on one GPU; the file has run times on the most GPUs.
      const double factor = std::pow(quantiles.most_gpus.value, quantiles.size_exponent);
      constexpr double kLeastSeconds = 1e-9;
      if (!numbers(entry, "seconds", kLeastSeconds * std::min(1.0, factor),
                   kMostSeconds * std::max(1.0, factor), quantiles.seconds))
        return false;
      if (quantiles.seconds.size() != fractions_.size() ||
          !std::is_sorted(quantiles.seconds.begin(), quantiles.seconds.end())) {
        return complain(
            entry, "seconds",
            expected_found(fmt::format("{} durations that do not descend, one a fraction", fractions_.size()),
                           list_json(quantiles.seconds)));
      }
      quantiles.fractions = fractions_;
      if (entry.contains("statuses")) {
        if (!rows(entry, "statuses", shape_.statuses.size(), quantiles.statuses)) return false;
        if (quantiles.statuses.size() != kRunTimeQuarters)
          return complain(entry, "statuses",
                          fmt::format("expected {} rows, one a quarter of the durations, found {}",
                                      kRunTimeQuarters, quantiles.statuses.size()));
      }
      shape_.durations.push_back(std::move(quantiles));
    }
    return true;
  }

  bool read_tenants() {
    if (!root_.contains("tenants")) return true;
    if (!numbers(root_, "tenants", 0, kMostWeight, shape_.tenants)) return false;
    const bool any = *std::max_element(shape_.tenants.begin(), shape_.tenants.end()) > 0;
    return any || complain(root_, "tenants", "expected a number of jobs above 0, found only 0");
  }

  bool read_tenant_sizes() {
    if (!root_.contains("tenant_sizes")) return true;
    std::vector<std::vector<double>>& sizes = shape_.tenant_sizes;
    if (!rows(root_, "tenant_sizes", shape_.durations.size(), sizes)) return false;
    if (sizes.size() > shape_.tenants.size()) {
      return complain(root_, "tenant_sizes",
                      fmt::format("expected at most as many rows as tenants, {}, found {}",
                                  shape_.tenants.size(), sizes.size()));
    }
    const auto rest = shape_.tenants.begin() + static_cast<std::ptrdiff_t>(sizes.size()) - 1;
    if (*std::max_element(rest, shape_.tenants.end()) <= 0)
      return complain(root_, "tenant_sizes", "expected jobs of the tenants of the last row, found none");
    for (std::size_t group = 0; group < shape_.durations.size(); ++group) {
      if (std::all_of(sizes.begin(), sizes.end(), [&](const auto& row) { return row[group] == 0; }))
        return complain(root_, "tenant_sizes",
                        fmt::format("expected jobs in each column, found none in column {}", group));
    }
    return true;
  }

  bool read_statuses() {
    if (!root_.contains("statuses")) return true;
    JsonFields fields(document_, root_["statuses"]);
    fields.allow_only(status_names());
    for (std::size_t i = 0; i < status_names().size() && !fields.error(); ++i) {
      const double weight = fields.number_or(status_names()[i], 0, kMostWeight, 0);
      if (weight > 0) shape_.statuses.push_back({static_cast<JobStatus>(i), weight});
    }
    if (!take(fields)) return false;
    return !shape_.statuses.empty() || complain(root_, "statuses", "expected a share above 0, found none");
  }

  const JsonDocument& document_;
  const json& root_;
  WorkloadShape shape_;
  std::vector<double> fractions_;
  Error error_;
};

}  // namespace

std::string shape_to_json(const WorkloadShape& shape) {
  std::string text =
      fmt::format("{{\n  \"vtrain_generator\": {},\n  \"name\": {},\n  \"summary\": {},\n  \"jobs\": {},\n",
                  kVersion, json_string(shape.name), json_string(shape.summary), shape.num_jobs);
  text += fmt::format(
      "  \"arrivals\": {{\"process\": \"{}\", \"mean_gap_s\": {}, \"gap_sigma\": {}, \"day_amplitude\": {}, "
      "\"day_peak_s\": {}",
      arrivals_names()[static_cast<std::size_t>(shape.arrivals)], shape.mean_gap.count(), shape.gap_sigma,
      shape.day_amplitude, shape.day_peak.count());
  if (!shape.gap_seconds.empty()) text += ",\n    \"gap_seconds\": " + list_json(shape.gap_seconds);
  text += "},\n";
  text += "  \"gpus\": " + table_json(shape.gangs, [](const GangWeight& gang) {
            return fmt::format("{{\"num_gpus\": {}, \"jobs\": {}}}", gang.num_gpus.value, gang.weight);
          });
  text += fmt::format(",\n  \"duration_fractions\": {},\n", list_json(shape.durations.front().fractions));
  text += "  \"durations\": " + table_json(shape.durations, [](const DurationQuantiles& quantiles) {
            std::string statuses;
            for (const std::vector<double>& weights : quantiles.statuses)
              statuses += (statuses.empty() ? "" : ", ") + list_json(weights);
            const std::string exponent = quantiles.size_exponent == 0 ? ""
                                                                      : fmt::format("\"size_exponent\": {}, ",
                                                                                    quantiles.size_exponent);
            return fmt::format("{{\"most_gpus\": {}, {}\"seconds\": {}{}}}", quantiles.most_gpus.value,
                               exponent, list_json(quantiles.seconds),
                               statuses.empty() ? "" : fmt::format(",\n     \"statuses\": [{}]", statuses));
          });
  if (!shape.tenants.empty()) text += ",\n  \"tenants\": " + list_json(shape.tenants);
  if (!shape.tenant_sizes.empty())
    text += ",\n  \"tenant_sizes\": " + table_json(shape.tenant_sizes, list_json<std::vector<double>>);
  if (!shape.statuses.empty()) {
    std::string entries;
    for (const StatusWeight& entry : shape.statuses) {
      entries +=
          fmt::format("{}\"{}\": {}", entries.empty() ? "" : ", ", status_name(entry.status), entry.weight);
    }
    text += ",\n  \"statuses\": {" + entries + "}";
  }
  return text + "\n}\n";
}

Result<WorkloadShape> parse_shape(std::string text, const std::string& file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  return ShapeReader(*document).read();
}

Result<WorkloadShape> read_shape(const std::string& path) {
  auto text = read_file(path, InputKind::Shape);
  if (!text) return fail(text.error());
  return parse_shape(*std::move(text), path);
}

}  // namespace vtrain
