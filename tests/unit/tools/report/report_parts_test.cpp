#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/chart_data.hpp"
#include "tools/report/gantt.hpp"
#include "tools/report/headline.hpp"
#include "tools/report/metric.hpp"
#include "tools/report/page.hpp"
#include "tools/report/report.hpp"
#include "tools/report/step_series.hpp"
#include "tools/report/summary.hpp"

using namespace vtrain;
using namespace vtrain::report;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

SimTime at_seconds(std::int64_t seconds) {
  return SimTime(SimDuration(seconds * kSecond));
}

ReportRun segment_of(const char* policy, std::optional<double> met, double avg_jct_s,
                     std::int64_t preemptions) {
  ReportRun run;
  run.summary.policy = policy;
  run.summary.jobs = 1000;
  run.summary.completed = std::isnan(avg_jct_s) ? 0 : 1000;
  run.summary.deadline_satisfactory_ratio = met;
  if (met) {
    run.summary.deadline_jobs = 1000;
    run.summary.deadline_met = std::llround(1000 * *met);
  }
  run.summary.avg_jct_s = avg_jct_s;
  run.summary.preemptions = preemptions;
  return run;
}

/// The answer for these runs of a workload without jobs.
std::string answer(std::vector<ReportRun> runs) {
  static const Workload kNoJobs;
  ReportInput input;
  input.workload = &kNoJobs;
  input.cluster = {{{1, GpuCount(8), "a100"}}};
  input.runs = std::move(runs);
  return headline(input);
}

ClusterSpec cluster_of(std::int32_t nodes, std::int32_t gpus_per_node) {
  return {{{nodes, GpuCount(gpus_per_node), "a100"}}};
}

}  // namespace

TEST_CASE("report: text is escaped for HTML") {
  CHECK(escape_html("a<b>&\"c\"'d'") == "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;");
  CHECK(escape_html(std::string("x\0y\x01z\nn", 7)) == "x\\x00y\\x01z\nn");
  CHECK(escape_html("abc\u202efdp") == "abc\\u202efdp");
  CHECK(escape_html("Größe") == "Größe");
}

TEST_CASE("report: embedded JSON cannot end its script element and survives bytes that are not UTF-8") {
  const nlohmann::json value = {
      {"name", "</script><!--"}, {"bad", "a\xff"}, {"right to left", "abc\u202efdp\x1b"}};
  const std::string text = embed_json(value);
  CHECK(text.find('<') == std::string::npos);
  const nlohmann::json back = nlohmann::json::parse(text);
  CHECK(back["name"] == "</script><!--");
  CHECK(back["bad"] == "a\\xff");
  CHECK(back["right to left"] == "abc\\u202efdp\\x1b");
}

TEST_CASE("report: numbers stay with their units, and the parts of a duration together") {
  CHECK(with_whole_quantities("JCT 3 h 19 m, 40 % of 12 jobs") ==
        "JCT 3\u00a0h\u00a019\u00a0m, 40\u00a0% of 12 jobs");
  CHECK(with_whole_quantities("2 d") == "2\u00a0d");
  CHECK(with_whole_quantities("easy met 5 deadlines") == "easy met 5 deadlines");
  CHECK(with_whole_quantities("m 3 h and 12 of them, A100 m") == "m 3\u00a0h and 12 of them, A100\u00a0m");
  CHECK(with_whole_quantities(" 5 ") == " 5 ");
  CHECK(with_whole_quantities("").empty());
}

TEST_CASE("report: a template is filled once, and values are not looked at again") {
  const std::vector<std::pair<std::string_view, std::string_view>> values{{"a", "{{b}}"}, {"b", "2"}};
  CHECK(fill_template("x{{a}}y{{b}}{{b}}", values) == "x{{b}}y22");
  CHECK_THROWS_AS(fill_template("{{c}}", values), std::logic_error);
  CHECK_THROWS_AS(fill_template("{{a", values), std::logic_error);
}

TEST_CASE("report: the sentence names the best policy, the runner-up and the price") {
  const std::vector<ReportRun> runs{segment_of("fifo", 0.612, 18720, 0), segment_of("easy", 0.740, 14460, 0),
                                    segment_of("edf", 0.815, 13440, 9311)};
  CHECK(answer(runs) ==
        "edf met 81.5 % of the deadlines, 7.5 points more than easy, with 9,311 preemptions.");
  // 14.85 points are shown as what the rounded percentages differ by: 44.0 - 29.2.
  const std::vector<ReportRun> rounded{segment_of("fifo", 169.0 / 579, 9, 0),
                                       segment_of("edf", 255.0 / 579, 9, 0)};
  CHECK(answer(rounded) ==
        "edf met 44.0 % of the deadlines, 14.8 points more than fifo, without preemptions.");
  // By GPU-hours another one is ahead; the best rejected 7 jobs and resized others.
  std::vector<ReportRun> by_hours = runs;
  by_hours[1].summary.deadline_satisfactory_ratio_by_gpu_hours = 0.6;
  by_hours[2].summary.deadline_satisfactory_ratio_by_gpu_hours = 0.5;
  by_hours[2].summary.rejected_by_policy = 7;
  by_hours[2].summary.rejected = 7;
  by_hours[2].summary.resizes = 12;
  CHECK(answer(by_hours) ==
        "edf met 81.5 % of the deadlines (50.0 % by GPU-hours), 7.5 points more than easy, with 9,311 "
        "preemptions and 12 resizes. edf rejected 7 of 1,000 jobs, and 178 of the others missed their "
        "deadlines. By GPU-hours easy met the most, 60.0 %.");
}

TEST_CASE("report: the sentence on ties, on one policy and without deadlines") {
  const std::vector<ReportRun> tied{segment_of("fifo", 1.0, 200, 0), segment_of("edf", 1.0, 100, 1),
                                    segment_of("las", 0.5, 10, 7)};
  CHECK(answer(tied) == "edf and fifo both met 100.0 % of the deadlines, 50.0 points more than las.");
  // Four jobs of a thousand are no difference, five are one.
  const std::vector<ReportRun> close{segment_of("fifo", 0.8, 1, 0), segment_of("easy", 0.804, 1, 0)};
  CHECK(answer(close) ==
        "No clear difference between easy and fifo, which met 800 to 804 of the 1,000 deadlines.");
  const std::vector<ReportRun> apart{segment_of("fifo", 0.8, 1, 0), segment_of("easy", 0.805, 1, 0)};
  CHECK(answer(apart).starts_with("easy met 80.5 % of the deadlines, 0.5 points more than fifo"));
  CHECK(answer({segment_of("edf", 0.5, 3600, 2)}) ==
        "edf met 50.0 % of the deadlines, with an average JCT of 1 h 00 m, with 2 preemptions.");
  // 1 - 90/120 = 25 %.
  std::vector<ReportRun> plain{segment_of("fifo", {}, 120, 0), segment_of("srtf", {}, 90, 3)};
  plain[0].summary.avg_waiting_time_s = 50;
  plain[1].summary.avg_waiting_time_s = 20;
  CHECK(answer(plain) ==
        "srtf has the shortest average JCT, 1 m 30 s, which is 25.0 % less than fifo (2 m 00 s), with 3 "
        "preemptions. Jobs waited 20 s on average, 50 s under fifo.");
  plain[0].summary.policy = "recorded";
  CHECK(answer(plain) ==
        "srtf has an average JCT of 1 m 30 s and an average wait of 20 s, with 3 preemptions; recorded were "
        "2 m "
        "00 s and 50 s.");
  const std::vector<ReportRun> same{segment_of("fifo", {}, 120, 0), segment_of("easy", {}, 120, 0)};
  CHECK(answer(same) ==
        "No clear difference between fifo and easy: their average JCTs are 2 m 00 s and 2 m 00 s.");
}

TEST_CASE("report: a policy that completes nothing has no JCT, which is not the shortest") {
  std::vector<ReportRun> runs{segment_of("strict", {}, kNoValue, 0), segment_of("fifo", {}, 90, 0)};
  CHECK(
      answer(runs) ==
      "fifo completed the most jobs, 1,000 of 1,000, with an average JCT of 1 m 30 s, without preemptions.");
  CHECK(summary_table(runs).find("<strong>") == std::string::npos);
  CHECK(summary_table(runs).find("<td>-</td>") != std::string::npos);
  runs.push_back(segment_of("las", {}, 100, 1));
  CHECK(
      answer(runs).starts_with("fifo has the shortest average JCT, 1 m 30 s, which is 10.0 % less than las"));
  CHECK(summary_table(runs).find("<strong>1 m 30 s</strong>") != std::string::npos);
  const std::vector<ReportRun> none{segment_of("strict", {}, kNoValue, 0),
                                    segment_of("fifo", {}, kNoValue, 0)};
  CHECK(answer(none) == "No policy completed a job.");
  CHECK(answer({none.front()}) == "strict completed no job.");
  // Both missed all deadlines, the one because it admitted nothing.
  const std::vector<ReportRun> late{segment_of("edf-admission", 0.0, kNoValue, 0),
                                    segment_of("fifo", 0.0, 90, 0)};
  CHECK(answer(late) == "fifo and edf-admission both met 0.0 % of the deadlines.");
  CHECK(distribution_json({{10}, {}})["percent"][1] == nlohmann::json::parse("[null]"));
  // Six decades are shown; what is below counts as their beginning.
  CHECK(distribution_json({{1e-9, 1000}})["x"] == nlohmann::json::parse("[0.001, 1000.0]"));
}

TEST_CASE("report: the table marks the best of a column, and nothing where all look alike") {
  std::vector<ReportRun> runs{segment_of("fifo", 0.5, 100, 0), segment_of("<edf>", 0.75, 200, 1234)};
  const std::string html = summary_table(runs);
  CHECK(html.find("<strong>75.0 %</strong>") != std::string::npos);
  CHECK(html.find("<strong>1 m 40 s</strong>") != std::string::npos);
  CHECK(html.find("<strong>50.0 %</strong>") == std::string::npos);
  CHECK(html.find("&lt;edf&gt;") != std::string::npos);
  CHECK(html.find("<edf>") == std::string::npos);
  CHECK(html.find("1,234") != std::string::npos);
  CHECK(html.find("Not completed") == std::string::npos);
  CHECK(html.find(">* best</p>") != std::string::npos);
  runs[0].summary.completed = 980;
  CHECK(summary_table(runs).find("over fewer completed jobs, so not compared</p>") != std::string::npos);
  runs[1].summary = runs[0].summary;
  const std::string alike = summary_table(runs);
  CHECK(alike.find("<strong>") == std::string::npos);
  CHECK(alike.find("* best") == std::string::npos);
  CHECK(alike.find("Not completed") != std::string::npos);
}

TEST_CASE("report: a policy that turns jobs away is compared where that is fair, and marked elsewhere") {
  // The third has the times of 100 of 1,000 jobs, which are longer than those of the others.
  std::vector<ReportRun> runs{segment_of("fifo", 0.5, 100, 0), segment_of("easy", 0.5, 90, 0),
                              segment_of("picky", 0.75, 110, 0)};
  runs[2].summary.completed = 100;
  const auto marks = [&](Better better, bool depends_on_completed) {
    const std::vector<const Summary*> replays{&runs[0].summary, &runs[1].summary, &runs[2].summary};
    return marks_of({.unit = MetricUnit::Duration,
                     .better = better,
                     .depends_on_completed = depends_on_completed,
                     .of_jobs = [](const JobFigures& f) { return f.avg_jct_s; }},
                    replays);
  };
  using Marks = std::vector<Mark>;
  CHECK(marks(Better::Lower, true) == Marks{Mark::None, Mark::Best, Mark::NotCompared});
  CHECK(marks(Better::Higher, false) == Marks{Mark::None, Mark::None, Mark::Best});
  CHECK(marks(Better::Neither, true) == Marks{Mark::None, Mark::None, Mark::None});
  // Where its value is the better one, nobody is called the best.
  runs[2].summary.avg_jct_s = 10;
  CHECK(marks(Better::Lower, true) == Marks{Mark::None, Mark::None, Mark::NotCompared});
  CHECK(marks(Better::Lower, false) == Marks{Mark::None, Mark::None, Mark::Best});
  const std::string html = summary_table(runs);
  CHECK(html.find("<strong>75.0 %</strong>") != std::string::npos);
  CHECK(html.find("<strong>1 m 30 s</strong>") == std::string::npos);
  CHECK(html.find("(not compared)") != std::string::npos);
  // A hundredth of the jobs makes no difference; more than half alike are no news.
  runs[2].summary.completed = 990;
  CHECK(marks(Better::Lower, true) == Marks{Mark::None, Mark::None, Mark::Best});
  runs[1].summary.avg_jct_s = 10;
  CHECK(marks(Better::Lower, true) == Marks{Mark::None, Mark::None, Mark::None});
  for (ReportRun& run : runs)
    run.summary.deadline_satisfactory_ratio.reset();
  runs[0].summary.avg_jct_s = 9;
  runs[1].summary.completed = runs[2].summary.completed = 900;
  CHECK(answer(runs) ==
        "fifo completed the most jobs, 1,000 of 1,000, with an average JCT of 9 s, without preemptions.");
}

TEST_CASE("report: what jobs lost is told by cause where something could cost them time") {
  std::vector<ReportRun> runs{segment_of("fifo", 0.5, 100, 0), segment_of("edf", 0.75, 200, 1234)};
  CHECK(loss_table(runs).empty());
  CHECK(summary_table(runs).find("Goodput") == std::string::npos);
  for (ReportRun& run : runs) {
    run.summary.disruptions.emplace();
    run.summary.disruptions->interruptions = 4321;
  }
  runs[0].summary.disruptions->lost_gpu_hours[static_cast<std::size_t>(LossCause::Checkpoint)] = 12.5;
  runs[1].summary.disruptions->goodput = 0.875;
  const std::string html = loss_table(runs);
  CHECK(html.find("<strong>87.5 %</strong>") != std::string::npos);
  CHECK(html.find(">12.5<") != std::string::npos);
  CHECK(html.find("4,321") != std::string::npos);
}

TEST_CASE("report: few instants are kept exactly") {
  SimulationResult a;
  SimulationResult b;
  a.samples = {{at_seconds(0), 1, GpuCount(4)}, {at_seconds(10), 0, GpuCount(0)}};
  b.samples = {{at_seconds(5), 2, GpuCount(8)}, {at_seconds(10), 3, GpuCount(1)}};
  const std::vector<const SimulationResult*> results{&a, &b};
  const SampleTimes grid = make_sample_times(results, 100, 10);
  CHECK(grid.exact);
  CHECK(grid.times == std::vector<SimTime>{at_seconds(0), at_seconds(5), at_seconds(10)});
  CHECK(reduce_samples(a.samples, SampleField::WaitingJobs, grid).mean == std::vector<double>{1, 1, 0});
  // Before its first sample a run has nothing in use.
  CHECK(reduce_samples(b.samples, SampleField::GpusInUse, grid).mean == std::vector<double>{0, 8, 1});
}

TEST_CASE("report: downsampling keeps the extremes and the mean") {
  // 100 s in 4 spans of 25 s + 1 ns; the value is 10, but 90 for 1 ns at 30 s and 0 for the second from 60 s
  // on.
  SimulationResult run;
  run.samples = {{at_seconds(0), 10, GpuCount(0)},
                 {at_seconds(30), 90, GpuCount(0)},
                 {at_seconds(30) + SimDuration(1), 10, GpuCount(0)},
                 {at_seconds(60), 0, GpuCount(0)},
                 {at_seconds(61), 10, GpuCount(0)},
                 {at_seconds(100), 7, GpuCount(0)}};
  const std::vector<const SimulationResult*> results{&run};
  const SampleTimes grid = make_sample_times(results, 3, 4);
  REQUIRE(!grid.exact);
  REQUIRE(grid.times.size() == 4);
  const StepSeries series = reduce_samples(run.samples, SampleField::WaitingJobs, grid);
  CHECK(series.high == std::vector<std::int64_t>{10, 90, 10, 10});
  CHECK(series.low == std::vector<std::int64_t>{10, 10, 0, 7});  // the last instant counts
  // The third span holds 24 s of 10 and 1 s of 0: 240 / 25.
  CHECK(series.mean[2] == doctest::Approx(9.6));
}

TEST_CASE("report: every sample lies within the bounds of its span") {
  RandomStream random(7, "report");
  for (int round = 0; round < 50; ++round) {
    SimulationResult run;
    SimTime time{};
    for (int i = 0; i < 300; ++i) {
      time += SimDuration(1 + static_cast<std::int64_t>(random.below(1'000'000)));
      run.samples.push_back({time, static_cast<std::uint32_t>(random.below(1000)), GpuCount(0)});
    }
    const std::vector<const SimulationResult*> results{&run};
    const SampleTimes grid = make_sample_times(results, 10, 1 + random.below(40));
    const StepSeries series = reduce_samples(run.samples, SampleField::WaitingJobs, grid);
    for (const ClusterSample& sample : run.samples) {
      const auto span = std::ranges::upper_bound(grid.times, sample.time) - grid.times.begin() - 1;
      const auto index = static_cast<std::size_t>(span);
      REQUIRE(series.low[index] <= sample.waiting_jobs);
      REQUIRE(series.high[index] >= sample.waiting_jobs);
      REQUIRE(series.mean[index] >= static_cast<double>(series.low[index]));
      REQUIRE(series.mean[index] <= static_cast<double>(series.high[index]));
    }
  }
}

TEST_CASE("report: a distribution counts the share of values up to each abscissa") {
  const nlohmann::json exact = distribution_json({{0, 10, 10, 40}, {20}});
  CHECK(exact["exact"] == true);
  // 0 s cannot be on a logarithmic axis; it counts at the smallest shown value.
  CHECK(exact["x"] == nlohmann::json({10, 20, 40}));
  CHECK(exact["percent"][0] == nlohmann::json({75, 75, 100}));
  CHECK(exact["percent"][1] == nlohmann::json({0, 100, 100}));
  CHECK(distribution_json({{0, 0}, {}}).is_null());

  std::vector<double> many;
  for (int i = 1; i <= 5000; ++i)
    many.push_back(i);
  const nlohmann::json reduced = distribution_json({many});
  CHECK(reduced["exact"] == false);
  CHECK(reduced["x"].size() == 500);
  CHECK(reduced["x"].back() == 5000);
  CHECK(reduced["percent"][0].back() == 100);
}

TEST_CASE("report: Gantt bars never share a GPU and prefer one piece") {
  // Two nodes of 4. Job 0 (2 GPUs) and 1 (3 GPUs) leave the gaps 5-7; job 2 (2 GPUs) starts when job 0 ends
  // and fits at 0.
  const std::vector<JobSegment> runs{
      {JobId(0), at_seconds(0), at_seconds(5), GpuCount(2), {}},
      {JobId(1), at_seconds(0), at_seconds(9), GpuCount(3), {}},
      {JobId(2), at_seconds(5), at_seconds(9), GpuCount(2), {}},
      {JobId(3), at_seconds(9), at_seconds(12), GpuCount(4), {{NodeId(1), GpuCount(4)}}}};
  const std::vector<GanttBar> bars = lay_out_gantt(cluster_of(2, 4), runs);
  REQUIRE(bars.size() == 4);
  const auto lanes = [&](std::size_t i) { return std::pair(bars[i].first_lane, bars[i].num_lanes); };
  CHECK(lanes(0) == std::pair(0, 2));
  CHECK(lanes(1) == std::pair(2, 3));
  CHECK(lanes(2) == std::pair(0, 2));
  CHECK(lanes(3) == std::pair(4, 4));
}

TEST_CASE("report: neighbouring GPUs of two nodes are one bar") {
  // Nodes of 2 GPUs; the gang has nodes 0 and 1 and one GPU of node 3.
  const std::vector<JobSegment> runs{
      {JobId(0),
       at_seconds(0),
       at_seconds(5),
       GpuCount(5),
       {{NodeId(3), GpuCount(1)}, {NodeId(0), GpuCount(2)}, {NodeId(1), GpuCount(2)}}}};
  const std::vector<GanttBar> bars = lay_out_gantt(cluster_of(4, 2), runs);
  REQUIRE(bars.size() == 2);
  CHECK(std::pair(bars[0].first_lane, bars[0].num_lanes) == std::pair(0, 4));
  CHECK(std::pair(bars[1].first_lane, bars[1].num_lanes) == std::pair(6, 1));
}

TEST_CASE("report: of too many segments the largest by GPU time are drawn, in their order") {
  // GPU-seconds: 4, 12, 1, 8 and 4, of 29; the first of the two with 4 is drawn.
  const std::vector<JobSegment> segments{{JobId(0), at_seconds(0), at_seconds(4), GpuCount(1), {}},
                                         {JobId(1), at_seconds(1), at_seconds(4), GpuCount(4), {}},
                                         {JobId(2), at_seconds(2), at_seconds(3), GpuCount(1), {}},
                                         {JobId(3), at_seconds(3), at_seconds(4), GpuCount(8), {}},
                                         {JobId(4), at_seconds(4), at_seconds(6), GpuCount(2), {}}};
  const DrawnSegments drawn = largest_segments(segments, 3);
  REQUIRE(drawn.segments.size() == 3);
  CHECK(drawn.segments[0].job == JobId(0));
  CHECK(drawn.segments[1].job == JobId(1));
  CHECK(drawn.segments[2].job == JobId(3));
  CHECK(drawn.gpu_time_ratio == doctest::Approx(24.0 / 29));
  CHECK(largest_segments(segments, 5).segments.size() == 5);
  CHECK(largest_segments(segments, 5).gpu_time_ratio == 1);
  CHECK(largest_segments({}, 5).segments.empty());
}

TEST_CASE("report: nodes out of service are bars over all of their GPUs, with their cause") {
  Workload workload;
  workload.jobs.resize(1);
  SimulationResult result;
  result.outcomes.resize(1);
  result.segments = {{JobId(0), at_seconds(0), at_seconds(30), GpuCount(1), {{NodeId(0), GpuCount(1)}}}};
  result.outages = {{NodeId(1), OutageKind::Failure, at_seconds(5), at_seconds(15)},
                    {NodeId(0), OutageKind::Drain, at_seconds(10), Outage::kNeverEnds}};
  SimulationResult undisturbed = result;
  undisturbed.outages.clear();
  ReportInput input;
  input.workload = &workload;
  input.cluster = cluster_of(2, 4);
  input.runs = {{{}, &result}, {{}, &undisturbed}};
  // Node, begin, end, cause, first lane, lanes.
  CHECK(gantt_json(input)["outages"] ==
        nlohmann::json::parse("[[[1, 5.0, 15.0, 0, 4, 4], [0, 10.0, null, 1, 0, 4]], []]"));
  result.outages.clear();
  CHECK_FALSE(gantt_json(input).contains("outages"));
  result.outages.resize(2001);  // more than can be told apart
  CHECK_FALSE(gantt_json(input).contains("outages"));
  CHECK_FALSE(gantt_json(input).is_null());
}

TEST_CASE("report: a gang that fits no gap is drawn in pieces that sum to it") {
  // Of 4 GPUs, job 1 holds number 1 when job 3 wants the other three.
  const std::vector<JobSegment> runs{{JobId(0), at_seconds(0), at_seconds(2), GpuCount(1), {}},
                                     {JobId(1), at_seconds(0), at_seconds(9), GpuCount(1), {}},
                                     {JobId(2), at_seconds(0), at_seconds(2), GpuCount(2), {}},
                                     {JobId(3), at_seconds(2), at_seconds(3), GpuCount(3), {}}};
  const std::vector<GanttBar> bars = lay_out_gantt(cluster_of(1, 4), runs);
  REQUIRE(bars.size() == 5);
  CHECK(bars[3].first_lane == 0);
  CHECK(bars[3].num_lanes == 1);
  CHECK(bars[4].first_lane == 2);
  CHECK(bars[4].num_lanes == 2);
}
