/// The tree of associations: accounts, and users in accounts, with shares, limits and usage, as sacctmgr(1),
/// sshare(1) and scontrol(1) of Slurm 22.05 print them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "policies/tenants/slurm/quality_of_service.hpp"
#include "policies/tenants/slurm/trackable_resources.hpp"

namespace vtrain::slurm {

/// An account, or a user in an account.
struct Association {
  std::string account{};                  ///< name of the account
  std::string user{};                     ///< name of the user; empty: the account itself
  std::string partition{};                ///< partition to which it is limited; empty: all
  std::optional<std::uint32_t> parent{};  ///< account above, or of the user; none: the root
  std::vector<std::uint32_t> children{};  ///< associations whose parent it is
  std::int64_t share = 1;                 ///< `Fairshare`, raw
  bool share_of_parent = false;           ///< `Fairshare=parent`
  std::int64_t priority = 0;              ///< `Priority`, that of the account if it has none
  Limits limits{};                        ///< limits of its own
  std::vector<std::string> qos{};         ///< QOS that it may use; empty: all
  std::string default_qos{};              ///< `Def QOS`; empty: `normal`
  bool is_default = false;                ///< default account of the user
  double usage = 0;                       ///< decayed usage of it and of all below it
  double wall_minutes = 0;                ///< decayed run time of jobs, in minutes
  std::int64_t line = 0;                  ///< line of the file that it was read from
};

/// Associations of a cluster. The root is the first one.
class AssociationTree {
 public:
  static constexpr std::uint32_t kRoot = 0;  ///< position of the root

  /// Associations, parents before children.
  const std::vector<Association>& list() const { return list_; }
  /// An association by its position.
  Association& operator[](std::uint32_t position) { return list_[position]; }
  /// An association by its position.
  const Association& operator[](std::uint32_t position) const { return list_[position]; }
  /// Position of an account; none if unknown. O(log n).
  std::optional<std::uint32_t> find_account(std::string_view account) const;
  /// Position of a user in an account, for a job of a partition; none if unknown. O(log n).
  std::optional<std::uint32_t> find_user(std::string_view account, std::string_view user,
                                         std::string_view partition = {}) const;
  /// Default account of a user; none if unknown.
  std::optional<std::string> default_account(std::string_view user) const;
  /// Largest priority of an association.
  std::int64_t max_priority() const;
  /// Adds usage to an association and all above it.
  void add_usage(std::uint32_t position, double usage);
  /// True if the file told which account is above which.
  bool parents_known() const { return parents_known_; }
  /// True if an account has neither users nor accounts below it: it is above others that the file lists.
  bool has_inner_accounts() const;

 private:
  friend class TreeBuilder;
  std::vector<Association> list_;
  bool parents_known_ = true;
  std::map<std::string, std::uint32_t, std::less<>> accounts_;
  /// By account, user and partition.
  std::map<std::pair<std::string, std::pair<std::string, std::string>>, std::uint32_t, std::less<>> users_;
};

/// Parents of accounts by name.
using AccountParents = std::map<std::string, std::string, std::less<>>;

/// Reads `sacctmgr -P show assoc`. Parents are those of the column `ParentName`, if it is there, or
/// `parents`. Where neither is given all accounts are below the root, and `parents_known` of the tree is
/// false: the rows are in the order of the tree, which does not tell its levels.
///
/// Errors: an unknown parent, a cycle of accounts, an association that comes twice, negative shares, numbers
/// that are none.
Result<AssociationTree> parse_associations(std::string_view text, const std::string& file, TresNames& names,
                                           const AccountParents& parents);

/// Reads `sacctmgr dump`: the tree with shares, priorities, QOS and limits. Errors as above.
Result<AssociationTree> parse_association_dump(std::string_view text, const std::string& file,
                                               TresNames& names);

/// Reads the parents of accounts from a dump, from `sshare -alP` (by its blanks), from a table with the
/// columns `Account` and `ParentName`, or from commands `sacctmgr add account NAME parent=NAME`.
Result<AccountParents> parse_parents(std::string_view text, const std::string& file);

/// Sets usage from `scontrol show assoc_mgr flags=assoc` (two decimals) or from `sshare -alP` (whole
/// numbers), whichever the text is. Errors: an association that the tree lacks, a negative number.
Result<void> read_usage(std::string_view text, const std::string& file, AssociationTree& tree);

}  // namespace vtrain::slurm
