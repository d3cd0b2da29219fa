/// EASY backfilling by counts, with a reservation that is made once.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `easy-fast`, the behaviour of `easy_bf_fast` of batsched 1.4. Jobs wait in order of arrival behind one
/// priority job. Its shadow, the instant at which it fits if every running job takes its time limit, is
/// computed when it becomes the priority job and kept even if jobs end early. A later job overtakes it if it
/// fits now and ends by the shadow. The priority job and the queue start at ends; arrivals are tried once.
///
/// Where gangs may not fit although enough GPUs are free (`yarn` placement), a priority job that found no
/// room keeps its place and is tried again whenever a job ends; jobs overtake it until its shadow at most.
/// The cluster then drains until it fits.
Result<std::unique_ptr<Policy>> make_easy_fast(const PolicyArguments& arguments);

}  // namespace vtrain
