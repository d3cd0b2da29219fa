/// The page of `vtrain eta --report`: when each pending job of a cluster starts and ends, on one time line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vtrain {

/// A pending job. Times are seconds from now; none: fewer simulations have it at all.
struct EtaPageJob {
  std::string job{};
  std::string user{};
  std::int64_t gpus = 0;
  std::optional<double> start_p50_s{};
  std::optional<double> start_p90_s{};
  std::optional<double> end_p50_s{};
  std::optional<double> end_p90_s{};
  std::string why{};  ///< why it waits, as part of a sentence
};

/// Contents of the page. The texts may hold any bytes; they are escaped.
struct EtaPageInput {
  std::string subject{};  ///< cluster and policy
  std::string answer{};   ///< the main sentence
  std::string facts{};    ///< time of the state, running jobs, simulations
  std::vector<EtaPageJob> jobs{};
  /// Jobs that somebody must set free, with the reason.
  std::vector<std::pair<std::string, std::string>> stuck{};
  std::vector<std::string> assumptions{};                         ///< a sentence each
  std::vector<std::pair<std::string, std::string>> provenance{};  ///< label and value
};

/// The whole page, with the jobs that start first on top. It draws 200 jobs and lists 2,000, and counts the
/// others. It works offline.
std::string render_eta_page(const EtaPageInput& input);

}  // namespace vtrain
