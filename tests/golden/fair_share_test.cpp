/// Fair shares of small trees, computed by hand, through the command line.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/strings.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/computed.hpp"

using nlohmann::json;
using vtrain::split;
using vtrain::testing::about;
using vtrain::testing::kHour;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

std::string tree_of(const std::string& tenants) {
  return "{\"version\": 1, \"tenants\": [\n" + tenants + "]}\n";
}

/// `count` jobs of a tenant, named by it and a number, on equal numbers of GPUs.
std::string jobs_of(const std::string& tenant, int count, int submit_s, int gpus, int duration_s) {
  std::string rows;
  for (int i = 0; i < count; ++i)
    rows += fmt::format("{0}{1},{0},{2},{3},{4}\n", tenant, i, submit_s, gpus, duration_s);
  return rows;
}

struct Replayed {
  std::map<std::string, std::string> spans;  ///< by job: start and end, or its state
  std::map<std::string, std::string> preemptions;
  json summary;
};

Replayed replay(const TemporaryFolder& work, const std::string& tree, const std::string& jobs,
                const std::string& policy, const std::string& cluster) {
  work.write("tree.json", tree);
  work.write("jobs.csv", "job_id,tenant,submit_s,num_gpus,duration_s\n" + jobs);
  const auto run = run_vtrain("replay --trace jobs.csv --deadlines none --tenant-tree tree.json --cluster " +
                                  cluster + " --policy " + policy + " --out run",
                              work.path());
  REQUIRE_MESSAGE(run.exit_code == 0, run.err);
  Replayed result;
  result.summary = json::parse(slurp(work / "run/summary.json"));
  std::map<std::string, std::size_t> column;
  const std::string table = slurp(work / "run/jobs.csv");
  for (const std::string_view line : split(table, '\n')) {
    const auto cells = split(line, ',');
    if (column.empty()) {
      for (std::size_t i = 0; i < cells.size(); ++i)
        column[std::string(cells[i])] = i;
      continue;
    }
    if (cells.size() < column.size()) continue;
    const std::string id(cells[0]);
    const std::string state(cells[column["state"]]);
    result.spans[id] =
        state == "completed" ? fmt::format("{}-{}", cells[column["start_s"]], cells[column["end_s"]]) : state;
    result.preemptions[id] = cells[column["preemptions"]];
  }
  return result;
}

const json& tenant(const json& summary, const std::string& name) {
  for (const json& each : summary["shares"]["by_tenant"]) {
    if (each["tenant"] == name) return each;
  }
  FAIL("no tenant ", name);
  return summary;
}

const std::string kTwo = tree_of(R"({"name": "a"}, {"name": "b"})");
/// Eight jobs of `a` fill the cluster at 0; four of `b` come at 10.
const std::string kFullThenFour = jobs_of("a", 8, 0, 1, 100) + jobs_of("b", 4, 10, 1, 50);

}  // namespace

TEST_CASE("fair share: a tenant below its share takes GPUs back from those that got theirs last") {
  const TemporaryFolder work;
  const Replayed shared = replay(work, kTwo, kFullThenFour, "fair-share", "1x8:h100");
  // At 10 both are due four GPUs: a4 to a7 stop, and go on at 60 with 90 s to do.
  for (const char* const job : {"b0", "b1", "b2", "b3"})
    CHECK(shared.spans.at(job) == "10-60");
  for (const char* const job : {"a0", "a1", "a2", "a3"})
    CHECK(shared.spans.at(job) == "0-100");
  for (const char* const job : {"a4", "a5", "a6", "a7"}) {
    CHECK(shared.spans.at(job) == "0-150");
    CHECK(shared.preemptions.at(job) == "1");
  }
  const json& shares = shared.summary["shares"];
  CHECK(shares["jain_index"] == about(1));
  CHECK(shares["p95_deficit"] == 0);
  CHECK(!shares.contains("borrowed_gpu_hours"));
  CHECK(tenant(shared.summary, "a")["preemptions"] == 4);
  CHECK(tenant(shared.summary, "a")["due_gpu_hours"] == about((80 + 200 + 320 + 200) / kHour));
  CHECK(shared.summary["policy_figures"]["gpus_reclaimed"] == 4);
}

TEST_CASE("fair share: without reclaim nobody is preempted, and fifo's deficit is that of the wait") {
  const TemporaryFolder work;
  for (const char* const policy : {"fair-share:reclaim=false", "fifo"}) {
    CAPTURE(policy);
    const Replayed late = replay(work, kTwo, kFullThenFour, policy, "1x8:h100");
    CHECK(late.spans.at("b3") == "100-150");
    CHECK(late.summary["preemptions"] == 0);
    // `a` holds 8 from 0 to 100 and is due 8 until 10 and then 4; `b` is due 4 from 10 to 150 and holds them
    // from 100 on.
    const json& a = tenant(late.summary, "a");
    const json& b = tenant(late.summary, "b");
    CHECK(a["due_gpu_hours"] == about(440 / kHour));
    CHECK(a["received_gpu_hours"] == about(800 / kHour));
    CHECK(b["due_gpu_hours"] == about(560 / kHour));
    CHECK(b["received_gpu_hours"] == about(200 / kHour));
    CHECK(a["p95_deficit"] == 0);
    CHECK(b["p95_deficit"] == 1);
    const double x = 800.0 / 440;
    const double y = 200.0 / 560;
    CHECK(late.summary["shares"]["jain_index"] == about((x + y) * (x + y) / (2 * (x * x + y * y))));
    CHECK(late.summary["shares"]["p95_deficit"] == about(0.5));
  }
}

TEST_CASE("fair share: weights count among siblings, at each level of the tree") {
  const TemporaryFolder work;
  // 24 GPUs: 16 for `org` and 8 for `c`; of the 16, `x` has three parts and `y` one.
  const std::string tree = tree_of(
      R"({"name": "org", "weight": 2}, {"name": "c"}, {"name": "x", "parent": "org", "weight": 3},
         {"name": "y", "parent": "org"})");
  const Replayed run = replay(
      work, tree, jobs_of("c", 30, 0, 1, 100) + jobs_of("x", 30, 0, 1, 100) + jobs_of("y", 30, 0, 1, 100),
      "fair-share", "3x8:h100");
  std::map<char, int> first;
  for (const auto& [job, span] : run.spans)
    first[job[0]] += span == "0-100" ? 1 : 0;
  CHECK(first == std::map<char, int>{{'c', 8}, {'x', 12}, {'y', 4}});
  CHECK(tenant(run.summary, "org")["preemptions"] == 0);
  CHECK(tenant(run.summary, "x")["parent"] == "org");
}

TEST_CASE("fair share: quotas come before weights, and limits bound borrowing and lending") {
  const TemporaryFolder work;
  const auto most_at_once = [&](const std::string& quotas) {
    const Replayed run = replay(work, tree_of(quotas), jobs_of("a", 9, 0, 1, 100), "fair-share", "1x8:h100");
    int first = 0;
    for (const auto& [job, span] : run.spans)
      first += span == "0-100" ? 1 : 0;
    return first;
  };
  CHECK(most_at_once(R"({"name": "a", "quotas": [{"gpus": 4}]}, {"name": "b", "quotas": [{"gpus": 4}]})") ==
        8);
  CHECK(most_at_once(R"({"name": "a", "quotas": [{"gpus": 4, "borrowing_limit": 2}]},
                        {"name": "b", "quotas": [{"gpus": 4}]})") == 6);
  CHECK(most_at_once(R"({"name": "a", "quotas": [{"gpus": 4}]},
                        {"name": "b", "quotas": [{"gpus": 4, "lending_limit": 1}]})") == 5);
  // Of `p`'s six GPUs its child `a` may use all, and borrows one more.
  CHECK(most_at_once(R"({"name": "p", "quotas": [{"gpus": 6, "borrowing_limit": 1}]},
                        {"name": "a", "parent": "p"})") == 7);
  // `b` has six of its own, whatever its weight.
  const Replayed run =
      replay(work, tree_of(R"({"name": "a", "weight": 9},
                                         {"name": "b", "quotas": [{"gpus": 6}]})"),
             jobs_of("a", 8, 0, 1, 100) + jobs_of("b", 8, 10, 1, 100), "fair-share", "1x8:h100");
  CHECK(run.spans.at("b5") == "10-110");
  CHECK(run.spans.at("b6") != "10-110");
  // Six jobs of `a` ran 10 s each on GPUs of `b`, and were stopped.
  CHECK(run.summary["shares"]["reclaimed_gpu_hours"] == about(60 / kHour));
  CHECK(tenant(run.summary, "b")["reclaimed_gpu_hours"] == 0);
}

TEST_CASE("fair share: GPU-hours borrowed are those lent, beyond GPUs of no quota") {
  const TemporaryFolder work;
  // 8 GPUs, 2 of no quota. `a` holds 7 for 100 s: 4 beyond its 3, of which 2 are of `b`.
  const Replayed run = replay(
      work, tree_of(R"({"name": "a", "quotas": [{"gpus": 3}]}, {"name": "b", "quotas": [{"gpus": 3}]})"),
      jobs_of("a", 1, 0, 7, 100) + jobs_of("b", 1, 200, 3, 100), "fair-share", "1x8:h100");
  CHECK(tenant(run.summary, "a")["borrowed_gpu_hours"] == about(400 / kHour));
  CHECK(tenant(run.summary, "a")["lent_gpu_hours"] == 0);
  CHECK(tenant(run.summary, "b")["lent_gpu_hours"] == about(200 / kHour));
  CHECK(run.summary["shares"]["borrowed_gpu_hours"] == about(400 / kHour));
  CHECK(run.summary["shares"]["lent_gpu_hours"] == about(200 / kHour));
}

TEST_CASE("fair share: a gang is whole, and one that no limit admits is rejected") {
  const TemporaryFolder work;
  const std::string tree = tree_of(
      R"({"name": "a", "quotas": [{"gpus": 4, "borrowing_limit": 2}]}, {"name": "b", "weight": 2}, {"name": "c"})");
  const Replayed rejected = replay(work, tree, jobs_of("a", 1, 0, 7, 100), "fair-share", "1x8:h100");
  CHECK(rejected.spans.at("a0") == "rejected");
  // `c` is due 4, but its gang of 8 would take all of what `b` is due: it waits. The gang of 4 need not.
  const std::string plain = tree_of(R"({"name": "b"}, {"name": "c"})");
  const Replayed large =
      replay(work, plain, jobs_of("b", 8, 0, 1, 100) + jobs_of("c", 1, 10, 8, 50), "fair-share", "1x8:h100");
  CHECK(large.spans.at("c0") == "100-150");
  const Replayed half =
      replay(work, plain, jobs_of("b", 8, 0, 1, 100) + jobs_of("c", 1, 10, 4, 50), "fair-share", "1x8:h100");
  CHECK(half.spans.at("c0") == "10-60");
  // Jobs that overtake let a gang wait; without, it gets the GPUs that come free. `b` has 5 of 8, and its
  // share is the larger; at 10 the gang of `c` comes, and no other job starts before it.
  const std::string rows = jobs_of("b", 5, 0, 1, 100) + jobs_of("c", 1, 10, 6, 50) + "b9,b,20,1,100\n";
  CHECK(replay(work, plain, rows, "fair-share:reclaim=false", "1x8:h100").spans.at("b9") == "20-120");
  const Replayed strict = replay(work, plain, rows, "fair-share:reclaim=false,overtake=false", "1x8:h100");
  CHECK(strict.spans.at("c0") == "100-150");
  CHECK(strict.spans.at("b9") == "100-200");
}

TEST_CASE("fair share: quotas by GPU type are kept apart") {
  const TemporaryFolder work;
  work.write("tree.json",
             tree_of(R"({"name": "a", "quotas": [{"gpu_type": "h100", "gpus": 4, "borrowing_limit": 0}]},
                                     {"name": "b", "quotas": [{"gpu_type": "a100", "gpus": 8}]})"));
  std::string rows = "job_id,tenant,submit_s,num_gpus,gpu_type,duration_s\n";
  for (int i = 0; i < 6; ++i)
    rows += fmt::format("a{},a,0,1,h100,100\n", i);
  work.write("jobs.csv", rows);
  const auto run = run_vtrain(
      "replay --trace jobs.csv --deadlines none --tenant-tree tree.json --cluster 1x8:a100+1x8:h100 --policy "
      "fair-share --json",
      work.path());
  REQUIRE_MESSAGE(run.exit_code == 0, run.err);
  // Four at once, then two: of h100 there are eight, but four are not of its quota.
  CHECK(json::parse(run.out)["makespan_s"] == 200);
}

TEST_CASE("fair share: bad input exits 2 with the file, and what was expected and found") {
  const TemporaryFolder work;
  const auto complain = [&](const std::string& tree, const std::string& jobs, const std::string& policy) {
    work.write("tree.json", tree);
    work.write("jobs.csv", "job_id,tenant,submit_s,num_gpus,duration_s\n" + jobs);
    const auto run = run_vtrain(
        "replay --trace jobs.csv --deadlines none --tenant-tree tree.json --cluster 1x8:h100 --policy " +
            policy,
        work.path());
    return fmt::format("{}: {}", run.exit_code, run.err);
  };
  const auto has = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(complain(kTwo, "j,c,0,1,5\n", "fair-share"), "2: error: jobs.csv:2: tenant: ");
  has(complain(kTwo, "j,c,0,1,5\n", "fair-share"), "expected a tenant of tree.json, found 'c'");
  has(complain(kTwo, "j,,0,1,5\n", "fair-share"), "expected a tenant of tree.json, found none");
  has(complain(tree_of(R"({"name": "a", "quotas": [{"gpus": 9}]})"), "j,a,0,1,5\n", "fair-share"),
      "tree.json: quotas: the quotas add up to 9 GPUs, and the cluster has 8");
  CHECK(complain(kTwo, "j,c,0,1,5\n", "fifo").starts_with("0"));
  has(complain(kTwo, "j,a,0,1,5\n", "fair-share:reclaim=maybe"), "reclaim");
}
