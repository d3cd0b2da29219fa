/// Free blocks of a row of GPUs, for buddy allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace vtrain {

/// A row of equal nodes. A block is a node of a complete binary tree over the places of the row: 1 is the
/// row, block b has the halves 2b and 2b + 1. A node has a power of two of places, and so has the row, so
/// that places may be without a GPU; blocks count only those with one.
///
/// There are fewer than 8 blocks for each GPU.
class BuddyBlocks {
 public:
  /// All GPUs are free.
  BuddyBlocks(std::uint32_t num_nodes, std::int32_t gpus_per_node);

  /// GPUs of one node that a gang holds.
  struct Piece {
    std::uint32_t node = 0;
    std::int32_t first_gpu = 0;
    std::int32_t gpus = 0;
  };

  /// The number of GPUs in the smallest free block with at least `gpus`, if there is one.
  std::optional<std::int32_t> smallest_free(std::int32_t gpus) const;
  /// Takes GPUs of the first of these blocks, which must be there, and appends where they are.
  void take(std::int32_t gpus, std::vector<Piece>& pieces);
  /// Gives GPUs of a node back.
  void give_back(const Piece& piece);
  /// Whether no gang holds any of these GPUs.
  bool all_free(const Piece& piece) const;
  /// Takes exactly these GPUs, which are free.
  void take_again(const Piece& piece);
  /// Withholds what is free on a node, and what is given back on it later. Returns the number of GPUs that
  /// are not free any more.
  std::int32_t withhold(std::uint32_t node);
  /// Puts it back. Returns the number of GPUs.
  std::int32_t restore(std::uint32_t node);
  bool withheld(std::uint32_t node) const { return withheld_[node]; }

 private:
  std::uint32_t place_of(std::uint32_t node, std::int32_t gpu) const;
  std::uint32_t block_of_node(std::uint32_t node) const { return first_node_block_ + node; }
  void add_free(std::uint32_t block);
  void remove_free(std::uint32_t block);
  /// Takes a block out of the free one that it is, or is a part of; the other parts stay free. False if there
  /// is no such block.
  bool cut_out(std::uint32_t block);
  void take_first(std::uint32_t block, std::int32_t gpus, std::vector<Piece>& pieces);
  void append_pieces(std::uint32_t block, std::vector<Piece>& pieces);
  void mark(const Piece& piece, bool held);

  std::int32_t gpus_per_node_;
  std::uint32_t places_per_node_;
  std::uint32_t first_node_block_;                         ///< blocks of nodes follow one another from here
  std::uint32_t first_place_block_;                        ///< and blocks of one place from here
  std::vector<std::int32_t> num_gpus_;                     ///< [blocks]
  std::vector<bool> is_free_;                              ///< [blocks]: free as a whole, its parent is not
  std::set<std::pair<std::int32_t, std::uint32_t>> free_;  ///< (GPUs, block) of these
  std::vector<bool> held_;                                 ///< [places]: by a gang
  std::vector<bool> withheld_;                             ///< [nodes]
};

}  // namespace vtrain
