#include "policies/tenants/slurm/fair_share.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "policies/tenants/slurm/tree_builder.hpp"

using namespace vtrain::slurm;

namespace {

/// A row of a random tree.
struct TreeRow {
  std::string account;
  std::string user;
  std::string parent;
  std::int64_t share = 1;
  double usage = 0;
};

AssociationTree tree_of(const std::vector<TreeRow>& rows) {
  TreeBuilder builder("test");
  REQUIRE(builder.add({.account = "root"}, ""));
  for (const TreeRow& row : rows) {
    Association each{.account = row.account, .user = row.user, .share = row.share};
    REQUIRE(builder.add(each, row.user.empty() ? row.parent : row.account));
  }
  auto tree = builder.finish(true);
  REQUIRE(tree);
  for (const TreeRow& row : rows) {
    if (!row.user.empty()) tree->add_usage(*tree->find_user(row.account, row.user), row.usage);
  }
  return *std::move(tree);
}

/// Random accounts in up to three levels, with users.
std::vector<TreeRow> random_rows(std::mt19937& random) {
  const auto draw = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  std::vector<TreeRow> rows;
  std::vector<std::string> accounts = {"root"};
  for (int i = 0; i < draw(2, 7); ++i) {
    const std::string name = "a" + std::to_string(i);
    const std::string parent =
        accounts[static_cast<std::size_t>(draw(0, static_cast<int>(accounts.size()) - 1))];
    rows.push_back({name, "", parent, draw(0, 3), 0});
    accounts.push_back(name);
  }
  for (int i = 0; i < draw(3, 12); ++i) {
    const std::string account =
        accounts[static_cast<std::size_t>(draw(0, static_cast<int>(accounts.size()) - 1))];
    rows.push_back(
        {account, "u" + std::to_string(i), account, draw(0, 3), draw(0, 3) == 0 ? 0.0 : draw(1, 4)});
  }
  return rows;
}

/// Level FS by its definition.
double level_of(const AssociationTree& tree, std::uint32_t position) {
  const Association& each = tree[position];
  const Association& parent = tree[*each.parent];
  double shares = 0;
  for (const std::uint32_t child : parent.children)
    shares += static_cast<double>(tree[child].share);
  if (shares == 0 || each.share == 0) return 0;
  if (each.usage == 0) return std::numeric_limits<double>::infinity();
  return (static_cast<double>(each.share) / shares) / (each.usage / parent.usage);
}

/// Levels from the root to an association.
std::vector<double> path_of(const AssociationTree& tree, std::uint32_t position) {
  std::vector<double> path;
  for (std::uint32_t at = position; tree[at].parent; at = *tree[at].parent)
    path.insert(path.begin(), level_of(tree, at));
  return path;
}

}  // namespace

TEST_CASE("fair tree: users are ranked by their levels from the root, as brute force ranks them") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const AssociationTree tree = tree_of(random_rows(random));
    const std::vector<double> factors = fair_tree_factors(tree);
    std::vector<std::uint32_t> users;
    for (std::uint32_t i = 0; i < tree.list().size(); ++i) {
      if (!tree[i].user.empty()) users.push_back(i);
    }
    for (const std::uint32_t a : users) {
      CHECK(factors[a] > 0);
      CHECK(factors[a] <= 1);
      for (const std::uint32_t b : users) {
        const std::vector<double> path_a = path_of(tree, a);
        const std::vector<double> path_b = path_of(tree, b);
        const std::size_t both = std::min(path_a.size(), path_b.size());
        // The first level at which they differ decides. Paths of one length that are equal tie.
        const auto [at_a, at_b] =
            std::mismatch(path_a.begin(), path_a.begin() + static_cast<std::ptrdiff_t>(both), path_b.begin());
        if (at_a != path_a.begin() + static_cast<std::ptrdiff_t>(both)) {
          CHECK((*at_a > *at_b) == (factors[a] > factors[b]));
        } else if (path_a.size() == path_b.size()) {
          CHECK(factors[a] == factors[b]);
        }
      }
    }
  }
}

TEST_CASE("fair share: the order in which accounts and users are written makes no difference") {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<TreeRow> rows = random_rows(random);
    const AssociationTree tree = tree_of(rows);
    std::shuffle(rows.begin(), rows.end(), random);
    const AssociationTree shuffled = tree_of(rows);
    const PriorityConf confs[] = {{.fair_share = FairShareKind::FairTree},
                                  {.fair_share = FairShareKind::Classic},
                                  {.fair_share = FairShareKind::DepthOblivious}};
    for (const PriorityConf& conf : confs) {
      const std::vector<double> factors = fair_share_factors(tree, conf);
      const std::vector<double> others = fair_share_factors(shuffled, conf);
      for (std::uint32_t i = 0; i < factors.size(); ++i) {
        if (tree[i].user.empty()) continue;
        const auto other = shuffled.find_user(tree[i].account, tree[i].user);
        REQUIRE(other);
        CHECK(factors[i] == doctest::Approx(others[*other]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("classic fair share: half of the share gives 2^(-1/2), the whole of it 1/2, none 1") {
  // Two users with equal shares of 1/2 each. All usage is the first one's: effective usage 1, share 1/2.
  const AssociationTree tree = tree_of({{"root", "a", "root", 1, 10}, {"root", "b", "root", 1, 0}});
  const std::vector<double> factors = classic_factors(tree, 1, false);
  CHECK(factors[*tree.find_user("root", "a")] == doctest::Approx(0.25));  // 2^(-1 / 0.5)
  CHECK(factors[*tree.find_user("root", "b")] == 1);
}
