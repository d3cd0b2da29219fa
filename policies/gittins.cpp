#include "policies/gittins.hpp"

#include <algorithm>
#include <vector>

#include "core/text.hpp"
#include "policies/gittins_index.hpp"
#include "policies/las_queues.hpp"

namespace vtrain {
namespace {

class Gittins final : public LasQueues {
 public:
  Gittins(LasOptions options, GittinsIndex index) : LasQueues(std::move(options)), index_(std::move(index)) {}

 private:
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    if (pass.arrived().size() > 1) came_together_.push_back(job);
    return {.primary = 0,
            .secondary = -index_.rank(0),
            .tertiary = pass.job(job).submit.time_since_epoch().count()};
  }

  bool update_running(const SchedulingPass& pass, std::span<ListedJob> running) override {
    LasQueues::update_running(pass, running);
    for (ListedJob& job : running) {
      job.key.secondary =
          -index_.rank(to_seconds(pass.attained(job.job)) * static_cast<double>(job.num_gpus.value));
    }
    return true;
  }

  // Jobs that were submitted at the same instant, if they tie, stand as they did at the last pass.
  bool may_skip_order(const SchedulingPass& pass) override {
    if (!LasQueues::may_skip_order(pass) || pass.arrived().size() > 1) return false;
    std::erase_if(came_together_, [&](JobId job) { return pass.state(job) != JobState::Running; });
    const auto together = [&](JobId a, JobId b) { return pass.job(a).submit == pass.job(b).submit; };
    return std::adjacent_find(came_together_.begin(), came_together_.end(), together) == came_together_.end();
  }

  GittinsIndex index_;
  std::vector<JobId> came_together_;  ///< jobs that others arrived with, in order of arrival
};

}  // namespace

Result<std::unique_ptr<Policy>> make_gittins(const PolicyArguments& arguments) {
  auto options = las_options(arguments);
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
