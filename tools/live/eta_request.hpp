/// Request of `vtrain eta`: dumps of a cluster, and how to simulate it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "tools/experiment/arguments.hpp"
#include "tools/live/eta_report.hpp"
#include "tools/live/read_state.hpp"

namespace vtrain {

/// A question about the pending jobs of a cluster.
struct EtaRequest {
  std::vector<DumpText> now{};       ///< its state, at about one instant
  std::vector<DumpText> history{};   ///< past jobs
  std::optional<DumpText> models{};  ///< table of the models that jobs train
  std::string policy = "easy";       ///< spec of a policy that can begin with jobs
  std::string cluster{};             ///< cluster in place of the nodes in the dumps; empty: these
  std::string placement = "count";   ///< rule that chooses the GPUs of a gang
  std::string at{};                  ///< instant of the dumps; empty: the latest in them
  std::string zone{};                ///< zone of times without one; empty: UTC
  std::string job{};                 ///< id of the only job to answer for; empty: all
  PricingArguments pricing{};        ///< predictor of jobs that name their model
  std::int64_t samples = 200;        ///< simulations
  std::uint64_t seed = 1;            ///< seed of the draws
  unsigned threads = 0;              ///< 0: one per processor
};

/// Estimates when all pending jobs start and end, also if the request names one. Errors name options of
/// `vtrain eta`, or a dump with its line.
Result<EtaReport> estimate_all(EtaRequest request);
/// Leaves one job in a report, and adds the changes that help it. Error: no such job is pending and can
/// start.
Result<void> narrow_to(const std::string& job, EtaReport& report);

/// Both: for the one job that the request names, or for all.
Result<EtaReport> answer_eta(EtaRequest request);

}  // namespace vtrain
