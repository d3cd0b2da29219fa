#include "core/base/rng.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace vtrain {
namespace {

std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// FNV-1a, to turn a stream's name into a number.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) {
  std::uint64_t state = seed ^ hash_name(name);
  for (std::uint64_t& word : state_)
    word = split_mix(state);
}

std::uint64_t RandomStream::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double RandomStream::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

double RandomStream::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  // Rejection keeps every value equally likely.
  const std::uint64_t limit = bound * (UINT64_MAX / bound);
  std::uint64_t value = next();
  while (value >= limit)
    value = next();
  return value % bound;
}

double RandomStream::exponential(double mean) {
  return -mean * std::log1p(-uniform());
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

WeightedChoice::WeightedChoice(std::span<const double> weights) {
  double sum = 0;
  for (const double weight : weights)
    cumulative_.push_back(sum += weight);
}

std::size_t WeightedChoice::draw(RandomStream& random) const {
  const auto at =
      std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, random.uniform() * cumulative_.back());
  return static_cast<std::size_t>(at - cumulative_.begin());
}

}  // namespace vtrain
