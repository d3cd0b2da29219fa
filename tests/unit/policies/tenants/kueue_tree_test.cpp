/// Kueue's quota tree against a recomputation from scratch, on random trees.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "policies/tenants/kueue/quantity.hpp"
#include "policies/tenants/kueue/quota_tree.hpp"

namespace kueue = vtrain::kueue;
using kueue::Amount;
using kueue::NodeId;
using kueue::QuotaTree;

namespace {

/// A random tree of one column, with what it was made of.
struct RandomTree {
  QuotaTree tree{1};
  std::vector<NodeId> parents;
  std::vector<QuotaTree::Quota> quotas;
  std::vector<Amount> usage;  ///< of ClusterQueues
  std::size_t num_cohorts = 0;
};

RandomTree random_tree(std::mt19937& random) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  RandomTree made;
  made.num_cohorts = static_cast<std::size_t>(1 + up_to(4));
  const std::size_t num_queues = static_cast<std::size_t>(1 + up_to(5));
  for (std::size_t i = 0; i < made.num_cohorts + num_queues; ++i) {
    const bool is_queue = i >= made.num_cohorts;
    const NodeId node = is_queue ? made.tree.add_cluster_queue() : made.tree.add_cohort();
    // A parent comes before its children, so there is no cycle.
    NodeId parent = kueue::kNoNode;
    const int choices = static_cast<int>(is_queue ? made.num_cohorts : i);
    if (choices > 0 && up_to(4) > 0) parent = static_cast<NodeId>(up_to(choices - 1));
    if (parent != kueue::kNoNode) made.tree.set_parent(node, parent);
    QuotaTree::Quota quota{.nominal = up_to(10)};
    if (up_to(2) == 0) quota.borrowing_limit = up_to(6);
    if (up_to(2) == 0) quota.lending_limit = up_to(6);
    made.tree.set_quota(node, 0, quota);
    made.parents.push_back(parent);
    made.quotas.push_back(quota);
    made.usage.push_back(0);
  }
  made.tree.finish();
  return made;
}

/// The definitions of the quota tree, computed by recursion without any memory.
class Reference {
 public:
  explicit Reference(const RandomTree& made) : made_(made) {}

  Amount subtree(NodeId node) const {
    Amount sum = made_.quotas[node].nominal;
    for (const NodeId child : children(node))
      sum += subtree(child) - local(child);
    return sum;
  }
  Amount local(NodeId node) const {
    const auto limit = made_.quotas[node].lending_limit;
    return limit ? std::max<Amount>(0, subtree(node) - *limit) : 0;
  }
  Amount usage(NodeId node) const {
    Amount sum = made_.usage[node];
    for (const NodeId child : children(node))
      sum += std::max<Amount>(0, usage(child) - local(child));
    return sum;
  }
  Amount raw(NodeId node) const {
    const NodeId parent = made_.parents[node];
    if (parent == kueue::kNoNode) return subtree(node) - usage(node);
    Amount from_parent = raw(parent);
    if (const auto limit = made_.quotas[node].borrowing_limit) {
      const Amount used = std::max<Amount>(0, usage(node) - local(node));
      from_parent = std::min(from_parent, subtree(node) - local(node) - used + *limit);
    }
    return std::max<Amount>(0, local(node) - usage(node)) + from_parent;
  }
  Amount potential(NodeId node) const {
    const NodeId parent = made_.parents[node];
    if (parent == kueue::kNoNode) return subtree(node);
    const Amount all = local(node) + potential(parent);
    const auto limit = made_.quotas[node].borrowing_limit;
    return limit ? std::min(all, subtree(node) + *limit) : all;
  }

 private:
  std::vector<NodeId> children(NodeId node) const {
    std::vector<NodeId> found;
    for (NodeId other = 0; other < made_.parents.size(); ++other) {
      if (made_.parents[other] == node) found.push_back(other);
    }
    return found;
  }

  const RandomTree& made_;
};

void check_all(const RandomTree& made) {
  const Reference reference(made);
  for (NodeId node = 0; node < made.parents.size(); ++node) {
    CAPTURE(node);
    CHECK(made.tree.subtree_quota(node, 0) == reference.subtree(node));
    CHECK(made.tree.local_quota(node, 0) == reference.local(node));
    CHECK(made.tree.usage(node, 0) == reference.usage(node));
    CHECK(made.tree.potential(node, 0) == reference.potential(node));
    CHECK(made.tree.available(node, 0) == std::max<Amount>(0, reference.raw(node)));
  }
}

}  // namespace

TEST_CASE("kueue_tree: usage that comes and goes agrees with the definitions") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    RandomTree made = random_tree(random);
    std::vector<std::pair<NodeId, Amount>> added;
    for (int step = 0; step < 20; ++step) {
      const auto node =
          static_cast<NodeId>(made.num_cohorts + random() % (made.parents.size() - made.num_cohorts));
      if (!added.empty() && random() % 3 == 0) {
        const std::size_t which = random() % added.size();
        made.tree.remove_usage(added[which].first, 0, added[which].second);
        made.usage[added[which].first] -= added[which].second;
        added.erase(added.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const auto amount = static_cast<Amount>(random() % 8);
        made.tree.add_usage(node, 0, amount);
        made.usage[node] += amount;
        added.emplace_back(node, amount);
      }
      check_all(made);
    }
  }
}

TEST_CASE("kueue_tree: who takes only what is available never exceeds a limit") {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    RandomTree made = random_tree(random);
    for (int step = 0; step < 20; ++step) {
      const auto node =
          static_cast<NodeId>(made.num_cohorts + random() % (made.parents.size() - made.num_cohorts));
      const Amount available = made.tree.available(node, 0);
      if (available == 0) continue;
      made.tree.add_usage(node, 0, 1 + static_cast<Amount>(random() % static_cast<unsigned>(available)));
      for (NodeId each = 0; each < made.parents.size(); ++each) {
        const bool is_root = made.parents[each] == kueue::kNoNode;
        const Amount usage = made.tree.usage(each, 0);
        if (is_root) CHECK(usage <= made.tree.subtree_quota(each, 0));
        if (const auto limit = made.quotas[each].borrowing_limit; limit && !is_root)
          CHECK(usage <= made.tree.subtree_quota(each, 0) + *limit);
      }
    }
  }
}

TEST_CASE("kueue_tree: quantities are read exactly and rounded up") {
  using kueue::parse_quantity;
  CHECK(parse_quantity("500m", "cpu") == 500);
  CHECK(parse_quantity("1", "cpu") == 1000);
  CHECK(parse_quantity("0.0001", "cpu") == 1);    // a tenth of a thousandth
  CHECK(parse_quantity("1500m", "memory") == 2);  // one and a half bytes
  CHECK(parse_quantity("1.5Gi", "memory") == 1610612736);
  CHECK(parse_quantity("0.5", "nvidia.com/gpu") == 1);
  CHECK(parse_quantity("12e6", "memory") == 12000000);
  CHECK(parse_quantity("1E", "cpu") == kueue::kMostAmount);  // 10^21 thousandths
  CHECK(parse_quantity("9223372036854775807", "pods") == kueue::kMostAmount);
  CHECK(parse_quantity("99999999999999999999Ei", "memory") == kueue::kMostAmount);
  CHECK(parse_quantity("-2k", "pods") == -2000);
  for (const char* const bad : {"", "1x", "Gi", "1 Gi", "--1", "1e999", "1..2", "."}) {
    CAPTURE(bad);
    CHECK(!parse_quantity(bad, "memory"));
  }
  CHECK(kueue::parse_decimal_quantity("1.5") == 1.5);
  CHECK(kueue::parse_decimal_quantity("300m") == 0.3);
}
