#include "sched/placement/shared_nodes.hpp"

#include <algorithm>

namespace vtrain {

SharedNodes::SharedNodes(const NodeTable& table, std::vector<TypicalSize> sizes)
    : table_(table), sizes_(std::move(sizes)), books_(table.nodes().size()) {
  for (std::uint32_t node = 0; node < books_.size(); ++node) {
    books_[node].whole_gpus = table_[node].num_gpus;
    join(node);
  }
}

NodeState SharedNodes::state_of(std::uint32_t node) const {
  const Books& books = books_[node];
  NodeState state{
      .type = table_[node].type, .num_gpus = table_[node].num_gpus, .whole_gpus = books.whole_gpus};
  for (const std::int16_t part : books.parts) {
    if (part > 0 && part < kWholeGpu) state.parts.push_back(part);
  }
  std::sort(state.parts.begin(), state.parts.end());
  return state;
}

void SharedNodes::leave(std::uint32_t node) {
  NodesAlike* const alike = std::exchange(books_[node].alike, nullptr);
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
  if (!books_[node].in_service) return;
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
  books_[node].alike = &alike;
  idle_ += alike.state->whole_gpus;
  with_room_ += alike.state->whole_gpus + static_cast<std::int32_t>(alike.state->parts.size());
  if (is_new) forget_empty_states();
}

/// States are kept for when they come back, as long as there are not too many.
void SharedNodes::forget_empty_states() {
  constexpr std::size_t kFewStates = 4096;
  if (states_.size() <= 2 * books_.size() + kFewStates) return;
  std::erase_if(states_, [](const auto& entry) { return entry.second.nodes.empty(); });
}

void SharedNodes::take_whole(std::uint32_t node, std::int32_t num_gpus) {
  leave(node);
  books_[node].whole_gpus -= num_gpus;
  join(node);
}

/// The number of a GPU with exactly `part` free; one that is free as a whole gets a number.
std::size_t SharedNodes::number_with(Books& books, std::int16_t part) {
  const auto found = std::find(books.parts.begin(), books.parts.end(), part);
  const auto number = static_cast<std::size_t>(found - books.parts.begin());
  if (found == books.parts.end()) books.parts.push_back(kWholeGpu);
  if (part == kWholeGpu) --books.whole_gpus;
  return number;
}

std::int32_t SharedNodes::cut(Books& books, std::size_t number, std::int16_t gpu_share) {
  books.parts[number] = static_cast<std::int16_t>(books.parts[number] - gpu_share);
  return static_cast<std::int32_t>(number);
}

std::int32_t SharedNodes::take_part(std::uint32_t node, std::int16_t gpu_share, std::int16_t part) {
  leave(node);
  Books& books = books_[node];
  const std::int32_t number = cut(books, number_with(books, part), gpu_share);
  join(node);
  return number;
}

void SharedNodes::take_parts(std::uint32_t node, std::int16_t gpu_share, std::int32_t num_gpus,
                             std::vector<std::int32_t>& numbers) {
  leave(node);
  Books& books = books_[node];
  std::vector<std::pair<std::int16_t, std::size_t>> tightest;
  for (std::size_t i = 0; i < books.parts.size(); ++i) {
    if (books.parts[i] >= gpu_share && books.parts[i] < kWholeGpu) tightest.emplace_back(books.parts[i], i);
  }
  std::sort(tightest.begin(), tightest.end());
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_gpus); ++i) {
    const std::size_t number = i < tightest.size() ? tightest[i].second : number_with(books, kWholeGpu);
    numbers.push_back(cut(books, number, gpu_share));
  }
  join(node);
}

void SharedNodes::give_back_whole(std::uint32_t node, std::int32_t num_gpus) {
  leave(node);
  books_[node].whole_gpus += num_gpus;
  join(node);
}

void SharedNodes::give_back_part(std::uint32_t node, std::int32_t number, std::int16_t gpu_share) {
  leave(node);
  Books& books = books_[node];
  std::int16_t& part = books.parts[static_cast<std::size_t>(number)];
  part = static_cast<std::int16_t>(part + gpu_share);
  if (part == kWholeGpu) ++books.whole_gpus;
  join(node);
}

void SharedNodes::take_part_again(std::uint32_t node, std::int32_t number, std::int16_t gpu_share) {
  leave(node);
  Books& books = books_[node];
  if (books.parts[static_cast<std::size_t>(number)] == kWholeGpu) --books.whole_gpus;
  cut(books, static_cast<std::size_t>(number), gpu_share);
  join(node);
}

void SharedNodes::set_in_service(std::uint32_t node, bool in_service) {
  if (books_[node].in_service == in_service) return;
  leave(node);
  books_[node].in_service = in_service;
  join(node);
}

}  // namespace vtrain
