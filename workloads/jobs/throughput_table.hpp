/// Measured training speeds that come with published traces: iterations a second by model, global batch and
/// number of GPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/jobs/speed_by_gpus.hpp"

namespace vtrain {

/// The speeds of one model, which was measured at some global batches on some numbers of GPUs.
class ThroughputTable {
 public:
  /// What was measured at one global batch.
  struct Row {
    std::int64_t global_batch = 0;           ///< 0: the model's name says it (Gavel)
    std::vector<double> iterations_per_s{};  ///< [levels]; 0 where it was not profiled
  };

  /// `levels` are distinct and in the order of the file; every row has as many speeds.
  ThroughputTable(std::vector<GpuCount> levels, std::vector<Row> rows)
      : levels_(std::move(levels)), rows_(std::move(rows)) {}

  /// The numbers of GPUs, in the order of the file.
  std::span<const GpuCount> levels() const { return levels_; }
  /// In the order of the file.
  std::span<const Row> rows() const { return rows_; }
  /// The row of a global batch, null when there is none.
  const Row* find(std::int64_t global_batch) const;
  /// The numbers of GPUs that were profiled at a global batch, ascending, with their speeds.
  std::vector<SpeedByGpus::Level> profiled_levels(std::int64_t global_batch) const;
  /// Iterations a second, 0 when that was not profiled.
  double iterations_per_s(std::int64_t global_batch, GpuCount num_gpus) const;

 private:
  std::vector<GpuCount> levels_;
  std::vector<Row> rows_;
};

/// The tables of all models that were measured on one type of GPU.
class ThroughputTables {
 public:
  /// Replaces a table of that name. `file` is where it was read, if in a file of its own.
  void add(const std::string& model, ThroughputTable table, const std::string& file = {}) {
    tables_.insert_or_assign(model, std::move(table));
    if (!file.empty()) files_.push_back(file);
  }
  /// The table of a model, null when there is none.
  const ThroughputTable* find(std::string_view model) const;
  /// All, by name.
  const std::map<std::string, ThroughputTable, std::less<>>& tables() const { return tables_; }

  /// The files of the tables, by model.
  std::span<const std::string> files() const { return files_; }

  /// How long so many iterations take, to the nanosecond. The error, without file and line, says what was not
  /// profiled, or that it takes longer than 100 years.
  Result<SimDuration> duration(std::string_view model, std::int64_t global_batch, GpuCount num_gpus,
                               std::int64_t iterations) const;

 private:
  std::map<std::string, ThroughputTable, std::less<>> tables_;
  std::vector<std::string> files_;
};

/// Reads ElasticFlow's tables: a folder with one `MODEL.csv` (plain or compressed) a model, or one such file.
/// Its header is `global_batch_size` and the numbers of GPUs; a row has a global batch and iterations a
/// second; `nan` or nothing stands where that was not profiled.
Result<ThroughputTables> read_throughput_tables(const std::filesystem::path& path);
/// The table that one such file holds; `file` is used in errors.
Result<ThroughputTable> parse_throughput_table(std::string_view text, const std::string& file);

/// The tables of one type of GPU by the type's name.
using ThroughputsByGpu = std::map<std::string, ThroughputTables, std::less<>>;

/// Reads Gavel's JSON: `{GPU type: {"('JOB TYPE', GPUs)": {"null": steps/s, ...}}}`, by GPU type. The model
/// is the job type, which says the batch; 0 steps/s are "not profiled"; what jobs reach that share a GPU is
/// left out.
Result<ThroughputsByGpu> read_gavel_throughputs(const std::filesystem::path& path);
/// The same of text in memory; `file` is used in errors.
Result<ThroughputsByGpu> parse_gavel_throughputs(std::string text, const std::string& file);

}  // namespace vtrain
