// `gittins`: the queues of `las` by GPU time, each sorted before the walk by falling Gittins index, then by
// submission (Tiresias-G, NSDI'19, the `dlas-gpu-gittins` of its simulator). It needs a sample of the jobs'
// service, see `GittinsIndex::read`.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "policies/base/policies.hpp"
#include "policies/list/gittins_index.hpp"
#include "policies/list/las.hpp"

namespace vtrain {
namespace {

class Gittins final : public LasQueues {
 public:
  Gittins(LasOptions options, GittinsIndex index) : LasQueues(std::move(options)), index_(std::move(index)) {}

 private:
  /// A running job that was submitted at one instant with others, its siblings.
  struct Sibling {
    JobId job;
    GpuCount num_gpus{0};
    std::int64_t queue = 0;
  };

  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    passed_.resize(pass.jobs().size());
    has_siblings_.resize(pass.jobs().size());
    if (pass.arrived().size() > 1) {
      has_siblings_[job.value] = true;
      siblings_.push_back({job, pass.job(job).num_gpus, 0});
    }
    return {.primary = 0,
            .secondary = -index_.rank(0),
            .tertiary = pass.job(job).submit.time_since_epoch().count()};
  }

  bool update_running(const SchedulingPass& pass, std::span<ListedJob> running) override {
    LasQueues::update_running(pass, running);
    for (ListedJob& job : running)
      job.key.secondary = -rank(pass, job.job, job.num_gpus);
    return true;
  }

  // Siblings that tie keep their order of the last pass. So a pass may not be skipped if two of them change
  // places or one changes its queue.
  bool may_skip_order(const SchedulingPass& pass) override {
    if (!LasQueues::may_skip_order(pass)) return false;
    const bool skip = siblings_known_ && !siblings_changed_order(pass);
    siblings_wanted_ = !skip;
    return skip;
  }

  void after_walk(SchedulingPass& pass, std::span<ListedJob> running,
                  std::span<const ListedJob> started) override {
    LasQueues::after_walk(pass, running, started);
    siblings_known_ = std::exchange(siblings_wanted_, false);
    siblings_.clear();
    if (!siblings_known_) return;
    for (const ListedJob& job : running) {
      if (has_siblings_[job.job.value]) siblings_.push_back({job.job, job.num_gpus, job.key.primary});
    }
    std::ranges::stable_sort(siblings_, {}, [&](const Sibling& sibling) { return submit(pass, sibling); });
  }

  static SimTime submit(const SchedulingPass& pass, const Sibling& sibling) {
    return pass.job(sibling.job).submit;
  }

  /// True if running siblings have left the queue or the order of the last pass that was not skipped.
  bool siblings_changed_order(const SchedulingPass& pass) {
    std::erase_if(siblings_, [&](const Sibling& s) { return pass.state(s.job) != JobState::Running; });
    for (std::size_t i = 1; i < siblings_.size(); ++i) {
      const Sibling& a = siblings_[i - 1];
      const Sibling& b = siblings_[i];
      if (submit(pass, a) != submit(pass, b)) continue;
      if (has_left(pass, a) || has_left(pass, b)) return true;
      if (a.queue == b.queue && rank(pass, a.job, a.num_gpus) < rank(pass, b.job, b.num_gpus)) return true;
    }
    return false;
  }

  bool has_left(const SchedulingPass& pass, const Sibling& sibling) const {
    return pass.attained(sibling.job) >= time_to_leave(sibling.queue, sibling.num_gpus);
  }

  /// Rank of a running job.
  std::int64_t rank(const SchedulingPass& pass, JobId job, GpuCount num_gpus) {
    const double service = to_seconds(pass.attained(job)) * static_cast<double>(num_gpus.value);
    return index_.rank(service, passed_[job.value]);
  }

  GittinsIndex index_;
  std::vector<std::uint32_t> passed_;  ///< sample values reached, by `JobId`
  std::vector<bool> has_siblings_;     ///< true if the job has siblings, by `JobId`
  std::vector<Sibling> siblings_;      ///< siblings by submission, then in list order, if known
  bool siblings_known_ = true;
  bool siblings_wanted_ = false;  ///< true if siblings must be collected after this pass
};

}  // namespace

MadePolicy make_gittins(const PolicyArguments& arguments) {
  auto options = read_las_options(arguments);
  if (!options) return fail(options.error());
  const auto delta = parse_number(arguments["delta"], 1e-3, 1e12);
  if (!delta) return fail(arguments.bad_value("delta", "a number of GPU-seconds from 0.001 to 1e12"));
  if (arguments["distribution"].empty()) {
    return fail(arguments.bad_value("distribution", "a file with a sample of the jobs' service"));
  }
  auto index = GittinsIndex::read(std::string(arguments["distribution"]), *delta);
  if (!index) return fail(index.error());
  return std::make_unique<Gittins>(*std::move(options), *std::move(index));
}

}  // namespace vtrain
