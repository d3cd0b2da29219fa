#include "traces/synthesis/shape_json.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "traces/synthesis/generator.hpp"

using namespace vtrain;

namespace {

const std::string kSmall = R"({
  "vtrain_generator": 1,
  "name": "small",
  "jobs": 300,
  "arrivals": {"process": "bursty", "mean_gap_s": 60, "gap_sigma": 1.5, "day_amplitude": 0.25, "day_peak_s": 3600},
  "gpus": [
    {"num_gpus": 1, "jobs": 200},
    {"num_gpus": 8, "jobs": 100}
  ],
  "duration_fractions": [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1],
  "durations": [
    {"most_gpus": 8, "seconds": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5]}
  ],
  "tenants": [250, 50],
  "statuses": {"completed": 0.9, "failed": 0.1}
}
)";

std::string replaced(const std::string& what, const std::string& by) {
  std::string text = kSmall;
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

std::string error_of(const std::string& text) {
  const auto shape = parse_shape(text, "g.json");
  return shape ? "no error" : shape.error().describe();
}

}  // namespace

TEST_CASE("shape_json: what is written is read back") {
  for (const WorkloadShape& shape : workload_shapes()) {
    const std::string text = shape_to_json(shape);
    const auto again = parse_shape(text, "g.json");
    REQUIRE_MESSAGE(again.has_value(), again.error().describe());
    CHECK(shape_to_json(*again) == text);
    CHECK(again->gangs.size() == shape.gangs.size());
    CHECK(again->durations.back().seconds == shape.durations.back().seconds);
    CHECK(again->statuses == shape.statuses);
    CHECK(again->gap_sigma == shape.gap_sigma);
  }
}

TEST_CASE("shape_json: every part is read") {
  const auto shape = parse_shape(kSmall, "g.json");
  REQUIRE_MESSAGE(shape.has_value(), shape.error().describe());
  CHECK(shape->name == "small");
  CHECK(shape->num_jobs == 300);
  CHECK(shape->arrivals == Arrivals::Bursty);
  CHECK(shape->mean_gap == Seconds(60));
  CHECK(shape->day_amplitude == 0.25);
  CHECK(shape->day_peak == Seconds(3600));
  CHECK(shape->gangs[1].num_gpus == GpuCount(8));
  CHECK(shape->durations_of(GpuCount(1)).seconds.back() == 12.5);
  CHECK(shape->tenants == std::vector<double>{250, 50});
  CHECK(shape->statuses == std::vector<StatusWeight>{{JobStatus::Completed, 0.9}, {JobStatus::Failed, 0.1}});
}

TEST_CASE("shape_json: an error names the file, the line, the key, what was expected and what was found") {
  CHECK(error_of(replaced("\"vtrain_generator\": 1", "\"vtrain_generator\": 2")) ==
        "g.json:2: vtrain_generator: expected 1, found '2'");
  CHECK(error_of(replaced("\"jobs\": 300", "\"jobs\": -3"))
            .starts_with("g.json:4: jobs: expected a whole number"));
  CHECK(error_of(replaced("bursty", "poisson")) ==
        "g.json:5: arrivals.process: expected one of 'stationary', 'diurnal' and 'bursty', found 'poisson'");
  CHECK(error_of(replaced("0.25, \"day_peak_s\"", "1.25, \"day_peak_s\"")) ==
        "g.json:5: arrivals.day_amplitude: expected a number from 0 to 0.99, found '1.25'");
  CHECK(error_of(replaced("\"gap_sigma\"", "\"gap_sigmas\"")) ==
        "g.json:5: arrivals.gap_sigmas: unknown key; did you mean 'gap_sigma'?");
  CHECK(error_of(replaced("\"num_gpus\": 8", "\"num_gpus\": 1")) ==
        "g.json:8: gpus[1].num_gpus: expected ascending numbers of GPUs, found '1'");
  CHECK(error_of(replaced("\"num_gpus\": 8", "\"num_gpus\": \"8\""))
            .starts_with("g.json:8: gpus[1].num_gpus: expected a"));
  CHECK(error_of(replaced("\"jobs\": 100", "\"jobs\": 0")) ==
        "g.json:8: gpus[1].jobs: expected a number of jobs above 0, found 0");
  CHECK(error_of(replaced("0.995", "0.9"))
            .starts_with(
                "g.json:10: duration_fractions: expected ascending fractions from 0 to 1, found '[0, 0.1,"));
  CHECK(error_of(replaced("0.999, 1]", "0.999]"))
            .starts_with("g.json:10: duration_fractions: expected ascending"));
  CHECK(error_of(replaced("[1, 2, 3", "[3, 2, 1"))
            .starts_with(
                "g.json:12: durations[0].seconds: expected 12 durations that do not descend, one a fraction, "
                "found '[3, 2, 1"));
  CHECK(error_of(replaced("11, 12.5", "11"))
            .starts_with("g.json:12: durations[0].seconds: expected 12 durations"));
  CHECK(error_of(replaced("[1, 2, 3", "[0, 2, 3"))
            .starts_with("g.json:12: durations[0].seconds[0]: expected a number from"));
  CHECK(error_of(replaced("\"failed\": 0.1", "\"lost\": 0.1"))
            .starts_with("g.json:15: statuses.lost: unknown key"));
  CHECK(error_of(replaced("{\"completed\": 0.9, \"failed\": 0.1}", "{}")) ==
        "g.json:15: statuses: expected a share above 0, found none");
  CHECK(error_of(replaced("[250, 50]", "[0, 0]")) ==
        "g.json:14: tenants: expected a number of jobs above 0, found only 0");
  CHECK(error_of(replaced("[250, 50]", "250")) ==
        "g.json:14: tenants: expected a list of 1 to 10,000 entries, found number");
  CHECK(error_of(replaced("\"gpus\"", "\"gpu\""))
            .starts_with("g.json:6: gpu: unknown key; did you mean 'gpus'"));
  CHECK(error_of("[]").starts_with("g.json: expected a JSON object"));
  CHECK(error_of("{").starts_with("g.json:1: malformed JSON"));
}

TEST_CASE("shape_json: gaps, tenants by size and statuses by run time") {
  const std::string kGaps = "\"gap_seconds\": [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
  std::string text = replaced("\"day_peak_s\": 3600", "\"day_peak_s\": 3600, " + kGaps);
  const auto replace = [](std::string in, const std::string& what, const std::string& by) {
    const std::size_t at = in.find(what);
    REQUIRE(at != std::string::npos);
    return in.replace(at, what.size(), by);
  };
  text = replace(text, "11, 12.5]", "11, 12.5], \"statuses\": [[1, 2], [3, 4], [0, 0], [5, 0]]");
  text = replace(text, "[250, 50],", "[250, 50], \"tenant_sizes\": [[250], [50]],");
  const auto shape = parse_shape(text, "g.json");
  REQUIRE_MESSAGE(shape.has_value(), shape.error().describe());
  CHECK(shape->gap_seconds[4] == 2);
  // Linear from 0, else by the logarithm: half way between 1 and 2 is their geometric mean.
  CHECK(shape->gap_at(0.375) == doctest::Approx(0.5));
  CHECK(shape->gap_at(0.625) == doctest::Approx(std::sqrt(2.0)));
  CHECK(shape->durations[0].statuses[1] == std::vector<double>{3, 4});
  CHECK(shape->tenant_sizes == std::vector<std::vector<double>>{{250}, {50}});
  const auto again = parse_shape(shape_to_json(*shape), "again.json");
  REQUIRE_MESSAGE(again.has_value(), again.error().describe());
  CHECK(shape_to_json(*again) == shape_to_json(*shape));
  CHECK(again->gap_seconds == shape->gap_seconds);
  CHECK(again->durations[0].statuses == shape->durations[0].statuses);
  CHECK(again->tenant_sizes == shape->tenant_sizes);

  const auto error = [&](const std::string& what, const std::string& by) {
    return error_of(replace(text, what, by));
  };
  CHECK(error(", 8, 9]}", ", 9, 8]}").find("gap_seconds: expected 12 gaps that do not descend") !=
        std::string::npos);
  CHECK(error("7, 8, 9]}", "7, 8]}").find("gap_seconds: expected 12 gaps") != std::string::npos);
  CHECK(error("[5, 0]]", "[5]]").find("statuses[3]: expected a row of 2 numbers from 0 to") !=
        std::string::npos);
  CHECK(error(", [5, 0]]", "]").find("statuses: expected 4 rows") != std::string::npos);
  CHECK(error("[[250], [50]]", "[[250], [-1]]").find("tenant_sizes[1]: expected a row of 1 number") !=
        std::string::npos);
  CHECK(error("[[250], [50]]", "[[1], [1], [1]]").find("at most as many rows as tenants, 2, found 3") !=
        std::string::npos);
  CHECK(error("[[250], [50]]", "[[0], [0]]").find("found none in column 0") != std::string::npos);
  CHECK(error("[250, 50],", "[250, 0],").find("tenants of the last row") != std::string::npos);
}

TEST_CASE("shape_json: keys that may be absent") {
  const auto bare = parse_shape(
      replaced(",\n  \"tenants\": [250, 50],\n  \"statuses\": {\"completed\": 0.9, \"failed\": 0.1}", ""),
      "g.json");
  REQUIRE_MESSAGE(bare.has_value(), bare.error().describe());
  CHECK(bare->tenants.empty());
  CHECK(bare->statuses.empty());
}

TEST_CASE("trace_generator: a shape of a file gives its own rate, tenants and statuses") {
  const auto shape = parse_shape(kSmall, "g.json");
  REQUIRE(shape.has_value());
  GeneratorOptions options;
  options.num_jobs = 301;
  options.cluster = GpuCount(0);
  options.load = 0;
  options.shape = *shape;
  options.num_tenants = 0;
  options.models = {};
  options.deadlines.reset();
  const auto workload = generate_trace(options, {});
  REQUIRE_MESSAGE(workload.has_value(), workload.error().describe());
  // 300 gaps of a minute on average, exactly.
  CHECK(workload->jobs.back().submit == SimTime(std::chrono::hours(5)));
  CHECK(workload->tenants.size() == 2);
  const auto failed = std::count_if(workload->jobs.begin(), workload->jobs.end(),
                                    [](const Job& job) { return job.status == JobStatus::Failed; });
  CHECK(failed > 10);  // of 30 expected; the standard deviation is 5
  CHECK(failed < 50);
  // Instead of a number of jobs, a span: a job a minute, the first at 0.
  options.num_jobs = 0;
  options.span = std::chrono::hours(2);
  CHECK(generate_trace(options, {})->jobs.size() == 121);
  // A limit below the smallest gang.
  options.shape.gangs.erase(options.shape.gangs.begin());
  options.max_gpus = GpuCount(4);
  const auto none = generate_trace(options, {});
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().message == "no job of the shape small is so small: the smallest has 8 GPUs");
}

TEST_CASE("shape_json: the exponent of sizes is kept, and is within its range") {
  const auto shape =
      parse_shape(replaced("\"most_gpus\": 8,", "\"most_gpus\": 8, \"size_exponent\": 0.5,"), "g");
  REQUIRE_MESSAGE(shape.has_value(), shape.error().describe());
  CHECK(shape->durations[0].size_exponent == 0.5);
  CHECK(shape->durations[0].size_factor(GpuCount(2)) == doctest::Approx(0.5));  // (2 / 8)^0.5
  const auto again = parse_shape(shape_to_json(*shape), "g");
  REQUIRE(again.has_value());
  CHECK(again->durations[0].size_exponent == 0.5);
  CHECK(error_of(replaced("\"most_gpus\": 8,", "\"most_gpus\": 8, \"size_exponent\": 2.5,"))
            .find("size_exponent") != std::string::npos);
}

TEST_CASE("trace_generator: a steep rhythm keeps submissions in order and within the span") {
  auto shape = parse_shape(replaced("0.25, \"day_peak_s\"", "0.99, \"day_peak_s\""), "g.json");
  REQUIRE(shape.has_value());
  GeneratorOptions options;
  options.num_jobs = 20'000;
  options.cluster = GpuCount(0);
  options.load = 0;
  options.shape = *shape;
  options.models = {};
  const auto workload = generate_trace(options, {});
  REQUIRE(workload.has_value());
  double cosine = 0;
  double count = 0;
  for (const Job& job : workload->jobs) {
    const double t = to_seconds(job.submit);
    if (t > 13 * 86400) break;  // of 13.9 days
    cosine += std::cos(2 * M_PI * (t - 3600) / 86400);
    count += 1;
  }
  // The mean cosine about the peak is half of the amplitude; 0.007 is its standard error.
  CHECK(std::abs(cosine / count - 0.495) < 0.03);
}
