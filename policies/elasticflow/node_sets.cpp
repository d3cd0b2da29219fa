#include "policies/elasticflow/node_sets.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace vtrain {
namespace {

/// Classes of free GPUs, descending.
constexpr std::array<std::int64_t, 16> kClasses = {256, 128, 88, 72, 64, 56, 48, 40,
                                                   32,  24,  16, 12, 8,  4,  2,  1};

template <class List>
void sort_by_use(List& sets) {
  std::ranges::stable_sort(sets, {}, [](const auto& set) { return set->used; });
}

}  // namespace

void NodeSets::place(std::span<const Gang> gangs) {
  classes_.clear();
  free_nodes_.resize(static_cast<std::size_t>(num_nodes_));
  std::iota(free_nodes_.begin(), free_nodes_.end(), 0);
  for (const Gang& gang : gangs)
    place_gang(gang);
  note_ranks();
}

void NodeSets::file(const std::shared_ptr<Set>& set, std::int64_t fallback) {
  const auto fits = std::ranges::find_if(kClasses, [&](std::int64_t size) {
    return set->free() > 0 && size <= set->free() && set->free() % size == 0;
  });
  SetList& list = classes_[fits == kClasses.end() ? fallback : *fits];
  list.push_back(set);
  sort_by_use(list);
}

void NodeSets::place_gang(const Gang& gang) {
  // First the class of the gang's size, then larger ones, the largest first. The front set is tried.
  std::vector<std::int64_t> candidates = {gang.gpus};
  for (const std::int64_t size : kClasses) {
    if (size > gang.gpus) candidates.push_back(size);
  }
  for (const std::int64_t size : candidates) {
    SetList& list = classes_[size];
    if (list.empty()) continue;
    const auto set = list.front();
    list.erase(list.begin());
    if (gang.gpus <= set->free()) {
      set->used += gang.gpus;
      set->gangs.push_back(gang);
      file(set, gang.gpus);
      return;
    }
    list.push_back(set);
  }
  const auto count = static_cast<std::size_t>((gang.gpus + gpus_per_node_ - 1) / gpus_per_node_);
  if (count > free_nodes_.size()) {
    warm_.erase(gang.id);
    return;
  }
  const auto set = std::make_shared<Set>();
  set->nodes.assign(free_nodes_.begin(), free_nodes_.begin() + static_cast<std::ptrdiff_t>(count));
  free_nodes_.erase(free_nodes_.begin(), free_nodes_.begin() + static_cast<std::ptrdiff_t>(count));
  set->gangs = {gang};
  set->capacity = static_cast<std::int64_t>(count) * gpus_per_node_;
  set->used = gang.gpus;
  file(set, gang.gpus);
}

void NodeSets::note(const Gang& gang, std::int64_t rank) {
  if (seen_.insert({rank, gang.gpus}).second) {
    warm_.erase(gang.id);
  } else {
    warm_.insert(gang.id);
  }
}

void NodeSets::note_ranks() {
  struct Owner {
    std::int64_t size_class = 0;
    const Set* set = nullptr;
  };
  std::vector<Owner> owners(static_cast<std::size_t>(num_nodes_));
  for (const auto& [size_class, sets] : classes_) {
    for (const auto& set : sets) {
      for (const std::int64_t node : set->nodes)
        owners[static_cast<std::size_t>(node)] = {size_class, set.get()};
    }
  }
  std::set<std::uint32_t> noted;
  std::int64_t row = 0;
  for (const Owner& owner : owners) {
    if (owner.set != nullptr && owner.size_class >= gpus_per_node_) {
      const Gang& first = owner.set->gangs.front();
      if (noted.insert(first.id).second) note(first, row);
    } else if (owner.set != nullptr) {
      std::int64_t rank = row;
      for (const Gang& gang : owner.set->gangs) {
        note(gang, rank);
        rank += gang.gpus;
      }
    }
    row += gpus_per_node_;
  }
}

}  // namespace vtrain
