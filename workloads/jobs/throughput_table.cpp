#include "workloads/jobs/throughput_table.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();

/// `model` of `folder/model.csv` and of `folder/model.csv.gz`; empty for other files.
std::string model_of_file(const std::filesystem::path& path) {
  std::filesystem::path name = path.filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  return name.extension() == ".csv" ? name.stem().string() : std::string();
}

Result<std::vector<GpuCount>> read_levels(const CsvReader& rows, const std::string& file, int batch) {
  std::vector<GpuCount> levels;
  for (std::size_t i = 0; i < rows.columns().size(); ++i) {
    if (static_cast<int>(i) == batch) continue;
    const std::string& name = rows.columns()[i];
    const auto level = parse_integer(name, 1, kMaxCount);
    const bool repeated = level && std::find(levels.begin(), levels.end(),
                                             GpuCount(static_cast<std::int32_t>(*level))) != levels.end();
    if (!level || repeated) {
      return fail({.file = file,
                   .line = rows.line(),
                   .message = expected_found("a column for each number of GPUs once", name)});
    }
    levels.emplace_back(static_cast<std::int32_t>(*level));
  }
  return levels;
}

Result<ThroughputTable::Row> read_row(const CsvReader& rows, int batch) {
  ThroughputTable::Row row;
  const auto global_batch = rows.integer(batch, 1, kMaxCount);
  if (!global_batch) return fail(global_batch.error());
  row.global_batch = *global_batch;
  for (int column = 0; column < static_cast<int>(rows.columns().size()); ++column) {
    if (column == batch) continue;
    const std::string_view text = trim(rows.field(column));
    if (text.empty() || text == "nan" || text == "NaN") {
      row.iterations_per_s.push_back(0);
      continue;
    }
    const auto speed = parse_number(text, std::numeric_limits<double>::min(), 1e12);
    if (!speed) {
      return fail(rows.error_at(column, expected_found("iterations a second above 0, nan or nothing", text)));
    }
    row.iterations_per_s.push_back(*speed);
  }
  return row;
}

/// Parses the job type and GPUs in `('JOB TYPE', GPUs)`.
std::optional<std::pair<std::string, GpuCount>> parse_gavel_key(std::string_view key) {
  constexpr std::string_view kOpen = "('";
  const std::size_t close = key.rfind("', ");
  if (!key.starts_with(kOpen) || !key.ends_with(')') || close == std::string_view::npos ||
      close < kOpen.size()) {
    return std::nullopt;
  }
  const auto num_gpus = parse_integer(key.substr(close + 3, key.size() - close - 4), 1, kMaxCount);
  if (!num_gpus) return std::nullopt;
  return std::pair(std::string(key.substr(kOpen.size(), close - kOpen.size())),
                   GpuCount(static_cast<std::int32_t>(*num_gpus)));
}

/// The tables of one GPU type.
Result<ThroughputTables> read_gavel_type(const JsonDocument& document, const nlohmann::json& jobs) {
  constexpr std::string_view kExpected = "an object of \"('JOB TYPE', GPUs)\" with \"null\": steps/s";
  if (!jobs.is_object()) return fail(document.error_at(jobs, "", expected_found(kExpected, jobs.dump())));
  std::map<std::string, std::map<GpuCount, double>> speeds;
  for (const auto& [key, pairs] : jobs.items()) {
    const auto job = parse_gavel_key(key);
    const auto alone = pairs.is_object() ? pairs.find("null") : pairs.end();
    const bool is_speed = pairs.is_object() && alone != pairs.end() && alone->is_number() && *alone >= 0.0;
    if (!job || !is_speed) return fail(document.error_at(jobs, key, expected_found(kExpected, key)));
    speeds[job->first][job->second] = alone->get<double>();
  }
  ThroughputTables tables;
  for (const auto& [model, by_gpus] : speeds) {
    std::vector<GpuCount> levels;
    ThroughputTable::Row row;
    for (const auto& [num_gpus, speed] : by_gpus) {
      levels.push_back(num_gpus);
      row.iterations_per_s.push_back(speed);
    }
    tables.add(model, ThroughputTable(std::move(levels), {std::move(row)}));
  }
  return tables;
}

std::string level_list(std::span<const GpuCount> levels) {
  std::vector<std::string> numbers;
  for (const GpuCount level : levels)
    numbers.push_back(std::to_string(level.value));
  return join_with_and(numbers);
}

}  // namespace

const ThroughputTable::Row* ThroughputTable::find(std::int64_t global_batch) const {
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&](const Row& other) { return other.global_batch == global_batch; });
  return row == rows_.end() ? nullptr : &*row;
}

std::vector<SpeedByGpus::Level> ThroughputTable::profiled_levels(std::int64_t global_batch) const {
  std::vector<SpeedByGpus::Level> levels;
  const Row* const row = find(global_batch);
  for (std::size_t i = 0; row != nullptr && i < levels_.size(); ++i) {
    if (row->iterations_per_s[i] > 0) levels.push_back({levels_[i], row->iterations_per_s[i]});
  }
  std::ranges::sort(levels, {}, &SpeedByGpus::Level::num_gpus);
  return levels;
}

double ThroughputTable::iterations_per_s(std::int64_t global_batch, GpuCount num_gpus) const {
  const Row* row = find(global_batch);
  const auto level = std::find(levels_.begin(), levels_.end(), num_gpus);
  if (row == nullptr || level == levels_.end()) return 0;
  return row->iterations_per_s[static_cast<std::size_t>(level - levels_.begin())];
}

const ThroughputTable* ThroughputTables::find(std::string_view model) const {
  const auto found = tables_.find(model);
  return found == tables_.end() ? nullptr : &found->second;
}

Result<SimDuration> ThroughputTables::duration(std::string_view model, std::int64_t global_batch,
                                               GpuCount num_gpus, std::int64_t iterations) const {
  const ThroughputTable* table = find(model);
  if (table == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& entry : tables_)
      names.push_back(entry.first);
    return fail({.kind = ErrorKind::NotFound,
                 .message = expected_found(
                     fmt::format("a model of the throughput tables, {}", list_names(names)), model)});
  }
  const double speed = table->iterations_per_s(global_batch, num_gpus);
  if (speed == 0) {
    const std::string batch = global_batch == 0 ? "" : fmt::format(" at global batch {}", global_batch);
    return fail({.kind = ErrorKind::NotFound,
                 .message = fmt::format(
                     "'{}' was not profiled on {} GPU{}{}; profiled numbers of GPUs are {}", model,
                     num_gpus.value, num_gpus.value == 1 ? "" : "s", batch, level_list(table->levels()))});
  }
  constexpr double kLongest = 100 * 365 * 86'400.0;
  const double seconds = static_cast<double>(iterations) / speed;
  if (!(seconds <= kLongest)) {
    return fail(
        {.message = fmt::format("{} iterations at {} a second take more than 100 years", iterations, speed)});
  }
  return std::max(to_sim_duration(Nanoseconds(seconds * 1e9)), SimDuration(1));
}

Result<ThroughputTable> parse_throughput_table(std::string_view text, const std::string& file) {
  auto rows = CsvReader::open(text, file);
  if (!rows) return fail(std::move(rows.error()));
  const auto batch = rows->require_column("global_batch_size");
  if (!batch) return fail(batch.error());
  auto levels = read_levels(*rows, file, *batch);
  if (!levels) return fail(std::move(levels.error()));
  std::vector<ThroughputTable::Row> table;
  std::set<std::int64_t> batches;
  for (;;) {
    const auto more = rows->next();
    if (!more) return fail(more.error());
    if (!*more) return ThroughputTable(*std::move(levels), std::move(table));
    auto row = read_row(*rows, *batch);
    if (!row) return fail(std::move(row.error()));
    if (!batches.insert(row->global_batch).second) {
      return fail(rows->error_at(*batch, expected_found("each global batch once", rows->field(*batch))));
    }
    table.push_back(*std::move(row));
  }
}

Result<ThroughputTables> read_throughput_tables(const std::filesystem::path& path) {
  std::error_code code;
  std::map<std::string, std::filesystem::path> files;
  if (!std::filesystem::exists(path, code)) {
    return fail({.kind = ErrorKind::NotFound, .file = path.string(), .message = "no such file or folder"});
  }
  if (std::filesystem::is_directory(path, code)) {
    for (const auto& entry : std::filesystem::directory_iterator(path, code)) {
      const std::string model = model_of_file(entry.path());
      if (model.empty() || files.emplace(model, entry.path()).second) continue;
      return fail({.file = path.string(), .message = fmt::format("two tables of the model '{}'", model)});
    }
    if (files.empty()) return fail({.file = path.string(), .message = "no MODEL.csv in this folder"});
  } else if (const std::string model = model_of_file(path); !model.empty()) {
    files[model] = path;
  } else {
    return fail({.file = path.string(), .message = "expected a folder of throughput tables, or MODEL.csv"});
  }
  ThroughputTables tables;
  for (const auto& [model, file] : files) {
    const auto text = read_file(file, InputKind::Throughputs);
    if (!text) return fail(text.error());
    auto table = parse_throughput_table(*text, file.string());
    if (!table) return fail(std::move(table.error()));
    tables.add(model, *std::move(table), file.string());
  }
  return tables;
}

Result<ThroughputsByGpu> parse_gavel_throughputs(std::string text, const std::string& file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  if (!document->root().is_object()) {
    return fail(document->error_at(document->root(), "", "expected a JSON object of GPU types"));
  }
  ThroughputsByGpu by_gpu;
  for (const auto& [gpu_type, jobs] : document->root().items()) {
    auto tables = read_gavel_type(*document, jobs);
    if (!tables) return fail(std::move(tables.error()));
    by_gpu.emplace(gpu_type, *std::move(tables));
  }
  return by_gpu;
}

Result<ThroughputsByGpu> read_gavel_throughputs(const std::filesystem::path& path) {
  auto text = read_file(path, InputKind::Throughputs);
  if (!text) return fail(std::move(text.error()));
  return parse_gavel_throughputs(*std::move(text), path.string());
}

}  // namespace vtrain
