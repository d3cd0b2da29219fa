/// The answer of `vtrain eta`, in words and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/experiment/eta.hpp"
#include "tools/live/cluster_now.hpp"
#include "tools/live/suggestions.hpp"

namespace vtrain {

/// The question with its answer.
struct EtaReport {
  ClusterNow cluster{};
  EtaAnswer answer{};
  std::int64_t past_jobs = 0;
  std::string policy{};                   ///< spec as given
  std::vector<std::string> used_files{};  ///< files of --now that the policy has read
  std::int64_t unused_files = 0;          ///< files for a policy that is not asked for
  std::vector<Suggestion> suggestions{};  ///< changes that help the job that was asked for

  const Job& job(JobId id) const { return cluster.question.workload.jobs[id.value]; }
  std::string name(JobId id) const { return std::string(job(id).name); }
};

/// The policy of a spec without its parameters.
std::string_view name_of_policy(std::string_view spec);

/// Reason for which a job does not start now, as a part of a sentence.
std::string why_text(const EtaReport& estimate, const JobEta& eta);
/// Assumptions of the answer, a phrase each.
std::vector<std::string> assumptions_of(const EtaReport& estimate);

/// The answer as one document. Instants are seconds since 1970.
nlohmann::ordered_json eta_json(const EtaReport& estimate);

}  // namespace vtrain
