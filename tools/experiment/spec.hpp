/// Specs: what a replay or a plan search was asked, as plain values that go to JSON and come back.
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

/// One file that a spec names, or that is read with one (tables beside a trace).
struct SpecFile {
  std::string name;      ///< as the spec names it
  std::string path;      ///< where it is, from the current folder
  std::string sha256{};  ///< of its bytes, in hexadecimal; empty where they are gone (a pipe)
};

/// The files of a spec: where they are, and how texts name them. Those of a spec from the command line are
/// where their names say.
struct SpecFiles {
  std::filesystem::path folder{};  ///< of the spec's file, which relative names refer to
  std::vector<SpecFile> listed{};  ///< with their hashes, as the spec's file lists them

  /// The path of the file of this name. A name that is no file's (`h100`, `16x8:a100`) stays as it is.
  std::string locate(const std::string& name) const;
  /// `text` with the names of files in the place of their paths, so that a result does not depend on the
  /// folder in which a spec is repeated.
  std::string with_names(std::string text) const;
};

/// What is replayed: jobs, cluster, policies and rules, and what is written of it. Defaults are those of
/// `vtrain replay`.
struct ScenarioSpec {
  TraceArguments trace{};     ///< without files: the embedded default, a generated day of LLM jobs
  std::string cluster{};      ///< empty: what the trace names, or the default
  std::string tenant_tree{};  ///< file; empty: the cluster's virtual clusters, if it has any
  /// A name of `placements()`, or `auto`: `consolidate` for the embedded default, `count` for a trace.
  std::string placement = "auto";
  PricingArguments pricing{};
  TransformationArguments transformations{};
  DisruptionArguments disruptions{};
  std::vector<std::string> policies{};  ///< specs, `NAME:key=value,...`
  std::string timeline = "auto";        ///< `always`, `never` or `auto`
  std::string by{};                     ///< `tenant`, `user`, `queue`, `type` or `size`; empty: none
  bool spreadsheet_safe = false;        ///< of the names in tables
  std::string command{};                ///< that was first given for it, for people; may be empty
  SpecFiles files{};
};

/// What `vtrain plan` is asked.
struct PlanSpec {
  std::string model{};
  std::string gpus{};
  TargetArguments target{};
  std::int64_t global_batch = 0;
  std::string objective{};
  std::string deadline{};
  std::string tokens{};
  double price = 0;
  std::int64_t top = 3;
  std::string beside{};
  std::int64_t sequence_length = 0;
  bool offload = false;
  bool partial_recompute = false;
  bool zero_bubble = false;
  SpecFiles files{};
};

/// One field of a spec.
struct SpecField {
  std::string_view group;                            ///< object that has it, empty for the outermost
  std::string_view key;                              ///< in JSON
  std::string_view option;                           ///< of the command line, which errors name
  std::span<const std::string_view> choices{};       ///< the only values, if there are any
  double low = 0;                                    ///< least of a number
  double high = std::numeric_limits<double>::max();  ///< largest of a number
};

/// The version of the JSON below.
inline constexpr std::int64_t kSpecVersion = 1;

/// The spec under its keys, with the files that were read, where they are from `folder`, in which the JSON is
/// to stand.
nlohmann::ordered_json spec_to_json(const ScenarioSpec& spec, std::span<const SpecFile> files,
                                    const std::filesystem::path& folder);
nlohmann::ordered_json spec_to_json(const PlanSpec& spec, std::span<const SpecFile> files,
                                    const std::filesystem::path& folder);

/// A spec that was read from a file.
template <class Spec>
struct SpecDocument {
  Spec spec;
  std::shared_ptr<const JsonDocument> document;

  /// An error of an option as one of the field of the file that it comes from, with its line; other errors
  /// stay as they are.
  Error in_file(Error error) const;
};

/// Reads a spec: `run.json` of a run folder, or a document with the spec alone. Errors: what is no spec, one
/// of another version, an unknown key (with the nearest known one), a value that its field cannot have, a
/// file that is missing or whose hash is another.
Result<SpecDocument<ScenarioSpec>> read_scenario_spec(const std::filesystem::path& file);
/// The same of what `vtrain plan --json` prints.
Result<SpecDocument<PlanSpec>> read_plan_spec(const std::filesystem::path& file);
/// The same of a text that stands in `file`.
Result<SpecDocument<ScenarioSpec>> parse_scenario_spec(std::string text, const std::filesystem::path& file);

/// Checks the values that have only some words or a range. Errors name the option.
Result<void> check_spec(const ScenarioSpec& spec);
Result<void> check_spec(const PlanSpec& spec);

}  // namespace vtrain
