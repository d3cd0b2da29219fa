#include "docs/measured/normalise/raw_case.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/io/csv.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "docs/measured/normalise/measured_record.hpp"
#include "docs/measured/normalise/node_names.hpp"
#include "workloads/validation/case_list.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// One row of a table of the public vTrain release.
Result<RawCase> read_row(const CsvReader& reader, bool is_measurement) {
  constexpr std::int64_t kMost = 100'000'000;
  std::optional<Error> error;
  const auto integer = [&](std::string_view name) -> std::int64_t {
    const auto column = reader.require_column(name);
    if (error || !column) {
      if (!error) error = column.error();
      return 1;
    }
    const auto value = reader.integer(*column, 1, kMost);
    if (!value) error = value.error();
    return value.value_or(1);
  };
  RawCase row;
  row.id = fmt::format("line {}", reader.line());
  row.profile = "a100";
  row.gpu = "A100";
  // The release says of neither which version ran: docs/predictor/accuracy.md, "The public vTrain release",
  // gives the reasons. The simulator behind the other table knows no overlap.
  row.stack = find_stack(is_measurement ? "megatron-2022" : "megatron-2021").value();
  row.node_network = BytesPerSecond(1e11);  // 800 Gbit/s, as in the release's example configuration
  row.model = {.num_layers = integer("# layers"),
               .hidden_size = integer("hidden size"),
               .num_heads = integer("attention heads"),
               .sequence_length = integer("sequence length")};
  row.plan = {.tensor = integer("tensor parallelism"),
              .data = integer("data parallelism"),
              .pipeline = integer("pipeline parallelism"),
              .global_batch = integer("global batch"),
              .micro_batch = integer("micro batch"),
              .recompute = is_measurement ? Recompute::Full : Recompute::None};
  const std::string_view gpus = reader.find_column("GPUs") >= 0 ? "GPUs" : "# GPUs";  // see `parse_table`
  const std::int64_t num_gpus = integer(gpus);
  if (!error && num_gpus != row.plan.num_gpus().value) {
    error = reader.error_at(reader.find_column(gpus),
                            expected_found(fmt::format("{}, the product of the degrees of parallelism",
                                                       row.plan.num_gpus().value),
                                           std::to_string(num_gpus)));
  }
  double milliseconds = 1;
  if (const auto column = reader.require_column("iteration time (ms)"); !column) {
    error = column.error();
  } else if (const auto time = reader.number(*column, 1e-3, 1e12); !time) {
    error = time.error();
  } else {
    milliseconds = *time;
  }
  if (error) return fail(*error);
  row.measured = Seconds(milliseconds / 1e3);
  row.group = fmt::format("{} {:.1f}B", is_measurement ? "multi" : "single",
                          static_cast<double>(row.model.num_parameters()) / 1e9);
  row.figures = {{"iteration_s", row.measured.count()}};
  name_nodes(row);
  return row;
}

Result<RawCases> parse_table(std::string text, const std::string& file) {
  // A header that begins with a sign of comments.
  if (text.starts_with("# GPUs,")) text.front() = ' ';
  auto reader = CsvReader::open(text, file);
  if (!reader) return fail(reader.error());
  const bool is_measurement = reader->find_column("Parameters (billion)") >= 0;
  CaseList<RawCase> rows;
  for (;;) {
    const auto more = reader->next();
    if (!more) return fail(more.error());
    if (!*more) break;
    rows.add(read_row(*reader, is_measurement), fmt::format("line {}", reader->line()));
  }
  auto cases = rows.take();
  if (!cases) return fail(cases.error());
  return RawCases{.file = file, .are_measured = is_measurement, .cases = std::move(*cases)};
}

}  // namespace

Result<RawCases> parse_raw_cases(std::string text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  const bool is_json = start != std::string::npos && (text[start] == '{' || text[start] == '[');
  if (!is_json) return parse_table(std::move(text), file);
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  const json& root = document->root();
  const json& list = root.is_object() && root.contains("cases") ? root["cases"] : root;
  if (!list.is_array()) {
    return fail(document->error_at(
        root, "cases",
        expected_found("a list of measured cases", &list == &root ? "nothing" : list.type_name())));
  }
  if (auto number = check_number_of_cases(list.size(), file); !number) return fail(std::move(number.error()));
  CaseList<RawCase> records;
  for (const json& record : list) {
    const bool has_id = record.is_object() && record.contains("id") && record["id"].is_string();
    records.add(read_measured_record(*document, record),
                has_id ? record["id"].get<std::string>() : fmt::format("record {}", &record - &list[0] + 1));
  }
  auto cases = records.take();
  if (!cases) return fail(cases.error());
  RawCases raw{.file = file, .cases = *std::move(cases)};
  if (root.is_object() && root.contains("note") && root["note"].is_string())
    raw.note = root["note"].get<std::string>();
  return raw;
}

Result<RawCases> read_raw_cases(const std::filesystem::path& path) {
  auto text = read_file(path, InputKind::Measurements);
  if (!text) return fail(text.error());
  return parse_raw_cases(std::move(*text), path.string());
}

MeasuredCases measured_cases(const RawCases& raw) {
  return {.file = raw.file,
          .are_measured = raw.are_measured,
          .cases = std::vector<MeasuredCase>(raw.cases.begin(), raw.cases.end())};
}

}  // namespace vtrain
