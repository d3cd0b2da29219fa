/// Least attained service as ElasticFlow's simulator runs it.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

struct LasOptions;
class PolicyArguments;

/// `las:preset=elasticflow`: the `dlas-gpu` policy of ElasticFlow's artifact (pkusys/ElasticFlow,
/// Apache-2.0), to the second, with what is odd about it:
///  * decisions are at least a slot apart; a job whose work is done keeps its GPUs until the next decision;
///  * seconds on GPUs and GPU-seconds are cut to whole numbers at every decision, and a job leaves at most
///    one queue a decision;
///  * starting costs seconds that grow with the gang (a table by cluster and gang size), but they are lost
///    only if another decision comes before the job's end; every `slot`-th decision restarts all jobs at a
///    cost;
///  * a decision is due (threshold - attained) / GPUs after this one for each running job, though thresholds
///    are GPU-seconds and `attained` is seconds.
///
/// Made from what `las` has read. Errors: other than two queue thresholds of whole GPU-seconds.
Result<std::unique_ptr<Policy>> make_elasticflow_las(const PolicyArguments& arguments,
                                                     const LasOptions& options);

}  // namespace vtrain
