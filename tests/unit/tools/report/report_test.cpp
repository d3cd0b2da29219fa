#include "tools/report/report.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/rng.hpp"

using namespace vtrain;

namespace {

constexpr std::string_view kHostile = "</script><script>alert('x')</script>&\"";

/// Jobs and schedules of any size, perhaps impossible ones: the page must show any input.
struct Example {
  Workload workload;
  std::vector<SimulationResult> results;
  ReportInput input;
};

void add_outcomes(Example& example, RandomStream& random, bool record_segments) {
  SimulationResult& result = example.results.emplace_back();
  std::uint32_t waiting = 0;
  for (std::size_t i = 0; i < example.workload.jobs.size(); ++i) {
    const Job& job = example.workload.jobs[i];
    JobOutcome outcome;
    outcome.start = job.submit + SimDuration(static_cast<std::int64_t>(random.exponential(3e12)));
    outcome.end = outcome.start + job.duration;
    outcome.finished = outcome.end;
    outcome.attained = job.duration;
    outcome.gpu_time.add(job.duration, job.num_gpus);
    outcome.state = JobState::Completed;
    result.outcomes.push_back(outcome);
    waiting = static_cast<std::uint32_t>(random.below(5000));
    result.samples.push_back({job.submit, waiting, GpuCount(static_cast<std::int32_t>(random.below(513)))});
    if (record_segments)
      result.segments.push_back(
          {JobId(static_cast<std::uint32_t>(i)), outcome.start, outcome.end, job.num_gpus, {}});
  }
}

/// `policies` schedules of `num_jobs` jobs of 12 tenants on 64 nodes of 8 GPUs.
Example make_example(std::size_t num_jobs, std::size_t policies, bool deadlines, bool record_segments) {
  Example example;
  RandomStream random(1, "report");
  SimTime submit{};
  for (std::size_t i = 0; i < num_jobs; ++i) {
    Job job;
    job.name = example.workload.keep(std::string(kHostile) + std::to_string(i));
    job.tenant = example.workload.tenant(std::string(kHostile) + std::to_string(random.below(12)));
    job.num_gpus = GpuCount(1 << random.below(7));
    job.duration = SimDuration(static_cast<std::int64_t>(1e9 * std::exp(8 + 2 * random.normal())) + 1);
    submit += SimDuration(1 + static_cast<std::int64_t>(random.exponential(60e9)));
    job.submit = submit;
    if (deadlines) job.deadline = submit + job.duration + SimDuration(1'000'000'000'000);
    example.workload.jobs.push_back(job);
  }
  example.input.cluster = {{{64, GpuCount(8), "a100"}}};
  for (std::size_t i = 0; i < policies; ++i)
    add_outcomes(example, random, record_segments);
  return example;
}

std::string render(Example& example) {
  example.input.workload = &example.workload;
  example.input.runs.clear();
  for (std::size_t i = 0; i < example.results.size(); ++i) {
    const std::string name = "policy" + std::to_string(i);
    example.input.runs.push_back(
        {summarize(example.workload, example.input.cluster, example.results[i], name), &example.results[i]});
  }
  return render_report(example.input);
}

/// The embedded chart data, read as in a browser: up to the first end of the element.
nlohmann::json chart_data(const std::string& page) {
  constexpr std::string_view kOpen = "id=\"report-data\">";
  const std::size_t begin = page.find(kOpen) + kOpen.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script", begin) - begin));
}

/// `page` without HTML comments and without block comments of scripts and styles.
std::string without_comments(std::string page) {
  constexpr std::pair<std::string_view, std::string_view> kComments[] = {{"<!--", "-->"}, {"/*", "*/"}};
  for (const auto& [open, close] : kComments) {
    for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
      const std::size_t end = page.find(close, at);
      page.erase(at, end == std::string::npos ? end : end + close.size() - at);
    }
  }
  return page;
}

}  // namespace

TEST_CASE("report: promises over time, of the policies that give any") {
  Example example;
  example.input.cluster = {{{1, GpuCount(8), "a100"}}};
  for (const std::int64_t submit_s : {0, 10, 20, 30}) {
    Job job;
    job.name = "job";
    job.submit = SimTime(std::chrono::seconds(submit_s));
    job.duration = std::chrono::seconds(20);
    job.deadline = job.submit + std::chrono::seconds(25);
    example.workload.jobs.push_back(job);
  }
  for (int policy = 0; policy < 2; ++policy) {
    SimulationResult& result = example.results.emplace_back();
    for (std::size_t i = 0; i < 4; ++i) {
      JobOutcome& outcome = result.outcomes.emplace_back();
      outcome.state = JobState::Completed;
      outcome.start = example.workload.jobs[i].submit;
      outcome.end = outcome.finished = outcome.start + std::chrono::seconds(20);
    }
    result.samples = {{SimTime{}, 0, GpuCount(1)}, {SimTime(std::chrono::seconds(90)), 0, GpuCount(0)}};
  }
  CHECK_FALSE(chart_data(render(example)).contains("promises"));

  // The second policy promises at 1, 11 and 21. The job of the second promise ends at 40, 5 s late, and that
  // of the third never ends.
  SimulationResult& result = example.results[1];
  for (std::size_t i = 0; i < 3; ++i)
    result.outcomes[i].promised = example.workload.jobs[i].submit + std::chrono::seconds(1);
  result.outcomes[1].end = result.outcomes[1].finished = SimTime(std::chrono::seconds(40));
  result.outcomes[2].state = JobState::Unfinished;
  const std::string page = render(example);
  CHECK(page.find("Promises given, kept, broken") != std::string::npos);
  const nlohmann::json promises = chart_data(page)["promises"];
  CHECK(promises["exact"] == true);
  CHECK(promises["policies"] == nlohmann::json({1}));
  CHECK(promises["x"] == nlohmann::json({0.0, 1.0, 11.0, 20.0, 21.0, 35.0, 45.0, 90.0, 90.0}));
  CHECK(promises["given"][0]["mean"] == nlohmann::json({0.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0}));
  CHECK(promises["kept"][0]["mean"] == nlohmann::json({0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0}));
  CHECK(promises["broken"][0]["mean"] == nlohmann::json({0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0}));
}

TEST_CASE("report: shares of the tenants that were due most, on one grid of time") {
  Example example = make_example(20, 2, false, false);
  CHECK_FALSE(chart_data(render(example)).contains("shares"));
  // Under the first policy time ends at 240 s, under the second at 480 s.
  for (std::size_t policy = 0; policy < 2; ++policy) {
    vtrain::TenantShareSummary& shares = example.input.runs[policy].summary.shares.emplace();
    shares.interval = std::chrono::seconds(policy + 1);
    for (int tenant = 0; tenant < 20; ++tenant) {
      vtrain::TenantShareFigures figures{.tenant = "t" + std::to_string(tenant), .has_jobs = tenant != 19};
      figures.due_gpu_hours = tenant;
      figures.due.assign(vtrain::kShareIntervals, 2);
      figures.received.assign(vtrain::kShareIntervals, 1);
      shares.tenants.push_back(figures);
    }
  }
  const nlohmann::json shares = chart_data(render_report(example.input))["shares"];
  CHECK(shares["runs"].size() == 12);
  CHECK(shares["x"].size() == 121);
  CHECK(shares["x"].back() == 480);
  CHECK(shares["runs"][0]["tenant"] == "t18");
  CHECK(shares["runs"][0]["policy"] == 0);
  CHECK(shares["runs"][0]["due"]["mean"][59] == 2);
  CHECK(shares["runs"][0]["due"]["mean"][60] == 0);
  CHECK(shares["runs"][1]["received"]["mean"][119] == 1);
}

TEST_CASE("report: trade-offs are drawn for three policies and more, each metric that they differ in") {
  const auto count_of_pictures = [](const std::string& page) {
    std::size_t count = 0;
    for (std::size_t at = page.find(" against "); at != std::string::npos;
         at = page.find(" against ", at + 1))
      count += page.substr(at, 200).find("</figcaption>") != std::string::npos ? 1 : 0;
    return count;
  };
  Example two = make_example(300, 2, true, false);
  CHECK(render(two).find("at what cost") == std::string::npos);
  Example three = make_example(300, 3, true, false);
  three.results[1].outcomes[0].finished = three.workload.jobs[0].deadline + SimDuration(1);
  const std::string page = render(three);
  CHECK(count_of_pictures(page) == 1);
  for (const char* const policy : {"policy0", "policy1", "policy2"})
    CHECK(page.find(std::string("<title>") + policy + ": ") != std::string::npos);
  // Without deadlines, and without tenants that share, there is nothing to trade.
  Example plain = make_example(300, 3, false, false);
  CHECK(render(plain).find("at what cost") == std::string::npos);
}

TEST_CASE("report: foreign text cannot become markup or script") {
  Example example = make_example(40, 2, true, true);
  example.input.trace_name = kHostile;
  example.input.provenance = {{std::string(kHostile), std::string(kHostile)}};
  example.input.assumptions = {std::string(kHostile)};
  const std::string page = render(example);
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;") != std::string::npos);
  const nlohmann::json data = chart_data(page);
  CHECK(data["gantt"]["jobs"].size() == 40);
  CHECK(data["gantt"]["jobs"][0][0].get<std::string>().starts_with("</script><script>alert"));
}

TEST_CASE("report: the page asks the network for nothing") {
  Example example = make_example(40, 2, true, true);
  const std::string page = without_comments(render(example));
  CHECK(page.find("http://") == std::string::npos);
  CHECK(page.find("https://") == std::string::npos);
  CHECK(page.find("src=") == std::string::npos);
  CHECK(page.find("@import") == std::string::npos);
  CHECK(page.find("url(") == std::string::npos);
  CHECK(page.find("default-src 'none'") != std::string::npos);
}

TEST_CASE("report: the licence of the charting library is in the page") {
  Example example = make_example(3, 1, false, true);
  const std::string page = render(example);
  const std::size_t licence = page.find("Copyright (c) 2022 Leon Sorokin");
  REQUIRE(licence != std::string::npos);
  CHECK(page.find("THE SOFTWARE IS PROVIDED \"AS IS\"") != std::string::npos);
  CHECK(page.rfind("<!--", licence) != std::string::npos);
}

TEST_CASE("report: 200,000 jobs under eight policies stay below 1 MB") {
  Example example = make_example(200'000, 8, true, false);
  const std::string page = render(example);
  MESSAGE("bytes: " << page.size());
  CHECK(page.size() < 1'000'000);
  const nlohmann::json data = chart_data(page);
  CHECK(data["jct"]["x"].size() <= 500);
  CHECK(data["time"]["waiting"][0]["mean"].size() <= 500);
  CHECK(!data.contains("gantt"));
}

TEST_CASE("report: a Gantt chart of many segments draws the largest and stays below 1 MB") {
  // Hostile names take most of the bytes.
  for (const std::size_t policies : {1, 12}) {
    Example example = make_example(9'000, policies, true, true);
    const std::string page = render(example);
    CAPTURE(page.size());
    CHECK(page.size() < 1'000'000);
    const nlohmann::json gantt = chart_data(page)["gantt"];
    CHECK(gantt["bars"].size() == policies);
    for (const nlohmann::json& segments : gantt["segments"]) {
      const auto drawn = segments[0].get<std::size_t>();
      CHECK(drawn > (policies == 1 ? 1000 : 100));
      CHECK(drawn <= 4000);
      CHECK(segments[1] == 9000);
      // The largest hold more than their share.
      CHECK(segments[2].get<double>() > static_cast<double>(drawn) / 9000);
      CHECK(segments[2].get<double>() < 1);
    }
  }
  Example small = make_example(500, 4, true, true);
  const nlohmann::json all = chart_data(render(small))["gantt"];
  for (std::size_t policy = 0; policy < 4; ++policy) {
    CHECK(all["segments"][policy] == nlohmann::json::parse("[500, 500, 1.0]"));
    CHECK(all["bars"][policy].size() <= 500);  // jobs of this example find no free GPUs at times
    CHECK(all["met"][policy].get<std::string>().size() == all["jobs"].size());
  }
}

TEST_CASE("report: the Gantt chart opens with the policy that met most deadlines") {
  Example example = make_example(100, 3, true, true);
  for (JobOutcome& outcome : example.results[1].outcomes)
    outcome.finished = outcome.end = outcome.start;
  const nlohmann::json data = chart_data(render(example));
  CHECK(data["gantt"]["shown"] == 1);
}

TEST_CASE("report: the quantities of the answer break over no line, and pictures can be focused") {
  Example example = make_example(10, 1, true, true);
  const std::string page = render(example);
  const std::string answer = page.substr(page.find("<h1>"), page.find("</h1>") - page.find("<h1>"));
  CHECK(answer.find("\u00a0%") != std::string::npos);
  CHECK(answer.find(" %") == std::string::npos);
  CHECK(page.find("class=\"chart\" tabindex=\"0\"") != std::string::npos);
  CHECK(page.find("With the keyboard: ") != std::string::npos);
}

TEST_CASE("report: the same input gives the same bytes") {
  Example first = make_example(300, 3, true, true);
  Example second = make_example(300, 3, true, true);
  CHECK(render(first) == render(second));
}

TEST_CASE("report: deadlines by job size and tenant add up to the summary") {
  Example example = make_example(500, 2, true, false);
  const nlohmann::json data = chart_data(render(example));
  CHECK(data["bySize"]["labels"] ==
        nlohmann::json({"1", "2", "3\u20134", "5\u20138", "9\u201316", "17\u201332", "33\u201364"}));
  CHECK(data["byTenant"]["labels"].size() == 11);  // ten and the others
  CHECK(data["byTenant"]["labels"].back() == "2 others");
  for (const char* key : {"bySize", "byTenant"}) {
    std::int64_t jobs = 0;
    std::int64_t met = 0;
    for (const auto& count : data[key]["jobs"])
      jobs += count.get<std::int64_t>();
    for (const auto& count : data[key]["met"][1])
      met += count.get<std::int64_t>();
    CHECK(jobs == 500);
    CHECK(met == example.input.runs[1].summary.deadline_met);
  }
}

TEST_CASE("report: a workload without jobs, deadlines or samples still has a page") {
  Example none = make_example(0, 2, false, false);
  CHECK(chart_data(render(none))["policies"].size() == 2);
  Example plain = make_example(10, 1, false, false);
  plain.results[0].samples.clear();
  const nlohmann::json data = chart_data(render(plain));
  CHECK(!data.contains("bySize"));
  CHECK(!data.contains("time"));
  CHECK(data.contains("jct"));
}

TEST_CASE("report: an input without its parts is a mistake of the caller") {
  CHECK_THROWS_AS(render_report({}), std::logic_error);
  Example example = make_example(10, 1, false, false);
  example.results[0].outcomes.pop_back();
  example.input.workload = &example.workload;
  example.input.runs = {{Summary{}, &example.results[0]}};
  CHECK_THROWS_AS(render_report(example.input), std::logic_error);
}
