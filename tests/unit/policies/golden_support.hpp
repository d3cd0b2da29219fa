/// Reading the traces and schedules of other simulators.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sched/simulator.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::testing {

/// Start and end that a peer gives for one job, in seconds.
struct GoldenJob {
  std::string name;
  double start_s = 0;
  double end_s = 0;
};

/// The folder of known answers; tests are skipped, with a message, where it is absent.
std::filesystem::path golden_folder();
/// Jobs of a trace in the CSV format of Tiresias.
Workload read_tiresias_trace(const std::filesystem::path& file);
/// Jobs of a Batsim workload: delay profiles named `d<seconds>`.
Workload read_batsim_workload(const std::filesystem::path& file);
/// The schedule in a peer's CSV file, by the names of its columns.
std::vector<GoldenJob> read_schedule(const std::filesystem::path& file, const std::string& name_column,
                                     const std::string& start_column, const std::string& end_column);
/// How many jobs start or end at another instant than in the peer's schedule, or are missing from it.
int count_mismatches(const Workload& workload, const SimulationResult& result,
                     const std::vector<GoldenJob>& schedule);

}  // namespace vtrain::testing
