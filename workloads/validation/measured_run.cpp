#include "workloads/validation/measured_run.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/config/predict_config.hpp"
#include "workloads/config/stack_json.hpp"
#include "workloads/validation/measured_figures.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// Keys that are read of a run, then keys that describe it without an effect on its prediction.
constexpr auto kRunKeys = std::to_array<std::string_view>(
    {"id", "group", "gpu", "cluster", "settings", "measured", "assumed", "assumption", "missing", "unread",
     "source", "date", "derived", "caveats", "note", "predicted_blind", "error_of_time_percent"});

/// Reads one run; the first error is kept.
class RunReader {
 public:
  RunReader(const JsonDocument& document, const json& run)
      : document_(document), run_(run), fields_(document, run) {}

  Result<MeasuredCase> read() {
    case_.id = fields_.string("id");
    case_.group = fields_.string_or("group", "");
    case_.source = source_text();
    case_.missing = texts("missing");
    case_.assumed = texts("assumed");
    case_.unread = texts("unread");
    if (std::string assumption = fields_.string_or("assumption", ""); !assumption.empty())
      case_.assumed.push_back(std::move(assumption));
    list_unread();
    if (!fields_.error() && case_.missing.empty()) {
      if (auto read = read_run(); !read) return fail(std::move(read.error()));
    }
    if (fields_.error()) return fail(*fields_.error());
    return std::move(case_);
  }

 private:
  /// The source: a text, or repository and path or title of an object.
  std::string source_text() const {
    const auto found = run_.is_object() ? run_.find("source") : run_.end();
    if (!run_.is_object() || found == run_.end()) return {};
    if (found->is_string()) return found->get<std::string>();
    std::string text;
    for (const char* const key : {"repo", "path"}) {
      if (found->is_object() && found->contains(key) && (*found)[key].is_string())
        text += (text.empty() ? "" : " ") + (*found)[key].get<std::string>();
    }
    if (!text.empty() || !found->is_object() || !found->contains("title")) return text;
    return (*found)["title"].is_string() ? (*found)["title"].get<std::string>() : text;
  }

  /// A list of texts; empty without the key.
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> list;
    if (!fields_.has(key)) return list;
    const json& value = *run_.find(key);
    const bool are_texts = value.is_array() && std::all_of(value.begin(), value.end(),
                                                           [](const json& text) { return text.is_string(); });
    if (!are_texts)
      fields_.complain(
          key, expected_found("a list of texts",
                              value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 80)));
    else
      value.get_to(list);
    return list;
  }

  /// Lists keys that are not used.
  void list_unread() {
    if (!run_.is_object()) return;
    for (const auto& [key, value] : run_.items()) {
      if (std::ranges::find(kRunKeys, key) == kRunKeys.end()) case_.unread.push_back(key);
    }
  }

  /// Reads settings and figures.
  Result<void> read_run() {
    for (const std::string_view key : {"settings", "measured"}) {
      if (!fields_.has(key)) fields_.complain(key, "missing");
    }
    if (fields_.error()) return {};
    if (auto read = read_settings_of_run(run_["settings"]); !read) return read;
    case_.gpu = fields_.string_or("gpu", case_.profile);
    case_.cluster = fields_.string_or("cluster", "");
    if (case_.group.empty()) case_.group = case_.stack.name + "-" + case_.profile;
    JsonFields measured(document_, run_["measured"]);
    const double tokens =
        static_cast<double>(case_.plan.global_batch) * static_cast<double>(case_.model.sequence_length);
    MeasuredFigures figures = read_figures(measured, tokens, case_.plan.num_gpus().value);
    if (measured.error()) return fail(*measured.error());
    case_.measured = figures.iteration;
    case_.allocated = figures.allocated;
    case_.reserved = figures.reserved;
    case_.missing = std::move(figures.missing);
    if (case_.measured.count() <= 0) case_.missing.emplace_back(kNoIterationTime);
    return {};
  }

  Result<void> read_settings_of_run(const json& settings) {
    auto config = read_settings(document_, settings, MicroBatch::Optional);
    if (!config) return fail(std::move(config.error()));
    if (config->profile.empty()) return fail(document_.error_at(settings, "profile", "missing"));
    auto stack = read_stack(document_, settings);
    if (!stack) return fail(std::move(stack.error()));
    case_.profile = std::move(config->profile);
    case_.stack = *std::move(stack);
    case_.model = std::move(config->model);
    // The name of the file tells nothing of a model that has none.
    const json& model = settings["model"];
    if (model.is_object() && !model.contains("name") && !model.contains("base")) case_.model.name.clear();
    case_.plan = config->plan;
    if (!config->has_precision) case_.plan.precision = case_.stack.choices.precision;
    case_.has_micro_batch = case_.plan.micro_batch > 0;
    return {};
  }

  const JsonDocument& document_;
  const json& run_;
  JsonFields fields_;
  MeasuredCase case_;
};

}  // namespace

Result<MeasuredCase> read_measured_run(const JsonDocument& document, const json& run) {
  return RunReader(document, run).read();
}

}  // namespace vtrain
