#include "sched/placement/sharing_placement.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace vtrain {
namespace {

bool node_has_room(const NodeState& state, const GangRequest& request) {
  std::int32_t gpus = state.whole_gpus;
  if (request.gpu_share < kWholeGpu) {
    const auto first = std::lower_bound(state.parts.begin(), state.parts.end(), request.gpu_share);
    gpus += static_cast<std::int32_t>(state.parts.end() - first);
  }
  return gpus >= request.num_gpus.value;
}

}  // namespace

SharedNodes::SharedNodes(const NodeTable& table, std::vector<TypicalSize> sizes)
    : table_(table), sizes_(std::move(sizes)), records_(table.nodes().size()) {
  for (std::uint32_t node = 0; node < records_.size(); ++node) {
    records_[node].whole_gpus = table_[node].num_gpus;
    join(node);
  }
}

NodeState SharedNodes::state_of(std::uint32_t node) const {
  const Record& record = records_[node];
  NodeState state{
      .type = table_[node].type, .num_gpus = table_[node].num_gpus, .whole_gpus = record.whole_gpus};
  for (const std::int16_t part : record.parts) {
    if (part > 0 && part < kWholeGpu) state.parts.push_back(part);
  }
  std::sort(state.parts.begin(), state.parts.end());
  return state;
}

void SharedNodes::leave(std::uint32_t node) {
  NodesAlike* const alike = std::exchange(records_[node].alike, nullptr);
  if (alike == nullptr) return;
  idle_ -= alike->state->whole_gpus;
  with_room_ -= alike->state->whole_gpus + static_cast<std::int32_t>(alike->state->parts.size());
  alike->nodes.erase(node);
  if (!alike->nodes.empty()) return;
  alike_.back()->position = alike->position;
  alike_[alike->position] = alike_.back();
  alike_.pop_back();
}

void SharedNodes::join(std::uint32_t node) {
  if (!records_[node].in_service) return;
  const auto [found, is_new] = states_.try_emplace(state_of(node));
  NodesAlike& alike = found->second;
  if (is_new) {
    alike.state = &found->first;
    alike.fragmentation = fragmentation(found->first.room(), sizes_);
    alike.free_milli = found->first.room().free_milli();
  }
  if (alike.nodes.empty()) {
    alike.position = alike_.size();
    alike_.push_back(&alike);
  }
  alike.nodes.insert(node);
  records_[node].alike = &alike;
  idle_ += alike.state->whole_gpus;
  with_room_ += alike.state->whole_gpus + static_cast<std::int32_t>(alike.state->parts.size());
  if (is_new) forget_empty_states();
}

/// Drops empty states if there are too many. Others are kept because states recur.
void SharedNodes::forget_empty_states() {
  constexpr std::size_t kFewStates = 4096;
  if (states_.size() <= 2 * records_.size() + kFewStates) return;
  std::erase_if(states_, [](const auto& entry) { return entry.second.nodes.empty(); });
}

void SharedNodes::take_whole(std::uint32_t node, std::int32_t num_gpus) {
  leave(node);
  records_[node].whole_gpus -= num_gpus;
  join(node);
}

/// Number of a GPU with exactly `part` free; a GPU free as a whole gets a number.
std::size_t SharedNodes::number_with(Record& record, std::int16_t part) {
  const auto found = std::find(record.parts.begin(), record.parts.end(), part);
  const auto number = static_cast<std::size_t>(found - record.parts.begin());
  if (found == record.parts.end()) record.parts.push_back(kWholeGpu);
  if (part == kWholeGpu) --record.whole_gpus;
  return number;
}

std::int32_t SharedNodes::cut(Record& record, std::size_t number, std::int16_t gpu_share) {
  record.parts[number] = static_cast<std::int16_t>(record.parts[number] - gpu_share);
  return static_cast<std::int32_t>(number);
}

std::int32_t SharedNodes::take_part(std::uint32_t node, std::int16_t gpu_share, std::int16_t part) {
  leave(node);
  Record& record = records_[node];
  const std::int32_t number = cut(record, number_with(record, part), gpu_share);
  join(node);
  return number;
}

void SharedNodes::take_parts(std::uint32_t node, std::int16_t gpu_share, std::int32_t num_gpus,
                             std::vector<std::int32_t>& numbers) {
  leave(node);
  Record& record = records_[node];
  std::vector<std::pair<std::int16_t, std::size_t>> tightest;
  for (std::size_t i = 0; i < record.parts.size(); ++i) {
    if (record.parts[i] >= gpu_share && record.parts[i] < kWholeGpu)
      tightest.emplace_back(record.parts[i], i);
  }
  std::sort(tightest.begin(), tightest.end());
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_gpus); ++i) {
    const std::size_t number = i < tightest.size() ? tightest[i].second : number_with(record, kWholeGpu);
    numbers.push_back(cut(record, number, gpu_share));
  }
  join(node);
}

void SharedNodes::give_back_whole(std::uint32_t node, std::int32_t num_gpus) {
  leave(node);
  records_[node].whole_gpus += num_gpus;
  join(node);
}

void SharedNodes::give_back_part(std::uint32_t node, std::int32_t number, std::int16_t gpu_share) {
  leave(node);
  Record& record = records_[node];
  std::int16_t& part = record.parts[static_cast<std::size_t>(number)];
  part = static_cast<std::int16_t>(part + gpu_share);
  if (part == kWholeGpu) ++record.whole_gpus;
  join(node);
}

void SharedNodes::reacquire_part(std::uint32_t node, std::int32_t number, std::int16_t gpu_share) {
  leave(node);
  Record& record = records_[node];
  // A simulation may begin with gangs, whose numbers no GPU has had yet.
  if (static_cast<std::size_t>(number) >= record.parts.size())
    record.parts.resize(static_cast<std::size_t>(number) + 1, kWholeGpu);
  if (record.parts[static_cast<std::size_t>(number)] == kWholeGpu) --record.whole_gpus;
  cut(record, static_cast<std::size_t>(number), gpu_share);
  join(node);
}

void SharedNodes::set_in_service(std::uint32_t node, bool in_service) {
  if (records_[node].in_service == in_service) return;
  leave(node);
  records_[node].in_service = in_service;
  join(node);
}

SharingPlacement::SharingPlacement(PlacementKind kind, const ClusterSpec& cluster, const Workload& workload)
    : NodePlacement(kind, cluster, workload), nodes_(table_, typical_sizes(workload, table_.types())) {}

bool SharingPlacement::place(const GangRequest& request, std::vector<NodeShare>& shares) {
  if (request.num_gpus > free_gpus()) return false;
  const auto types = allowed(request);
  if (fits_a_node(request)) {
    const RequestKey key(request.num_gpus, request.gpu_share, request.gpu_type);
    if (refused_.contains(key)) return false;
    const auto choice = choose(request, types);
    if (choice)
      take(*choice, request, shares);
    else
      refused_.insert(key);
    return choice.has_value();
  }
  return std::any_of(types.begin(), types.end(), [&](std::uint32_t type) {
    return place_on_nodes(type, request.num_gpus.value, shares);
  });
}

std::optional<SharingPlacement::Choice> SharingPlacement::choose(const GangRequest& request,
                                                                 std::span<const std::uint32_t> types) const {
  std::optional<Choice> best;
  for (NodesAlike* const alike : nodes_.alike()) {
    const NodeState& state = *alike->state;
    if (!node_has_room(state, request) || !std::binary_search(types.begin(), types.end(), state.type))
      continue;
    const NodeOption here = option(*alike, request);
    const bool better =
        !best || here.cost < best->option.cost ||
        (here.cost <= best->option.cost && *alike->nodes.begin() < *best->alike->nodes.begin());
    if (better) best = Choice{alike, here};
  }
  return best;
}

void SharingPlacement::take(const Choice& choice, const GangRequest& request,
                            std::vector<NodeShare>& shares) {
  const std::uint32_t node = *choice.alike->nodes.begin();
  if (request.gpu_share == kWholeGpu) {
    nodes_.take_whole(node, request.num_gpus.value);
    shares.push_back({NodeId(node), request.num_gpus, NodeShare::kNoNumber});
    return;
  }
  numbers_.clear();
  if (request.num_gpus == GpuCount(1)) {
    numbers_.push_back(nodes_.take_part(node, request.gpu_share, choice.option.part));
  } else {
    nodes_.take_parts(node, request.gpu_share, request.num_gpus.value, numbers_);
  }
  for (const std::int32_t number : numbers_)
    shares.push_back({NodeId(node), GpuCount(1), number});
}

bool SharingPlacement::place_on_nodes(std::uint32_t type, std::int32_t num_gpus,
                                      std::vector<NodeShare>& shares) {
  const std::size_t first_share = shares.size();
  std::int32_t needed = num_gpus;
  while (needed > 0) {
    NodesAlike* largest = nullptr;
    for (NodesAlike* const alike : nodes_.alike()) {
      const NodeState& state = *alike->state;
      if (state.type != type || !state.idle() || state.num_gpus > needed) continue;
      if (largest == nullptr || state.num_gpus > largest->state->num_gpus) largest = alike;
    }
    if (largest == nullptr) break;
    const std::int32_t size = largest->state->num_gpus;
    // Taking the last node may remove its state.
    for (std::size_t left = largest->nodes.size(); needed >= size && left > 0; --left, needed -= size) {
      const std::uint32_t node = *largest->nodes.begin();
      nodes_.take_whole(node, size);
      shares.push_back({NodeId(node), GpuCount(size), NodeShare::kNoNumber});
    }
  }
  if (needed == 0) return true;
  const GangRequest rest{.num_gpus = GpuCount(needed)};
  if (const auto choice = choose(rest, {&type, 1})) {
    take(*choice, rest, shares);
    return true;
  }
  for (std::size_t i = first_share; i < shares.size(); ++i)
    nodes_.give_back_whole(shares[i].node.value, shares[i].gpus.value);
  shares.resize(first_share);
  return false;
}

bool SharingPlacement::has_room(const GangRequest& request) const {
  if (request.num_gpus > free_gpus()) return false;
  const auto types = allowed(request);
  if (fits_a_node(request)) {
    return std::ranges::any_of(nodes_.alike(), [&](const NodesAlike* alike) {
      const NodeState& state = *alike->state;
      return node_has_room(state, request) && std::binary_search(types.begin(), types.end(), state.type);
    });
  }
  return std::any_of(types.begin(), types.end(),
                     [&](std::uint32_t type) { return has_room_on_nodes(type, request.num_gpus.value); });
}

bool SharingPlacement::has_room_on_nodes(std::uint32_t type, std::int32_t num_gpus) const {
  std::map<std::int32_t, std::int64_t, std::greater<>> idle;  // wholly free nodes by size
  std::int32_t largest_part = 0;                              // most whole GPUs on another node
  for (const NodesAlike* const alike : nodes_.alike()) {
    const NodeState& state = *alike->state;
    if (state.type != type) continue;
    if (state.idle())
      idle[state.num_gpus] += static_cast<std::int64_t>(alike->nodes.size());
    else
      largest_part = std::max(largest_part, state.whole_gpus);
  }
  std::int64_t needed = num_gpus;
  for (auto& [size, count] : idle) {
    const std::int64_t taken = std::min(count, needed / size);
    needed -= taken * size;
    count -= taken;
  }
  return needed <= largest_part || std::ranges::any_of(idle, [&](const auto& nodes) {
           return nodes.second > 0 && nodes.first >= needed;
         });
}

void SharingPlacement::set_in_service(NodeId node, bool in_service) {
  refused_.clear();
  nodes_.set_in_service(node.value, in_service);
}

void SharingPlacement::release(const GangRequest& request, const std::vector<NodeShare>& shares) {
  refused_.clear();
  for (const NodeShare& share : shares) {
    if (share.first_gpu == NodeShare::kNoNumber) {
      nodes_.give_back_whole(share.node.value, share.gpus.value);
    } else {
      nodes_.give_back_part(share.node.value, share.first_gpu, request.gpu_share);
    }
  }
}

bool SharingPlacement::reacquire(const GangRequest& request, const std::vector<NodeShare>& shares) {
  std::int32_t whole_gpus = 0;  // of the one node that a gang of parts is on
  const bool has_parts = !shares.empty() && shares.front().first_gpu != NodeShare::kNoNumber;
  const bool free = std::ranges::all_of(shares, [&](const NodeShare& share) {
    const std::uint32_t node = share.node.value;
    if (has_parts && (share.node != shares.front().node || share.gpus.value != 1 || share.first_gpu < 0 ||
                      share.first_gpu >= table_[node].num_gpus))
      return false;
    if (!has_parts && share.first_gpu != NodeShare::kNoNumber) return false;
    if (share.first_gpu == NodeShare::kNoNumber) return share.gpus.value <= nodes_.whole_gpus(node);
    const std::int16_t part = nodes_.free_part(node, share.first_gpu);
    if (part == kWholeGpu) return ++whole_gpus <= nodes_.whole_gpus(node);
    return request.gpu_share <= part;
  });
  if (!free) return false;
  for (const NodeShare& share : shares) {
    if (share.first_gpu == NodeShare::kNoNumber) {
      nodes_.take_whole(share.node.value, share.gpus.value);
    } else {
      nodes_.reacquire_part(share.node.value, share.first_gpu, request.gpu_share);
    }
  }
  return true;
}

std::optional<double> SharingPlacement::fragmentation() const {
  double fragments = 0;
  std::int64_t free_milli = 0;
  for (const NodesAlike* const alike : nodes_.alike()) {
    const auto count = static_cast<std::int64_t>(alike->nodes.size());
    fragments += alike->fragmentation * static_cast<double>(count);
    free_milli += alike->free_milli * count;
  }
  return free_milli == 0 ? 0.0 : fragments / static_cast<double>(free_milli);
}

}  // namespace vtrain
