/// Reasons for which jobs wait, in the words of the scheduler that a policy simulates.
#pragma once

#include <string>

#include "core/base/ids.hpp"

namespace vtrain {

/// A reason in a scheduler's own words.
struct PolicyWords {
  std::string text{};           ///< part of a sentence, such as `WaitingForQuota: …`; empty: nothing to say
  bool needs_somebody = false;  ///< true if the job waits until a person changes something
};

/// A policy that has such words. It is a `Policy` as well.
class SpeakingPolicy {
 public:
  virtual ~SpeakingPolicy() = default;
  /// Reason for which a waiting job has not started in the last pass.
  virtual PolicyWords words_on(JobId job) const = 0;
};

}  // namespace vtrain
