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

/// The speeds of one model, measured at some global batches on some numbers of GPUs.
class ThroughputTable {
 public:
  /// Measurements at one global batch.
  struct Row {
    std::int64_t global_batch = 0;           ///< 0: the model's name gives it (Gavel)
    std::vector<double> iterations_per_s{};  ///< [levels]; 0 where not profiled
  };

  /// `levels` are distinct and in the order of the file; every row has as many speeds.
  ThroughputTable(std::vector<GpuCount> levels, std::vector<Row> rows)
      : levels_(std::move(levels)), rows_(std::move(rows)) {}

  /// The numbers of GPUs, in the order of the file.
  std::span<const GpuCount> levels() const { return levels_; }
  /// Rows in the order of the file.
  std::span<const Row> rows() const { return rows_; }
  /// The row of a global batch, null if there is none.
  const Row* find(std::int64_t global_batch) const;
  /// Profiled numbers of GPUs at a global batch, ascending, with their speeds.
  std::vector<SpeedByGpus::Level> profiled_levels(std::int64_t global_batch) const;
  /// Iterations a second, 0 if not profiled.
  double iterations_per_s(std::int64_t global_batch, GpuCount num_gpus) const;

 private:
  std::vector<GpuCount> levels_;
  std::vector<Row> rows_;
};

/// The tables of all models that were measured on one type of GPU.
class ThroughputTables {
 public:
  /// Adds a table, or replaces that of this model. `file` is the table's own file, if it has one.
  void add(const std::string& model, ThroughputTable table, const std::string& file = {}) {
    tables_.insert_or_assign(model, std::move(table));
    if (!file.empty()) files_.push_back(file);
  }
  /// The table of a model, null if there is none.
  const ThroughputTable* find(std::string_view model) const;
  /// All tables, by model.
  const std::map<std::string, ThroughputTable, std::less<>>& tables() const { return tables_; }

  /// The files of the tables, by model.
  std::span<const std::string> files() const { return files_; }

  /// Duration of `iterations` iterations, to the nanosecond. The error, without file and line, names what was
  /// not profiled, or says that the time exceeds 100 years.
  Result<SimDuration> duration(std::string_view model, std::int64_t global_batch, GpuCount num_gpus,
                               std::int64_t iterations) const;

 private:
  std::map<std::string, ThroughputTable, std::less<>> tables_;
  std::vector<std::string> files_;
};

/// Reads ElasticFlow's tables: a folder with one `MODEL.csv` (plain or compressed) a model, or one such file.
/// Its header is `global_batch_size` and the numbers of GPUs. A row has a global batch and iterations a
/// second; `nan` or an empty field means not profiled.
Result<ThroughputTables> read_throughput_tables(const std::filesystem::path& path);
/// Parses the table of one such file; `file` is used in errors.
Result<ThroughputTable> parse_throughput_table(std::string_view text, const std::string& file);

/// Tables of each type of GPU, by the type's name.
using ThroughputsByGpu = std::map<std::string, ThroughputTables, std::less<>>;

/// Reads Gavel's JSON: `{GPU type: {"('JOB TYPE', GPUs)": {"null": steps/s, ...}}}`, by GPU type. The model
/// is the job type, whose name gives the batch. 0 steps/s mean "not profiled". Speeds of jobs that share a
/// GPU are left out.
Result<ThroughputsByGpu> read_gavel_throughputs(const std::filesystem::path& path);
/// Parses Gavel's JSON from text; `file` is used in errors.
Result<ThroughputsByGpu> parse_gavel_throughputs(std::string text, const std::string& file);

}  // namespace vtrain
