#include "sched/placement/buddy_blocks.hpp"

#include <algorithm>
#include <bit>

namespace vtrain {

BuddyBlocks::BuddyBlocks(std::uint32_t num_nodes, std::int32_t gpus_per_node)
    : gpus_per_node_(gpus_per_node),
      places_per_node_(std::bit_ceil(static_cast<std::uint32_t>(gpus_per_node))),
      first_node_block_(std::bit_ceil(num_nodes)),
      first_place_block_(first_node_block_ * places_per_node_),
      num_gpus_(std::size_t{2} * first_place_block_),
      is_free_(num_gpus_.size()),
      held_(first_place_block_),
      withheld_(num_nodes) {
  for (std::uint32_t node = 0; node < num_nodes; ++node) {
    const auto first =
        num_gpus_.begin() + static_cast<std::ptrdiff_t>(first_place_block_ + place_of(node, 0));
    std::fill_n(first, gpus_per_node, 1);
  }
  for (std::size_t block = first_place_block_ - 1; block >= 1; --block)
    num_gpus_[block] = num_gpus_[2 * block] + num_gpus_[2 * block + 1];
  add_free(1);
}

std::uint32_t BuddyBlocks::place_of(std::uint32_t node, std::int32_t gpu) const {
  return node * places_per_node_ + static_cast<std::uint32_t>(gpu);
}

std::optional<std::int32_t> BuddyBlocks::smallest_free(std::int32_t gpus) const {
  const auto block = free_.lower_bound({gpus, 0});
  if (block == free_.end()) return std::nullopt;
  return block->first;
}

/// Adds a wholly free block, joined with its free neighbour.
void BuddyBlocks::add_free(std::uint32_t block) {
  if (num_gpus_[block] == 0) return;
  while (block > 1) {
    const std::uint32_t neighbour = block ^ 1;
    if (is_free_[neighbour]) {
      remove_free(neighbour);
    } else if (num_gpus_[neighbour] > 0) {
      break;
    }
    block /= 2;
  }
  is_free_[block] = true;
  free_.insert({num_gpus_[block], block});
}

void BuddyBlocks::remove_free(std::uint32_t block) {
  is_free_[block] = false;
  free_.erase({num_gpus_[block], block});
}

void BuddyBlocks::take(std::int32_t gpus, std::vector<Piece>& pieces) {
  std::uint32_t block = free_.lower_bound({gpus, 0})->second;
  remove_free(block);
  // GPUs lie at the front of a block, so its first half has at least as many as the second.
  while (block < first_place_block_ && num_gpus_[2 * block] >= gpus) {
    add_free(2 * block + 1);
    block *= 2;
  }
  const std::size_t first_piece = pieces.size();
  take_first(block, gpus, pieces);
  for (std::size_t i = first_piece; i < pieces.size(); ++i)
    mark(pieces[i], true);
}

/// Takes the first GPUs of a block that is in no list; the rest of the block becomes free.
void BuddyBlocks::take_first(std::uint32_t block, std::int32_t gpus, std::vector<Piece>& pieces) {
  if (gpus == num_gpus_[block]) {
    append_pieces(block, pieces);
    return;
  }
  const std::int32_t first = std::min(gpus, num_gpus_[2 * block]);
  take_first(2 * block, first, pieces);
  if (gpus > first) {
    take_first(2 * block + 1, gpus - first, pieces);
  } else {
    add_free(2 * block + 1);
  }
}

/// Appends all GPUs of a block, node by node.
void BuddyBlocks::append_pieces(std::uint32_t block, std::vector<Piece>& pieces) {
  std::uint32_t first = block;
  std::uint32_t count = 1;
  while (first < first_place_block_) {
    first *= 2;
    count *= 2;
  }
  const std::uint32_t place = first - first_place_block_;
  for (std::uint32_t node = place / places_per_node_; node * places_per_node_ < place + count; ++node) {
    const std::uint32_t begin = std::max(place, place_of(node, 0));
    const std::uint32_t end = std::min(place + count, place_of(node, gpus_per_node_));
    if (node >= withheld_.size() || begin >= end) continue;
    pieces.push_back(
        {node, static_cast<std::int32_t>(begin - place_of(node, 0)), static_cast<std::int32_t>(end - begin)});
  }
}

void BuddyBlocks::mark(const Piece& piece, bool held) {
  const auto first = held_.begin() + static_cast<std::ptrdiff_t>(place_of(piece.node, piece.first_gpu));
  std::fill_n(first, piece.gpus, held);
}

void BuddyBlocks::give_back(const Piece& piece) {
  mark(piece, false);
  if (withheld_[piece.node]) return;
  if (piece.gpus == gpus_per_node_) {
    add_free(block_of_node(piece.node));
    return;
  }
  const std::uint32_t first = first_place_block_ + place_of(piece.node, piece.first_gpu);
  for (std::uint32_t block = first; block < first + static_cast<std::uint32_t>(piece.gpus); ++block)
    add_free(block);
}

bool BuddyBlocks::all_free(const Piece& piece) const {
  if (piece.first_gpu < 0 || piece.gpus > gpus_per_node_ - piece.first_gpu) return false;
  const auto first = held_.begin() + static_cast<std::ptrdiff_t>(place_of(piece.node, piece.first_gpu));
  return std::find(first, first + piece.gpus, true) == first + piece.gpus;
}

void BuddyBlocks::reacquire(const Piece& piece) {
  mark(piece, true);
  if (piece.gpus == gpus_per_node_) {
    remove_free_block(block_of_node(piece.node));
    return;
  }
  const std::uint32_t first = first_place_block_ + place_of(piece.node, piece.first_gpu);
  for (std::uint32_t block = first; block < first + static_cast<std::uint32_t>(piece.gpus); ++block)
    remove_free_block(block);
}

bool BuddyBlocks::remove_free_block(std::uint32_t here) {
  for (std::uint32_t block = here; block >= 1; block /= 2) {
    if (!is_free_[block]) continue;
    remove_free(block);
    for (std::uint32_t part = here; part != block; part /= 2)
      add_free(part ^ 1);
    return true;
  }
  return false;
}

std::int32_t BuddyBlocks::withhold(std::uint32_t node) {
  withheld_[node] = true;
  const std::uint32_t here = block_of_node(node);
  if (remove_free_block(here)) return gpus_per_node_;
  std::int32_t gpus = 0;
  for (std::uint32_t first = here, count = 1; first < 2 * first_place_block_; first *= 2, count *= 2) {
    for (std::uint32_t block = first; block < first + count; ++block) {
      if (!is_free_[block]) continue;
      remove_free(block);
      gpus += num_gpus_[block];
    }
  }
  return gpus;
}

std::int32_t BuddyBlocks::restore(std::uint32_t node) {
  withheld_[node] = false;
  std::int32_t gpus = 0;
  for (std::int32_t gpu = 0; gpu < gpus_per_node_; ++gpu) {
    const std::uint32_t place = place_of(node, gpu);
    if (held_[place]) continue;
    ++gpus;
    add_free(first_place_block_ + place);
  }
  return gpus;
}

}  // namespace vtrain
