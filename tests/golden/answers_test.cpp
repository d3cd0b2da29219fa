/// Costs, headline, stars and hints of `vtrain compare` and `vtrain replay`, which users read first.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/csv.hpp"
#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::CommandResult;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::unwrapped;

namespace {

/// A long job that a short one preempts under `srtf`, for 2 s at t = 100 s. gpt3-1.3b has about 1.3e9
/// parameters.
std::string two_jobs(const std::string& model) {
  return "job_id,submit_s,num_gpus,duration_s,model,global_batch,iterations\n"
         "long,0,8,1000," +
         model + "\nshort,100,8,2,,,\n";
}

/// A page with its no-break spaces replaced by blanks.
std::string with_plain_spaces(std::string page) {
  constexpr std::string_view kNoBreak = "\u00a0";
  for (std::size_t at = page.find(kNoBreak); at != std::string::npos; at = page.find(kNoBreak, at))
    page.replace(at, kNoBreak.size(), " ");
  return page;
}

constexpr const char* kSrtf = "replay --trace jobs.csv --cluster 1x8:a100 --policy srtf";

}  // namespace

TEST_CASE("answers: a job of a known model pays for a checkpoint by default, others nothing") {
  const TemporaryFolder work;
  const auto makespan = [&](const std::string& model, const std::string& more) {
    work.write("jobs.csv", two_jobs(model));
    return run_json(kSrtf + more, work)["makespan_s"].get<double>();
  };
  const double free = 1002;
  const double paid = makespan("gpt3-1.3b,64,1000", " --interruption-cost 10s");
  CHECK(paid == free + 10);
  // 14 bytes of 1.3e9 parameters are saved and loaded at 1 GB/s.
  const double by_default = makespan("gpt3-1.3b,64,1000", " --checkpoint-bandwidth 1GB/s");
  CHECK(by_default > free + 2 * 14 * 1.2);
  CHECK(by_default < free + 2 * 14 * 1.5);
  CHECK(makespan("gpt3-1.3b,64,1000", "") == doctest::Approx(free + (by_default - free) / 10));
  CHECK(makespan("gpt3-1.3b,64,1000", " --interruption-cost none") == free);
  CHECK(makespan("no-such-model,64,1000", "") == free);
  CHECK(makespan(",,", "") == free);
  // Only the default lets jobs go free whose model is not known.
  work.write("jobs.csv", two_jobs("no-such-model,64,1000"));
  CHECK(run_vtrain(std::string(kSrtf) + " --interruption-cost checkpoint", work.path()).exit_code == 2);
}

TEST_CASE(
    "answers: what preemption and resizing cost is on the first screen, in run.json and in the report") {
  const TemporaryFolder work;
  const auto told = [&](const std::string& model, const std::string& more, const std::string& sentence) {
    work.write("jobs.csv", two_jobs(model));
    const CommandResult shown = run_vtrain(std::string(kSrtf) + " --out out" + more, work.path());
    REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
    CAPTURE(shown.out);
    CHECK(unwrapped(shown.out).find(sentence) != std::string::npos);
    const json run = json::parse(slurp(work / "out/run.json"));
    CHECK(run["assumptions"].dump().find(sentence) != std::string::npos);
    const std::string report = with_plain_spaces(slurp(work / "out/report.html"));
    const std::string first_screen = report.substr(0, report.find("<table"));
    CHECK(first_screen.find(sentence) != std::string::npos);
    return shown;
  };
  told(
      "gpt3-1.3b,64,1000", "",
      "preemption and resizing cost a job saving and loading a checkpoint, 14 bytes a parameter at 10GB/s: ");
  told("gpt3-1.3b,64,1000", "", "; nothing for 1 job without a known model");
  told(",,", "",
       "preemption and resizing are free: no job has a known model (--interruption-cost sets a cost)");
  told("gpt3-1.3b,64,1000", " --interruption-cost none",
       "preemption and resizing are free (--interruption-cost none)");
  told("gpt3-1.3b,64,1000", " --interruption-cost 30s", "preemption and resizing cost a job 30 s");
  // Nothing is said where nothing is preempted or resized, and an option without effect is named.
  const CommandResult fifo = run_vtrain("replay --trace jobs.csv --cluster 1x8 --policy fifo", work.path());
  CHECK(fifo.out.find("resizing") == std::string::npos);
  CHECK(told(",,", " --checkpoint-bandwidth 1GB/s", "preemption and resizing are free")
            .err.find("--checkpoint-bandwidth: without effect") != std::string::npos);
}

TEST_CASE("answers: a policy with costs of its own runs beside those that pay by default, which is said") {
  const TemporaryFolder work;
  const std::string policies =
      "compare --seed 1 --policies srtf,elasticflow:overhead=table,elasticflow-las --timeline never";
  const CommandResult shown = run_vtrain(policies, work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  CHECK(unwrapped(shown.out).find("under elasticflow:overhead=table, elasticflow-las the cost is that of the "
                                  "reproduced simulator") != std::string::npos);
  CHECK(run_vtrain(policies + " --interruption-cost checkpoint", work.path()).exit_code == 2);
}

TEST_CASE("answers: resizes stand in the table, in JSON by tenant and in the headline") {
  const TemporaryFolder work;
  const CommandResult shown =
      run_vtrain("compare --policies fifo,elasticflow --seed 1 --out out", work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  const json summary = json::parse(slurp(work / "out/elasticflow/summary.json"));
  CHECK(summary["resizes"].get<int>() > 1000);
  CHECK(summary["by_tenant"][0]["resizes"].get<int>() > 100);
  CHECK(json::parse(slurp(work / "out/fifo/summary.json"))["resizes"] == 0);
  CHECK(shown.out.find("  resizes\n") != std::string::npos);
  const std::string report = slurp(work / "out/report.html");
  CHECK(report.substr(0, report.find("<table")).find(" resizes") != std::string::npos);
  CHECK(report.find(">Resizes</th>") != std::string::npos);
  // Rigid policies leave the column out.
  CHECK(run_vtrain("compare --seed 1 --policies fifo,srtf", work.path()).out.find("resizes\n") ==
        std::string::npos);
}

namespace {

/// The answer: the first lines of the output of `compare`.
std::string answer(const TemporaryFolder& work, const std::string& arguments) {
  const CommandResult shown = run_vtrain("compare --out out " + arguments, work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  std::string text = shown.out.substr(0, shown.out.find("\n\n"));
  std::ranges::replace(text, '\n', ' ');
  const std::string report = with_plain_spaces(slurp(work / "out/report.html"));
  CHECK(report.find("<h1>" + text + "</h1>") != std::string::npos);
  return text;
}

/// Ten jobs of 100 s on all of a node of 8 GPUs, all submitted at once, with these deadlines.
std::string ten_jobs(const std::function<double(int)>& deadline) {
  std::string rows = "job_id,submit_s,num_gpus,duration_s,deadline_s\n";
  for (int i = 0; i < 10; ++i)
    rows += fmt::format("{},0,8,100,{}\n", i, deadline(i));
  return rows;
}

}  // namespace

TEST_CASE("answers: a trace without deadlines gets none, and the answer is about times") {
  const TemporaryFolder work;
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,duration_s,original_start_s\n"
             "a,0,8,1000,0\nb,10,8,100,1000\nc,20,8,10,1100\n");
  // srtf: a runs until 10, b until 20, c 20..30, b 30..120, a 120..1110: JCTs 1110, 110, 10.
  // fifo: 1000, 1090, 1090, as recorded.
  CHECK(answer(work, "--trace jobs.csv --cluster 1x8 --policies fifo,srtf") ==
        "srtf has the shortest average JCT, 6 m 50 s, which is 61.3 % less than fifo (17 m 40 s), with 2 "
        "preemptions. Jobs waited 40 s on average, 11 m 30 s under fifo.");
  CHECK(answer(work, "--trace jobs.csv --cluster 1x8 --policies recorded,fifo,srtf") ==
        "srtf has an average JCT of 6 m 50 s and an average wait of 40 s, with 2 preemptions; recorded were "
        "17 m "
        "40 s and 11 m 30 s.");
  CHECK(
      answer(work, "--trace jobs.csv --cluster 1x8 --policies recorded,fifo")
          .starts_with("No policy has a clearly shorter average JCT than was recorded: the best, fifo, has"));
  CHECK(json::parse(slurp(work / "out/fifo/summary.json"))["deadline_satisfactory_ratio"].is_null());
  // The generated day has its deadlines, a trace those that are asked for.
  CHECK(answer(work, "--policies fifo,srtf --seed 1").find(" of the deadlines (") != std::string::npos);
  CHECK(answer(work, "--trace jobs.csv --cluster 1x8 --policies fifo,srtf --deadlines 1000")
            .find(" of the synthetic deadlines") != std::string::npos);
}

TEST_CASE("answers: the ceiling on the GPUs requested is named, and a handful of jobs decides nothing") {
  const TemporaryFolder work;
  // One after the other they end at 100, 200, ...; three deadlines nobody can meet.
  work.write("jobs.csv", ten_jobs([](int i) { return i >= 7 ? 50 : 700; }));
  CHECK(answer(work, "--trace jobs.csv --cluster 1x8 --policies fifo") ==
        "fifo met 70.0 % of the deadlines (70.0 % by GPU-hours), with an average JCT of 9 m 10 s, without "
        "preemptions. On the GPUs that jobs request, no schedule meets more than 70.0 %.");
  // edf begins with the three that are late anyway and meets four.
  CHECK(answer(work, "--trace jobs.csv --cluster 1x8 --policies fifo,edf") ==
        "No clear difference between fifo and edf, which met 4 to 7 of the 10 deadlines. On the GPUs that "
        "jobs request, no schedule meets more than 70.0 %.");
  CHECK(answer(work, "--trace jobs.csv --cluster 2x8 --policies fifo,easy")
            .starts_with("fifo and easy both met 70.0 % of the deadlines (70.0 % by GPU-hours)."));
}

TEST_CASE("answers: deadlines count by jobs and by GPU-hours, in table, JSON and report") {
  const TemporaryFolder work;
  // Nine jobs of 1 GPU and 100 s in time, one of 8 GPUs and 900 s late: 900 of 8,100 GPU-seconds.
  std::string rows = "job_id,tenant,submit_s,num_gpus,duration_s,deadline_s\nlarge,b,0,8,900,800\n";
  for (int i = 0; i < 9; ++i)
    rows += fmt::format("{},a,0,1,100,5000\n", i);
  work.write("jobs.csv", rows);
  const CommandResult shown =
      run_vtrain("replay --trace jobs.csv --cluster 4x8 --policy fifo --out out", work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  CHECK(shown.out.find("fifo       90.0 %   11.1 %  ") != std::string::npos);
  const json summary = json::parse(slurp(work / "out/summary.json"));
  CHECK(summary["deadline_satisfactory_ratio"] == 0.9);
  CHECK(summary["deadline_satisfactory_ratio_by_gpu_hours"] == 900.0 / 8100);
  CHECK(summary["by_tenant"][0]["deadline_satisfactory_ratio_by_gpu_hours"] == 0.0);
  CHECK(summary["by_tenant"][1]["deadline_satisfactory_ratio_by_gpu_hours"] == 1.0);
  const std::string report = with_plain_spaces(slurp(work / "out/report.html"));
  CHECK(report.find("<h1>fifo met 90.0 % of the deadlines (11.1 % by GPU-hours)") != std::string::npos);
  CHECK(report.find(">By GPU-hours</th>") != std::string::npos);
}

TEST_CASE("answers: who turns jobs away is marked, and nobody is starred for wasting GPUs or being alike") {
  const TemporaryFolder work;
  // Of ten jobs elasticflow turns the six away that cannot be in time; the others complete all.
  work.write("jobs.csv", ten_jobs([](int i) { return i >= 4 ? 50 : 450; }));
  const CommandResult shown =
      run_vtrain("compare --trace jobs.csv --cluster 1x8 --policies fifo,elasticflow --out out", work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  CAPTURE(shown.out);
  CHECK(shown.out.find(" †  ") != std::string::npos);
  CHECK(shown.out.find("† over fewer completed jobs, so not compared") != std::string::npos);
  // fifo's times are not the best: those of elasticflow are better, if of fewer jobs.
  CHECK(shown.out.find(" s *") == std::string::npos);
  CHECK(slurp(work / "out/report.html").find("(not compared)") != std::string::npos);
  // A policy that holds more GPUs than others is not better for that.
  const CommandResult wasteful = run_vtrain(
      "compare --policies fifo,elasticflow --seed 1 --interruption-cost none --timeline never --json",
      work.path());
  CHECK(wasteful.exit_code == 0);
  const CommandResult table = run_vtrain(
      "compare --policies fifo,elasticflow --seed 1 --interruption-cost none --timeline never", work.path());
  // Only the shares of deadlines met have a star, by jobs and by GPU-hours.
  CHECK(table.out.find(" % *") != std::string::npos);
  CHECK(table.out.find(" % *", table.out.find(" % *", table.out.find(" % *") + 1) + 1) == std::string::npos);
  // More than half alike are not starred.
  const CommandResult alike = run_vtrain(
      "compare --trace jobs.csv --cluster 1x8 --policies fifo,easy,edf-admission,fit-first", work.path());
  CHECK(alike.out.find("fifo     ") != std::string::npos);
  CHECK(alike.out.find(" *") == std::string::npos);
}

TEST_CASE("answers: hints say that nothing waits, that all is alike, that the load exceeds 1") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,8,100\nb,10,8,100\nc,20,8,100\n");
  const auto says = [&](const std::string& arguments, const std::string& sentence) {
    const CommandResult shown = run_vtrain("compare --out out --trace jobs.csv " + arguments, work.path());
    REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
    const bool on_page = slurp(work / "out/report.html").find(sentence) != std::string::npos;
    const bool on_terminal = unwrapped(shown.out).find(sentence) != std::string::npos;
    CHECK(on_page == on_terminal);
    return on_terminal;
  };
  const std::string both = " --policies fifo,easy";
  CHECK(
      says("--cluster 4x8" + both, "No job ever waited: with this load on this cluster the policies cannot"));
  CHECK(
      says("--cluster 4x8 --policies fifo", "No job ever waited. Fewer nodes (--cluster) or a busier part"));
  CHECK_FALSE(says("--cluster 1x8" + both, "No job ever waited"));
  CHECK(says("--cluster 1x8" + both, "All policies gave the same result."));
  // 2,400 GPU-seconds are asked for within 20 s.
  CHECK(says("--cluster 1x8" + both, "Offered load 15.00: jobs request more work than the cluster can do"));
  CHECK_FALSE(says("--cluster 64x8" + both, "Offered load"));
}

TEST_CASE("answers: deadline_met can be recomputed from jobs.csv, and waits stand there") {
  const TemporaryFolder work;
  const CommandResult shown = run_vtrain(
      "replay --policy elasticflow:admission=batch,overhead=table --out out --timeline never", work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  const std::string text = slurp(work / "out/jobs.csv");
  CHECK(text.starts_with(
      "job_id,tenant,user,account,queue,qos,priority,model,submit_s,start_s,end_s,finished_s,"
      "state,num_gpus,gpu_type,duration_s,wait_s,jct_s,queueing_delay_s,deadline_s,"
      "deadline_met,preemptions,resizes,gpu_seconds,tardiness_s,promise,cost\n"));
  auto rows = vtrain::CsvReader::open(text, "jobs.csv");
  REQUIRE(rows);
  std::int64_t met = 0;
  std::int64_t resizes = 0;
  std::int64_t ends_later = 0;
  while (*rows->next()) {
    const auto cell = [&](const char* column) {
      return std::string(rows->field(*rows->require_column(column)));
    };
    const std::string finished = cell("finished_s");
    const bool in_time = !finished.empty() && std::stod(finished) <= std::stod(cell("deadline_s"));
    CHECK(in_time == (cell("deadline_met") == "true"));
    CHECK(finished.empty() == (cell("state") != "completed"));
    met += in_time ? 1 : 0;
    resizes += std::stol(cell("resizes"));
    if (finished.empty()) continue;
    CHECK(std::stod(finished) <= std::stod(cell("end_s")));
    ends_later += finished != cell("end_s") ? 1 : 0;
  }
  CHECK(ends_later > 0);
  const json summary = json::parse(slurp(work / "out/summary.json"));
  CHECK(summary["deadline_met"] == met);
  CHECK(summary["resizes"] == resizes);
}

TEST_CASE("answers: summary.json says what it is of, and GPUs in use have no drain tail") {
  const TemporaryFolder work;
  // 4 of 8 GPUs for 100 s, of which 50 s pass until the last submission; then 8 for 50 s.
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,4,100\nb,50,4,100\n");
  const CommandResult shown = run_vtrain(
      "replay --trace jobs.csv --cluster 1x8:h100 --policy fifo --seed 7 --out out --placement yarn",
      work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  const json summary = json::parse(slurp(work / "out/summary.json"));
  const json& scenario = summary["scenario"];
  CHECK(scenario["trace"] == "jobs.csv");
  CHECK(scenario["trace_format"] == "vtrain");
  CHECK(scenario["num_gpus"] == 8);
  CHECK(scenario["num_nodes"] == 1);
  CHECK(scenario["placement"] == "yarn");
  CHECK(scenario["seed"] == 7);
  CHECK(scenario["offered_load"] == 2.0);
  CHECK(scenario["deadlines"] == "trace");
  CHECK(scenario["interruption_cost"] == "auto");
  CHECK(json::parse(slurp(work / "out/run.json"))["scenario"] == scenario);
  CHECK(run_json("replay --trace jobs.csv --cluster 1x8:h100 --policy fifo --seed 7 --placement yarn",
                 work)["scenario"] == scenario);
  CHECK(summary["gpu_utilization_without_drain"] == 0.5);
  CHECK(summary["gpu_utilization"] == (4 * 100 + 4 * 100) / (8.0 * 150));
  CHECK(shown.out.find("in use to\n") == std::string::npos);
  CHECK(shown.out.find("last submit") != std::string::npos);
  CHECK(slurp(work / "out/report.html").find(">GPUs in use to the end</th>") != std::string::npos);
}

TEST_CASE("answers: no CSV begins with a comment, and what was assumed is kept in a column") {
  const TemporaryFolder work;
  REQUIRE(run_vtrain("trace generate --jobs 20 --seed 2 --out made.csv", work.path()).exit_code == 0);
  CHECK(slurp(work / "made.csv").starts_with("job_id,"));
  CHECK(slurp(work / "made.csv").find('#') == std::string::npos);
  const json made = run_json("trace info made.csv", work);
  REQUIRE(made["assumptions"].size() == 3);
  CHECK(made["assumptions"][0] == "jobs generated with the shape of itp, seed 2 (synthetic)");
  // The old form says the same.
  work.write("old.csv", "# made up\n# twice\njob_id,submit_s,num_gpus,duration_s\na,0,1,5\nb,1,1,5\n");
  const json old = run_json("trace info old.csv", work);
  CHECK(old["assumptions"] == json({"made up", "twice"}));
  REQUIRE(run_vtrain("trace convert old.csv --out new.csv", work.path()).exit_code == 0);
  CHECK(slurp(work / "new.csv") ==
        "job_id,submit_s,num_gpus,duration_s,assumed\na,0,1,5,made up;  twice\nb,1,1,5,\n");
  CHECK(run_json("trace info new.csv", work)["assumptions"] == old["assumptions"]);
}

namespace {

/// The commands that an output suggests, without the program's name.
std::vector<std::string> suggested(const std::string& output) {
  std::vector<std::string> commands;
  std::istringstream lines(output.substr(std::min(output.find("\nnext"), output.size())));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  vtrain ")) commands.push_back(line.substr(std::string_view("  vtrain ").size()));
  }
  return commands;
}

}  // namespace

TEST_CASE("answers: every command that is suggested runs, and replaces nothing") {
  const TemporaryFolder work;
  work.write("jobs.csv", two_jobs(",,"));
  const std::string input = slurp(work / "jobs.csv");
  for (const std::string command :
       {"compare", "trace generate --jobs 200 --out made.csv", "trace fit made.csv --out shape.json"}) {
    CAPTURE(command);
    const CommandResult shown = run_vtrain(command, work.path());
    REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
    const std::vector<std::string> next = suggested(shown.out);
    CHECK_FALSE(next.empty());
    for (const std::string& suggestion : next) {
      CAPTURE(suggestion);
      const CommandResult result = run_vtrain(suggestion, work.path());
      CHECK_MESSAGE(result.exit_code == 0, result.err);
    }
  }
  CHECK(slurp(work / "jobs.csv") == input);
}

TEST_CASE("answers: a file is replaced with --force alone, outside the folders of runs") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,5\n");
  work.write("mine", "mine");
  for (const std::string command :
       {"trace generate --jobs 5 --out mine", "trace convert jobs.csv --out mine",
        "trace slice jobs.csv --max-jobs 1 --out mine", "trace info jobs.csv --report mine",
        "plan gpt3-1.3b --gpus 8 --global-batch 64 --out mine"}) {
    CAPTURE(command);
    const CommandResult refused = run_vtrain(command, work.path());
    CHECK(refused.exit_code == 2);
    CHECK(slurp(work / "mine") == "mine");
    CHECK(refused.err.find("'mine' exists: name another file, or replace it with --force") !=
          std::string::npos);
    CHECK(run_vtrain(command + " --force", work.path()).exit_code == 0);
    CHECK(slurp(work / "mine") != "mine");
    work.write("mine", "mine");
  }
  // Results may still go to what standard output is, and runs into the folder of a run.
  CHECK(run_vtrain("trace convert jobs.csv --out /dev/stdout", work.path()).exit_code == 0);
  const std::string replay = "replay --trace jobs.csv --cluster 1x8 --policy fifo --out out";
  CHECK(run_vtrain(replay, work.path()).exit_code == 0);
  CHECK(run_vtrain(replay, work.path()).exit_code == 0);
}

TEST_CASE(
    "answers: the first comparison shows elastic scheduling, what it turned away, and what to do next") {
  const TemporaryFolder work;
  const CommandResult first = run_vtrain("compare", work.path());
  REQUIRE_MESSAGE(first.exit_code == 0, first.err);
  std::string text = unwrapped(first.out);
  std::ranges::replace(text, '\n', ' ');
  CHECK(text.starts_with("Over 20 seeds, no clear difference between elasticflow and deadline: "));
  CHECK(text.find("seeds     1-20   jobs generated anew for each   described above: seed 1 ") !=
        std::string::npos);
  CHECK(text.find("mean ± half of the 95 % interval over seeds 1 to 20") != std::string::npos);
  CHECK(text.find("placement consolidate") != std::string::npos);
  CHECK(text.find("preemption and resizing cost a job saving and loading a checkpoint") != std::string::npos);
  CHECK(first.out.find("timeline  runs/compare-1/fifo/timeline.json and 4 more, ") != std::string::npos);
  // The chart of the schedule opens with the policy that met the most deadlines with the first seed.
  const std::string page = slurp(work / "runs/compare-1/report.html");
  CHECK(page.find("\"shown\":4") != std::string::npos);
  // Plans as if resizing were free lose to srtf where it takes a minute; those that count it do not.
  const json costly =
      run_json("compare --policies srtf,elasticflow:costs=free,elasticflow --seed 1 --interruption-cost 1m",
               work)["runs"];
  CHECK(costly[1]["deadline_met"] < costly[0]["deadline_met"]);
  CHECK(costly[2]["deadline_met"] > costly[0]["deadline_met"]);

  CHECK(suggested(first.out).size() == 4);
  work.write("jobs.csv", "mine");
  CHECK(run_vtrain("compare", work.path()).out.find("--out jobs-2.csv") != std::string::npos);
}

TEST_CASE(
    "answers: generated jobs pay for the nodes they spread over, those of a trace where that is asked for") {
  const TemporaryFolder work;
  const auto placement = [&](const std::string& arguments) {
    return run_json("replay --policy fifo " + arguments, work)["scenario"]["placement"].get<std::string>();
  };
  CHECK(placement("") == "consolidate");
  CHECK(placement("--placement count") == "count");
  work.write("jobs.csv", ten_jobs([](int) { return 700; }));
  CHECK(placement("--trace jobs.csv --cluster 1x8") == "count");
  CHECK(placement("--trace jobs.csv --cluster 1x8 --placement auto") == "count");
  const auto policies = [&](const std::string& arguments) {
    std::string names;
    const json runs = run_json("compare " + arguments, work)["runs"];
    for (const json& run : runs)
      names += run["policy"].get<std::string>() + " ";
    return names;
  };
  CHECK(policies("") == "fifo easy srtf elasticflow deadline ");
  CHECK(policies("--trace jobs.csv --cluster 1x8") == "fifo easy srtf edf:resize=no ");
  CHECK(policies("--policies fifo") == "fifo ");
}
