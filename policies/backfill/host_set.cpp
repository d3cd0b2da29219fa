#include "policies/backfill/host_set.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace vtrain {

namespace {

constexpr std::int32_t kWordBits = 64;

/// Calls `visit(word index, mask of the bits of the range in that word)` for each word that a range touches.
template <class Visit>
void for_each_word(HostRange range, Visit visit) {
  std::int32_t host = range.first;
  const std::int32_t end = range.first + range.count;
  while (host < end) {
    const std::int32_t bit = host % kWordBits;
    const std::int32_t num_bits = std::min(kWordBits - bit, end - host);
    visit(static_cast<std::size_t>(host / kWordBits), ~std::uint64_t{0} >> (kWordBits - num_bits) << bit);
    host += num_bits;
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

HostSet::HostSet(GpuCount num_hosts)
    : words_(static_cast<std::size_t>((num_hosts.value + kWordBits - 1) / kWordBits)) {
  insert({{0, num_hosts.value}});
}

bool HostSet::includes(const HostSet& other) const {
  return std::equal(words_.begin(), words_.end(), other.words_.begin(),
                    [](std::uint64_t ours, std::uint64_t theirs) { return (theirs & ~ours) == 0; });
}

void HostSet::insert(const HostRanges& hosts) {
  for (const HostRange range : hosts) {
    for_each_word(range, [this](std::size_t word, std::uint64_t mask) { words_[word] |= mask; });
    size_ += range.count;
  }
}

void HostSet::erase(const HostRanges& hosts) {
  for (const HostRange range : hosts) {
    for_each_word(range, [this](std::size_t word, std::uint64_t mask) { words_[word] &= ~mask; });
    size_ -= range.count;
  }
}

void HostSet::subtract(const HostRanges& hosts) {
  for (const HostRange range : hosts) {
    for_each_word(range, [this](std::size_t word, std::uint64_t mask) {
      size_ -= count_bits(words_[word] & mask);
      words_[word] &= ~mask;
    });
  }
}

void HostSet::intersect(const HostSet& other) {
  size_ = 0;
  for (std::size_t word = 0; word < words_.size(); ++word) {
    words_[word] &= other.words_[word];
    size_ += count_bits(words_[word]);
  }
}

GpuCount HostSet::size_in(HostRange range) const {
  std::int32_t size = 0;
  for_each_word(range,
                [&](std::size_t word, std::uint64_t mask) { size += count_bits(words_[word] & mask); });
  return GpuCount(size);
}

HostRanges HostSet::lowest(GpuCount num_hosts) const {
  return lowest(num_hosts, {0, static_cast<std::int32_t>(words_.size()) * kWordBits});
}

HostRanges HostSet::lowest(GpuCount num_hosts, HostRange range) const {
  HostRanges hosts;
  std::int32_t missing = num_hosts.value;
  const std::int32_t end = range.first + range.count;
  for (std::int32_t first_of_word = range.first / kWordBits * kWordBits; missing > 0;
       first_of_word += kWordBits) {
    if (first_of_word >= end) throw std::logic_error("HostSet::lowest: more hosts asked for than there are");
    std::uint64_t bits = words_[static_cast<std::size_t>(first_of_word / kWordBits)];
    if (range.first > first_of_word) bits &= ~std::uint64_t{0} << (range.first - first_of_word);
    if (end - first_of_word < kWordBits) bits &= ~(~std::uint64_t{0} << (end - first_of_word));
    while (bits != 0 && missing > 0) {
      const std::int32_t bit = std::countr_zero(bits);
      const std::int32_t count = std::min(std::countr_one(bits >> bit), missing);
      const std::int32_t first = first_of_word + bit;
      if (!hosts.empty() && hosts.back().first + hosts.back().count == first)
        hosts.back().count += count;
      else
        hosts.push_back({first, count});
      missing -= count;
      bits &= ~(~std::uint64_t{0} >> (kWordBits - count) << bit);
    }
  }
  return hosts;
}

}  // namespace vtrain
