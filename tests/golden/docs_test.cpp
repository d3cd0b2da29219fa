/// The README and the pages of docs/: each command runs unchanged, and docs/metrics.md defines every key and
/// column of the results.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sched/metrics/metric_table.hpp"
#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using vtrain::testing::CommandResult;
using vtrain::testing::run_command;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

const fs::path kProject = VTRAIN_PROJECT_DIR;
const fs::path kCorpus = kProject / "tests/fuzz/corpus";

/// Commands of `vtrain` in the code blocks of a page, in order, without the program's name and remarks behind
/// them.
std::vector<std::string> commands_of(const fs::path& page) {
  constexpr std::string_view kIndent = "    ";
  std::vector<std::string> commands;
  std::istringstream lines(slurp(page));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kIndent)) continue;
    line.erase(0, kIndent.size());
    if (line.starts_with("$ ")) line.erase(0, 2);
    line = line.substr(0, line.find("  # "));
    constexpr std::string_view kProgram = "vtrain ";
    if (line.starts_with(kProgram)) commands.push_back(line.substr(kProgram.size()));
  }
  return commands;
}

/// The files that pages name and readers have: logs of a cluster and of training, published traces, this
/// project.
void write_inputs(const TemporaryFolder& work) {
  work.write("sacct.txt", slurp(kCorpus / "sacct/recommended.txt"));
  work.write("state.json", slurp(kCorpus / "stated_cluster/count.json"));
  work.write("case.json", slurp(kCorpus / "kueue_case/cycle.json"));
  work.write("objects.yaml", slurp(kCorpus / "kueue_objects/objects.yaml"));
  work.write("kueue_jobs.csv",
             "job_id,queue,submit_s,num_gpus,duration_s\n1,vision-a/train,0,8,3600\n2,batch,60,16,3600\n");
  work.write("train.sh", slurp(kCorpus / "launch_script/train.sh"));
  work.write("llama3_8b.toml", slurp(kCorpus / "torchtitan_toml/new.toml"));
  work.write("ds_config.json", slurp(kCorpus / "deepspeed_json/zero3.json"));
  work.write("nemo.yaml", slurp(kCorpus / "nemo_yaml/nemo.yaml"));
  work.write("sdsc_sp2_sample.swf", slurp(kCorpus / "swf/three_lines.swf"));
  work.write("openb_pod_list_default.csv", slurp(kCorpus / "openb/pods.csv"));
  work.write("openb_node_list_gpu_node.csv",
             "sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0000,64000,262144,8,V100M16\n");
  std::string log = "job_id,submit_s,num_gpus,duration_s,requested_s,original_start_s\n";
  for (int i = 0; i < 40; ++i)
    log += fmt::format("{},{},8,100,200,{}\n", i, 90 * i, 100 * i);
  work.write("log.csv", log);
  for (const char* const name : {"itp/cluster01.csv", "itp/cluster04.csv"}) {
    fs::create_directories(work / "itp");
    work.write(name, slurp(kCorpus / "itp/two_jobs.csv"));
  }
  for (const char* const name : {"train.log", "a.log", "b.log", "c.log"})
    work.write(name, slurp(kCorpus / "training_log/llama.log"));
  work.write("run.json", R"({"model": "llama3-8b", "plan": {"data": 4, "tensor": 2, "global_batch": 16,
    "micro_batch": 1, "recompute": "none"}})");
  work.write("grid.json",
             R"({"spec_version": 1, "cluster": "2x8:a100", "policies": ["fifo", "easy"], "seeds": "1-2"})");
  fs::create_directory_symlink(kProject / "docs", work / "docs");
}

/// True for a command that runs until it is stopped.
bool runs_on(const std::string& command) {
  return command.starts_with("serve ") && command.find("--new-token") == std::string::npos &&
         command.find("--backup") == std::string::npos;
}

/// Runs such a command on a free port for some seconds, then stops it as a service manager does.
CommandResult run_and_stop(const std::string& command, const TemporaryFolder& work) {
  return run_command(
      "timeout --preserve-status --signal TERM 5 '" VTRAIN_PROGRAM "' " + command + " --listen 127.0.0.1:0",
      work.path());
}

std::vector<fs::path> pages() {
  std::vector<fs::path> found = {kProject / "README.md"};
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kProject / "docs")) {
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

/// Names in backticks in the first cells of the tables of a page.
std::set<std::string> names_defined_on(const fs::path& page) {
  std::set<std::string> names;
  std::istringstream lines(slurp(page));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) continue;
    std::istringstream cell(line.substr(1, line.find('|', 1) - 1));
    std::string text;
    for (bool is_name = false; std::getline(cell, text, '`'); is_name = !is_name) {
      if (is_name) names.insert(text);
    }
  }
  return names;
}

/// Adds the keys of a document and of the objects in it.
void add_keys(const nlohmann::json& document, std::set<std::string>& keys) {
  for (const auto& item : document.items()) {
    if (document.is_object()) keys.insert(item.key());
    if (item.value().is_structured()) add_keys(item.value(), keys);
  }
}

/// Adds the columns of a CSV file.
void add_columns(const fs::path& file, std::set<std::string>& columns) {
  std::istringstream lines(slurp(file));
  std::string header;
  std::getline(lines, header);
  std::istringstream cells(header);
  for (std::string cell; std::getline(cells, cell, ',');)
    columns.insert(cell);
}

/// A title of the terminal in one line; `hyphen` ends a part of a word.
std::string in_one_line(std::string_view title, std::string_view hyphen) {
  std::string line;
  for (const char c : title) {
    if (c != '\n') {
      line += c;
    } else if (!line.ends_with('-')) {
      line += ' ';
    } else {
      line.pop_back();
      line += hyphen;
    }
  }
  return line;
}

}  // namespace

TEST_CASE("docs: every command on a page runs, one after the other") {
  std::size_t num_commands = 0;
  for (const fs::path& page : pages()) {
    const TemporaryFolder work;
    write_inputs(work);
    for (const std::string& command : commands_of(page)) {
      CAPTURE(page.string());
      CAPTURE(command);
      const CommandResult result =
          runs_on(command) ? run_and_stop(command, work) : run_vtrain(command, work.path());
      CHECK_MESSAGE(result.exit_code == 0, result.err);
      ++num_commands;
    }
  }
  CHECK(num_commands > 40);
}

TEST_CASE("docs: metrics.md defines every key and column of a run") {
  const TemporaryFolder work;
  // Runs that write everything: groups, outages, costs, checkpoints, fragmentation, figures of a policy. The
  // failure of node 1 stops jobs, and job d waits.
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,duration_s,deadline_s,tenant,user,queue\n"
             "a,0,8,100,400,x,u,q\nb,10,1,200,400,x,u,q\nc,20,4,300,2000,y,v,p\nd,30,8,50,3000,y,v,p\n");
  work.write("outages.csv", "node,begin_s,end_s,kind\n1,60,90,failure\n");
  const std::string replay =
      "replay --trace jobs.csv --cluster 2x8:a100 --placement fgd --outages outages.csv --checkpoints 1m "
      "--interruption-cost 10s --timeline always --price 2.5/h --policy ";
  std::set<std::string> names;
  for (const char* const run : {"chronus --by size --out chronus", "easy --by user --out easy"}) {
    const CommandResult result = run_vtrain(replay + run, work.path());
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
  }
  for (const char* const folder : {"chronus", "easy"}) {
    add_keys(nlohmann::json::parse(slurp(work / folder / "summary.json")), names);
    for (const char* const table : {"jobs.csv", "interruptions.csv", "outages.csv"})
      add_columns(work / folder / table, names);
    const auto timeline = nlohmann::json::parse(slurp(work / folder / "timeline.json"));
    for (const auto& event : timeline["traceEvents"]) {
      if (event["ph"] == "X") add_keys(event["args"], names);
      if (event["ph"] == "C") names.insert(event["name"].get<std::string>());
    }
  }
  for (const char* const name : {"fragmentation", "policy_figures", "lost_gpu_hours", "by_tenant",
                                 "gpu_seconds", "failures", "reason"})
    CHECK_MESSAGE(names.contains(name), name, " is not written: the run lacks something");
  const std::set<std::string> defined = names_defined_on(kProject / "docs/metrics.md");
  for (const std::string& name : names)
    CHECK_MESSAGE(defined.contains(name), name, " has no line in docs/metrics.md");
}

TEST_CASE("docs: metrics.md names every column of the tables") {
  const std::string page = slurp(kProject / "docs/metrics.md");
  const auto is_named = [&page](std::string_view title) {
    return page.find(in_one_line(title, "-")) != std::string::npos ||
           page.find(in_one_line(title, "")) != std::string::npos;
  };
  const std::set<std::string> defined = names_defined_on(kProject / "docs/metrics.md");
  for (const std::span<const vtrain::Metric> metrics : {vtrain::run_metrics(), vtrain::loss_metrics()}) {
    for (const vtrain::Metric& metric : metrics) {
      const std::string key(metric.key);
      const std::string title(metric.title);
      const std::string short_title(metric.short_title);
      CHECK_MESSAGE((key.empty() || defined.contains(key)), key);
      CHECK_MESSAGE(is_named(title), title);
      CHECK_MESSAGE(is_named(short_title), short_title);
    }
  }
}
