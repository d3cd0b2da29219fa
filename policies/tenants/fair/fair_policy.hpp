/// The policy that gives tenants their shares of GPUs, whatever rule the shares follow.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policies/list/ordered_jobs.hpp"
#include "policies/tenants/fair/fair_shares.hpp"

namespace vtrain {

/// Parameters of `FairPolicy`.
struct FairOptions {
  bool reclaims = true;                 ///< a tenant below its share takes GPUs back by preemption
  bool overtakes = true;                ///< jobs that fit overtake those that do not
  std::vector<std::string> kept_qos{};  ///< QoS whose jobs are never preempted
};

/// Starts the jobs of the tenant first that has least of its share, by ratio. Jobs of a tenant start in the
/// order of priority, then of submission. Then tenants below their shares take GPUs back from jobs of tenants
/// above theirs, those first that got their GPUs last, so that least work stands to be lost.
///
/// A pass costs O(tenants log tenants) for the order and for one division of shares, which is made only where
/// two tenants compete. Each start adds O(log tenants) and a search in the tenant's queue. Reclaiming adds
/// O(jobs that run) for each waiting job that is tried, one for each tenant and size.
class FairPolicy final : public Policy {
 public:
  FairPolicy(std::unique_ptr<FairShares> shares, FairOptions options)
      : shares_(std::move(shares)), options_(std::move(options)) {}

  void begin(const SchedulingPass& view) override;
  bool can_begin_with_jobs() const override { return true; }
  void schedule(SchedulingPass& pass) override;
  bool chooses_types() const override { return true; }
  std::vector<PolicyFigure> figures() const override;

 private:
  /// Jobs of one leaf.
  struct Tenant {
    explicit Tenant(std::size_t num_kinds) : waiting(num_kinds) {}
    OrderedJobs waiting;
    std::set<std::pair<SimTime, JobId>> running{};  ///< by the instant at which they got their GPUs
    /// No waiting job needs fewer GPUs. Known where all jobs are of one kind.
    GpuCount fewest{1};
  };
  /// A leaf that may start a job.
  struct Contender {
    double ratio = 0;
    std::uint32_t leaf = 0;
    friend bool operator<(const Contender& a, const Contender& b) {
      return a.ratio != b.ratio ? a.ratio < b.ratio : a.leaf < b.leaf;
    }
  };
  /// Outcome of an attempt to start the first job of a leaf.
  enum class Try : std::uint8_t {
    Nothing,  ///< it has none, or limits hold it back
    Waits,    ///< it waits for GPUs
    Started,
  };
  static constexpr std::uint32_t kNoType = UINT32_MAX;

  ListedJob listed(const SchedulingPass& pass, JobId job) const;
  std::uint32_t type_held(JobId job) const {
    return job.value < type_held_.size() ? type_held_[job.value] : kNoType;
  }
  /// Takes in the GPUs in service.
  void update_capacity(const SchedulingPass& pass);
  void queue(const SchedulingPass& pass, JobId job);
  void unqueue(const SchedulingPass& pass, const ListedJob& job);
  void note_start(const SchedulingPass& pass, JobId job, std::uint32_t type, SimTime since);
  void note_stop(const SchedulingPass& pass, JobId job, SimTime since);
  std::int64_t free(const SchedulingPass& pass, std::uint32_t type) const;
  /// Sets the largest gangs that jobs of a leaf may have in a pool now, by kind. False if all are 0.
  bool set_most(const SchedulingPass& pass, std::uint32_t leaf, std::size_t pool);
  /// Type on which a job with enough free GPUs starts: the fastest of the pool, of equal ones the first.
  std::optional<std::uint32_t> choose_type(const SchedulingPass& pass, const ListedJob& job,
                                           std::size_t pool) const;
  bool start(SchedulingPass& pass, const ListedJob& job, std::uint32_t type);
  bool may_fit(const SchedulingPass& pass, std::uint32_t leaf, std::size_t pool);
  /// Starts the next job of a leaf that may start. False if none can.
  bool start_next(SchedulingPass& pass, std::uint32_t leaf, std::size_t pool);
  /// Starts the first job of a leaf, which no other overtakes unless limits hold it back.
  Try start_first(SchedulingPass& pass, std::uint32_t leaf, std::size_t pool);
  /// Starts jobs in a pool in the order of shares.
  void start_jobs(SchedulingPass& pass, std::size_t pool);

  /// Starts a job by preemption of others, the first in the order of shares for which that is possible.
  bool reclaim(SchedulingPass& pass, std::size_t pool);
  bool reclaim_for(SchedulingPass& pass, std::uint32_t leaf, std::size_t pool);
  bool reclaim_for(SchedulingPass& pass, const ListedJob& job, std::uint32_t type, std::size_t pool);
  /// Jobs whose preemption makes room for a job; empty if there is no such set. They count as waiting
  /// afterwards.
  std::vector<JobId> choose_victims(SchedulingPass& pass, const ListedJob& job, std::uint32_t type,
                                    std::size_t pool);
  bool is_kept(const SchedulingPass& pass, JobId job) const;
  void shift(const SchedulingPass& pass, JobId job, std::size_t pool, bool to_waiting);

  std::unique_ptr<FairShares> shares_;
  FairOptions options_;
  const GpusByType* types_ = nullptr;  ///< null: one type for all
  std::size_t num_kinds_ = 1;
  std::vector<std::span<const std::uint32_t>> allowed_;  ///< [kinds]
  std::vector<Tenant> tenants_;                          ///< [leaves]
  std::vector<std::uint32_t> type_held_;                 ///< [jobs]
  std::vector<std::int64_t> usable_;                     ///< [types], GPUs in service
  std::vector<std::int64_t> held_;                       ///< [types]
  std::vector<GpuCount> most_;                           ///< buffer, [kinds]
  std::vector<OrderedJobs::Sizes> refused_;              ///< [kinds], sizes without room in this pass
  std::vector<Contender> contenders_;                    ///< buffer
  std::int64_t num_waiting_ = 0;
  std::int64_t num_reclaims_ = 0;
  std::int64_t reclaimed_gpus_ = 0;
};

}  // namespace vtrain
