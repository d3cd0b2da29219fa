/// Usage of associations over time, as the passes of priority/multifactor add and decay it (Slurm 22.05).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "policies/tenants/slurm/associations.hpp"
#include "policies/tenants/slurm/configuration.hpp"

namespace vtrain::slurm {

/// A job that ran, or runs.
struct UsedTime {
  std::uint32_t association = 0;  ///< position in the tree
  double billing = 0;             ///< billing units that it holds
  double start_s = 0;             ///< second of its start
  double end_s = 0;               ///< second of its end; infinite while it runs
};

/// Adds the usage of jobs to a tree: that of a job which ends at once, that of running jobs a pass at a time.
class UsageDecay {
 public:
  /// `last_pass_s`: second of the pass before the first one.
  UsageDecay(const PriorityConf& priority, double last_pass_s);
  /// Adds a job from its start on.
  void start(std::uint32_t job, UsedTime used) { running_.push_back({job, used}); }
  /// Adds the usage of a job that ends since the last pass.
  void end(AssociationTree& tree, std::uint32_t job, double end_s);
  /// Makes a pass: decays all usage, and adds that of running jobs since the last pass. `take_shares` reads
  /// the tree: before running jobs are added under classic fair share, afterwards under fair tree.
  template <class TakeShares>
  void pass(AssociationTree& tree, double now_s, TakeShares take_shares) {
    decay(tree, now_s);
    if (shares_lag_) take_shares();
    add_running(tree, now_s);
    if (!shares_lag_) take_shares();
  }

 private:
  struct Running {
    std::uint32_t job = 0;
    UsedTime used{};
  };
  void decay(AssociationTree& tree, double now_s);
  void add_running(AssociationTree& tree, double now_s);
  /// Adds what a job used from the last pass to a time.
  void add(AssociationTree& tree, const UsedTime& used, double until_s) const;

  double factor_ = 1;  ///< of a second
  double last_s_ = 0;
  bool shares_lag_ = false;  ///< classic fair share
  std::vector<Running> running_;
};

/// Reads the jobs that ran before a trace: CSV with the columns `user`, `account`, `billing`, `start` and
/// `end`, in seconds of the trace, negative before it. Errors: an unknown association, an end before the
/// start.
Result<std::vector<UsedTime>> parse_history(std::string_view text, const std::string& file,
                                            const AssociationTree& tree);

/// The time of the first pass of a trace, in a CSV with the column `at`: seconds of passes, 0 for the factors
/// before it. 0 without one.
Result<SimDuration> first_pass_in(std::string_view text, const std::string& file);

}  // namespace vtrain::slurm
