#include "policies/elasticflow/candidate_order.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace vtrain {

void CandidateOrder::reset(std::span<const double> ranks) {
  places_.resize(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    places_[i] = {ranks[i], static_cast<std::int64_t>(i)};
  takes_part_.assign(ranks.size(), 1);
  moves_.clear();
  round_ = 0;
  num_leaves_ = std::bit_ceil(std::max<std::size_t>(ranks.size(), 1));
  winners_.assign(2 * num_leaves_, kNobody);
  play_all();
}

std::optional<std::uint32_t> CandidateOrder::first() const {
  return winners_[1] == kNobody ? std::nullopt : std::optional(winners_[1]);
}

void CandidateOrder::leave_out(std::uint32_t candidate) {
  takes_part_[candidate] = 0;
  play(candidate);
}

void CandidateOrder::set_rank(std::uint32_t candidate, double rank) {
  if (rank != places_[candidate].rank) moves_.push_back({candidate, rank});
}

void CandidateOrder::end_round() {
  ++round_;
  std::ranges::sort(moves_,
                    [this](const Move& a, const Move& b) { return before(a.candidate, b.candidate); });
  const auto num_candidates = static_cast<std::int64_t>(places_.size());
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    const Move& move = moves_[i];
    // Falling candidates come before all others of their new rank, rising ones after them.
    const std::int64_t sign = move.rank < places_[move.candidate].rank ? -1 : 1;
    places_[move.candidate] = {move.rank, sign * round_ * num_candidates + static_cast<std::int64_t>(i)};
  }
  if (moves_.size() > num_leaves_ / 8) {
    play_all();
  } else {
    for (const Move& move : moves_)
      play(move.candidate);
  }
  moves_.clear();
}

std::span<const std::uint32_t> CandidateOrder::all() {
  all_.resize(places_.size());
  std::iota(all_.begin(), all_.end(), 0u);
  std::ranges::sort(all_, [this](std::uint32_t a, std::uint32_t b) { return before(a, b); });
  return all_;
}

std::uint32_t CandidateOrder::winner(std::uint32_t a, std::uint32_t b) const {
  if (a == kNobody || b == kNobody) return a == kNobody ? b : a;
  return before(a, b) ? a : b;
}

void CandidateOrder::play(std::uint32_t candidate) {
  std::size_t node = num_leaves_ + candidate;
  winners_[node] = takes_part(candidate) ? candidate : kNobody;
  for (node /= 2; node > 0; node /= 2) {
    const std::uint32_t before = winners_[node];
    winners_[node] = winner(winners_[2 * node], winners_[2 * node + 1]);
    // An unchanged winner has also won the next games, unless it is the candidate.
    if (winners_[node] == before && before != candidate) return;
  }
}

void CandidateOrder::play_all() {
  for (std::uint32_t i = 0; i < places_.size(); ++i)
    winners_[num_leaves_ + i] = takes_part(i) ? i : kNobody;
  for (std::size_t node = num_leaves_ - 1; node > 0; --node)
    winners_[node] = winner(winners_[2 * node], winners_[2 * node + 1]);
}

}  // namespace vtrain
