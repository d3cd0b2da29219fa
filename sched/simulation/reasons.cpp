#include "sched/simulation/reasons.hpp"

#include <array>
#include <cstddef>

namespace vtrain {
namespace {

constexpr std::array<WaitReasonInfo, 14> kWaitReasons = {{
    {WaitReason::Gpus, "gpus", "too few GPUs are free"},
    {WaitReason::Type, "type", "too few GPUs of its type are free"},
    {WaitReason::Placement, "placement", "enough GPUs are free, but not in the places that its gang needs"},
    {WaitReason::OutOfService, "out_of_service", "it asks for more GPUs than are in service"},
    {WaitReason::Dependency, "dependency", "it waits for another job to start or end"},
    {WaitReason::Limit, "limit", "a limit of its tenant, QOS, partition or array holds it"},
    {WaitReason::Reservation, "reservation", "it would delay the reservation of another job"},
    {WaitReason::Order, "order", "another job comes before it"},
    {WaitReason::NextDecision, "next_decision", "the policy decides on it later"},
    {WaitReason::Preempted, "preempted", "another job has taken its GPUs"},
    {WaitReason::Policy, "policy", "there is room, and the policy gives no reason"},
    {WaitReason::TooLarge, "too_large", "it would not fit on the empty cluster"},
    {WaitReason::Rejected, "rejected", "the policy turned it away"},
    {WaitReason::None, "none", "it waits no longer"},
}};

}  // namespace

std::span<const WaitReasonInfo> wait_reasons() {
  return kWaitReasons;
}

const WaitReasonInfo& info_of(WaitReason reason) {
  return kWaitReasons[static_cast<std::size_t>(reason)];
}

}  // namespace vtrain
