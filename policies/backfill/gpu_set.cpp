#include "policies/backfill/gpu_set.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace vtrain {

namespace {

constexpr std::int32_t kWordBits = 64;

/// Calls `visit(word index, mask of the bits of the range in that word)` for each word that a range touches.
template <class Visit>
void for_each_word(GpuRange range, Visit visit) {
  std::int32_t gpu = range.first;
  const std::int32_t end = range.first + range.count;
  while (gpu < end) {
    const std::int32_t bit = gpu % kWordBits;
    const std::int32_t num_bits = std::min(kWordBits - bit, end - gpu);
    visit(static_cast<std::size_t>(gpu / kWordBits), ~std::uint64_t{0} >> (kWordBits - num_bits) << bit);
    gpu += num_bits;
  }
}

/// Bits set in a word, by adding neighbouring fields of growing width. `std::popcount` is a call into libgcc
/// where the compiler may not assume the instruction; this is inlined and vectorised.
constexpr std::int32_t count_bits(std::uint64_t word) {
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  word += word >> 8;
  word += word >> 16;
  word += word >> 32;
  return static_cast<std::int32_t>(word & 0x7f);
}

}  // namespace

GpuSet::GpuSet(GpuCount num_gpus)
    : words_(static_cast<std::size_t>((num_gpus.value + kWordBits - 1) / kWordBits)) {
  insert({{0, num_gpus.value}});
}

bool GpuSet::includes(const GpuSet& other) const {
  return std::equal(words_.begin(), words_.end(), other.words_.begin(),
                    [](std::uint64_t ours, std::uint64_t theirs) { return (theirs & ~ours) == 0; });
}

void GpuSet::insert(const GpuRanges& gpus) {
  for (const GpuRange range : gpus) {
    for_each_word(range, [this](std::size_t word, std::uint64_t mask) { words_[word] |= mask; });
    size_ += range.count;
  }
}

void GpuSet::erase(const GpuRanges& gpus) {
  for (const GpuRange range : gpus) {
    for_each_word(range, [this](std::size_t word, std::uint64_t mask) { words_[word] &= ~mask; });
    size_ -= range.count;
  }
}

void GpuSet::subtract(const GpuRanges& gpus) {
  for (const GpuRange range : gpus) {
    for_each_word(range, [this](std::size_t word, std::uint64_t mask) {
      size_ -= count_bits(words_[word] & mask);
      words_[word] &= ~mask;
    });
  }
}

void GpuSet::intersect(const GpuSet& other) {
  size_ = 0;
  for (std::size_t word = 0; word < words_.size(); ++word) {
    words_[word] &= other.words_[word];
    size_ += count_bits(words_[word]);
  }
}

GpuCount GpuSet::size_in(GpuRange range) const {
  std::int32_t size = 0;
  for_each_word(range,
                [&](std::size_t word, std::uint64_t mask) { size += count_bits(words_[word] & mask); });
  return GpuCount(size);
}

GpuRanges GpuSet::lowest(GpuCount num_gpus) const {
  return lowest(num_gpus, {0, static_cast<std::int32_t>(words_.size()) * kWordBits});
}

GpuRanges GpuSet::lowest(GpuCount num_gpus, GpuRange range) const {
  GpuRanges gpus;
  std::int32_t missing = num_gpus.value;
  const std::int32_t end = range.first + range.count;
  for (std::int32_t first_of_word = range.first / kWordBits * kWordBits; missing > 0;
       first_of_word += kWordBits) {
    if (first_of_word >= end) throw std::logic_error("GpuSet::lowest: more GPUs asked for than there are");
    std::uint64_t bits = words_[static_cast<std::size_t>(first_of_word / kWordBits)];
    if (range.first > first_of_word) bits &= ~std::uint64_t{0} << (range.first - first_of_word);
    if (end - first_of_word < kWordBits) bits &= ~(~std::uint64_t{0} << (end - first_of_word));
    while (bits != 0 && missing > 0) {
      const std::int32_t bit = std::countr_zero(bits);
      const std::int32_t count = std::min(std::countr_one(bits >> bit), missing);
      const std::int32_t first = first_of_word + bit;
      if (!gpus.empty() && gpus.back().first + gpus.back().count == first)
        gpus.back().count += count;
      else
        gpus.push_back({first, count});
      missing -= count;
      bits &= ~(~std::uint64_t{0} >> (kWordBits - count) << bit);
    }
  }
  return gpus;
}

}  // namespace vtrain
