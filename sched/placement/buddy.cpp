/// `buddy`: buddy allocation. The GPUs of equal nodes of one type form one row, in which a node takes a power
/// of two of places. Blocks of 1, 2, 4, ... places begin at multiples of their size. A gang goes into the
/// smallest free block with enough GPUs. Of equal ones it takes the first in the tree of blocks: level by
/// level from the row down, each from its beginning. (Places without a GPU make blocks of several levels
/// equal in GPUs.) The block is halved as long as its first half has enough. The gang takes the first GPUs of
/// the remaining block, and the rest stays free as smaller blocks. Freed blocks join their free neighbours.
/// So a gang waits until an aligned block is free, even if more GPUs are free, and large blocks stay whole
/// for large gangs.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sched/placement/buddy_blocks.hpp"
#include "sched/placement/node_placement.hpp"
#include "sched/placement/placements.hpp"

namespace vtrain {
namespace {

class BuddyPlacement final : public NodePlacement {
 public:
  BuddyPlacement(const ClusterSpec& cluster, const Workload& workload)
      : NodePlacement(PlacementKind::Buddy, cluster, workload), home_of_(table_.nodes().size()) {
    std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> row_by_kind;  // type, GPUs of a node
    for (std::uint32_t node = 0; node < table_.nodes().size(); ++node) {
      const auto [row, is_new] = row_by_kind.try_emplace({table_[node].type, table_[node].num_gpus},
                                                         static_cast<std::uint32_t>(row_by_kind.size()));
      if (is_new) nodes_by_row_.emplace_back();
      home_of_[node] = {row->second, static_cast<std::uint32_t>(nodes_by_row_[row->second].size())};
      nodes_by_row_[row->second].push_back(node);
    }
    for (const std::vector<std::uint32_t>& nodes : nodes_by_row_)
      rows_.emplace_back(static_cast<std::uint32_t>(nodes.size()), table_[nodes.front()].num_gpus);
  }

  bool place(const GangRequest& request, std::vector<NodeShare>& shares) override {
    std::optional<std::int32_t> smallest;
    std::size_t best = 0;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!may_use(request, row)) continue;
      const auto block = rows_[row].smallest_free(request.num_gpus.value);
      if (!block || (smallest && *smallest <= *block)) continue;
      smallest = block;
      best = row;
    }
    if (!smallest) return false;
    pieces_.clear();
    rows_[best].take(request.num_gpus.value, pieces_);
    for (const BuddyBlocks::Piece& piece : pieces_)
      shares.push_back({NodeId(nodes_by_row_[best][piece.node]), GpuCount(piece.gpus), piece.first_gpu});
    free_ -= request.num_gpus;
    return true;
  }

  void release(const GangRequest&, const std::vector<NodeShare>& shares) override {
    for (const NodeShare& share : shares) {
      const Home home = home_of_[share.node.value];
      rows_[home.row].give_back({home.place, share.first_gpu, share.gpus.value});
      if (!rows_[home.row].withheld(home.place)) free_ += share.gpus;
    }
  }

  bool reacquire(const GangRequest& request, const std::vector<NodeShare>& shares) override {
    const auto piece_of = [this](const NodeShare& share) {
      return BuddyBlocks::Piece{home_of_[share.node.value].place, share.first_gpu, share.gpus.value};
    };
    // One after the other, as pieces that overlap must be refused.
    for (auto share = shares.begin(); share != shares.end(); ++share) {
      BuddyBlocks& row = rows_[home_of_[share->node.value].row];
      if (row.all_free(piece_of(*share))) {
        row.reacquire(piece_of(*share));
        continue;
      }
      while (share != shares.begin()) {
        --share;
        rows_[home_of_[share->node.value].row].give_back(piece_of(*share));
      }
      return false;
    }
    free_ -= request.num_gpus;
    return true;
  }

  bool has_room(const GangRequest& request) const override {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (may_use(request, row) && rows_[row].smallest_free(request.num_gpus.value)) return true;
    }
    return false;
  }

  // A gang may use a row of nodes smaller than itself.
  int most_levels(const GangRequest& request) const override {
    return request.num_gpus == GpuCount(1) ? 0 : levels_of_cluster();
  }

  bool fits_empty(const GangRequest& request) const override {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const auto nodes = static_cast<std::int64_t>(nodes_by_row_[row].size());
      const std::int64_t total = nodes * table_[nodes_by_row_[row].front()].num_gpus;
      if (may_use(request, row) && request.num_gpus.value <= total) return true;
    }
    return false;
  }

  void set_in_service(NodeId node, bool in_service) override {
    const Home home = home_of_[node.value];
    BuddyBlocks& row = rows_[home.row];
    if (row.withheld(home.place) != in_service) return;
    free_ += in_service ? GpuCount(row.restore(home.place)) : GpuCount(-row.withhold(home.place));
  }

 private:
  /// Place of a node: its row, and its position in the row.
  struct Home {
    std::uint32_t row = 0;
    std::uint32_t place = 0;
  };

  bool may_use(const GangRequest& request, std::size_t row) const {
    const auto types = allowed(request);
    return std::binary_search(types.begin(), types.end(), table_[nodes_by_row_[row].front()].type);
  }

  std::vector<BuddyBlocks> rows_;
  std::vector<std::vector<std::uint32_t>> nodes_by_row_;
  std::vector<Home> home_of_;               ///< [nodes]
  std::vector<BuddyBlocks::Piece> pieces_;  ///< pieces of the gang that is being placed
};

}  // namespace

std::unique_ptr<Placement> make_buddy_placement(const ClusterSpec& cluster, const Workload& workload) {
  return std::make_unique<BuddyPlacement>(cluster, workload);
}

}  // namespace vtrain
