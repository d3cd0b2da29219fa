#include "tests/unit/policies/golden_support.hpp"

#include <doctest/doctest.h>

#include <map>

#include "core/csv.hpp"
#include "core/file.hpp"
#include "core/json_reader.hpp"
#include "policies/registry.hpp"

namespace vtrain::testing {
namespace {

/// A row of a CSV file as seen by a callback; any error ends the test case.
template <class Callback>
void for_each_row(const std::filesystem::path& file, const std::vector<std::string>& columns,
                  Callback callback) {
  const auto text = read_file(file);
  REQUIRE_MESSAGE(text, file.string());
  auto csv = CsvReader::open(*text, file.string());
  REQUIRE(csv);
  std::vector<int> at;
  for (const std::string& column : columns) {
    const auto position = csv->require_column(column);
    REQUIRE_MESSAGE(position, column);
    at.push_back(*position);
  }
  while (true) {
    const auto more = csv->next();
    REQUIRE(more);
    if (!*more) return;
    callback(*csv, at);
  }
}

double number_at(const CsvReader& csv, int column) {
  const auto value = csv.number(column, 0, 1e15);
  REQUIRE(value);
  return *value;
}

}  // namespace

std::filesystem::path golden_folder() {
  return std::filesystem::path(VTRAIN_SHARED_DIR) / "golden";
}

Workload read_tiresias_trace(const std::filesystem::path& file) {
  Workload workload;
  for_each_row(file, {"job_id", "num_gpu", "submit_time", "duration"},
               [&](const CsvReader& csv, const std::vector<int>& at) {
                 Job job;
                 job.name = workload.keep(csv.field(at[0]));
                 job.num_gpus = GpuCount(static_cast<std::int32_t>(number_at(csv, at[1])));
                 job.submit = SimTime(std::chrono::seconds(static_cast<std::int64_t>(number_at(csv, at[2]))));
                 job.duration = std::chrono::seconds(static_cast<std::int64_t>(number_at(csv, at[3])));
                 workload.jobs.push_back(job);
               });
  workload.sort_by_submission();
  return workload;
}

Workload read_batsim_workload(const std::filesystem::path& file) {
  auto text = read_file(file);
  REQUIRE(text);
  const auto document = JsonDocument::parse(*std::move(text), file.string());
  REQUIRE(document);
  Workload workload;
  for (const auto& item : document->root().at("jobs")) {
    Job job;
    job.name = workload.keep(item.at("id").get<std::string>());
    job.num_gpus = GpuCount(item.at("res").get<std::int32_t>());
    job.submit = SimTime(std::chrono::seconds(item.at("subtime").get<std::int64_t>()));
    job.duration = std::chrono::seconds(std::stoll(item.at("profile").get<std::string>().substr(1)));
    job.requested_time = std::chrono::seconds(item.at("walltime").get<std::int64_t>());
    workload.jobs.push_back(job);
  }
  workload.sort_by_submission();
  return workload;
}

std::vector<GoldenJob> read_schedule(const std::filesystem::path& file, const std::string& name_column,
                                     const std::string& start_column, const std::string& end_column) {
  std::vector<GoldenJob> schedule;
  for_each_row(
      file, {name_column, start_column, end_column}, [&](const CsvReader& csv, const std::vector<int>& at) {
        schedule.push_back({std::string(csv.field(at[0])), number_at(csv, at[1]), number_at(csv, at[2])});
      });
  return schedule;
}

int count_mismatches(const Workload& workload, const SimulationResult& result,
                     const std::vector<GoldenJob>& schedule) {
  std::map<std::string, GoldenJob> by_name;
  for (const GoldenJob& job : schedule)
    by_name[job.name] = job;
  int mismatches = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const auto found = by_name.find(std::string(workload.jobs[i].name));
    const JobOutcome& outcome = result.outcomes[i];
    const bool same = found != by_name.end() && outcome.state == JobState::Completed &&
                      to_seconds(outcome.start) == found->second.start_s &&
                      to_seconds(outcome.end) == found->second.end_s;
    if (!same) ++mismatches;
  }
  return mismatches;
}

}  // namespace vtrain::testing
