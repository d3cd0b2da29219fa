/// The answer of `vtrain eta` for people, as JSON, and as a page.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/experiment/eta.hpp"
#include "tools/live/cluster_now.hpp"
#include "tools/live/suggestions.hpp"
#include "tools/report/eta_page.hpp"

namespace vtrain {

/// The question with its answer.
struct EtaReport {
  ClusterNow cluster{};
  EtaAnswer answer{};
  std::int64_t past_jobs = 0;
  std::string policy{};                   ///< spec as given
  std::vector<std::string> used_files{};  ///< files of --now that the policy has read
  std::int64_t unused_files = 0;          ///< files for a policy that is not asked for
  std::vector<Suggestion> suggestions{};  ///< of the job that was asked for

  const Job& job(JobId id) const { return cluster.question.workload.jobs[id.value]; }
  std::string name(JobId id) const { return std::string(job(id).name); }
};

/// The policy of a spec without its parameters.
std::string_view name_of_policy(std::string_view spec);

/// The answer in one sentence, then a table. `is_of_one_job`: with the changes that help it.
std::string eta_text(const EtaReport& estimate, bool is_of_one_job);
/// The answer as one document. Instants are seconds since 1970.
nlohmann::ordered_json eta_json(const EtaReport& estimate);
/// The page of the answer, without the names of files.
EtaPageInput eta_page(const EtaReport& estimate);

}  // namespace vtrain
