#include "policies/backfill/count_timeline.hpp"

#include <bit>

namespace vtrain {

CountTimeline::CountTimeline(SimTime now, std::int64_t count)
    : now_(now), count_(count), blocks_(1), begins_{now}, sums_(1) {
  build_tree();
}

CountTimeline::Sums CountTimeline::sums_of(const std::vector<Change>& changes, std::size_t from) {
  Sums sums;
  for (std::size_t i = from; i < changes.size(); ++i) {
    sums.all += changes[i].by;
    sums.least = std::min(sums.least, sums.all);
    sums.most = std::max(sums.most, sums.all);
  }
  return sums;
}

void CountTimeline::update(std::size_t block) {
  std::size_t node = num_leaves_ + block;
  tree_[node] = sums_[block] = sums_of(blocks_[block], block == first_ ? passed_ : 0);
  for (node /= 2; node > 0; node /= 2) {
    tree_[node] = tree_[2 * node];
    tree_[node].append(tree_[2 * node + 1]);
  }
}

void CountTimeline::drop_past_blocks() {
  const auto past = static_cast<std::ptrdiff_t>(first_);
  blocks_.erase(blocks_.begin(), blocks_.begin() + past);
  begins_.erase(begins_.begin(), begins_.begin() + past);
  sums_.erase(sums_.begin(), sums_.begin() + past);
  first_ = 0;
}

void CountTimeline::build_tree() {
  num_leaves_ = std::bit_ceil(blocks_.size());
  tree_.assign(2 * num_leaves_, Sums());
  std::ranges::copy(sums_, tree_.begin() + static_cast<std::ptrdiff_t>(num_leaves_));
  for (std::size_t node = num_leaves_ - 1; node > 0; --node) {
    tree_[node] = tree_[2 * node];
    tree_[node].append(tree_[2 * node + 1]);
  }
}

void CountTimeline::advance(SimTime now) {
  now_ = now;
  bool moved = false;
  for (;;) {
    std::vector<Change>& block = blocks_[first_];
    for (; passed_ < block.size() && block[passed_].time <= now; ++passed_, moved = true)
      count_ += block[passed_].by;
    if (passed_ < block.size() || first_ + 1 == blocks_.size()) break;
    block.clear();
    passed_ = 0;
    update(first_);
    ++first_;
    moved = true;
  }
  if (moved) update(first_);
}

std::size_t CountTimeline::block_of(SimTime time) const {
  const auto later =
      std::upper_bound(begins_.begin() + static_cast<std::ptrdiff_t>(first_) + 1, begins_.end(), time);
  return static_cast<std::size_t>(later - begins_.begin()) - 1;
}

void CountTimeline::split(std::size_t block) {
  std::vector<Change>& full = blocks_[block];
  if (block == first_ && passed_ > 0) {
    full.erase(full.begin(), full.begin() + static_cast<std::ptrdiff_t>(passed_));
    passed_ = 0;
    if (full.size() < kMaxBlock / 2) return;
  }
  const auto middle = full.begin() + static_cast<std::ptrdiff_t>(full.size() / 2);
  std::vector<Change> upper(middle, full.end());
  full.erase(middle, full.end());
  const auto behind = static_cast<std::ptrdiff_t>(block) + 1;
  sums_[block] = sums_of(full, 0);
  sums_.insert(sums_.begin() + behind, sums_of(upper, 0));
  begins_.insert(begins_.begin() + behind, upper.front().time);
  blocks_.insert(blocks_.begin() + behind, std::move(upper));
  drop_past_blocks();
  build_tree();
}

void CountTimeline::change(SimTime time, std::int64_t by) {
  std::size_t block = block_of(time);
  if (blocks_[block].size() >= kMaxBlock) {
    split(block);
    block = block_of(time);
  }
  std::vector<Change>& changes = blocks_[block];
  const auto first = changes.begin() + static_cast<std::ptrdiff_t>(block == first_ ? passed_ : 0);
  const auto place = std::lower_bound(first, changes.end(), time,
                                      [](const Change& each, SimTime at) { return each.time < at; });
  if (place == changes.end() || place->time != time) {
    changes.insert(place, {time, by});
  } else if ((place->by += by) == 0) {
    changes.erase(place);
  }
  update(block);
}

void CountTimeline::add(SimTime begin, SimTime end, std::int64_t count) {
  if (end <= std::max(begin, now_) || count == 0) return;
  if (begin <= now_) {
    count_ += count;
  } else {
    change(begin, count);
  }
  if (end != SimTime::max()) change(end, -count);
}

std::int64_t CountTimeline::sum_before(std::size_t block) const {
  std::int64_t sum = 0;
  for (std::size_t node = num_leaves_ + block; node > 1; node /= 2) {
    if (node % 2 == 1) sum += tree_[node - 1].all;
  }
  return sum;
}

CountTimeline::Cursor CountTimeline::cursor_at(SimTime time) const {
  Cursor cursor{block_of(time), -1, now_, 0};
  cursor.count = count_ + sum_before(cursor.block);
  const std::vector<Change>& changes = blocks_[cursor.block];
  std::size_t next = cursor.block == first_ ? passed_ : 0;
  for (; next < changes.size() && changes[next].time <= time; ++next)
    cursor.count += changes[next].by;
  cursor.index = static_cast<std::ptrdiff_t>(next) - 1;
  cursor.time = time;
  return cursor;
}

template <bool kBelow>
bool CountTimeline::move_to(Cursor& cursor, std::int64_t count) const {
  const auto found = [count](std::int64_t here) { return kBelow ? here < count : here >= count; };
  std::int64_t here = cursor.count;
  std::size_t block = cursor.block;
  auto next = static_cast<std::size_t>(cursor.index + 1);
  for (;;) {
    const std::vector<Change>& changes = blocks_[block];
    for (; next < changes.size(); ++next) {
      here += changes[next].by;
      if (!found(here)) continue;
      cursor = {block, static_cast<std::ptrdiff_t>(next), changes[next].time, here};
      return true;
    }
    // Next block in which such a count is reached.
    if (block + 1 >= blocks_.size()) return false;
    const auto reached = [&](std::size_t node) {
      return found(here + (kBelow ? tree_[node].least : tree_[node].most));
    };
    std::size_t node = num_leaves_ + block + 1;
    while (!reached(node)) {
      here += tree_[node].all;
      while (node % 2 == 1)
        node /= 2;
      if (node == 0) return false;
      ++node;
    }
    while (node < num_leaves_) {
      node *= 2;
      if (reached(node)) continue;
      here += tree_[node].all;
      ++node;
    }
    block = node - num_leaves_;
    next = 0;
  }
}

std::int64_t CountTimeline::least(SimTime begin, SimTime end) const {
  Cursor cursor = cursor_at(begin);
  std::int64_t least = cursor.count;
  while (move_to<true>(cursor, least) && cursor.time < end)
    least = cursor.count;
  return least;
}

std::optional<SimTime> CountTimeline::next_change(SimTime time) const {
  const Cursor cursor = cursor_at(time);
  auto next = static_cast<std::size_t>(cursor.index + 1);
  for (std::size_t block = cursor.block; block < blocks_.size(); ++block, next = 0) {
    if (next < blocks_[block].size()) return blocks_[block][next].time;
  }
  return std::nullopt;
}

std::optional<SimTime> CountTimeline::earliest(std::int64_t count, SimDuration length,
                                               const Window& window) const {
  Cursor cursor = cursor_at(window.from);
  if (cursor.count < count && !move_to<false>(cursor, count)) return std::nullopt;
  while (cursor.time < window.before) {
    const SimTime begin = cursor.time;
    if (!move_to<true>(cursor, count) || cursor.time - begin >= length || cursor.time >= window.enough)
      return begin;
    if (!move_to<false>(cursor, count)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace vtrain
