/// `vtrain trace` through the real command line.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/io/csv.hpp"
#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::CsvReader;
using vtrain::testing::CommandResult;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

TEST_CASE("trace commands: what is read is not written over") {
  const TemporaryFolder work;
  const std::string jobs = "job_id,submit_s,num_gpus,duration_s\na,0,1,10\nb,5,1,10\n";
  work.write("jobs.csv", jobs);
  work.write("sizes", "1x8\n");
  for (const auto& pair :
       {std::pair{"trace slice jobs.csv --max-jobs 1 --out ./jobs.csv", "--out"},
        std::pair{"trace convert jobs.csv --out jobs.csv", "--out"},
        std::pair{"trace fit jobs.csv --out jobs.csv", "--out"},
        std::pair{"trace generate --from jobs.csv --out jobs.csv", "--out"},
        std::pair{"trace info jobs.csv --report jobs.csv", "--report"},
        std::pair{"trace generate --profile jobs.csv --out jobs.csv", "--out"},
        std::pair{"profile import . --devices jobs.csv --device x --out jobs.csv", "--out"},
        std::pair{"predict c.json --profile jobs.csv --graph jobs.csv", "--graph"},
        std::pair{"validate jobs.csv --predictions jobs.csv", "--predictions"}}) {
    const std::string command = pair.first;
    const std::string option = pair.second;
    CAPTURE(command);
    const auto result = run_vtrain(command, work.path());
    CHECK(result.exit_code == 2);
    CHECK(result.out == "");
    CHECK(result.err == std::string("error: ") + option +
                            ": would overwrite 'jobs.csv', which is read; name another file\n");
    CHECK(slurp(work / "jobs.csv") == jobs);
  }
  // What only has the name of a file is none.
  for (int i = 0; i < 2; ++i)
    CHECK(run_vtrain("trace generate --force --jobs 5 --shape itp --seed 3 --out 3", work.path()).exit_code ==
          0);
  const auto twice = run_vtrain("predict x.json --timeline a/../t.json --graph t.json", work.path());
  CHECK(twice.exit_code == 2);
  CHECK(twice.err == "error: --graph: names the same file as --timeline\n");
  const auto changed =
      run_vtrain("trace generate --profile ./jobs.csv:nvlink_domain=4 --out jobs.csv", work.path());
  CHECK(changed.exit_code == 2);
  CHECK(slurp(work / "jobs.csv") == jobs);
  const auto cluster = run_vtrain("trace slice jobs.csv --cluster sizes --load 0.5 --out sizes", work.path());
  CHECK(cluster.exit_code == 2);
  CHECK(slurp(work / "sizes") == "1x8\n");
}

TEST_CASE("trace info: one JSON document with the numbers of the trace") {
  const TemporaryFolder folder;
  folder.write(
      "jobs.csv",
      "job_id,tenant,submit_s,num_gpus,duration_s\na,x,0,8,3600\nb,y,1800,2,7200\nc,x,7200,8,3600\n");
  const CommandResult result = run_vtrain("trace info jobs.csv --cluster 2x10 --json", folder.path());
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.empty());
  const json info = json::parse(result.out);
  CHECK(info["format"] == "vtrain");
  CHECK(info["jobs"] == 3);
  CHECK(info["span_s"] == 7200.0);
  CHECK(info["gpu_hours"].get<double>() == doctest::Approx(20));      // 8 + 4 + 8
  CHECK(info["offered_load"].get<double>() == doctest::Approx(0.5));  // 20 GPU-hours in 2 hours of 20 GPUs
  CHECK(info["duration_s"]["p50"] == 3600.0);
  CHECK(info["num_gpus"].size() == 2);
  CHECK(info["tenants"][0]["name"] == "x");
}

TEST_CASE("trace info: what a recorded log says, for people and as JSON") {
  const TemporaryFolder folder;
  folder.write(
      "log.csv",
      "# half of the waits are made up\n"
      "job_id,tenant,user,submit_s,num_gpus,gpu_type,gpu_share,duration_s,original_start_s,status\n"
      "a,x,u1,0,1,T4,0.5,3600,60,completed\nb,x,u2,10,4,,,3600,10,failed\nc,y,u1,20,1,V100,,7200,,\n");
  const json info = json::parse(run_vtrain("trace info log.csv --json --strict", folder.path()).out);
  CHECK(info["statuses"].size() == 3);
  CHECK(info["users"][0] == json({{"name", "u2"}, {"jobs", 1}, {"gpu_hours", 4.0}}));
  CHECK(info["gpu_types"][0]["name"] == "V100");
  CHECK(info["used_gpu_hours"].get<double>() == doctest::Approx(6.5));  // 0.5 + 4 + 2
  CHECK(info["recorded_wait_s"]["max"] == 60.0);
  CHECK(info["skipped_rows"] == 0);
  CHECK(info["assumptions"] == json({"half of the waits are made up"}));
  const std::string text = run_vtrain("trace info log.csv --cluster 1x8", folder.path()).out;
  CHECK(text.starts_with(
      "trace     log.csv (vtrain)   3 jobs   20 s   7 GPU-hours\n"
      "cluster   1 x 8, 8 GPUs   offered load 157.50\n"  // 7 h / (8 x 20 s)
      "shared    1 of 3 jobs uses a part of each GPU; 6.5 GPU-hours with these parts, whole GPUs elsewhere\n"
      "assumed   half of the waits are made up\n"));
}

TEST_CASE("trace info: the counts that come with the published traces") {
  const fs::path traces = vtrain::testing::shared_folder("data/traces");
  if (traces.empty()) return;
  const json itp = json::parse(run_vtrain("trace info itp/*.csv.gz --json", traces).out);
  CHECK(itp["jobs"] == 69'351);
  CHECK(std::llround(itp["gpu_hours"].get<double>()) == 1'632'720);
  CHECK(itp["files"].size() == 10);
  CHECK(itp["files"][3]["jobs"] == 15'802);
  const json philly =
      json::parse(run_vtrain("trace info philly/philly_reconstructed.csv.gz --json", traces).out);
  CHECK(philly["jobs"] == 109'570);
  CHECK(std::llround(philly["gpu_hours"].get<double>()) == 2'679'962);
  CHECK(philly["skipped_rows"] == 0);
}

TEST_CASE("trace convert: several files become one, and what was assumed goes along") {
  const TemporaryFolder folder;
  folder.write("one.csv", "job_id,submission_time,duration,num_gpu\nx,5,60,2\n");
  folder.write("two.csv", "# made up\njob_id,submit_s,num_gpus,duration_s\nx,0,1,30\n");
  const CommandResult result = run_vtrain("trace convert one.csv two.csv --out both.csv", folder.path());
  CHECK(result.exit_code == 0);
  CHECK(result.out ==
        "from      one.csv and 1 more (itp,vtrain)\n"
        "trace     both.csv (vtrain)   2 jobs   5 s   0.0417 GPU-hours\n"
        "assumed   made up\n");
  CHECK(slurp(folder.path() / "both.csv") ==
        "job_id,submit_s,num_gpus,duration_s,assumed\ntwo/x,0,1,30,made up\none/x,5,2,60,\n");
  const json again =
      json::parse(run_vtrain("trace convert both.csv --out again.csv --json", folder.path()).out);
  CHECK(again["not_kept"].empty());
  CHECK(slurp(folder.path() / "again.csv") == slurp(folder.path() / "both.csv"));
  const CommandResult unknown = run_vtrain("trace convert one.csv --to vtrian --out x.csv", folder.path());
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err == "error: --to: unknown trace format 'vtrian'; did you mean 'vtrain'?\n");
  CHECK_FALSE(fs::exists(folder.path() / "x.csv"));
}

TEST_CASE("trace convert: traces of the same name keep their jobs apart") {
  const TemporaryFolder folder;
  folder.write("a/jobs.csv", "job_id,submit_s,num_gpus,duration_s\nx,5,2,60\n");
  folder.write("b/jobs.csv", "job_id,submit_s,num_gpus,duration_s\nx,0,1,30\n");
  REQUIRE(run_vtrain("trace convert a/jobs.csv b/jobs.csv --tenants clusters --out both.csv", folder.path())
              .exit_code == 0);
  CHECK(slurp(folder.path() / "both.csv").find("\nb/jobs.csv/x,b/jobs.csv,0,1,30") != std::string::npos);
  CHECK(slurp(folder.path() / "both.csv").ends_with("\na/jobs.csv/x,a/jobs.csv,5,2,60,\n"));
  const CommandResult twice = run_vtrain("trace info a/jobs.csv a/jobs.csv", folder.path());
  CHECK(twice.exit_code == 2);
  CHECK(twice.err == "error: a/jobs.csv: the trace is given twice\n");
  fs::create_symlink("a/jobs.csv", folder / "link.csv");
  for (const std::string other : {"./a/jobs.csv", "a/../a/jobs.csv", "link.csv"}) {
    CHECK(run_vtrain("trace info a/jobs.csv " + other, folder.path()).err ==
          "error: " + other + ": the trace is given twice, first as a/jobs.csv\n");
  }
}

TEST_CASE("trace convert: what is described is what was written") {
  const TemporaryFolder folder;
  folder.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s,deadline_s\n1,0,1,10,90\n2,5,2,20,\n");
  CHECK(run_vtrain("trace convert jobs.csv --to swf --out jobs.swf", folder.path()).out ==
        "from      jobs.csv (vtrain)\n"
        "trace     jobs.swf (swf)   2 jobs   5 s   0.0139 GPU-hours\n"
        "not kept  deadlines of 1 job\n");
  CHECK(run_vtrain("trace convert jobs.csv --out same.csv", folder.path()).out ==
        "from      jobs.csv (vtrain)\n"
        "trace     same.csv (vtrain)   2 jobs   5 s   0.0139 GPU-hours\n"
        "deadlines 1 of 2 jobs has a deadline\n");
  const json swf = json::parse(
      run_vtrain("trace convert jobs.csv --to swf --force --out jobs.swf --json", folder.path()).out);
  CHECK(swf["jobs_with_deadline"] == 0);
  CHECK(swf["not_kept"] == json::parse(R"([{"field": "deadlines", "jobs": 1}])"));
}

TEST_CASE("trace convert: --out is a file of plain text, or a pipe that cannot be read back") {
  const TemporaryFolder folder;
  const fs::path jobs = folder.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,10\n");
  for (const std::string name : {"-", "jobs.csv.gz", "jobs.zst"}) {
    CAPTURE(name);
    const CommandResult refused = run_vtrain("trace convert jobs.csv --out " + name, folder.path());
    CHECK(refused.exit_code == 2);
    CHECK(refused.out.empty());
    CHECK(refused.err.starts_with("error: --out: expected"));
    CHECK_FALSE(fs::exists(folder.path() / name));
  }
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const int pipe = ::open((folder / "pipe").c_str(), O_RDWR | O_NONBLOCK);
  const CommandResult piped = run_vtrain("trace convert jobs.csv --out pipe --json", folder.path());
  REQUIRE(piped.exit_code == 0);
  CHECK(json::parse(piped.out)["jobs"] == 1);
  CHECK(json::parse(piped.out)["not_kept"] == nullptr);
  std::string got(1000, '\0');
  got.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(pipe, got.data(), got.size()), 0)));
  ::close(pipe);
  CHECK(got == slurp(jobs));
  CHECK(fs::is_fifo(folder / "pipe"));
}

TEST_CASE("trace: --out /dev/stdout leaves standard output to the trace, whatever that is") {
  const TemporaryFolder folder;
  const fs::path jobs = folder.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,10\n");
  const std::string summary =
      "from      jobs.csv (vtrain)\ntrace     /dev/stdout (vtrain)   1 job   0 s   0.00278 GPU-hours\nnot "
      "kept  unknown: the written file cannot be read back\n";
  const CommandResult to_file = run_vtrain("trace convert jobs.csv --out /dev/stdout", folder.path());
  CHECK(to_file.exit_code == 0);
  CHECK(to_file.out == slurp(jobs));
  CHECK(to_file.err == summary);
  run_vtrain("trace convert jobs.csv --out /dev/stdout 2>err | cat >got; true", folder.path());
  CHECK(slurp(folder / "got") == slurp(jobs));
  CHECK(slurp(folder / "err") == summary);
  // What the file has already, and what others write to it later, stays.
  folder.write("all.csv", "before\n");
  run_vtrain("trace convert jobs.csv --out all.csv --json >>all.csv 2>err; echo after >>all.csv; true",
             folder.path());
  CHECK(slurp(folder / "all.csv") == "before\n" + slurp(jobs) + "after\n");
  CHECK(json::parse(slurp(folder / "err"))["jobs"] == 1);
  for (const std::string command : {"trace generate --jobs 200", "trace fit made.csv"}) {
    CAPTURE(command);
    REQUIRE(run_vtrain("trace generate --force --jobs 200 --out made.csv", folder.path()).exit_code == 0);
    REQUIRE(run_vtrain(command + " --force --out file", folder.path()).exit_code == 0);
    const CommandResult printed = run_vtrain(command + " --out /dev/stdout", folder.path());
    CHECK(printed.out == slurp(folder / "file"));
    CHECK(printed.err.find("next\n  vtrain trace ") != std::string::npos);
  }
}

TEST_CASE("trace generate: jobs have the sizes on which the one model that they train has a plan") {
  const TemporaryFolder folder;
  const std::string generate = "trace generate --force --jobs 50 --out jobs.csv --assign model=";
  const CommandResult made = run_vtrain(generate + "llama3-8b --cluster 8x8:a100", folder.path());
  REQUIRE(made.exit_code == 0);
  CHECK(made.out.find("no jobs of 1 GPUs, on which llama3-8b has no plan") != std::string::npos);
  const std::string text = slurp(folder.path() / "jobs.csv");
  auto jobs = CsvReader::open(text, "jobs.csv");
  REQUIRE(jobs);
  int count = 0;
  for (; jobs->next().value(); ++count) {
    CHECK(jobs->field(jobs->require_column("model").value()) == "llama3-8b");
    CHECK(jobs->integer(jobs->require_column("num_gpus").value(), 2, 64));
  }
  CHECK(count == 50);
  const CommandResult none = run_vtrain(generate + "gpt3-175b --cluster 1x8:a100", folder.path());
  CHECK(none.exit_code == 1);
  CHECK(none.err.find("does not fit on") != std::string::npos);
}

TEST_CASE("trace: what vtrain itself writes beside traces is told from them") {
  const TemporaryFolder folder;
  folder.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,10\nb,9,1,10\n");
  REQUIRE(run_vtrain("replay --trace jobs.csv --cluster 1x8 --out out", folder.path()).exit_code == 0);
  REQUIRE(run_vtrain("trace generate --jobs 200 --assign none --out a.csv", folder.path()).exit_code == 0);
  REQUIRE(run_vtrain("trace fit a.csv --out generator.json", folder.path()).exit_code == 0);
  const auto error_of = [&](const std::string& file) {
    const CommandResult result = run_vtrain("trace info " + file, folder.path());
    CHECK(result.exit_code == 2);
    CHECK(run_vtrain("replay --cluster 1x8 --trace " + file, folder.path()).err == result.err);
    return result.err;
  };
  CHECK(error_of("out/jobs.csv") == "error: out/jobs.csv: no trace, but how the jobs of a replay ended\n");
  CHECK(error_of("out/summary.json") == "error: out/summary.json: no trace, but the summary of a replay\n");
  CHECK(error_of("out/run.json") ==
        "error: out/run.json: no trace, but what a replay came from; its inputs name the trace\n");
  CHECK(error_of("out/timeline.json") ==
        "error: out/timeline.json: no trace of jobs, but a timeline for Perfetto\n");
  CHECK(error_of("out/report.html") == "error: out/report.html: no trace, but a web page\n");
  CHECK(error_of("generator.json") ==
        "error: generator.json: no trace, but a generator: `vtrain trace generate --from` makes traces of "
        "it\n");
}

TEST_CASE("trace slice: a week of a tenant at another load") {
  const TemporaryFolder folder;
  folder.write(
      "jobs.csv",
      "job_id,tenant,submit_s,num_gpus,duration_s\na,x,0,1,60\nb,x,100,8,7200\nc,y,200,4,60\nd,x,300,4,60\n");
  const CommandResult result = run_vtrain(
      "trace slice jobs.csv --from 90s --tenant x --clip 1h --shift-origin --scale-load 2 --out part.csv",
      folder.path());
  CHECK(result.exit_code == 0);
  CHECK(slurp(folder.path() / "part.csv") ==
        "job_id,tenant,submit_s,num_gpus,duration_s,assumed\n"
        "b,x,0,8,3600,only jobs submitted from 1 m 30 s on: 3 of 4;  only jobs of tenant x: 2 of 3;  "
        "durations clipped to 1 h: 1 of 2 jobs;  the origin of time moved by 1 m 40 s to the first "
        "submission;  "
        "submissions 2 times as fast as recorded\nd,x,100,4,60,\n");
  const json busy = run_json("trace slice jobs.csv --load 0.9 --cluster 4x8 --out busy.csv", folder);
  CHECK(busy["offered_load"].get<double>() == doctest::Approx(0.9));
  CHECK(busy["cluster_gpus"] == 32);
  for (const std::string arguments :
       {"--tenant z", "--from 1y", "--from 90", "--clip 3600", "--statuses completed", "--load 0.5",
        "--sample 0", "--clip -1", "--clip 0", "--max-duration 0", "--from 9d", "--load 1 --cluster 0x1"}) {
    CAPTURE(arguments);
    const CommandResult bad = run_vtrain("trace slice jobs.csv --out bad.csv " + arguments, folder.path());
    CHECK(bad.exit_code == 2);
    CHECK(bad.out.empty());
    CHECK_FALSE(bad.err.empty());
    CHECK_FALSE(fs::exists(folder.path() / "bad.csv"));
  }
}

TEST_CASE("trace generate: the same options give the same file, which replays at the load asked for") {
  const TemporaryFolder folder;
  const std::string command = "trace generate --jobs 200 --cluster 4x8:a100 --load 0.7 --seed 3 --out ";
  REQUIRE(run_vtrain(command + "a.csv", folder.path()).exit_code == 0);
  REQUIRE(run_vtrain(command + "b.csv", folder.path()).exit_code == 0);
  CHECK(slurp(folder.path() / "a.csv") == slurp(folder.path() / "b.csv"));
  const json info = json::parse(run_vtrain("trace info a.csv --cluster 4x8 --json", folder.path()).out);
  CHECK(info["jobs"] == 200);
  CHECK(info["jobs_with_deadline"] == 200);
  CHECK(info["offered_load"].get<double>() == doctest::Approx(0.7).epsilon(1e-5));
}

TEST_CASE("trace: bad input exits 2, says where, and leaves no file behind") {
  const TemporaryFolder folder;
  folder.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1.5,60\n");
  const CommandResult info = run_vtrain("trace info jobs.csv", folder.path());
  CHECK(info.exit_code == 2);
  CHECK(info.out.empty());
  CHECK(info.err == "error: jobs.csv:2: num_gpus: expected a whole number of at least 1, found '1.5'\n");
  for (const std::string arguments :
       {"--load 0", "--shape helios", "--cluster 0x8", "--deadlines 2:1", "--jobs 0", "--jobs 5 --days 2",
        "--profile nowhere.json", "--tenants 0"}) {
    CAPTURE(arguments);
    const CommandResult generate = run_vtrain("trace generate --out new.csv " + arguments, folder.path());
    CHECK(generate.exit_code == 2);
    CHECK(generate.out.empty());
    CHECK_FALSE(generate.err.empty());
    CHECK_FALSE(fs::exists(folder.path() / "new.csv"));
  }
  CHECK(run_vtrain("trace generate --out absent/new.csv", folder.path()).exit_code == 2);
}

TEST_CASE("trace info: a table of nodes is shown as the cluster it is") {
  const TemporaryFolder folder;
  folder.write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,8,V100\nb,1,1,8,V100\nc,1,1,0,\n");
  CHECK(run_vtrain("trace info nodes.csv", folder.path()).out ==
        "cluster   nodes.csv   no trace: a table of nodes for --cluster\n"
        "nodes     2 nodes: 2 x 8 V100, 16 GPUs\n"
        "assumed   nodes without GPU, left out: 1\n");
  const json shown = json::parse(run_vtrain("trace info nodes.csv --json", folder.path()).out);
  CHECK(shown["gpus"] == 16);
  CHECK(shown["groups"] == json::parse(R"([{"num_nodes": 2, "gpus_per_node": 8, "gpu_type": "V100"}])"));
  CHECK(run_vtrain("trace info 2x8", folder.path()).exit_code == 2);
}

TEST_CASE("replay: a recorded log on a table of nodes says what was skipped and what was assumed") {
  const TemporaryFolder folder;
  folder.write("nodes.txt", "NODELIST GRES\ngpu[1-2] gpu:a100:8\nlogin (null)\n");
  folder.write(
      "cluster_log.csv",
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
      "1,u,v,8,1,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 01:00:00,3600,0\n"
      "2,u,v,0,1,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 01:00:00,3600,0\n");
  const CommandResult result =
      run_vtrain("compare --trace cluster_log.csv --cluster nodes.txt --policies fifo --json", folder.path());
  REQUIRE(result.exit_code == 0);
  const json shown = json::parse(result.out);
  CHECK(shown["cluster"] == "2 x 8 A100, 16 GPUs");
  CHECK(shown["runs"][0]["completed"] == 1);
  CHECK(shown["skipped_rows"] == 1);
  const auto assumptions = shown["assumptions"].get<std::vector<std::string>>();
  const auto assumed = [&](const char* text) {
    return std::find(assumptions.begin(), assumptions.end(), text) != assumptions.end();
  };
  CHECK(assumed("time 0 is the first submission, 2020-03-31 16:00:00 UTC"));
  CHECK(assumed("nodes without GPU, left out: 1"));
  const CommandResult strict = run_vtrain(
      "compare --trace cluster_log.csv --cluster nodes.txt --policies fifo --strict", folder.path());
  CHECK(strict.exit_code == 2);
  CHECK(strict.err ==
        "error: cluster_log.csv:3: gpu_num: expected a job to replay (no GPU requested), found '0'\n");
}

TEST_CASE("trace fit: a generator that stands for a trace, and what generate makes of it") {
  const TemporaryFolder folder;
  REQUIRE(run_vtrain(
              "trace generate --jobs 3000 --shape philly --cluster 64x8 --assign none --estimates factor:2 "
              "--arrivals bursty --out a.csv",
              folder.path())
              .exit_code == 0);
  const CommandResult fitted = run_vtrain("trace fit a.csv --out g.json --name mine", folder.path());
  REQUIRE(fitted.exit_code == 0);
  CHECK(fitted.out.find("not kept  deadlines of 3,000, requested times of 3,000 jobs") != std::string::npos);
  CHECK(fitted.out.find(" of generated ones by the seed") != std::string::npos);
  CHECK(slurp(folder.path() / "g.json").find("tenant-") == std::string::npos);
  const std::string command = "trace generate --from g.json --seed 2 --out b.csv --json";
  const CommandResult made = run_vtrain(command, folder.path());
  REQUIRE(made.exit_code == 0);
  const json b = json::parse(made.out);
  const json a = json::parse(run_vtrain("trace info a.csv --json", folder.path()).out);
  CHECK(b["shape"] == "mine");
  CHECK(b["jobs"] == 3000);
  CHECK(b["arrivals"] == "bursty");
  CHECK(b["jobs_with_deadline"] == 0);
  CHECK(b["span_s"].get<double>() == doctest::Approx(a["span_s"].get<double>()).epsilon(1e-4));
  CHECK(b["tenants"].size() == a["tenants"].size());
  CHECK(b["statuses"].size() == a["statuses"].size());
  // The mean of 3,000 durations with a heavy tail.
  CHECK(b["gpu_hours"].get<double>() == doctest::Approx(a["gpu_hours"].get<double>()).epsilon(0.3));
  for (const std::string arguments :
       {"--from g.json --load 0.5", "--from none.json", "--from a.csv", "--from g.json --shape itp",
        "--from g.json --statuses running", "--statuses completed", "--estimates never"}) {
    CAPTURE(arguments);
    const CommandResult bad = run_vtrain("trace generate --out bad.csv " + arguments, folder.path());
    CHECK(bad.exit_code == 2);
    CHECK(bad.out.empty());
    CHECK_FALSE(bad.err.empty());
    CHECK_FALSE(fs::exists(folder.path() / "bad.csv"));
  }
}

TEST_CASE("trace fit: what generate would refuse is refused before it is written") {
  const TemporaryFolder folder;
  std::string jobs = "job_id,submit_s,num_gpus,duration_s\n";
  for (int i = 0; i < 100; ++i)
    jobs += std::to_string(i) + "," + std::to_string(i) + ",1,60\n";
  folder.write("jobs.csv", jobs);
  folder.write("large.csv", jobs + "large,100,20000000,60\n");
  std::string sizes = jobs;
  for (int i = 0; i < 12'000; ++i)
    sizes += "s" + std::to_string(i) + ",200," + std::to_string(i + 1) + ",60\n";
  folder.write("sizes.csv", sizes);
  // All at once, but for the last: the spread of the gaps has no limit of its own.
  std::string once = "job_id,submit_s,num_gpus,duration_s\n";
  for (int i = 0; i < 2000; ++i)
    once += std::to_string(i) + "," + (i < 1999 ? "0" : "3000000000") + ",1,60\n";
  folder.write("once.csv", once);
  const auto error_of = [&](const std::string& arguments) {
    const CommandResult bad = run_vtrain("trace fit --out g.json " + arguments, folder.path());
    CHECK(bad.exit_code == 2);
    CHECK_FALSE(fs::exists(folder / "g.json"));
    return bad.err;
  };
  CHECK(error_of("jobs.csv --name 'a\nb'").starts_with("error: --name: expected text of at most"));
  CHECK(error_of("jobs.csv --name " + std::string(2000, 'x')).starts_with("error: --name: expected text of"));
  CHECK(error_of("large.csv").starts_with("error: large.csv: gpus[1].num_gpus: expected"));
  CHECK(error_of("sizes.csv") ==
        "error: sizes.csv: gpus: expected a list of 1 to 10,000 entries, found 12,000\n");
  REQUIRE(run_vtrain("trace fit --out g.json once.csv", folder.path()).exit_code == 0);
  CHECK(json::parse(slurp(folder / "g.json"))["arrivals"]["gap_sigma"] <= 10);
  CHECK(run_vtrain("trace generate --from g.json --jobs 10 --out new.csv", folder.path()).exit_code == 0);
}

TEST_CASE("trace generate: estimates, statuses and other formats as other commands have them") {
  const TemporaryFolder folder;
  const CommandResult made = run_vtrain(
      "trace generate --jobs 500 --assign none --estimates factor:1.5 --statuses completed=3,failed=1 "
      "--out a.csv --json",
      folder.path());
  REQUIRE(made.exit_code == 0);
  const json a = json::parse(made.out);
  CHECK(a["jobs_with_requested_time"] == 500);
  CHECK(a["statuses"].size() == 2);
  CHECK(slurp(folder.path() / "a.csv").find("statuses drawn: completed 75.0 %, failed 25.0 % (synthetic)") !=
        std::string::npos);
  const CommandResult swf = run_vtrain("trace generate --jobs 50 --to swf --out a.swf", folder.path());
  REQUIRE(swf.exit_code == 0);
  CHECK(swf.out.find("not kept") != std::string::npos);
  CHECK(json::parse(run_vtrain("trace info a.swf --json", folder.path()).out)["jobs"] == 50);
}

TEST_CASE("trace info: the picture of a trace, a page of its own") {
  const TemporaryFolder folder;
  REQUIRE(run_vtrain("trace generate --jobs 300 --out a.csv", folder.path()).exit_code == 0);
  const CommandResult result = run_vtrain("trace info a.csv --report a.html", folder.path());
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.ends_with("\na.html\n"));
  const std::string page = slurp(folder.path() / "a.html");
  CHECK(page.find("300 jobs ask for") != std::string::npos);
  CHECK(page.find("sha256") != std::string::npos);
  CHECK(run_vtrain("trace info a.csv --report nowhere/a.html", folder.path()).exit_code == 2);
}

TEST_CASE("trace info: files that are no traces are named") {
  const TemporaryFolder folder;
  folder.write("load.csv", "time,active,total\n2017-10-03 00:00:00,3,4\n");
  CHECK(run_vtrain("trace info load.csv", folder.path()).out ==
        "file      load.csv   no trace: nodes in use over time (Philly)\nholds     1 row\n");
  folder.write("quotas.csv", "date,vcA,vcB,total\n2020-04-01,8,16,24\n");
  CHECK(run_vtrain("trace info quotas.csv", folder.path())
            .out.ends_with("virtual cluster  GPUs  of GPUs\nvcB                16   66.7 %\nvcA              "
                           "   8   33.3 %\n"));
  CHECK(
      json::parse(run_vtrain("trace info quotas.csv --json", folder.path()).out)["virtual_clusters"].size() ==
      2);
}
