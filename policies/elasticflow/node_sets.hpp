/// Places of gangs in ElasticFlow's simulator. They decide which gangs find running processes there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace vtrain {

/// Buddy-like placement of pkusys/ElasticFlow (Apache-2.0). Sets of nodes hold gangs; a set with free GPUs
/// belongs to the largest class that divides their number. All gangs are placed again at every decision, the
/// largest first, so nothing is ever fragmented. The first rank of a gang is its GPU of lowest number. A gang
/// whose (first rank, size) was seen before finds processes that need no start. Some sizes of gangs leave no
/// whole set for one of them (three of 5 GPUs on two nodes of 8). That simulator stops there; here such gangs
/// never find any processes.
class NodeSets {
 public:
  /// One gang to place. `id` names the job.
  struct Gang {
    std::uint32_t id = 0;
    std::int64_t gpus = 0;
  };

  /// Begins with equal nodes without gangs.
  NodeSets(std::int64_t num_nodes, std::int64_t gpus_per_node)
      : num_nodes_(num_nodes), gpus_per_node_(gpus_per_node) {}

  /// Places the gangs, given in descending order of size, and remembers their ranks.
  void place(std::span<const Gang> gangs);
  /// True if the job's gang was seen before at its place, when it was last placed.
  bool is_warm(std::uint32_t id) const { return warm_.contains(id); }
  /// Forgets the ranks seen.
  void forget() { seen_.clear(); }

 private:
  struct Set {
    std::vector<std::int64_t> nodes;
    std::vector<Gang> gangs;
    std::int64_t capacity = 0;
    std::int64_t used = 0;
    std::int64_t free() const { return capacity - used; }
  };
  using SetList = std::vector<std::shared_ptr<Set>>;

  void place_gang(const Gang& gang);
  /// Puts a set into the class of its free GPUs, or with the sets of `fallback` if it is full.
  void file(const std::shared_ptr<Set>& set, std::int64_t fallback);
  void note_ranks();
  void note(const Gang& gang, std::int64_t rank);

  std::int64_t num_nodes_;
  std::int64_t gpus_per_node_;
  std::vector<std::int64_t> free_nodes_;                  ///< ascending
  std::map<std::int64_t, SetList> classes_;               ///< sets of each class by GPUs in use
  std::set<std::pair<std::int64_t, std::int64_t>> seen_;  ///< (first rank, GPUs)
  std::set<std::uint32_t> warm_;
};

}  // namespace vtrain
