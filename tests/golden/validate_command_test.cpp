/// `vtrain validate` through the command line: errors, tables and predictions of records with known answers.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "core/io/csv.hpp"
#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::CsvReader;
using vtrain::testing::CommandResult;
using vtrain::testing::run_command;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// A record of Llama 3 8B on eight H100 with this plan and these measurements.
std::string record(int micro_batch, const std::string& measured) {
  return fmt::format(
      R"({{"id": "of {0}", "group": "megatron24-h100", "gpu": "H100", "settings": {{"model": "llama3-8b", "profile": "h100",
          "stack": "megatron-core", "plan": {{"precision": "bf16", "recompute": "none", "tensor": 4, "data": 2,
          "sequence_parallel": true, "sharding": "optimizer", "global_batch": 16, "micro_batch": {0}}}}},
          "measured": {{{1}}}}})",
      micro_batch, measured);
}

/// The record with a precision that no H100 has.
std::string in_4_bits(std::string record) {
  return record.replace(record.find("bf16"), 4, "fp4");
}

std::string file_of(const std::string& records) {
  return R"({"note": "invented", "runs": [)" + records + "]}";
}

/// One column of the predictions for a file.
std::vector<double> predictions(const TemporaryFolder& work, const std::string& file, const char* column) {
  const CommandResult run = run_vtrain("validate " + file + " --force --predictions p.csv", work.path());
  REQUIRE(run.exit_code == 0);
  const std::string text = slurp(work.path() / "p.csv");
  auto reader = CsvReader::open(text, "p.csv");
  REQUIRE(reader);
  std::vector<double> values;
  while (reader->next().value())
    values.push_back(reader->number(reader->require_column(column).value(), 0, 1e9).value());
  return values;
}

}  // namespace

TEST_CASE("validate: errors are relative to what was measured") {
  const TemporaryFolder work;
  const auto times = [](double first, double second) {
    return file_of(record(1, fmt::format(R"("iteration_s": {})", first)) + "," +
                   record(2, fmt::format(R"("iteration_s": {})", second)));
  };
  work.write("unknown.json", times(1, 1));
  const std::vector<double> predicted = predictions(work, "unknown.json", "predicted_s");
  REQUIRE(predicted.size() == 2);
  // Predicted a tenth too long and a fifth too short.
  work.write("known.json", times(predicted[0] / 1.1, predicted[1] / 0.8));
  const json answer = run_json("validate known.json", work);
  CHECK(answer["n"] == 2);
  CHECK(answer["mape_percent"].get<double>() == doctest::Approx(15));
  CHECK(answer["bias_percent"].get<double>() == doctest::Approx(-5));
  CHECK(answer["skipped"].empty());
  REQUIRE(answer["groups"].size() == 1);
  CHECK(answer["groups"][0]["group"] == "megatron24-h100");
  // A list without the object around it is the same.
  work.write("list.json", "[" + record(1, R"("iteration_s": 1)") + "]");
  CHECK(predictions(work, "list.json", "predicted_s") == std::vector<double>{predicted[0]});
}

TEST_CASE("validate: memory is compared with what was recorded of it") {
  const TemporaryFolder work;
  work.write("reserved.json", file_of(record(1, R"("iteration_s": 1, "mem_reserved_gib": 40)")));
  const CommandResult run = run_vtrain("validate reserved.json", work.path());
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("peak memory that the allocator reserves") != std::string::npos);
  CHECK(run.out.find("peak memory that tensors take") == std::string::npos);
  const std::vector<double> reserved = predictions(work, "reserved.json", "predicted_reserved_gib");
  const json answer = run_json("validate reserved.json", work);
  CHECK(answer["memory"]["reserved"]["mape_percent"].get<double>() ==
        doctest::Approx(100 * std::abs(reserved.at(0) / 40 - 1)).epsilon(1e-3));
  CHECK(predictions(work, "reserved.json", "reserved_gib").at(0) == 40);
  // What the allocator keeps over what is in use, as in runs of Megatron-Core.
  const std::vector<double> allocated = predictions(work, "reserved.json", "predicted_allocated_gib");
  CHECK(reserved.at(0) / allocated.at(0) == doctest::Approx(1.048).epsilon(1e-3));
}

TEST_CASE("validate: what cannot be predicted is named, what cannot be read is an error") {
  const TemporaryFolder work;
  work.write("some.json",
             file_of(record(1, R"("iteration_s": 1)") + "," + record(1, R"("tokens_per_s": null)") + "," +
                     in_4_bits(record(1, R"("iteration_s": 1)"))));
  const json answer = run_json("validate some.json", work);
  CHECK(answer["n"] == 1);
  REQUIRE(answer["skipped"].size() == 2);
  CHECK(answer["skipped"][0]["reason"] ==
        "the iteration time: iteration_s, tokens_per_s or tokens_per_s_per_gpu");
  CHECK(answer["skipped"][1]["reason"] ==
        "precision: expected one of 'fp32', 'fp16', 'bf16' and 'fp8', the formats of h100, found 'fp4'");
  // Figures of no rows are none.
  work.write("untimed.json", file_of(record(1, R"("tokens_per_s": null)")));
  const json untimed = run_json("validate untimed.json", work);
  CHECK(untimed["n"] == 0);
  CHECK(untimed["mape_percent"].is_null());
  CHECK(untimed["memory"]["allocated"]["bias_percent"].is_null());
  CHECK(run_vtrain("validate untimed.json", work.path()).out.find("0.0 %  ") == std::string::npos);
  const CommandResult misspelled = run_vtrain("validate some.json --profile h1000", work.path());
  CHECK(misspelled.exit_code == 2);
  CHECK(misspelled.err.starts_with("error: --profile: unknown profile 'h1000'; did you mean 'h100'"));
  work.write("none.json", R"({"note": "none"})");
  const CommandResult none = run_vtrain("validate none.json --force --predictions p.csv", work.path());
  CHECK(none.exit_code == 2);
  CHECK(none.err.find("none.json") != std::string::npos);
  CHECK(none.err.find("a list of measured runs") != std::string::npos);
  CHECK(!std::filesystem::exists(work.path() / "p.csv"));
}

TEST_CASE("validate: the published runs of the repository are as far off as their page says") {
  const std::filesystem::path folder(VTRAIN_MEASURED_DIR);
  const std::string page = slurp(folder / "README.md");
  const TemporaryFolder work;
  int groups = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().filename().string();
    const json answer = run_json("validate '" + entry.path().string() + "'", work);
    CHECK_MESSAGE(answer["skipped"].empty(), name);
    for (const json& group : answer["groups"]) {
      ++groups;
      const std::string row = fmt::format(
          "| [{0}]({0}) | {1} | {2} | {3:.1f} % | {4:.1f} % | {5:+.1f} % |\n", name,
          group["group"].get<std::string>(), group["n"].get<int>(), group["mape_percent"].get<double>(),
          group["median_ape_percent"].get<double>(), group["bias_percent"].get<double>());
      CHECK_MESSAGE(page.find(row) != std::string::npos, "not in README.md: ", row);
    }
  }
  CHECK(groups == 14);
}

TEST_CASE("validate: the settings of a run are a configuration of predict, which predicts the same") {
  const TemporaryFolder work;
  std::filesystem::create_directory(work.path() / "configs");
  for (const auto& entry : std::filesystem::directory_iterator(VTRAIN_MEASURED_DIR)) {
    if (entry.path().extension() != ".json") continue;
    const json document = json::parse(slurp(entry.path()));
    const std::string name = entry.path().stem().string();
    for (std::size_t i = 0; i < document["runs"].size(); ++i) {
      const json& run = document["runs"][i];
      if (run["settings"]["plan"].contains("micro_batch"))
        work.write(fmt::format("configs/{} {}.json", name, run["id"].get<std::string>()),
                   run["settings"].dump());
    }
  }
  std::map<std::string, double> seconds;  // by file and run
  for (const json& answer : run_json("predict configs", work))
    seconds[answer["config"].get<std::string>()] = answer["iteration_time_s"];
  CHECK(seconds.size() > 100);
  for (const auto& entry : std::filesystem::directory_iterator(VTRAIN_MEASURED_DIR)) {
    if (entry.path().extension() != ".json") continue;
    const CommandResult run =
        run_vtrain("validate '" + entry.path().string() + "' --force --predictions p.csv", work.path());
    REQUIRE(run.exit_code == 0);
    const std::string text = slurp(work.path() / "p.csv");
    auto reader = CsvReader::open(text, "p.csv");
    REQUIRE(reader);
    while (reader->next().value()) {
      const std::string id(reader->field(reader->require_column("id").value()));
      const auto found = seconds.find(fmt::format("configs/{} {}.json", entry.path().stem().string(), id));
      if (found == seconds.end()) continue;
      CAPTURE(found->first);
      CHECK(reader->number(reader->require_column("predicted_s").value(), 0, 1e9).value() == found->second);
      seconds.erase(found);
    }
  }
  CHECK(seconds.empty());
}

TEST_CASE("normalise: records become runs, and validate says of records which command does that") {
  const TemporaryFolder work;
  const std::string of_others =
      R"({"id": "a", "framework": "Megatron-LM 2024", "precision": "bf16", "recompute": "none",
          "model": {"name": "llama3-8b", "seq_len": 8192}, "system": {"gpu": "H100", "num_gpus": 8, "nics": 8},
          "parallel": {"tp": 4, "pp": 1}, "batch": {"global_batch": 16, "micro_batch": 1},
          "measured": {"iteration_s": 1}})";
  work.write("records.json", R"({"cases": [)" + of_others + R"(, {"id": "b"}]})");
  const CommandResult refused = run_vtrain("validate records.json", work.path());
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.starts_with("error: records.json: "));
  CHECK(refused.err.find("`normalise records.json --out runs.json`") != std::string::npos);
  const std::string normalise = NORMALISE_PROGRAM " ";
  const CommandResult written = run_command(normalise + "records.json --out runs.json", work.path());
  CHECK(written.exit_code == 0);
  CHECK(written.out.empty());
  CHECK(written.err == "2 records, 1 incomplete; not read, by number of records: system.nics (1)\n");
  const CommandResult piped = run_command(
      "( " + normalise + "records.json 2> said | " VTRAIN_PROGRAM " validate - --json )", work.path());
  CHECK(piped.exit_code == 0);
  json answer = json::parse(piped.out);
  CHECK(answer["n"] == 1);
  CHECK(answer["skipped"][0]["id"] == "b");
  CHECK(answer["unread_keys"] == json({{"system.nics", 1}}));
  answer["truth"] = "runs.json";
  CHECK(answer == run_json("validate runs.json", work));

  work.write("bad.json", "{\"cases\": [\n{\"id\": \"x\", \"parallel\": {\"tp\": \"two\"}}]}");
  const CommandResult bad = run_command(normalise + "bad.json --out bad-runs.json", work.path());
  CHECK(bad.exit_code == 2);
  CHECK(bad.err.starts_with("error: bad.json:2: cases[0].parallel.tp: expected a whole number"));
  CHECK(!std::filesystem::exists(work.path() / "bad-runs.json"));
  CHECK(run_command(normalise + "runs.json", work.path()).exit_code == 2);
  CHECK(run_command(normalise + "absent.json", work.path()).exit_code == 2);
  CHECK(run_command(normalise, work.path()).exit_code == 2);
}

TEST_CASE("validate: third-party data, normalised, and runs that users reported") {
  const std::filesystem::path data = vtrain::testing::shared_folder("data");
  if (data.empty()) return;
  const TemporaryFolder work;
  const CommandResult written = run_command(
      fmt::format("{} '{}' --out runs.json", NORMALISE_PROGRAM, (data / "measured/cases.json").string()),
      work.path());
  REQUIRE(written.exit_code == 0);
  CHECK(written.err == "305 records, 8 incomplete\n");
  const json published = run_json("validate runs.json", work);
  CHECK(published["n"] == 297);
  CHECK(published["skipped"].size() == 8);
  const json users = run_json("validate '" + (data / "user_runs/runs.json").string() + "'", work);
  CHECK(users["n"] == 24);
  CHECK(users["mape_percent"].get<double>() == doctest::Approx(24.0).epsilon(0.01));
}

TEST_CASE("validate, calibrate: a part to fit on is at most as many per cent as asked for") {
  const TemporaryFolder work;
  work.write("cases.json",
             file_of(record(1, R"("iteration_s": 1)") + ", " + record(2, R"("iteration_s": 1)")));
  struct Case {
    std::string percent;
    std::string num_parts;
  };
  // 100 / 40 is 2.5, 100 / 45 is 2.2: of two parts one is more than that.
  for (const Case& wanted : {Case{"50", "2"}, {"45", "3"}, {"40", "3"}, {"10", "10"}, {"3", "34"}}) {
    CAPTURE(wanted.percent);
    const std::string part = "one of " + wanted.num_parts + " parts";
    const auto fitted = run_vtrain("validate cases.json --fit " + wanted.percent, work.path());
    CHECK(fitted.exit_code == 0);
    CHECK(fitted.out.find("fitted on " + part) != std::string::npos);
    const auto calibrated = run_vtrain(
        "profile calibrate --force cases.json --out c.json --least-rows 99 --percent " + wanted.percent,
        work.path());
    CHECK(calibrated.exit_code == 1);
    CHECK(calibrated.err.find(part) != std::string::npos);
  }
}

TEST_CASE("calibrate: factors belong to the profile that they were fitted with, and files count once") {
  const TemporaryFolder work;
  const auto write_cases = [&](const std::vector<double>& times) {
    work.write("cases.json", file_of(record(1, fmt::format(R"("iteration_s": {})", times[0])) + ", " +
                                     record(2, fmt::format(R"("iteration_s": {})", times[1]))));
  };
  write_cases({1, 1});
  // Factors of H100 explain 3 %.
  std::vector<double> times = predictions(work, "cases.json", "predicted_s");
  for (double& time : times)
    time *= 1.03;
  write_cases(times);
  const std::string calibrate =
      "profile calibrate --force cases.json --percent 50 --least-rows 1 --out c.json";
  for (const std::string profile : {"a100", "h100"}) {
    CAPTURE(profile);
    const auto fitted = run_vtrain(calibrate + " --profile " + profile, work.path());
    REQUIRE(fitted.exit_code == 0);
    CHECK(json::parse(slurp(work.path() / "c.json"))["stacks"][0]["profile"] == profile);
    // Nothing explains so much.
    CHECK((fitted.err.find("Factors stay near 1") != std::string::npos) == (profile == "a100"));
    for (const std::string other : {"a100", "h100"}) {
      const std::string told =
          run_vtrain("validate cases.json --calibrate c.json --profile " + other, work.path()).out;
      CHECK((told.find("which has factors for 2 of 2") != std::string::npos) == (other == profile));
    }
  }
  const auto twice = run_vtrain(calibrate + " ./cases.json", work.path());
  CHECK(twice.exit_code == 2);
  CHECK(twice.err == "error: ./cases.json: the file is given twice, first as cases.json\n");
  const auto unknown = run_vtrain(calibrate + " --profile h10", work.path());
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.starts_with("error: --profile: unknown profile 'h10'"));
}

TEST_CASE("calibrate: says what it leaves out, records that cannot be predicted and stacks of few") {
  const TemporaryFolder work;
  work.write("cases.json", file_of(record(1, R"("iteration_s": 1)") + ", " +
                                   record(2, R"("iteration_s": 1)") + ", " + R"({"id": "nothing"})"));
  const std::string calibrate =
      "profile calibrate --force cases.json --percent 50 --out c.json --least-rows ";
  const auto fitted = run_vtrain(calibrate + "1", work.path());
  CHECK(fitted.exit_code == 0);
  CHECK(fitted.err.find("cases.json: 1 of 3 records cannot be predicted") != std::string::npos);
  CHECK(fitted.out.find("left out") == std::string::npos);
  std::string of_torchtitan = record(1, R"("iteration_s": 1)");
  of_torchtitan.replace(of_torchtitan.find("megatron-core"), 13, "torchtitan");
  std::string records = of_torchtitan;
  for (const int micro_batch : {1, 2, 4, 8})
    records += ", " + record(micro_batch, R"("iteration_s": 1)");
  work.write("cases.json", file_of(records));
  const auto few = run_vtrain(calibrate + "2", work.path());
  CHECK(few.err.find("cannot be predicted") == std::string::npos);
  CHECK(few.out.find("left out: 1 of 2 stacks and GPUs, fewer than 2 records") != std::string::npos);
}

TEST_CASE("validate: with --fit rows are predicted with factors that were fitted on others") {
  const TemporaryFolder work;
  const std::vector<int> micro_batches = {1, 2, 4, 8};
  const auto cases = [&](const std::vector<double>& times) {
    std::string records;
    for (std::size_t i = 0; i < times.size(); ++i)
      records +=
          (i == 0 ? "" : ",") + record(micro_batches[i], fmt::format(R"("iteration_s": {})", times[i]));
    return file_of(records);
  };
  work.write("cases.json", cases({1, 1, 1, 1}));
  std::vector<double> times = predictions(work, "cases.json", "predicted_s");
  const auto calibrated = run_vtrain(
      "profile calibrate --force cases.json --percent 50 --least-rows 1 --out c.json --json", work.path());
  REQUIRE(calibrated.exit_code == 0);
  CHECK(calibrated.out == slurp(work.path() / "c.json"));
  const std::vector<std::string> first_part =
      json::parse(slurp(work.path() / "c.json"))["stacks"][0]["fitted_on"];
  REQUIRE(first_part.size() > 0);
  REQUIRE(first_part.size() < times.size());
  // One part is predicted exactly, so that factors fitted on it change nothing: the other part, which took
  // half as long again, is a third off. Factors fitted on the other part are wrong for the first.
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::string id = fmt::format("of {}", micro_batches[i]);
    if (std::find(first_part.begin(), first_part.end(), id) == first_part.end()) times[i] *= 1.5;
  }
  work.write("cases.json", cases(times));
  const double off = run_json("validate cases.json --fit 50", work)["mape_percent"].get<double>();
  CHECK(off > (100 / 3.0 + 0.1) / 2);
  // Of two parts each row is predicted once, by factors of the other part: what is written are these.
  const json answer = run_json("validate cases.json --fit 50 --force --predictions p.csv", work);
  const std::string text = slurp(work.path() / "p.csv");
  auto reader = CsvReader::open(text, "p.csv");
  REQUIRE(reader);
  const auto column = reader->require_column("error_percent").value();
  std::vector<std::vector<double>> errors(2);
  while (reader->next().value()) {
    const bool is_first = std::ranges::count(first_part, std::string(reader->field(0))) > 0;
    errors[is_first ? 0 : 1].push_back(std::abs(reader->number(column, -100, 1e9).value()));
  }
  const auto mean = [](const std::vector<double>& part) {
    return std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size());
  };
  CHECK(answer["mape_percent"].get<double>() ==
        doctest::Approx((mean(errors[0]) + mean(errors[1])) / 2).epsilon(1e-9));
  CHECK(answer["r2"] != run_json("validate cases.json", work)["r2"]);
  // Of a single row a half of all rows is all or nothing: it is tested without factors, once.
  work.write("cases.json", cases({times[0] * 2}));
  CHECK(run_json("validate cases.json --fit 50", work)["mape_percent"] ==
        run_json("validate cases.json", work)["mape_percent"]);
}
