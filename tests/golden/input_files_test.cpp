/// Files that commands read: pipes, devices, files above their limit, and files that only begin like another
/// format.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command_runner.hpp"
#include "tests/support/packed.hpp"

using nlohmann::json;
using vtrain::testing::InheritedPipe;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::zstd;

namespace {

constexpr const char* kJobs = "job_id,submit_s,num_gpus,duration_s\na,0,1,100\n";
constexpr const char* kConfig =
    R"({"model": "llama3-8b", "plan": {"tensor": 2, "data": 4, "global_batch": 128, "micro_batch": 1,
        "recompute": "none"}})";

/// A command for every option that reads a file, with `X` in its place.
const std::vector<std::string> kReaders = {
    "trace info X",
    "trace convert X --out o.csv",
    "trace slice X --max-jobs 1 --out o.csv",
    "trace fit X --out o.json",
    "trace info jobs.csv --cluster X",
    "trace generate --jobs 5 --from X --out o.csv",
    "trace generate --jobs 5 --assign lingjun --profile X --out o.csv",
    "compare --trace X --cluster 1x8 --out o",
    "replay --trace jobs.csv --cluster X --policy fifo",
    "replay --trace jobs.csv --cluster 1x8 --placement yarn --policy fifo --outages X",
    "replay --trace jobs.csv --cluster 1x8 --policy gittins:distribution=X",
    "replay --trace gavel.trace --cluster 1x8 --policy fifo --throughputs X",
    "predict X",
    "predict c.json --profile X",
    "predict c.json --calibrate X",
    "predict --from-log X",
    "plan X --gpus 8",
    "plan llama3-8b --gpus 8 --calibrate X",
    "scale --gpus 8 --days 1 --profile X",
    "validate X",
    "validate X --calibrate X",
    "profile show X",
    "profile import X --base h100",
    "profile import . --device x --devices X",
    "profile calibrate X --out o.json",
    "profile calibrate --log X --out o.json",
};

std::string with_file(std::string command, const std::string& file) {
  for (std::size_t at = command.find('X'); at != std::string::npos; at = command.find('X', at + file.size()))
    command.replace(at, 1, file);
  return command;
}

/// The error of `validate` for a list of `count` equal values, which it must refuse.
std::string refusal_of_cases(std::string_view value, int count) {
  const TemporaryFolder work;
  std::string list = "[";
  for (int i = 0; i < count; ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ",", value);
  work.write("cases.json", list + "]");
  const auto result = run_vtrain("validate cases.json", work.path());
  CHECK(result.exit_code == 2);
  return result.err;
}

}  // namespace

TEST_CASE("input files: where a file is expected, a named pipe is an error at once, and so is a device") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  work.write("c.json", kConfig);
  work.write("gavel.trace", "ResNet-18 (batch size 32)\tpython3 main.py\tcifar\t-n\t0\t100\t1\t0\t-1\t0\n");
  REQUIRE(::mkfifo((work / "pipe.json").c_str(), 0600) == 0);
  for (const std::string& reader : kReaders) {
    const auto refused = [&](const std::string& file, const std::string& found) {
      const std::string command = with_file(reader, file);
      CAPTURE(command);
      const auto result = run_vtrain(command, work.path());
      CAPTURE(result.err);
      CHECK(result.exit_code == 2);
      CHECK(result.err.find(file + ": ") != std::string::npos);
      CHECK(result.err.find(found) != std::string::npos);
      CHECK(result.out.empty());
    };
    refused("./pipe.json", "found a named pipe");
    refused("/dev/zero", "found a device");
  }
}

TEST_CASE("input files: a named pipe in place of the run.json of an earlier run is an error") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  std::filesystem::create_directory(work / "out");
  REQUIRE(::mkfifo((work / "out" / "run.json").c_str(), 0600) == 0);
  const auto result =
      run_vtrain("replay --trace jobs.csv --cluster 1x8 --policy fifo --out out", work.path());
  CHECK(result.exit_code == 2);
  CHECK(
      result.err.starts_with("error: out/run.json: expected a regular file or nothing, found a named pipe"));
  CHECK_FALSE(std::filesystem::exists(work / "out" / "jobs.csv"));
}

TEST_CASE("input files: standard input and inherited descriptors are read from pipes") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  work.write("sizes.csv", "1x8\n");
  const auto jobs_of = [&](const std::string& arguments) {
    const auto result = run_vtrain(arguments + " --json", work.path());
    CAPTURE(arguments);
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    return json::parse(result.out)["jobs"].get<int>();
  };
  const InheritedPipe pipe(kJobs);
  CHECK(jobs_of("trace info " + pipe.path()) == 1);
  const InheritedPipe packed(zstd(kJobs));
  CHECK(jobs_of("trace info " + packed.path()) == 1);
  const InheritedPipe by_process(kJobs);
  CHECK(jobs_of("trace info /proc/self" + by_process.path().substr(4)) == 1);
  const InheritedPipe outages("node,begin_s,end_s\n0,5,10\n");
  const auto replayed = run_vtrain(
      "replay --trace jobs.csv --cluster 1x8 --placement yarn --policy fifo "
      "--json --outages " +
          outages.path(),
      work.path());
  CHECK(replayed.exit_code == 0);
}

TEST_CASE("input files: what is larger than the limit of its kind is refused with limit and reason") {
  const TemporaryFolder work;
  work.write("jobs.csv", kJobs);
  work.write("c.json", kConfig);
  work.write("gavel.trace", "ResNet-18 (batch size 32)\tpython3 main.py\tcifar\t-n\t0\t100\t1\t0\t-1\t0\n");
  // 1.1 GB of zeros without a line feed: beyond every limit.
  std::string zeros;
  const std::string frame = zstd(std::string(10'000'000, '\0'));
  for (int i = 0; i < 110; ++i)
    zeros += frame;
  work.write("bomb.json", zeros);
  for (const std::string& reader : kReaders) {
    const std::string command = with_file(reader, "./bomb.json");
    CAPTURE(command);
    const auto result = run_vtrain(command, work.path());
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("bomb.json: ") != std::string::npos);
    CHECK(result.out.empty());
  }
  const auto refused = run_vtrain("validate bomb.json", work.path());
  CHECK(refused.err ==
        "error: bomb.json: unpacks to more than 64 MB, the limit of a file of measured cases; --max-input "
        "raises it\n");
  const auto raised = run_vtrain("validate bomb.json --max-input 100MB", work.path());
  CHECK(raised.err.starts_with("error: bomb.json: unpacks to more than 100 MB, the limit of"));
  const auto senseless = run_vtrain("validate bomb.json --max-input 10", work.path());
  CHECK(senseless.exit_code == 2);
  CHECK(senseless.err.find("--max-input: expected a size from 1MB to 1TB, found '10'") != std::string::npos);
}

TEST_CASE("input files: rows beyond the limit are refused before they are kept") {
  const TemporaryFolder work;
  std::string rows;
  for (int i = 0; i < 100'000; ++i)
    rows += "j,0,1,1\n";
  std::string packed = zstd("job_id,submit_s,num_gpus,duration_s\n");
  const std::string frame = zstd(rows);
  for (int i = 0; i < 201; ++i)
    packed += frame;
  work.write("rows.csv.zst", packed);
  const auto result = run_vtrain("trace info rows.csv.zst", work.path());
  CHECK(result.exit_code == 2);
  CHECK(result.err ==
        "error: rows.csv.zst: has more than 20,000,000 lines, the limit of a trace; --max-input raises it\n");
}

TEST_CASE("input files: JSON of short values is refused by their number") {
  CHECK(refusal_of_cases("[]", 2'000'002) ==
        "error: cases.json: has more than 2,000,000 values, the limit of a JSON document; --max-input raises "
        "it\n");
}

TEST_CASE("input files: no more cases are kept than the limit says, also of short ones") {
  CHECK(
      refusal_of_cases("{}", 50'001) ==
      "error: cases.json: has more than 50,000 measured cases, the limit of a file; --max-input raises it\n");
}

TEST_CASE("input files: five letters at byte 257 make no tar archive") {
  const TemporaryFolder work;
  std::string jobs = "job_id,submit_s,num_gpus,duration_s\n";
  int num_jobs = 0;
  while (jobs.size() < 230)
    jobs += "j" + std::to_string(num_jobs++) + ",0,1,100\n";
  jobs += std::string(257 - jobs.size(), 'x') + "ustar,5,1,100\n";
  while (jobs.size() < 2000)
    jobs += "j" + std::to_string(num_jobs++) + ",9,1,100\n";
  REQUIRE(jobs.substr(257, 5) == "ustar");
  work.write("jobs.csv", jobs);
  const auto result = run_vtrain("trace info jobs.csv --json", work.path());
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(json::parse(result.out)["jobs"] == num_jobs + 1);
}

TEST_CASE("input files: names of other formats as values make none of these") {
  const TemporaryFolder work;
  for (const std::string name : {"traceEvents", "transformations", "vtrain_generator", "jobs", "subtime"}) {
    CAPTURE(name);
    std::string lines;
    for (const std::string& id : {name, std::string("b"), std::string("c")})
      lines += R"({"job_id":")" + id + R"(","submit_s":0,"num_gpus":1,"duration_s":5})" + "\n";
    work.write("jobs.jsonl", lines);
    const auto result = run_vtrain("trace info jobs.jsonl --json", work.path());
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    CHECK(json::parse(result.out)["jobs"] == 3);
  }
  work.write("batsim.json", R"({"nb_res": 4, "jobs": [{"id": "job_id", "subtime": 0, "res": 1,
      "profile": "p"}], "profiles": {"p": {"type": "delay", "delay": 5}}})");
  CHECK(run_vtrain("trace info batsim.json", work.path()).exit_code == 0);
}
