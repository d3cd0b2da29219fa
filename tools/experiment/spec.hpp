/// Specs: requests for a replay or a plan search, as plain values that convert to and from JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/experiment/arguments.hpp"

namespace vtrain {

class JsonDocument;

/// One file that a spec names, or that is read with one (tables next to a trace).
struct SpecFile {
  std::string name;      ///< name in the spec
  std::string path;      ///< path from the current folder
  std::string sha256{};  ///< hash of the bytes, in hexadecimal; empty for a pipe
};

/// The files of a spec, with their paths and names. For a spec from the command line, names are paths.
struct SpecFiles {
  std::filesystem::path folder{};  ///< folder of the spec's file, the base of relative names
  std::vector<SpecFile> listed{};  ///< files and hashes listed in the spec's file

  /// The path of the file of this name. A name of no file (`h100`, `16x8:a100`) is returned unchanged.
  std::string locate(const std::string& name) const;
  /// Replaces paths of files in `text` by their names, so that results do not depend on the current folder.
  std::string with_names(std::string text) const;
};

/// Request for a replay: jobs, cluster, policies, rules and outputs. Defaults are those of `vtrain replay`.
struct ScenarioSpec {
  TraceArguments trace{};  ///< without files: the embedded default, a generated day of LLM jobs
  std::string cluster{};   ///< empty: the trace's cluster, or the default
  /// Cluster that jobs are generated for and that a load is stated for; empty: `cluster`.
  std::string reference{};
  std::string tenant_tree{};  ///< file; empty: the cluster's virtual clusters, if it has any
  /// A name of `placements()`, or `auto`: `consolidate` for the embedded default, `count` for a trace.
  std::string placement = "auto";
  PricingArguments pricing{};                 ///< predictor of run times
  TransformationArguments transformations{};  ///< changes to the jobs of the trace
  DisruptionArguments disruptions{};          ///< interruptions of jobs and their costs
  std::vector<std::string> policies{};        ///< specs, `NAME:key=value,...`
  std::string seeds{};     ///< of `compare`: `1-20` or `1,4,9`; empty: the one of `transformations`
  std::string baseline{};  ///< of `compare`: policy that the others are compared with; empty: the best
  std::vector<std::string> vary{};   ///< of `compare`: `KEY=V1,V2,...` (`variation.hpp`)
  std::string goal{};                ///< of `size`: `deadlines=95%`, `p95-wait=1h` (`sizing.hpp`)
  std::vector<std::string> price{};  ///< prices of GPU-hours, `TYPE=PRICE/h` or `PRICE/h`; empty: none
  std::string timeline = "auto";     ///< `always`, `never` or `auto`
  std::string by{};                  ///< `tenant`, `user`, `queue`, `type` or `size`; empty: none
  bool spreadsheet_safe = false;     ///< names in tables are safe to open in spreadsheets
  std::string command{};             ///< original command, for people; may be empty
  SpecFiles files{};                 ///< files that the spec names
};

/// Request for `vtrain plan`.
struct PlanSpec {
  std::string model{};            ///< name of `vtrain models`, or a file
  std::string gpus{};             ///< `512`, `256,512` or `64-512`; empty: all of `target.cluster`
  TargetArguments target{};       ///< GPUs and software to train on
  std::int64_t global_batch = 0;  ///< sequences an iteration; 0: as published or assumed
  std::string objective{};  ///< `time`, `cost` or `gpus`; empty: `cost` with a deadline, otherwise `time`
  std::string deadline{};   ///< time to train on all tokens, such as `30d`; empty: unlimited
  std::string tokens{};     ///< tokens to train on, such as `300B`; empty: none given
  double price = 0;         ///< dollars per GPU-hour; 0: costs are in GPU-hours
  std::int64_t top = 3;     ///< plans to return for a number of GPUs; 0: all
  std::string beside{};     ///< another plan to predict, such as `tensor=8,pipeline=2`; empty: none
  std::int64_t sequence_length = 0;  ///< tokens a sequence; 0: the model's
  bool offload = false;              ///< value of `PlanSearchOptions::offload`
  bool partial_recompute = false;    ///< value of `PlanSearchOptions::partial_recompute`
  bool zero_bubble = false;          ///< value of `PlanSearchOptions::zero_bubble`
  SpecFiles files{};                 ///< files that the spec names
};

/// One field of a spec.
struct SpecField {
  std::string_view group;                       ///< JSON object that holds the field; empty for the outermost
  std::string_view key;                         ///< key in JSON
  std::string_view option;                      ///< option of the command line, named in errors
  std::span<const std::string_view> choices{};  ///< the allowed values; empty: any
  double low = 0;                               ///< smallest allowed number
  double high = std::numeric_limits<double>::max();  ///< largest allowed number
};

/// The version of the JSON below.
inline constexpr std::int64_t kSpecVersion = 1;

/// The spec under its keys, with the files that were read. Their paths are relative to `folder`, which will
/// hold the JSON.
nlohmann::ordered_json spec_to_json(const ScenarioSpec& spec, std::span<const SpecFile> files,
                                    const std::filesystem::path& folder);
/// The spec of a plan search, as that of a replay.
nlohmann::ordered_json spec_to_json(const PlanSpec& spec, std::span<const SpecFile> files,
                                    const std::filesystem::path& folder);

/// A spec that was read from a file.
template <class Spec>
struct SpecDocument {
  Spec spec;                                     ///< spec with the file's values
  std::shared_ptr<const JsonDocument> document;  ///< document for the lines in errors

  /// Turns an option's error into an error of the file's field, with its line. Returns other errors
  /// unchanged.
  Error in_file(Error error) const;
};

/// Reads a spec: `run.json` of a run folder, or a document with the spec alone. Errors: no spec; another
/// version; an unknown key (with the nearest known one); an invalid value; a missing file; another hash.
Result<SpecDocument<ScenarioSpec>> read_scenario_spec(const std::filesystem::path& file);
/// Reads the spec in the output of `vtrain plan --json`.
Result<SpecDocument<PlanSpec>> read_plan_spec(const std::filesystem::path& file);
/// Parses a text as `read_plan_spec` does.
Result<SpecDocument<PlanSpec>> parse_plan_search(std::string text, const std::filesystem::path& file);
/// Parses the text of `file` as `read_scenario_spec` does.
Result<SpecDocument<ScenarioSpec>> parse_scenario_spec(std::string text, const std::filesystem::path& file);

/// Sets the field of an option, such as `placement`, to a value as written on the command line. Errors name
/// the option: an unknown one (with the nearest known one), one with a list of values, a value that is no
/// number.
Result<void> set_option(ScenarioSpec& spec, std::string_view option, std::string_view value);

/// The JSON Schema of a plan search (JSON Schema 2020-12), without the list of files.
nlohmann::ordered_json plan_spec_schema();

/// Checks values that are limited to some words or to a range. Errors name the option.
Result<void> check_spec(const ScenarioSpec& spec);
/// Checks the values of a plan search in the same way.
Result<void> check_spec(const PlanSpec& spec);

}  // namespace vtrain
