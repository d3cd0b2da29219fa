#include "workloads/validation/measured_case.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.hpp"
#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/validation/case_list.hpp"
#include "workloads/validation/measured_run.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr auto kFileKeys = std::to_array<std::string_view>({"runs", "note", "simulated", "failed"});

/// The error of a file that holds measured runs in another form.
Error not_normalised(const std::string& file, std::string_view found) {
  return {.file = file,
          .message = fmt::format("expected runs with \"settings\", found {}; `normalise {} --out runs.json` "
                                 "turns it into them (docs/measured/README.md)",
                                 found, printable(file))};
}

/// True if a list has records with keys of other forms.
bool has_raw_records(const json& list) {
  if (!list.is_array() || list.empty() || !list[0].is_object() || list[0].contains("settings")) return false;
  for (const char* const key : {"framework", "system", "parallel", "batch"}) {
    if (list[0].contains(key)) return true;
  }
  return false;
}

/// The list of runs in a document.
Result<const json*> find_runs(const JsonDocument& document, bool& are_measured) {
  const json& root = document.root();
  if (root.is_object() && root.contains("cases"))
    return fail(not_normalised(document.file(), "records under \"cases\""));
  const json* list = &root;
  if (root.is_object()) {
    JsonFields fields(document, root);
    fields.allow_only(kFileKeys);
    are_measured = !fields.boolean_or("simulated", false);
    if (fields.error()) return fail(*fields.error());
    const auto found = root.find("runs");
    list = found == root.end() ? nullptr : &*found;
  }
  if (list == nullptr || !list->is_array()) {
    return fail(document.error_at(
        root, "runs",
        expected_found("a list of measured runs", list == nullptr ? "nothing" : list->type_name())));
  }
  if (has_raw_records(*list)) return fail(not_normalised(document.file(), "records of another form"));
  return list;
}

}  // namespace

std::string MeasuredCase::choice() const {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", stack.name, gpu, model.name, model.num_layers, model.hidden_size,
                     model.sequence_length, plan.global_batch) +
         fmt::format("|{}|{}", plan.num_gpus().value, static_cast<int>(plan.precision)) +
         (cluster.empty() ? "" : "|" + cluster);
}

std::string MeasuredCase::configuration() const {
  // This text determines the rows that a calibration is fitted on: enumerators keep their numbers, new ones
  // come last.
  return choice() +
         fmt::format("|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", plan.tensor, plan.context, plan.data,
                     plan.pipeline, plan.virtual_stages, plan.expert, plan.micro_batch,
                     static_cast<int>(plan.recompute), static_cast<int>(plan.sharding),
                     plan.sequence_parallel ? 1 : 0, plan.expert_tensor, plan.offloaded_layers) +
         (plan.replicate > 1 ? fmt::format("|{}", plan.replicate) : "");
}

Result<MeasuredCases> parse_measured_cases(std::string text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string::npos && text[start] != '{' && text[start] != '[')
    return fail(not_normalised(file, "a table or other text"));
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  MeasuredCases cases{.file = file};
  const auto list = find_runs(*document, cases.are_measured);
  if (!list) return fail(list.error());
  if (auto number = check_number_of_cases((*list)->size(), file); !number)
    return fail(std::move(number.error()));
  CaseList<MeasuredCase> runs;
  for (const json& run : **list) {
    const bool has_id = run.is_object() && run.contains("id") && run["id"].is_string();
    runs.add(read_measured_run(*document, run),
             has_id ? run["id"].get<std::string>() : fmt::format("run {}", &run - &(**list)[0] + 1));
  }
  auto read = runs.take();
  if (!read) return fail(read.error());
  cases.cases = *std::move(read);
  return cases;
}

Result<MeasuredCases> read_measured_cases(const std::filesystem::path& path) {
  auto text = read_file(path, InputKind::Measurements);
  if (!text) return fail(text.error());
  return parse_measured_cases(std::move(*text), path.string());
}

}  // namespace vtrain
