#include "policies/tenants/slurm/tree_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace vtrain::slurm {
namespace {

/// Hands down what a parent sets and a child does not.
void inherit(Association& child, const Association& parent) {
  if (child.priority == 0) child.priority = parent.priority;
  if (child.qos.empty()) child.qos = parent.qos;
  if (child.default_qos.empty()) child.default_qos = parent.default_qos;
  Limits& limits = child.limits;
  const Limits& above = parent.limits;
  if (!limits.max_jobs) limits.max_jobs = above.max_jobs;
  if (!limits.max_submit) limits.max_submit = above.max_submit;
  if (!limits.max_wall_minutes) limits.max_wall_minutes = above.max_wall_minutes;
  if (limits.max_tres.empty()) limits.max_tres = above.max_tres;
  if (limits.max_tres_per_node.empty()) limits.max_tres_per_node = above.max_tres_per_node;
  if (limits.max_tres_minutes.empty()) limits.max_tres_minutes = above.max_tres_minutes;
}

}  // namespace

Error TreeBuilder::error_at(const Row& row, std::string message) const {
  return {.file = file_, .line = row.association.line, .field = "Account", .message = std::move(message)};
}

Result<void> TreeBuilder::add(Association association, std::string parent) {
  rows_.push_back({std::move(association), std::move(parent)});
  return {};
}

Result<AssociationTree> TreeBuilder::finish(bool parents_known) {
  std::map<std::string, std::size_t, std::less<>> accounts;
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  const Row* root = nullptr;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Association& each = rows_[i].association;
    if (!seen.insert({each.account, each.user, each.partition}).second)
      return fail(error_at(rows_[i], fmt::format("account '{}'{} comes twice", each.account,
                                                 each.user.empty() ? "" : ", user '" + each.user + "'")));
    if (!each.user.empty()) continue;
    accounts.emplace(each.account, i);
    if (rows_[i].parent.empty()) root = &rows_[i];
  }
  if (root == nullptr) return fail({.file = file_, .message = "expected the account root, found none"});

  std::vector<std::vector<std::size_t>> children(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].association.user.empty() && rows_[i].parent.empty()) continue;
    const auto parent = accounts.find(rows_[i].parent);
    if (parent == accounts.end())
      return fail(error_at(rows_[i], expected_found("the name of an account as parent", rows_[i].parent)));
    children[parent->second].push_back(i);
  }

  AssociationTree tree;
  tree.parents_known_ = parents_known;
  std::vector<bool> placed(rows_.size());
  std::vector<std::pair<std::size_t, std::optional<std::uint32_t>>> next = {
      {static_cast<std::size_t>(root - rows_.data()), std::nullopt}};
  while (!next.empty()) {
    const auto [row, parent] = next.back();
    next.pop_back();
    placed[row] = true;
    const auto position = static_cast<std::uint32_t>(tree.list_.size());
    tree.list_.push_back(std::move(rows_[row].association));
    Association& added = tree.list_.back();
    added.parent = parent;
    if (parent) {
      inherit(added, tree.list_[*parent]);
      tree.list_[*parent].children.push_back(position);
    }
    if (added.user.empty())
      tree.accounts_.emplace(added.account, position);
    else
      tree.users_.emplace(std::pair(added.account, std::pair(added.user, added.partition)), position);
    for (auto child = children[row].rbegin(); child != children[row].rend(); ++child)
      next.emplace_back(*child, position);
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!placed[i])
      return fail(error_at(rows_[i], fmt::format("account '{}' is below itself: its parents are a cycle",
                                                 rows_[i].association.account)));
  }
  return tree;
}

std::optional<std::uint32_t> AssociationTree::find_account(std::string_view account) const {
  const auto found = accounts_.find(account);
  return found == accounts_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> AssociationTree::find_user(std::string_view account, std::string_view user,
                                                        std::string_view partition) const {
  const auto find = [&](std::string_view in) {
    return users_.find(std::pair(std::string(account), std::pair(std::string(user), std::string(in))));
  };
  auto found = find(partition);
  if (found == users_.end() && !partition.empty()) found = find({});
  return found == users_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> AssociationTree::default_account(std::string_view user) const {
  const Association* first = nullptr;
  for (const Association& each : list_) {
    if (each.user != user) continue;
    if (each.is_default) return each.account;
    if (first == nullptr) first = &each;
  }
  return first == nullptr ? std::nullopt : std::optional(first->account);
}

std::int64_t AssociationTree::max_priority() const {
  std::int64_t most = 0;
  for (const Association& each : list_)
    most = std::max(most, each.priority);
  return most;
}

void AssociationTree::add_usage(std::uint32_t position, double usage) {
  for (std::optional<std::uint32_t> at = position; at; at = list_[*at].parent)
    list_[*at].usage += usage;
}

bool AssociationTree::has_inner_accounts() const {
  return std::ranges::any_of(list_, [](const Association& each) {
    return each.user.empty() && each.parent && each.children.empty();
  });
}

}  // namespace vtrain::slurm
