/// Errors of the files of Slurm: file, line, field, what was expected and found.
#include <doctest/doctest.h>

#include "policies/tenants/slurm/associations.hpp"
#include "policies/tenants/slurm/configuration.hpp"
#include "policies/tenants/slurm/quality_of_service.hpp"
#include "policies/tenants/slurm/reservation_list.hpp"

using namespace vtrain::slurm;

namespace {

const std::string kNodes = "ClusterName=x\nNodeName=n[0-3] CPUs=16 Gres=gpu:a100:8\n";

std::string error_of_conf(const std::string& text) {
  TresNames names;
  const auto read = parse_configuration(text, "slurm.conf", names);
  return read ? "" : read.error().describe();
}

std::string error_of_assoc(const std::string& rows, const AccountParents& parents = {}) {
  TresNames names;
  const auto read = parse_associations("Account|User|Share|MaxJobs\n" + rows, "assoc.txt", names, parents);
  return read ? "" : read.error().describe();
}

}  // namespace

TEST_CASE("slurm.conf: keys that nothing follows are refused by name, others are counted") {
  TresNames names;
  const auto read = parse_configuration(
      kNodes + "SlurmctldPort=1\nSlurmdDebug=3\nPartitionName=all Nodes=ALL Hidden=NO Default=YES\n",
      "slurm.conf", names);
  REQUIRE(read);
  CHECK(read->ignored ==
        std::map<std::string, std::int64_t>{
            {"ClusterName", 1}, {"PartitionName.Hidden", 1}, {"SlurmctldPort", 1}, {"SlurmdDebug", 1}});
  CHECK(read->nodes.size() == 4);
  CHECK(read->nodes[3].gpus == 8);
  CHECK(error_of_conf(kNodes + "CompleteWait=5\n")
            .starts_with("slurm.conf:3: CompleteWait: changes when jobs start"));
  CHECK(error_of_conf(kNodes + "CompleteWait=0\n").empty());
  const std::string_view ignore[] = {"CompleteWait"};
  CHECK(parse_configuration(kNodes + "CompleteWait=5\n", "slurm.conf", names, ignore));
}

TEST_CASE("slurm.conf: bad values name the line and the key") {
  CHECK(error_of_conf(kNodes + "PriorityWeightAge=-5\n")
            .starts_with("slurm.conf:3: PriorityWeightAge: expected"));
  CHECK(error_of_conf(kNodes + "PartitionName=p Nodes=n9\n") ==
        "slurm.conf:3: Nodes: expected a node of NodeName, found 'n9'");
  CHECK(error_of_conf(kNodes + "PartitionName=p Nodes=n1\nPartitionName=p Nodes=n2\n") ==
        "slurm.conf:4: PartitionName: partition 'p' comes twice");
  CHECK(error_of_conf("NodeName=n[0-1]\nNodeName=n1\n") == "slurm.conf:2: NodeName: node 'n1' comes twice");
  CHECK(error_of_conf(kNodes + "Include more.conf\n")
            .starts_with("slurm.conf:3: expected all of the configuration"));
}

TEST_CASE("associations: unknown parents, cycles, repetitions and negative shares are errors") {
  CHECK(error_of_assoc("root||1|\na||1|\na|u|-1|\n") ==
        "assoc.txt:4: Share: expected a share from 0, or parent, found '-1'");
  CHECK(error_of_assoc("root||1|\na||1|\na||1|\n") == "assoc.txt:4: Account: account 'a' comes twice");
  CHECK(error_of_assoc("root||1|\na||1|\nb||1|\n", {{"a", "b"}, {"b", "a"}}) ==
        "assoc.txt:3: Account: account 'a' is below itself: its parents are a cycle");
  CHECK(error_of_assoc("root||1|\na||1|\n", {{"a", "z"}}) ==
        "assoc.txt:3: Account: expected the name of an account as parent, found 'z'");
}

TEST_CASE("associations: users have the limits of one job and one user that their account has") {
  TresNames names;
  const auto tree = parse_associations("Account|User|Share|MaxJobs|GrpJobs\nroot||1||\na||1|3|7\na|u|2||\n",
                                       "f", names, {});
  REQUIRE(tree);
  const Association& user = (*tree)[*tree->find_user("a", "u")];
  CHECK(user.limits.max_jobs == 3);
  CHECK(!user.limits.group_jobs);
}

TEST_CASE("parents of accounts: from a dump, from sshare and from commands") {
  const AccountParents expected = {{"org", "root"}, {"team", "org"}};
  CHECK(*parse_parents(
            "Cluster - 'c':Fairshare=1\nParent - 'root'\nAccount - 'org':Fairshare=2\nParent - 'org'\n"
            "Account - 'team':Fairshare=3\nParent - 'team'\nUser - 'u':Fairshare=1\n",
            "f") == expected);
  CHECK(*parse_parents("Account|User|RawShares\nroot||\n org||2\n  team||3\n   team|u|1\n", "f") == expected);
  CHECK(*parse_parents("sacctmgr -i add account org cluster=c parent=root\n"
                       "sacctmgr -i add account team cluster=c parent=org fairshare=3\n",
                       "f") == expected);
}

TEST_CASE("QOS: an unknown QOS to preempt, and one that comes twice") {
  TresNames names;
  const auto error = [&](const std::string& rows) {
    const auto read = parse_qos("Name|Priority|Preempt\n" + rows, "qos.txt", names);
    return read ? "" : read.error().describe();
  };
  CHECK(error("high|1|low\n") == "qos.txt: Preempt: QOS 'high' preempts 'low', which is unknown");
  CHECK(error("a|1|\na|2|\n") == "qos.txt:3: Name: QOS 'a' comes twice");
  CHECK(error("a|-1|\n").starts_with("qos.txt:2: Priority: expected"));
}

TEST_CASE("reservations: times of the trace, nodes, users") {
  TresNames names;
  const auto conf = parse_configuration(kNodes, "slurm.conf", names);
  REQUIRE(conf);
  const auto list = parse_reservations(
      "scontrol create reservation reservationname=room starttime=now+20 duration=1 nodes=n1 users=u03\n",
      "r", *conf);
  REQUIRE(list);
  REQUIRE(list->size() == 1);
  CHECK(list->front().start == vtrain::SimTime(std::chrono::seconds(20)));
  CHECK(list->front().end == vtrain::SimTime(std::chrono::seconds(80)));
  CHECK(list->front().nodes.has(1));
  CHECK(list->front().nodes.count() == 1);
  CHECK(parse_reservations("ReservationName=r StartTime=0 Nodes=n1\n", "r", *conf).error().describe() ==
        "r:1: EndTime: missing, as is Duration");

  // Dates count from the origin, 2026-11-25T09:14:02.
  const std::string dated =
      "ReservationName=r StartTime=2026-11-25T09:14:00 EndTime=2026-11-25T09:15:02 Nodes=n1\n";
  const auto dates = parse_reservations(dated, "r", *conf, 1795598042);
  REQUIRE(dates);
  CHECK(dates->front().start == vtrain::SimTime(std::chrono::seconds(-2)));
  CHECK(dates->front().end == vtrain::SimTime(std::chrono::seconds(60)));
  CHECK(
      parse_reservations(dated, "r", *conf)
          .error()
          .describe()
          .starts_with("r:1: StartTime: expected now+SECONDS, or seconds of the trace (origin= for dates)"));
}

TEST_CASE("times of Slurm") {
  CHECK(*parse_slurm_minutes("90") == 90);
  CHECK(*parse_slurm_minutes("1-0") == 1440);
  CHECK(*parse_slurm_minutes("12:00:00") == 720);
  CHECK(*parse_slurm_minutes("10:30") == 11);
  CHECK(*parse_slurm_seconds("0-00:10:00") == 600);
  CHECK(!*parse_slurm_minutes("UNLIMITED"));
  CHECK(!parse_slurm_minutes("soon"));
}

TEST_CASE("assoc_mgr: usage is read from records of one line and of several") {
  const std::string dump =
      "Cluster - 'test':Fairshare=1\nParent - 'root'\nAccount - 'a':Fairshare=1\nParent - 'a'\n"
      "User - 'u':Fairshare=1\n";
  // As `scontrol show assoc_mgr flags=assoc` prints it, without and with `-o`.
  for (const std::string separator : {"\n    ", " "}) {
    TresNames names;
    auto tree = parse_association_dump(dump, "dump.cfg", names);
    REQUIRE(tree);
    const auto record = [&](const std::string& user, const std::string& usage) {
      return "ClusterName=test Account=a UserName=" + user + " Partition= Priority=0 ID=2" + separator +
             "SharesRaw/Norm/Level/Factor=1/0.00/1/0.00" + separator + "UsageRaw/Norm/Efctv=" + usage +
             "/1.00/1.00" + separator + "ParentAccount= Lft=1 DefAssoc=No\n";
    };
    const std::string text = "Current Association Manager state\n\nAssociation Records\n\n" +
                             record("u(1001)", "12.25") + "\n" + record("", "14.50");
    REQUIRE(read_usage(text, "controller-associations.txt", *tree));
    CHECK((*tree)[*tree->find_account("a")].usage == 14.5);
    CHECK((*tree)[*tree->find_user("a", "u", "")].usage == 12.25);
  }
}
