/// Runs of many combinations, seeds and policies, read from a sweep's file or from folders of runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "sched/metrics/seed_study.hpp"
#include "tools/database/sqlite.hpp"
#include "tools/experiment/variation.hpp"
#include "tools/sweep/result_store.hpp"

namespace vtrain {

/// Numbers of runs, as in a sweep: policies vary fastest, then seeds, then the options that vary.
struct StudyGrid {
  std::vector<Variation> variations{};  ///< options that vary, the last one fastest
  std::vector<std::uint64_t> seeds{};   ///< ascending
  std::vector<std::string> policies{};

  std::int64_t num_variants() const;
  std::int64_t runs_of_variant() const;
  std::int64_t num_runs() const;
  /// Values of the options in a combination.
  std::vector<std::string> values(std::int64_t variant) const;
};

/// Subject of a study's runs. Texts may hold any bytes.
struct StudySubject {
  std::string name{};      ///< file or folder, as the user named it
  bool is_sweep = false;   ///< true for a sweep's file, false for folders
  std::string trace{};     ///< name of the trace of all runs
  std::string cluster{};   ///< cluster of all runs; empty: it varies
  std::string program{};   ///< version of vtrain
  std::string baseline{};  ///< policy that the others are compared with; empty: the best one
  Shard shard{};
  std::vector<std::string> notes{};                               ///< assumptions, a sentence each
  std::vector<std::pair<std::string, std::string>> provenance{};  ///< label and value
};

/// Runs that failed with one message.
struct Failure {
  std::string message{};
  std::int64_t runs = 0;
  std::string first{};  ///< policy, seed and values of the first one
};

/// Results of a study in a database whose tables are those of docs/sweep.md. They do not change.
class StudyResults {
 public:
  /// Opens a sweep's file, or reads the folder of `vtrain compare` or `vtrain replay`, or a folder of such
  /// folders. Errors: no such file; another kind of file; another version; no run.
  static Result<StudyResults> open(const std::filesystem::path& path);

  const StudyGrid& grid() const { return grid_; }
  const StudySubject& subject() const { return subject_; }
  const Database& database() const { return database_; }
  /// Number of runs that these results should have: those of a sweep, or of its part.
  std::int64_t num_expected() const;
  /// Number of runs that failed.
  Result<std::int64_t> num_failed() const;
  /// Failures by their message, the most frequent first, and those of one number in the order of runs.
  Result<std::vector<Failure>> failures() const;

 private:
  friend class VariantReader;
  StudyResults(Database database, StudyGrid grid, StudySubject subject)
      : database_(std::move(database)), grid_(std::move(grid)), subject_(std::move(subject)) {}

  Database database_;
  StudyGrid grid_;
  StudySubject subject_;
};

/// Runs of one combination.
struct VariantRuns {
  /// Seeds that all policies with runs have: differences are paired by seed. A policy without any run has no
  /// values.
  SeedStudy study{};
  std::int64_t finished = 0;  ///< runs that the results have
  std::int64_t unpaired = 0;  ///< finished runs under seeds that lack another policy
};

/// Reads the runs of combinations. For one thread.
class VariantReader {
 public:
  /// Reads these metrics, elements of `run_metrics`; others have no values. `results` must outlive the
  /// reader.
  static Result<VariantReader> make(const StudyResults& results, std::span<const Metric* const> metrics);
  Result<VariantRuns> read(std::int64_t variant);

 private:
  VariantReader(const StudyGrid& grid, Statement query, std::vector<const Metric*> metrics)
      : grid_(&grid), query_(std::move(query)), metrics_(std::move(metrics)) {}

  const StudyGrid* grid_;
  Statement query_;
  std::vector<const Metric*> metrics_;
};

/// Name of the column of an element of `run_metrics`.
const std::string& column_of(const Metric& metric);

}  // namespace vtrain
