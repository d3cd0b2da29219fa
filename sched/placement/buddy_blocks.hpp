/// Free blocks of a row of GPUs, for buddy allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace vtrain {

/// A row of equal nodes. A block is a node of a complete binary tree over the places of the row: 1 is the
/// row, block b has the halves 2b and 2b + 1. Node and row are rounded up to powers of two of places. So some
/// places have no GPU; the sizes of blocks count only places with one.
///
/// There are fewer than 8 blocks for each GPU.
class BuddyBlocks {
 public:
  /// Begins with all GPUs free.
  BuddyBlocks(std::uint32_t num_nodes, std::int32_t gpus_per_node);

  /// GPUs of one node that a gang holds.
  struct Piece {
    std::uint32_t node = 0;
    std::int32_t first_gpu = 0;
    std::int32_t gpus = 0;
  };

  /// Number of GPUs in the smallest free block with at least `gpus`, if there is one.
  std::optional<std::int32_t> smallest_free(std::int32_t gpus) const;
  /// Takes GPUs of the first block of that size, which must exist, and appends their places.
  void take(std::int32_t gpus, std::vector<Piece>& pieces);
  /// Returns GPUs of a node to the free blocks.
  void give_back(const Piece& piece);
  /// True if the node has these GPUs and no gang holds any of them.
  bool all_free(const Piece& piece) const;
  /// Takes exactly these GPUs, which are free.
  void reacquire(const Piece& piece);
  /// Withholds the free GPUs of a node, and those returned later. Returns the number of GPUs that are no
  /// longer free.
  std::int32_t withhold(std::uint32_t node);
  /// Undoes `withhold`. Returns the number of GPUs that are free again.
  std::int32_t restore(std::uint32_t node);
  bool withheld(std::uint32_t node) const { return withheld_[node]; }

 private:
  std::uint32_t place_of(std::uint32_t node, std::int32_t gpu) const;
  std::uint32_t block_of_node(std::uint32_t node) const { return first_node_block_ + node; }
  void add_free(std::uint32_t block);
  void remove_free(std::uint32_t block);
  /// Takes a block out of the free block that it equals or is part of; the other parts stay free. False if
  /// there is no such free block.
  bool remove_free_block(std::uint32_t block);
  void take_first(std::uint32_t block, std::int32_t gpus, std::vector<Piece>& pieces);
  void append_pieces(std::uint32_t block, std::vector<Piece>& pieces);
  void mark(const Piece& piece, bool held);

  std::int32_t gpus_per_node_;
  std::uint32_t places_per_node_;
  std::uint32_t first_node_block_;      ///< first block of one node; those of the other nodes follow
  std::uint32_t first_place_block_;     ///< first block of one place; those of the other places follow
  std::vector<std::int32_t> num_gpus_;  ///< [blocks]
  std::vector<bool> is_free_;           ///< [blocks], true if free as a whole and its parent is not
  std::set<std::pair<std::int32_t, std::uint32_t>> free_;  ///< (GPUs, block) of the blocks in `is_free_`
  std::vector<bool> held_;                                 ///< [places], true if a gang holds the GPU
  std::vector<bool> withheld_;                             ///< [nodes]
};

}  // namespace vtrain
