#include "core/kernels/published_samples.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "core/kernels/collective_cost.hpp"

namespace vtrain {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;
constexpr std::int64_t kMaxCell = std::int64_t{1} << 40;

/// Reads the fields of one row after another; the first error stays.
class RowFields {
 public:
  explicit RowFields(const CsvReader& reader) : reader_(reader) {}

  std::int64_t integer(int column, std::int64_t low, std::int64_t high = kMaxCell) {
    return take(reader_.integer(column, low, high), low);
  }
  /// A duration in milliseconds.
  Nanoseconds milliseconds(int column) {
    constexpr double kShortest = 1e-6;
    constexpr double kLongest = 1e7;
    return Nanoseconds(number(column, kShortest, kLongest) * kNanosecondsPerMillisecond);
  }
  double number(int column, double low, double high) { return take(reader_.number(column, low, high), low); }
  std::string_view text(int column) const { return reader_.field(column); }
  void complain(int column, std::string_view expected) {
    if (!error_) error_ = reader_.error_at(column, expected_found(expected, reader_.field(column)));
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  template <class T>
  T take(Result<T> result, T otherwise) {
    if (result) return *result;
    if (!error_) error_ = std::move(result.error());
    return otherwise;
  }

  const CsvReader& reader_;
  std::optional<Error> error_;
};

/// Rows of CSV text as samples. `read_row` gets the positions of `columns` (those after the first
/// `num_required` may be -1, absent) and returns none for a row to leave out.
template <class Sample, std::size_t N, class ReadRow>
Result<std::vector<Sample>> read_rows(std::string_view text, const std::string& file,
                                      const std::array<std::string_view, N>& columns,
                                      std::size_t num_required, ReadRow read_row) {
  auto reader = CsvReader::open(text, file);
  if (!reader) return fail(std::move(reader.error()));
  std::array<int, N> at{};
  for (std::size_t i = 0; i < N; ++i) {
    at[i] = reader->find_column(columns[i]);
    if (i >= num_required || at[i] >= 0) continue;
    const auto required = reader->require_column(columns[i]);
    return fail(required.error());
  }
  std::vector<Sample> samples;
  for (;;) {
    const auto row = reader->next();
    if (!row) return fail(row.error());
    if (!*row) break;
    RowFields fields(*reader);
    std::optional<Sample> sample = read_row(fields, at);
    if (fields.error()) return fail(*fields.error());
    if (sample) samples.push_back(std::move(*sample));
  }
  if (samples.empty()) return fail({.file = file, .message = "expected measured rows, found none to use"});
  return samples;
}

std::optional<Precision> precision_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, Precision>, 5> kTypes = {{{"bfloat16", Precision::Bf16},
                                                                             {"float16", Precision::Bf16},
                                                                             {"fp8", Precision::Fp8},
                                                                             {"fp8_block", Precision::Fp8},
                                                                             {"nvfp4", Precision::Fp4}}};
  for (const auto& [name, precision] : kTypes) {
    if (name == type) return precision;
  }
  return std::nullopt;
}

std::optional<Collective> collective_of(std::string_view operation) {
  // AIConfigurator writes `alltoall`.
  if (operation == "alltoall") return Collective::AllToAll;
  for (const Collective collective : kCollectives) {
    if (name_of(collective) == operation) return collective;
  }
  return std::nullopt;
}

bool is_half(std::string_view type) {
  return type == "bfloat16" || type == "float16";
}

}  // namespace

Result<std::vector<GemmSample>> parse_gemm_table(std::string_view text, const std::string& file) {
  constexpr std::array<std::string_view, 5> kColumns = {"gemm_dtype", "m", "n", "k", "latency"};
  return read_rows<GemmSample>(text, file, kColumns, kColumns.size(),
                               [](RowFields& row, const std::array<int, 5>& at) -> std::optional<GemmSample> {
                                 const auto precision = precision_of(row.text(at[0]));
                                 if (!precision)
                                   row.complain(at[0], "bfloat16, float16, fp8, fp8_block or nvfp4");
                                 return GemmSample{.precision = precision.value_or(Precision::Bf16),
                                                   .m = row.integer(at[1], 1),
                                                   .n = row.integer(at[2], 1),
                                                   .k = row.integer(at[3], 1),
                                                   .time = row.milliseconds(at[4])};
                               });
}

Result<std::vector<AttentionSample>> parse_attention_table(std::string_view text, const std::string& file) {
  constexpr std::array<std::string_view, 10> kColumns = {
      "batch_size",  "isl",        "num_heads",      "num_key_value_heads",
      "head_dim",    "attn_dtype", "kv_cache_dtype", "latency",
      "window_size", "step"};
  constexpr std::size_t kNumRequired = 8;
  return read_rows<AttentionSample>(
      text, file, kColumns, kNumRequired,
      [](RowFields& row, const std::array<int, 10>& at) -> std::optional<AttentionSample> {
        const AttentionSample sample{.batch = row.integer(at[0], 1),
                                     .sequence = row.integer(at[1], 1),
                                     .heads = row.integer(at[2], 1),
                                     .key_value_heads = row.integer(at[3], 1),
                                     .head_size = row.integer(at[4], 1),
                                     .time = row.milliseconds(at[7])};
        const bool windowed = at[8] >= 0 && row.integer(at[8], 0) > 0;
        const bool continued = at[9] >= 0 && row.integer(at[9], 0) > 0;
        const bool half = is_half(row.text(at[5])) && is_half(row.text(at[6]));
        if (windowed || continued || !half) return std::nullopt;
        return sample;
      });
}

Result<std::vector<CollectiveSample>> parse_nccl_table(std::string_view text, const std::string& file) {
  constexpr std::array<std::string_view, 5> kColumns = {"op_name", "nccl_dtype", "num_gpus", "message_size",
                                                        "latency"};
  constexpr std::int64_t kHalfSize = 2;  // bytes
  return read_rows<CollectiveSample>(
      text, file, kColumns, kColumns.size(),
      [](RowFields& row, const std::array<int, 5>& at) -> std::optional<CollectiveSample> {
        const auto collective = collective_of(row.text(at[0]));
        if (!collective) row.complain(at[0], "all_reduce, all_gather, reduce_scatter or alltoall");
        const bool half = row.text(at[1]) == "half";
        if (!half && row.text(at[1]) != "int8") row.complain(at[1], "half or int8");
        const CollectiveSample sample{.collective = collective.value_or(Collective::AllReduce),
                                      .num_gpus = row.integer(at[2], 2, kMostCollectiveGpus),
                                      .bytes = row.integer(at[3], 1) * kHalfSize,
                                      .time = row.milliseconds(at[4])};
        return half ? std::optional(sample) : std::nullopt;
      });
}

Result<std::vector<CollectiveSample>> parse_all_reduce_table(std::string_view text, const std::string& file) {
  constexpr std::string_view kPrefix = "AR_GPU";
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  const std::string name = std::filesystem::path(file).filename().string();
  const std::string digits =
      name.starts_with(kPrefix) ? name.substr(kPrefix.size(), name.find('_', kPrefix.size()) - kPrefix.size())
                                : "";
  const auto num_gpus = parse_integer(digits, 2, kMostCollectiveGpus);
  if (!num_gpus)
    return fail({.file = file, .message = expected_found("a file name like AR_GPU8_1M_1024M_LUT", name)});
  const auto table = AllReduceTable::parse(text, file);
  if (!table) return fail(table.error());
  std::vector<CollectiveSample> samples;
  for (const AllReduceEntry& entry : table->entries()) {
    if (entry.mebibytes == 0) continue;  // its size was rounded away
    samples.push_back({.num_gpus = *num_gpus, .bytes = entry.mebibytes * kMebibyte, .time = entry.time});
  }
  return samples;
}

std::int64_t OperatorSample::size(std::string_view key) const {
  for (const std::string_view part : split(shape, ',')) {
    const auto [name, value] = split_once(part, '=');
    if (value && name == key) return parse_integer(*value, 0, kMaxCell).value_or(0);
  }
  return 0;
}

Result<std::vector<OperatorSample>> parse_operator_table(std::string_view text, const std::string& file) {
  constexpr std::array<std::string_view, 3> kColumns = {"op", "shape", "efficiency"};
  return read_rows<OperatorSample>(
      text, file, kColumns, kColumns.size(),
      [](RowFields& row, const std::array<int, 3>& at) -> std::optional<OperatorSample> {
        constexpr double kLowest = 1e-6;
        constexpr double kHighest = 10;  // attention counts masked scores too
        return OperatorSample{.op = std::string(row.text(at[0])),
                              .shape = std::string(row.text(at[1])),
                              .efficiency = row.number(at[2], kLowest, kHighest)};
      });
}

}  // namespace vtrain
