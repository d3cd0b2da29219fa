#include "sched/tenants/share_division.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

/// Pools of a cluster of one type.
SharePools one_pool(std::int64_t gpus) {
  return {{gpus}, {0}, {""}, {gpus}};
}

std::vector<double> filled(double amount, const std::vector<ShareClaim>& claims) {
  std::vector<double> parts(claims.size());
  fill_by_weight(amount, claims, parts);
  return parts;
}

/// A random tree of up to `most` tenants with quotas of some, in a random order of names. `exact`: the quotas
/// of all tenants together are at most `gpus`.
TenantTree random_tree(RandomStream& random, std::uint64_t most, std::int64_t gpus, bool fits) {
  TenantTree tree;
  std::int64_t left = gpus;
  const auto count = 1 + random.below(most);
  for (std::uint64_t i = 0; i < count; ++i) {
    Tenant tenant{.name = "t" + std::to_string(random.below(1000)) + "-" + std::to_string(i)};
    tenant.weight = static_cast<double>(random.below(5)) / 2;
    if (i > 0 && random.below(2) == 0) tenant.parent = static_cast<std::uint32_t>(random.below(i));
    if (random.below(2) == 0) {
      Quota quota;
      quota.nominal = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(gpus / 2 + 1)));
      if (fits) quota.nominal = std::min(quota.nominal, left);
      left -= quota.nominal;
      if (random.below(2) == 0) quota.borrowing_limit = static_cast<std::int64_t>(random.below(6));
      if (random.below(3) == 0)
        quota.lending_limit =
            static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(quota.nominal) + 1));
      tenant.quotas.push_back(quota);
    }
    tree.tenants.push_back(std::move(tenant));
  }
  return tree;
}

std::vector<double> random_demand(RandomStream& random, const ShareTree& tree, std::uint64_t most) {
  std::vector<double> demand(tree.size());
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    if (tree.node(node).is_leaf() && random.below(4) > 0)
      demand[node] = static_cast<double>(random.below(most));
  }
  return demand;
}

/// Divides by a level that is found by bisection, node by node: another way to the same numbers.
class Bisection {
 public:
  Bisection(const ShareTree& tree, std::span<const double> demand) : tree_(tree), demand_(demand) {}

  double usable(std::uint32_t number) const {
    const auto& node = tree_.node(number);
    double sum = node.is_leaf() ? demand_[number] : 0;
    for (auto child = node.first_child; child < node.end_child; ++child)
      sum += usable(child);
    return std::min(sum, limit(number));
  }
  double most(std::uint32_t number) const {
    const auto& node = tree_.node(number);
    double sum = node.is_leaf() ? demand_[number] : 0;
    for (auto child = node.first_child; child < node.end_child; ++child)
      sum += most(child);
    return std::max(std::min(sum, limit(number)), static_cast<double>(tree_.limits(0, number).reserve));
  }
  double least(std::uint32_t number) const {
    return std::min(most(number), static_cast<double>(tree_.limits(0, number).nominal));
  }
  /// Sets the shares of the leaves below a node.
  void divide(std::uint32_t number, double amount, std::map<std::uint32_t, double>& due) const {
    const auto& node = tree_.node(number);
    if (node.is_leaf()) {
      due[number] = std::min(amount, usable(number));
      return;
    }
    double sum_least = 0;
    for (auto child = node.first_child; child < node.end_child; ++child)
      sum_least += least(child);
    const auto part = [&](std::uint32_t child, double level) {
      const auto nominal = static_cast<double>(tree_.limits(0, child).nominal);
      if (sum_least >= amount) return std::min(least(child), level * nominal);
      const double weight = tree_.node(child).weight;
      // A weight of next to nothing stands for none.
      return std::clamp(level * (weight > 0 ? weight : 1e-12), least(child), most(child));
    };
    double low = 0;
    double high = 1e18;
    for (int i = 0; i < 300; ++i) {
      const double level = (low + high) / 2;
      double sum = 0;
      for (auto child = node.first_child; child < node.end_child; ++child)
        sum += part(child, level);
      (sum > amount ? high : low) = level;
    }
    for (auto child = node.first_child; child < node.end_child; ++child)
      divide(child, part(child, low), due);
  }

 private:
  double limit(std::uint32_t number) const {
    const auto most = tree_.limits(0, number).most;
    return most == ShareTree::kUnlimited ? 1e300 : static_cast<double>(most);
  }
  const ShareTree& tree_;
  std::span<const double> demand_;
};

}  // namespace

TEST_CASE("share_division: textbook max-min, weights, least and most") {
  // Demands 2, 2.6, 4 and 5 of 10: the smallest is met, then 2.6, and the rest is shared (Keshav, 1997).
  const std::vector<double> shared = filled(10, {{1, 0, 2}, {1, 0, 2.6}, {1, 0, 4}, {1, 0, 5}});
  CHECK(shared[0] == 2);
  CHECK(shared[1] == doctest::Approx(2.6));
  CHECK(shared[2] == doctest::Approx(2.7));
  CHECK(shared[3] == doctest::Approx(2.7));
  // Weights 2.5, 4, 0.5 and 1 with demands 4, 2, 10 and 4 of 16 (there): 4, 2, 10/3, 20/3 capped to 4, so 6.
  CHECK(filled(16, {{2.5, 0, 4}, {4, 0, 2}, {0.5, 0, 10}, {1, 0, 4}}) == std::vector<double>{4, 2, 6, 4});
  // A least of 6 goes first; then 4 for the two others.
  CHECK(filled(10, {{1, 6, 8}, {1, 0, 8}, {1, 0, 8}}) == std::vector<double>{6, 2, 2});
  // Without weight only what the others leave.
  CHECK(filled(10, {{0, 1, 8}, {1, 0, 4}, {0, 0, 8}}) == std::vector<double>{3, 4, 3});
  CHECK(filled(10, {{0, 1, 8}, {1, 0, 20}, {0, 0, 8}}) == std::vector<double>{1, 9, 0});
  // Guarantees of 8 and 4 on 6 GPUs are cut to 4 and 2.
  CHECK(filled(6, {{1, 8, 8, 8}, {1, 4, 4, 4}, {5, 0, 9, 0}}) == std::vector<double>{4, 2, 0});
}

TEST_CASE("share_division: any division is max-min within its bounds") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "fill");
    std::vector<ShareClaim> claims;
    double sum_most = 0;
    double sum_least = 0;
    for (auto left = 1 + random.below(8); left > 0; --left) {
      ShareClaim claim{.weight = static_cast<double>(1 + random.below(20)) / 7};
      claim.least = static_cast<double>(random.below(12)) / 3;
      claim.most = claim.least + static_cast<double>(random.below(30)) / 3;
      claim.entitled = claim.least;
      claims.push_back(claim);
      sum_most += claim.most;
      sum_least += claim.least;
    }
    const double amount = sum_least + static_cast<double>(random.below(60)) / 3;
    const std::vector<double> parts = filled(amount, claims);
    double sum = 0;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      CHECK(parts[i] >= claims[i].least - 1e-9);
      CHECK(parts[i] <= claims[i].most + 1e-9);
      sum += parts[i];
      // Nobody can get more without taking from one whose part, by weight, is not larger.
      for (std::size_t j = 0; j < claims.size(); ++j) {
        const bool is_higher = parts[j] / claims[j].weight > parts[i] / claims[i].weight + 1e-9;
        CHECK((!is_higher || parts[i] >= claims[i].most - 1e-9 || parts[j] <= claims[j].least + 1e-9));
      }
    }
    CHECK(sum == doctest::Approx(std::min(amount, sum_most)));
  }
}

TEST_CASE("share_division: random trees agree with bisection, guarantees hold, shares add up") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "division");
    const auto gpus = static_cast<std::int64_t>(4 + random.below(60));
    const bool fits = random.below(4) > 0;
    const TenantTree tenants = random_tree(random, 9, gpus, fits);
    const ShareTree tree(tenants, one_pool(gpus));
    const std::vector<double> demand = random_demand(random, tree, 40);
    ShareDivision division(tree, 0);
    division.divide(demand, static_cast<double>(gpus));
    const Bisection bisection(tree, demand);
    std::map<std::uint32_t, double> expected;
    bisection.divide(0, std::min(static_cast<double>(gpus), bisection.most(0)), expected);
    double sum_due = 0;
    double sum_demand = 0;
    for (std::uint32_t node = 1; node < tree.size(); ++node) {
      CAPTURE(node);
      const auto& limits = tree.limits(0, node);
      if (limits.most != ShareTree::kUnlimited) CHECK(division.due(node) <= double(limits.most) + 1e-6);
      if (fits) {
        // What can be used of the quotas of a node and all below it is due to it.
        CHECK(division.due(node) >=
              std::min(bisection.usable(node), double(limits.nominal)) - 1e-6 - double(limits.reserve));
        CHECK(division.guarantee(node) <= division.due(node));
      }
      if (!tree.node(node).is_leaf()) continue;
      CHECK(division.due(node) == doctest::Approx(expected[node]).epsilon(1e-6));
      sum_due += division.due(node);
      sum_demand += demand[node];
    }
    const bool is_limited = std::ranges::any_of(tenants.tenants, [](const Tenant& tenant) {
      return std::ranges::any_of(
          tenant.quotas, [](const Quota& quota) { return quota.borrowing_limit || quota.lending_limit; });
    });
    if (!is_limited) CHECK(sum_due == doctest::Approx(std::min(double(gpus), sum_demand)));
  }
}

TEST_CASE("share_division: the order in which tenants are written changes no bit") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "order");
    TenantTree tenants = random_tree(random, 9, 40, true);
    std::map<std::string, double> demand;
    for (const Tenant& tenant : tenants.tenants)
      demand[tenant.name] = static_cast<double>(random.below(30));
    const auto divide = [&](const TenantTree& given) {
      const ShareTree tree(given, one_pool(40));
      std::vector<double> by_leaf(tree.size());
      for (std::uint32_t i = 0; i < given.tenants.size(); ++i)
        by_leaf[tree.leaf_of(i)] = demand[given.tenants[i].name];
      ShareDivision division(tree, 0);
      division.divide(by_leaf, 40);
      std::map<std::string, double> due;
      for (std::uint32_t i = 0; i < given.tenants.size(); ++i)
        due[given.tenants[i].name] = division.due(tree.node_of(i));
      return due;
    };
    const auto due = divide(tenants);
    // Written backwards, parents and children alike: `TenantTree` asks for parents first, the reader sorts.
    TenantTree shuffled;
    std::map<std::string, std::uint32_t> place;
    std::vector<std::uint32_t> order;
    while (order.size() < tenants.tenants.size()) {
      const auto next = static_cast<std::uint32_t>(random.below(tenants.tenants.size()));
      const auto parent = tenants.tenants[next].parent;
      if (place.contains(tenants.tenants[next].name)) continue;
      if (parent && !place.contains(tenants.tenants[*parent].name)) continue;
      place[tenants.tenants[next].name] = static_cast<std::uint32_t>(order.size());
      order.push_back(next);
    }
    for (const std::uint32_t number : order) {
      Tenant tenant = tenants.tenants[number];
      if (tenant.parent) tenant.parent = place[tenants.tenants[*tenant.parent].name];
      shuffled.tenants.push_back(tenant);
    }
    CHECK(divide(shuffled) == due);
  }
}

TEST_CASE("share_division: quotas that nobody lends stay unused, and those of a parent are its children's") {
  // 12 GPUs: `a` lends 2 of its 6, `b` has none of its own, `p` has 4 that its child `c` may use.
  TenantTree tenants;
  tenants.tenants = {{.name = "a", .quotas = {{.nominal = 6, .lending_limit = 2}}},
                     {.name = "b"},
                     {.name = "p", .quotas = {{.nominal = 4, .borrowing_limit = 1}}},
                     {.name = "c", .parent = 2}};
  const ShareTree tree(tenants, one_pool(12));
  std::vector<double> demand(tree.size());
  demand[tree.leaf_of(1)] = 20;
  demand[tree.leaf_of(3)] = 20;
  ShareDivision division(tree, 0);
  division.divide(demand, 12);
  // Four of `a` lie idle. Of the other eight `p` has 4 as its own, and `b` gets 4 by equal weights.
  CHECK(division.due(tree.node_of(0)) == 0);
  CHECK(division.due(tree.node_of(1)) == 4);
  CHECK(division.due(tree.node_of(2)) == 4);
  CHECK(division.guarantee(tree.node_of(2)) == 4);
  CHECK(division.due(tree.leaf_of(3)) == 4);
  ShareUse use(tree, 0);
  CHECK(use.room(tree.leaf_of(1)) == 8);
  CHECK(use.room(tree.leaf_of(3)) == 5);
  CHECK(use.room(tree.leaf_of(0)) == 12);
  use.add(tree.leaf_of(1), 8);
  CHECK(use.room(tree.leaf_of(3)) == 0);  // quotas that it lent are in use
  CHECK(use.room(tree.leaf_of(0)) == 4);
  use.add(tree.leaf_of(1), -8);
  CHECK(use.of(0) == 0);
}

TEST_CASE("share_tree: pools are GPU types where quotas or jobs name them") {
  const ClusterSpec cluster = *ClusterSpec::parse("4x8:a100+2x8:h100");
  NameTable none;
  NameTable asked;
  asked.add("h100");
  TenantTree any;
  any.tenants = {{.name = "a", .quotas = {{.nominal = 6}}}};
  TenantTree typed;
  typed.tenants = {{.name = "a", .quotas = {{.gpu_type = "h100", .nominal = 6}}}};
  CHECK(share_pools({}, cluster, none, false).size() == 1);
  CHECK(share_pools(any, cluster, asked, false).size() == 1);
  CHECK(share_pools(typed, cluster, none, true).size() == 1);
  const SharePools pools = share_pools(typed, cluster, none, false);
  CHECK(pools.capacity == std::vector<std::int64_t>{32, 16});
  const ShareTree tree(typed, pools);
  CHECK(tree.limits(0, tree.node_of(0)).nominal == 0);
  CHECK(tree.limits(1, tree.node_of(0)).nominal == 6);
  const std::vector<std::uint32_t> both{0, 1};
  CHECK(pools.part(both, 0) == doctest::Approx(2.0 / 3));
}

}  // namespace vtrain
