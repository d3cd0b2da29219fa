/// Builds a tree of associations from rows in any order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "policies/tenants/slurm/associations.hpp"

namespace vtrain::slurm {

/// Collects associations. Siblings keep the order in which they were added.
class TreeBuilder {
 public:
  /// `file` is used in errors, and outlives the builder.
  explicit TreeBuilder(const std::string& file) : file_(file) {}
  /// Adds an association below an account, or the root (`parent` empty).
  Result<void> add(Association association, std::string parent);
  /// Returns the tree, with what accounts hand down to those below: priority, QOS, limits of a job and of a
  /// user (`Max…`). Errors: unknown parents, cycles.
  Result<AssociationTree> finish(bool parents_known);

 private:
  struct Row {
    Association association;
    std::string parent;
  };
  Error error_at(const Row& row, std::string message) const;

  const std::string& file_;
  std::vector<Row> rows_;
};

}  // namespace vtrain::slurm
