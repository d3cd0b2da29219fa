/// A set of nodes, by position.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace vtrain::slurm {

/// A set of positions below a fixed number.
class NodeSet {
 public:
  /// The empty set of positions below `size`.
  explicit NodeSet(std::size_t size = 0) : words_((size + kBits - 1) / kBits) {}
  /// True if the set has a position.
  bool has(std::uint32_t node) const { return (words_[node / kBits] >> (node % kBits) & 1) != 0; }
  /// Adds a position.
  void add(std::uint32_t node) { words_[node / kBits] |= std::uint64_t{1} << (node % kBits); }
  /// Removes a position.
  void remove(std::uint32_t node) { words_[node / kBits] &= ~(std::uint64_t{1} << (node % kBits)); }
  /// Keeps the positions that another set has, too.
  void keep(const NodeSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] &= other.words_[i];
  }
  /// Keeps those positions, and returns how many it removed.
  std::size_t keep_counted(const NodeSet& other) {
    std::size_t removed = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t gone = words_[i] & ~other.words_[i];
      if (gone == 0) continue;
      removed += ones(gone);
      words_[i] ^= gone;
    }
    return removed;
  }
  /// Removes the positions of another set.
  void remove(const NodeSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] &= ~other.words_[i];
  }
  /// True if a position is in both sets.
  bool meets(const NodeSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] & other.words_[i]) != 0) return true;
    }
    return false;
  }
  /// True if another set has all positions of this one and `base`.
  bool is_within(const NodeSet& other, const NodeSet& base) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] & base.words_[i] & ~other.words_[i]) != 0) return false;
    }
    return true;
  }
  /// Number of positions.
  std::size_t count() const {
    std::size_t sum = 0;
    for (const std::uint64_t word : words_)
      sum += ones(word);
    return sum;
  }
  /// Number of positions that another set has, too.
  std::size_t count_in(const NodeSet& other) const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < words_.size(); ++i)
      sum += ones(words_[i] & other.words_[i]);
    return sum;
  }
  /// Calls `take` with each position, ascending.
  template <class Take>
  void each(Take take) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
        take(static_cast<std::uint32_t>(i * kBits + static_cast<std::size_t>(std::countr_zero(word))));
    }
  }

  friend bool operator==(const NodeSet&, const NodeSet&) = default;

 private:
  /// Number of bits that are set, without the call that std::popcount is on plain x86-64.
  static std::size_t ones(std::uint64_t word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return static_cast<std::size_t>(word * 0x0101010101010101 >> 56);
  }

  static constexpr std::size_t kBits = 64;
  std::vector<std::uint64_t> words_;
};

}  // namespace vtrain::slurm
