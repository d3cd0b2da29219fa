#include "sched/disruption/outage_schedule.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/sim_time.hpp"

namespace vtrain {
namespace {

/// Changes of one node up to an instant, as text.
std::vector<std::string> changes_of(OutageSchedule& schedule, NodeId node, SimTime until) {
  std::vector<std::string> changes;
  while (schedule.next() < until) {
    const NodeChange change = schedule.pop();
    if (change.node == node)
      changes.push_back(std::to_string(static_cast<int>(change.kind)) + "@" +
                        std::to_string(change.time.time_since_epoch().count()));
  }
  return changes;
}

}  // namespace

TEST_CASE("outage_schedule: given outages come in the order of time, returns first, then by node") {
  const std::vector<Outage> given = {{NodeId(1), OutageKind::Failure, at(20), at(30)},
                                     {NodeId(2), OutageKind::Drain, at(10), at(20)},
                                     {NodeId(0), OutageKind::Failure, at(20), Outage::kNeverEnds},
                                     {NodeId(2), OutageKind::Drain, at(20), at(25)}};
  OutageSchedule schedule(given, nullptr, 3, at(0), 1);
  CHECK_FALSE(schedule.awaits_return());
  using enum NodeChange::Kind;
  const std::vector<NodeChange> expected = {{at(10), Drain, NodeId(2)},   {at(20), Return, NodeId(2)},
                                            {at(20), Drain, NodeId(2)},   {at(20), Failure, NodeId(0)},
                                            {at(20), Failure, NodeId(1)}, {at(25), Return, NodeId(2)},
                                            {at(30), Return, NodeId(1)}};
  for (const NodeChange& change : expected) {
    REQUIRE(schedule.next() == change.time);
    const NodeChange got = schedule.pop();
    CHECK(got.time == change.time);
    CHECK(got.kind == change.kind);
    CHECK(got.node == change.node);
  }
  CHECK(schedule.next() == SimTime::max());
  CHECK_FALSE(schedule.awaits_return());  // the failure at 20 has no end
  CHECK(schedule.take_history().size() == 4);
}

TEST_CASE("outage_schedule: a node's history follows from the seed and the node alone") {
  const auto rates = FailureRates::parse("mtbf=10h,repair=1h", *ClusterSpec::parse("8x8"));
  REQUIRE(rates);
  const SimTime year = at(365 * 86400);
  OutageSchedule few({}, &*rates, 4, at(0), 7);
  OutageSchedule many({}, &*rates, 8, at(0), 7);
  const std::vector<Outage> drain = {{NodeId(3), OutageKind::Drain, at(5), at(50'000)}};
  OutageSchedule drained(drain, &*rates, 4, at(0), 7);
  const auto changes = changes_of(few, NodeId(2), year);
  // Up 10 h and away 1 h on average: about 8760 / 11 = 796 failures a year.
  CHECK(changes.size() > 2 * 700);
  CHECK(changes.size() < 2 * 900);
  CHECK(changes_of(many, NodeId(2), year) == changes);
  CHECK(changes_of(drained, NodeId(2), year) == changes);
  OutageSchedule other_seed({}, &*rates, 4, at(0), 8);
  CHECK(changes_of(other_seed, NodeId(2), year) != changes);
}

TEST_CASE("outage_schedule: random failures and returns of a node take turns") {
  const auto rates = FailureRates::parse("mtbf=1h,repair=1h", *ClusterSpec::parse("3x8"));
  OutageSchedule schedule({}, &*rates, 3, at(1000), 1);
  std::vector<bool> up(3, true);
  SimTime last = at(1000);
  for (int i = 0; i < 3000; ++i) {
    const NodeChange change = schedule.pop();
    REQUIRE(change.time >= last);
    last = change.time;
    REQUIRE(up[change.node.value] == (change.kind == NodeChange::Kind::Failure));
    up[change.node.value] = change.kind == NodeChange::Kind::Return;
    REQUIRE(schedule.awaits_return() == !(up[0] && up[1] && up[2]));
  }
  for (const Outage& outage : schedule.take_history())
    REQUIRE(outage.end > outage.begin);
}

}  // namespace vtrain
