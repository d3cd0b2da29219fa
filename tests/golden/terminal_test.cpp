/// Terminal output: width, colours, completion, the manual page; and timelines for viewers.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::testing::CommandResult;
using vtrain::testing::names_in;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// Sets an environment variable for the object's life.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

/// Number of characters, not bytes, of the longest line.
std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto width = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    widest = std::max(widest, static_cast<std::size_t>(width));
  }
  return widest;
}

/// The words that bash offers for the last word of a line.
std::set<std::string> completed(const TemporaryFolder& work, const std::string& line) {
  work.write("complete.sh", "source <('" VTRAIN_PROGRAM
                            "' completion bash)\n"
                            "COMP_WORDS=(" +
                                line +
                                ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_vtrain\n"
                                "printf '%s\\n' \"${COMPREPLY[@]}\" >words\n");
  REQUIRE(std::system(("cd '" + work.path().string() + "' && bash complete.sh").c_str()) == 0);
  std::istringstream lines(slurp(work / "words"));
  std::set<std::string> words;
  for (std::string word; std::getline(lines, word);)
    if (!word.empty()) words.insert(word);
  return words;
}

std::map<std::string, int> count_by(const json& events, const std::string& key) {
  std::map<std::string, int> counts;
  for (const json& event : events)
    ++counts[event.value(key, "")];
  return counts;
}

}  // namespace

TEST_CASE("terminal: tables and lists fit into the columns that there are") {
  const TemporaryFolder work;
  const Variable columns("COLUMNS", "80");
  for (const std::string command : {"models", "policies", "clusters", "profile list"}) {
    CAPTURE(command);
    const CommandResult result = run_vtrain(command, work.path());
    CHECK(result.exit_code == 0);
    CHECK(widest_line(result.out) <= 80);
  }
  // No column is lost.
  const std::string models = run_vtrain("models", work.path()).out;
  for (const char* const title : {"parameters", "experts", "vocabulary", "batch"})
    CHECK(models.find(title) != std::string::npos);
}

TEST_CASE("terminal: a comparison fits into 80 columns, and says which of its own have no room") {
  const TemporaryFolder work;
  const auto shown = [&](const char* width, const std::string& more = "--seed 1") {
    const Variable columns("COLUMNS", width);
    const CommandResult result = run_vtrain("compare " + more, work.path());
    REQUIRE(result.exit_code == 0);
    const std::string report = result.out.substr(0, result.out.find("\nnext, for instance"));
    return std::pair(widest_line(report), report);
  };
  const auto [narrow, in_80] = shown("80");
  CHECK(narrow <= 80);
  CHECK(in_80.find("avg wait") == std::string::npos);
  CHECK(in_80.find("Average wait: see --json") != std::string::npos);
  const auto [wide, in_100] = shown("100");
  CHECK(wide <= 100);
  CHECK(in_100.find("avg wait") != std::string::npos);
  CHECK(in_100.find("no room for Makespan") != std::string::npos);
  CHECK(shown("80", "--seeds 1-2").first <= 80);
  CHECK(run_vtrain("compare --seed 1 --policies fifo,easy", work.path())
            .out.find("report    runs/compare-4/report.html\n") != std::string::npos);
}

TEST_CASE("terminal: colours are where they are wanted, and never in JSON") {
  const TemporaryFolder work;
  const std::string compare = "compare --seed 1 --out out --policies fifo,srtf ";
  CHECK(run_vtrain(compare, work.path()).out.find('\033') == std::string::npos);
  const std::string colored = run_vtrain(compare + "--color always", work.path()).out;
  CHECK(colored.find("\033[1m") != std::string::npos);
  CHECK(colored.find(" *\033[0m") != std::string::npos);
  CHECK(run_vtrain(compare + "--color never", work.path()).out.find('\033') == std::string::npos);
  CHECK(run_vtrain(compare + "--color always --json", work.path()).out.find('\033') == std::string::npos);
  CHECK(run_vtrain("replay --policy x --color always", work.path())
            .err.starts_with("\033[1;31merror:\033[0m "));
  CHECK(run_vtrain("models --color blue", work.path()).err ==
        "error: --color: expected one of 'auto', 'always' and 'never', found 'blue'\n"
        "Run 'vtrain models --help' for more.\n");
}

TEST_CASE("terminal: colours of their own names are shown as text") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s,tenant\na,0,1,10,x\033[31m\n");
  CHECK(run_vtrain("trace info jobs.csv --color always", work.path()).out.find("\033[31m") ==
        std::string::npos);
}

TEST_CASE("terminal: -V is the version, and -q leaves warnings out") {
  const TemporaryFolder work;
  const CommandResult version = run_vtrain("-V", work.path());
  CHECK(version.exit_code == 0);
  CHECK(version.out == run_vtrain("--version", work.path()).out);
  const std::string command = "replay --timeline always --json";
  CHECK(run_vtrain(command, work.path()).err.find("without effect") != std::string::npos);
  CHECK(run_vtrain(command + " -q", work.path()).err.empty());
  CHECK(run_vtrain("-q " + command, work.path()).err.empty());
}

TEST_CASE("terminal: bash completes commands, options, and the names that options take") {
  const TemporaryFolder work;
  CHECK(completed(work, "vtrain comp") == std::set<std::string>{"compare", "completion"});
  CHECK(completed(work, "vtrain trace sl") == std::set<std::string>{"slice"});
  CHECK(completed(work, "vtrain compare --poli") == std::set<std::string>{"--policies"});
  CHECK(completed(work, "vtrain replay --policy eas") == std::set<std::string>{"easy", "easy-fast"});
  CHECK(completed(work, "vtrain replay --timeline a") == std::set<std::string>{"always", "auto"});
  // Files are left to readline.
  CHECK(completed(work, "vtrain replay --trace ''").empty());
}

TEST_CASE("terminal: completion of every shell and the manual page know every option of compare") {
  const TemporaryFolder work;
  const std::string help = run_vtrain("compare --help", work.path()).out;
  const std::string bash = run_vtrain("completion bash", work.path()).out;
  const std::string zsh = run_vtrain("completion zsh", work.path()).out;
  const std::string fish = run_vtrain("completion fish", work.path()).out;
  const std::string manual = run_vtrain("man", work.path()).out;
  std::istringstream words(help);
  int num_options = 0;
  for (std::string line; std::getline(words, line);) {
    const std::size_t begin = line.find("  --");
    if (begin != 0) continue;
    const std::string name = line.substr(4, line.find_first_of(" ,", 4) - 4);
    CAPTURE(name);
    ++num_options;
    CHECK(bash.find("--" + name) != std::string::npos);
    CHECK(zsh.find("--" + name) != std::string::npos);
    CHECK(fish.find(" -l " + name + " ") != std::string::npos);
    std::string in_roff;
    for (const char c : "--" + name)
      in_roff += c == '-' ? std::string("\\-") : std::string(1, c);
    CHECK(manual.find("\\fB" + in_roff) != std::string::npos);
  }
  CHECK(num_options > 30);
  CHECK(run_vtrain("completion tcsh", work.path()).err.find("'bash', 'zsh' and 'fish'") != std::string::npos);
  CHECK(manual.starts_with(".TH VTRAIN 1 "));
}

TEST_CASE("terminal: a table is printed where its files cannot be written") {
  const TemporaryFolder work;
  work.write("runs", "a file in the place of the folder");
  const CommandResult result = run_vtrain("compare --seed 1 --policies fifo,easy", work.path());
  CHECK(result.exit_code != 0);
  CHECK(result.out.find("\nfifo  ") != std::string::npos);
  CHECK(result.out.find("report.html") == std::string::npos);
  CHECK(result.err.find("error: runs") != std::string::npos);
}

TEST_CASE("terminal: an interrupted comparison leaves no folder of a run") {
  const TemporaryFolder work;
  const CommandResult made =
      run_vtrain("trace generate --jobs 100000 --assign none --cluster 16x8 --out jobs.csv", work.path());
  REQUIRE(made.exit_code == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chdir(work.path().c_str()) != 0) ::_exit(127);
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::execl(VTRAIN_PROGRAM, "vtrain", "compare", "--trace", "jobs.csv", "--cluster", "16x8", "--policies",
            "srtf,las,conservative", nullptr);
    ::_exit(127);
  }
  // Until it has begun its folder.
  for (int i = 0; i < 6000 && !fs::exists(work / "runs/.compare-1.vtrain-writing/building"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(names_in(work.path()) == std::set<std::string>{"jobs.csv"});
}

TEST_CASE("terminal: a trace with dates is cut by dates") {
  const TemporaryFolder work;
  // The public log of Slurm: sacct with dates.
  work.write("sacct.txt",
             "JobIDRaw|User|Account|Partition|State|Submit|Start|End|AllocTRES|Timelimit\n"
             "1|ann|a|gpu|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:00:00|2026-11-01T01:00:00|gres/"
             "gpu=1|02:00:00\n"
             "2|ann|a|gpu|COMPLETED|2026-11-02T12:00:00|2026-11-02T12:00:00|2026-11-02T13:00:00|gres/"
             "gpu=1|02:00:00\n"
             "3|ann|a|gpu|COMPLETED|2026-11-03T00:00:00|2026-11-03T00:00:00|2026-11-03T01:00:00|gres/"
             "gpu=1|02:00:00\n");
  const auto jobs_of = [&](const std::string& window) {
    const CommandResult cut =
        run_vtrain("trace slice --force sacct.txt --out part.csv " + window, work.path());
    CAPTURE(cut.err);
    REQUIRE(cut.exit_code == 0);
    return vtrain::testing::run_json("trace info part.csv", work)["jobs"].get<int>();
  };
  CHECK(jobs_of("--from 2026-11-02") == 2);
  CHECK(jobs_of("--from 2026-11-02 --until 2026-11-03") == 1);
  CHECK(jobs_of("--from 2026-11-02T12:30") == 1);
  CHECK(jobs_of("--until 2026-11-03") == jobs_of("--until 2d"));
  work.write("plain.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,10\n");
  CHECK(run_vtrain("trace slice plain.csv --out p.csv --from 2026-11-01", work.path()).err ==
        "error: --from: the times of this trace have no date; name a time from its start, such as 30d\n");
  CHECK(run_vtrain("trace slice sacct.txt --out p.csv --from 2026-13-01", work.path()).err ==
        "error: --from: expected a date such as 2026-11-01 or 2026-11-01T08:00, found '2026-13-01'\n");
}

TEST_CASE("terminal: counts and clusters are read in either case of letters") {
  const TemporaryFolder work;
  const std::string plan = "plan llama3-8b --gpus 8 --profile h100 --json --tokens ";
  const auto training = [&](const std::string& tokens) {
    json document = json::parse(run_vtrain(plan + tokens, work.path()).out);
    document.erase("search_s");
    return document.dump().size();
  };
  CHECK(training("300b") > 0);
  CHECK(run_vtrain("replay --cluster 16X8:a100 --policy fifo", work.path()).exit_code == 0);
}

TEST_CASE("terminal: a timeline has tenants, waits, counters, and colours by deadline") {
  const TemporaryFolder work;
  // b waits for a, and misses its deadline; c has none.
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,duration_s,tenant,deadline_s\n"
             "a,0,4,100,red,200\nb,10,4,100,blue,150\nc,20,4,100,red,\n");
  const std::string command =
      "replay --trace jobs.csv --cluster 1x4 --policy fifo --deadlines none --timeline always ";
  REQUIRE(run_vtrain(command + "--out out", work.path()).exit_code == 0);
  const json events = json::parse(slurp(work / "out/timeline.json"))["traceEvents"];
  CHECK(count_by(events, "ph")["C"] >= 6);
  const auto categories = count_by(events, "cat");
  CHECK(categories.at("job") == 3);
  CHECK(categories.at("wait") == 2);
  std::set<std::string> processes;
  std::map<std::string, json> jobs;
  for (const json& event : events) {
    if (event["name"] == "process_name") processes.insert(event["args"]["name"]);
    if (event.value("cat", "") == "job") jobs[event["name"]] = event;
  }
  CHECK(processes == std::set<std::string>{"cluster", "jobs of red", "jobs of blue", "waiting jobs of red",
                                           "waiting jobs of blue"});
  CHECK(jobs["a"]["args"]["deadline"] == "met");
  CHECK(jobs["b"]["args"]["deadline"] == "missed");
  CHECK(jobs["c"]["args"]["deadline"] == "none");
  CHECK(jobs["a"]["cname"] != jobs["b"]["cname"]);
  CHECK(jobs["a"]["args"]["tenant"] == "red");
  CHECK(jobs["a"]["args"]["ends"] == "completed");
  // Jobs of a tenant that ran one after the other share a track.
  CHECK(jobs["a"]["tid"] == jobs["c"]["tid"]);
}

TEST_CASE("terminal: blocks make a graph and a timeline small enough to draw") {
  const TemporaryFolder work;
  REQUIRE(
      run_vtrain("plan gpt3-175b --gpus 1024 --stack megatron-2021 --out best.json", work.path()).exit_code ==
      0);
  const CommandResult made =
      run_vtrain("predict best.json --detail blocks --graph blocks.dot --timeline blocks.json", work.path());
  REQUIRE(made.exit_code == 0);
  CHECK(made.out.find("wrote blocks.dot: ") != std::string::npos);
  const std::string dot = slurp(work / "blocks.dot");
  CHECK(dot.size() < 500'000);
  CHECK(dot.find("subgraph cluster_0 {") != std::string::npos);
  CHECK(dot.find("forward 0") != std::string::npos);
  const json events = json::parse(slurp(work / "blocks.json"))["traceEvents"];
  CHECK(events.size() < 20'000);
  // The end of the iteration is the same as with operators.
  const auto end_of = [](const json& list) {
    double end = 0;
    for (const json& event : list)
      if (event["ph"] == "X") end = std::max(end, event["ts"].get<double>() + event["dur"].get<double>());
    return end;
  };
  const json predicted = vtrain::testing::run_json("predict best.json", work);
  CHECK(end_of(events) == doctest::Approx(predicted["iteration_time_s"].get<double>() * 1e6).epsilon(1e-6));
}
