#include "sched/disruption/outage_schedule.hpp"

#include <algorithm>
#include <string>
#include <tuple>

namespace vtrain {
namespace {

/// `from + duration` rounded to the clock, at least 1 ns later; the end of time if it exceeds the clock.
SimTime later(SimTime from, Nanoseconds duration) {
  const auto room = static_cast<double>((SimTime::max() - from).count());
  if (!(duration.count() < room / 2)) return SimTime::max();
  return from + std::max(to_sim_duration(duration), SimDuration(1));
}

}  // namespace

bool OutageSchedule::Later::operator()(const Entry& a, const Entry& b) const {
  const auto key = [](const Entry& entry) {
    return std::tuple(entry.change.time, entry.change.kind, entry.change.node, entry.end, entry.random);
  };
  return key(a) > key(b);
}

OutageSchedule::OutageSchedule(std::span<const Outage> given, const FailureRates* rates,
                               std::uint32_t num_nodes, SimTime begin, std::uint64_t seed)
    : rates_(rates) {
  for (const Outage& outage : given) {
    const auto kind = outage.kind == OutageKind::Drain ? NodeChange::Kind::Drain : NodeChange::Kind::Failure;
    push({{outage.begin, kind, outage.node}, outage.end, false});
  }
  if (rates == nullptr) return;
  streams_.reserve(num_nodes);
  for (std::uint32_t i = 0; i < num_nodes; ++i) {
    streams_.emplace_back(seed, "failures of node " + std::to_string(i));
    draw_failure(NodeId(i), begin);
  }
}

NodeChange OutageSchedule::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), Later());
  const Entry entry = heap_.back();
  heap_.pop_back();
  const NodeChange& change = entry.change;
  if (change.kind == NodeChange::Kind::Return) {
    --num_returns_;
    if (entry.random) draw_failure(change.node, change.time);
    return change;
  }
  const SimTime end =
      entry.random ? later(change.time, rates_->draw_repair_time(streams_[change.node.value])) : entry.end;
  const auto kind = change.kind == NodeChange::Kind::Drain ? OutageKind::Drain : OutageKind::Failure;
  history_.push_back({change.node, kind, change.time, end});
  if (end != Outage::kNeverEnds) {
    ++num_returns_;
    push({{end, NodeChange::Kind::Return, change.node}, {}, entry.random});
  }
  return change;
}

void OutageSchedule::push(const Entry& entry) {
  heap_.push_back(entry);
  std::push_heap(heap_.begin(), heap_.end(), Later());
}

void OutageSchedule::draw_failure(NodeId node, SimTime from) {
  const SimTime failure = later(from, rates_->draw_up_time(node, streams_[node.value]));
  if (failure != SimTime::max()) push({{failure, NodeChange::Kind::Failure, node}, {}, true});
}

}  // namespace vtrain
