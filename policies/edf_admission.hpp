/// Earliest deadline first with admission.
#pragma once

#include <memory>
#include <vector>

#include "core/result.hpp"
#include "policies/elastic_edf.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `edf-admission`: `edf`, but a job with a deadline is turned away when it comes if it could not meet it, or
/// if somebody who would meet his could not any more. To find out, the schedule of the admitted jobs is
/// followed to its end as if nobody else came. Jobs without a deadline are always admitted; as they come
/// after all others, they delay nobody.
///
/// Where run times are known exactly, nothing fails, interruptions cost nothing and any free GPUs will do
/// (`count` placement), every admitted job meets its deadline. A test costs O(n) walks of the list of the n
/// admitted jobs with a deadline.
class EdfAdmission final : public ElasticEdf {
 private:
  /// An admitted job in the schedule that is followed.
  struct Planned {
    JobId job;
    SimDuration left{0};    ///< of a rigid job
    double iterations = 0;  ///< left of an elastic one
    SimDuration end{0};     ///< from now
    bool exact = true;      ///< whether no elastic job is among it and those before it
  };

  bool admits(const SchedulingPass& pass, JobId job) override;
  /// Follows the schedule of these jobs, which are in the order of deadlines, and sets their ends.
  static void follow(const SchedulingPass& pass, std::vector<Planned>& jobs);
  static Planned planned(const SchedulingPass& pass, JobId job);

  std::vector<JobId> admitted_;  ///< live ones with a deadline, in the order of deadlines
};

Result<std::unique_ptr<Policy>> make_edf_admission(const PolicyArguments& arguments);

}  // namespace vtrain
