/// Output of `vtrain profile record`, used as a profile.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"
#include "tests/unit/core/recording_support.hpp"

using nlohmann::json;
using vtrain::testing::recording_text;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

namespace {

constexpr const char* kConfig =
    R"({"model": "gpt3-6.7b", "plan": {"tensor": 1, "data": 1, "pipeline": 1, "global_batch": 2, "micro_batch": 2, "recompute": "none"}})";

void write_recording(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  std::filesystem::create_directories(folder.path() / name);
  folder.write(name + "/kernel_table.json", text);
}

/// A folder with a recording in `rec` and a configuration whose layers have the measured shapes.
void write_inputs(const TemporaryFolder& folder) {
  write_recording(folder, "rec", recording_text());
  folder.write("config.json", kConfig);
}

}  // namespace

TEST_CASE("recorded profile: predict takes the folder of a recording, or the file that import makes of it") {
  const TemporaryFolder folder;
  write_inputs(folder);
  const auto direct = run_vtrain("predict config.json --profile rec --json", folder.path());
  REQUIRE_MESSAGE(direct.exit_code == 0, direct.err);
  const json from_folder = json::parse(direct.out);
  CHECK(from_folder["profile"] == "h200-recorded");

  const auto imported = run_vtrain("profile import rec --out rec.json", folder.path());
  REQUIRE_MESSAGE(imported.exit_code == 0, imported.err);
  const auto indirect = run_vtrain("predict config.json --profile rec.json --json", folder.path());
  REQUIRE_MESSAGE(indirect.exit_code == 0, indirect.err);
  CHECK(json::parse(indirect.out)["iteration_time_ns"] == from_folder["iteration_time_ns"]);

  const auto base = run_vtrain("predict config.json --profile h200 --json", folder.path());
  REQUIRE(base.exit_code == 0);
  CHECK(json::parse(base.out)["iteration_time_ns"] != from_folder["iteration_time_ns"]);
}

TEST_CASE("recorded profile: show tells what was measured") {
  const TemporaryFolder folder;
  write_inputs(folder);
  const auto shown = run_vtrain("profile show rec", folder.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  CHECK(shown.out.find("h200-recorded") != std::string::npos);
  CHECK(shown.out.find("measured by vtrain profile record on 2026-01-02") != std::string::npos);
  CHECK(shown.out.find("products bf16") != std::string::npos);
}

TEST_CASE("recorded profile: what is wrong with a recording is said, and exits with 2") {
  const TemporaryFolder folder;
  std::string unknown = recording_text();
  unknown.replace(unknown.find("NVIDIA H200"), 11, "NVIDIA H999");
  write_recording(folder, "unknown", unknown);
  const auto guess = run_vtrain("profile show unknown", folder.path());
  CHECK(guess.exit_code == 2);
  CHECK(guess.err.find("--base NAME") != std::string::npos);
  const auto with_base = run_vtrain("profile import unknown --base h200 --out made.json", folder.path());
  CHECK(with_base.exit_code == 0);

  write_recording(folder, "broken", "{\"schema\": \"vtrain-kernel-table\", \"version\": 1}");
  const auto broken = run_vtrain("profile import broken", folder.path());
  CHECK(broken.exit_code == 2);
  CHECK(broken.err.find("broken/kernel_table.json") != std::string::npos);
}

TEST_CASE("recorded profile: the runs that were trained on a GPU are predicted with the table of that GPU") {
  struct Trained {
    std::string gpu;
    int num_runs;
    int num_compiled;
  };
  for (const auto& [gpu, num_runs, num_compiled] : {Trained{"h100", 23, 15}, Trained{"h200", 25, 17}}) {
    const std::filesystem::path folder =
        std::filesystem::path(VTRAIN_PROFILES_DIR) / "../../profiler/validation" / gpu;
    const json report = run_json("validate " + (folder / "measured.json").string() + " --profile " +
                                 (folder / "table").string());
    CHECK(report["n"] == num_runs);
    const json& compiled = report["groups"][0];
    CHECK(compiled["group"] == "pytorch-compiled-" + gpu);
    CHECK(compiled["n"] == num_compiled);
    // A bound, not the figure: profiler/validation/README.md has that.
    CHECK(compiled["mape_percent"].get<double>() < 5);
  }
}

TEST_CASE("recorded profile: the runs of Transformers that were trained on a GPU are all predicted") {
  struct Trained {
    std::string gpu;
    int num_runs;
  };
  for (const auto& [gpu, num_runs] : {Trained{"h100", 29}, Trained{"h200", 57}}) {
    const std::filesystem::path records = std::filesystem::path(VTRAIN_PROFILES_DIR) /
                                          "../../profiler/validation" / gpu / "transformers_measured.json";
    const json report = run_json("validate " + records.string());
    CHECK(report["n"] == num_runs);
    for (const json& group : report["groups"])
      CHECK(group["group"].get<std::string>().starts_with("transformers-"));
  }
}
