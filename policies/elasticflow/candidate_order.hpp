/// The order in which jobs grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vtrain {

/// Candidates, numbered from 0, in the order of their ranks, highest first. Ranks change in rounds. Each
/// round sorts stably: candidates of equal rank keep their former order. A round of k changes is O(k log
/// candidates).
class CandidateOrder {
 public:
  /// Begins with these ranks; candidates of equal rank are in the order of their numbers. All take part.
  void reset(std::span<const double> ranks);
  double rank(std::uint32_t candidate) const { return places_[candidate].rank; }
  bool takes_part(std::uint32_t candidate) const { return takes_part_[candidate] != 0; }
  /// The first candidate that takes part.
  std::optional<std::uint32_t> first() const;
  /// Excludes a candidate from `first`; it keeps its place.
  void leave_out(std::uint32_t candidate);
  /// Gives a candidate another rank from the end of the round on. At most once a round.
  void set_rank(std::uint32_t candidate, double rank);
  void end_round();
  /// All candidates in order. O(candidates x log candidates).
  std::span<const std::uint32_t> all();

 private:
  /// A rank; equal ranks are in the order of `tie`.
  struct Place {
    double rank = 0;
    std::int64_t tie = 0;
  };
  struct Move {
    std::uint32_t candidate = 0;
    double rank = 0;
  };
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  bool before(std::uint32_t a, std::uint32_t b) const {
    const Place& first = places_[a];
    const Place& second = places_[b];
    return first.rank > second.rank || (first.rank == second.rank && first.tie < second.tie);
  }
  std::uint32_t winner(std::uint32_t a, std::uint32_t b) const;
  void play(std::uint32_t candidate);
  void play_all();

  std::vector<Place> places_;
  std::vector<char> takes_part_;
  std::vector<Move> moves_;  ///< changes of rank in this round
  std::int64_t round_ = 0;
  std::size_t num_leaves_ = 0;
  std::vector<std::uint32_t> winners_;  ///< tournament tree: the root has index 1, the leaves come last
  std::vector<std::uint32_t> all_;
};

}  // namespace vtrain
