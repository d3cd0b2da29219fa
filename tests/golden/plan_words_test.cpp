/// Figures and notes that `vtrain predict` and `vtrain plan` print, against answers computed here by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// GPT with 2 layers, hidden size 1,024, sequences of 2,048 tokens and a vocabulary of 51,200.
constexpr double kLayers = 2;
constexpr double kHidden = 1024;
constexpr double kSequence = 2048;
constexpr double kVocabulary = 51'200;
constexpr double kBatch = 16;
constexpr double kA100Peak = 312e12;

std::string config(const std::string& model_keys, const std::string& plan_keys) {
  return R"({"model": {"name": "small", "num_layers": 2, "hidden_size": 1024, "num_heads": 16,
    "sequence_length": 2048, "vocab_size": 51200)" +
         model_keys + R"(}, "plan": {"tensor": 1, "data": 2, "pipeline": 1, "global_batch": 16,
    "micro_batch": 2)" +
         plan_keys + "}}";
}

}  // namespace

TEST_CASE("predict: MFU counts causal attention once, HFU what kernels compute") {
  const TemporaryFolder work;
  // Multiply-adds of a token forward: weights 12 L h^2, output layer V h, and attention 2 L h for each of the
  // tokens attended to, s / 2 in the mean.
  const double weights = 12 * kLayers * kHidden * kHidden;
  const double output = kVocabulary * kHidden;
  const double attention = kLayers * kSequence * kHidden;
  struct Case {
    const char* description;
    std::string model;
    std::string plan;
    double once;     // multiply-adds of a token forward
    double kernels;  // multiply-adds of a token in the iteration, as kernels compute them
  };
  const double once = weights + output + attention;
  const double both = weights + output + 2 * attention;
  const std::vector<Case> cases = {
      // Flash attention computes the scores again: a quarter of its forward and backward products of two.
      {"none", "", R"(, "recompute": "none")", once, 3 * once + attention / 2},
      {"full", "", R"(, "recompute": "full")", once, 3 * once + attention / 2 + weights + attention},
      {"unfused", "", R"(, "recompute": "none", "attention": "unfused")", once, 3 * both},
      {"encoder", R"(, "is_bidirectional": true)", R"(, "recompute": "none")", both, 3 * both + attention},
  };
  for (const Case& each : cases) {
    CAPTURE(each.description);
    work.write("config.json", config(each.model, each.plan));
    const json answer = run_json("predict config.json --profile a100 --stack megatron-core", work);
    const double seconds = answer["iteration_time_s"];
    const double tokens = kBatch * kSequence;
    const double rate = 2 * 3 * tokens * each.once / seconds / 2;
    CHECK(answer["tokens_per_s_per_gpu"].get<double>() == doctest::Approx(tokens / seconds / 2));
    CHECK(answer["mfu"].get<double>() == doctest::Approx(rate / kA100Peak));
    CHECK(answer["model_tflops_per_gpu"].get<double>() == doctest::Approx(rate / 1e12));
    CHECK(answer["hfu"].get<double>() ==
          doctest::Approx(2 * tokens * each.kernels / seconds / 2 / kA100Peak));
    const std::string text = run_vtrain("predict config.json --profile a100", work.path()).out;
    for (const char* part : {" tokens/s/GPU", "MFU ", "HFU ", " TFLOP/s/GPU"})
      CHECK(has(text, part));
  }
}

TEST_CASE("predict: computation is divided into four parts that add up to it") {
  const TemporaryFolder work;
  for (const char* plan :
       {R"(, "recompute": "none")", R"(, "recompute": "full")", R"(, "recompute": "selective")",
        R"(, "recompute": "full", "attention": "unfused")"}) {
    for (const char* stack : {"megatron-core", "torchtitan", "megatron-2021"}) {
      CAPTURE(plan);
      CAPTURE(stack);
      work.write("config.json", config("", plan));
      const std::string command = std::string("predict config.json --profile a100 --stack ") + stack;
      const json breakdown = run_json(command, work)["breakdown"];
      const json& parts = breakdown["compute_parts"];
      const double sum = parts["products_s"].get<double>() + parts["attention_s"].get<double>() +
                         parts["memory_bound_s"].get<double>() + parts["cpu_wait_s"].get<double>();
      CHECK(sum == doctest::Approx(breakdown["compute_s"].get<double>()).epsilon(1e-12));
      for (const char* key : {"products_s", "attention_s", "memory_bound_s"})
        CHECK(parts[key] > 0);
      CHECK(parts["cpu_wait_s"] >= 0);
      const std::string text = run_vtrain(command, work.path()).out;
      for (const char* line : {"\n  products ", "\n  attention ", "\n  memory-bound ", "\n  CPU wait "})
        CHECK(has(text, line));
    }
  }
  // A captured iteration launches no kernel from the CPU; the products of the layers do not change.
  work.write("config.json", config("", R"(, "recompute": "none")"));
  const json a100 = run_json("predict config.json --profile a100 --stack megatron-core", work)["breakdown"];
  CHECK(a100["compute_parts"]["cpu_wait_s"] > 0);
}

TEST_CASE("plan: the parts of the best plan are those of its prediction") {
  const TemporaryFolder work;
  const json best =
      run_json("plan llama3-8b --cluster 2x8:h100 --global-batch 128 --out best.json", work)["best"];
  const json predicted = run_json("predict best.json", work);
  const json parts = predicted["breakdown"].flatten();
  const json of_best = best["breakdown"].flatten();
  for (const auto& [key, value] : parts.items())
    CHECK(of_best[key].get<double>() == doctest::Approx(value.get<double>()));
  for (const char* key : {"mfu", "hfu", "tokens_per_s_per_gpu"})
    CHECK(best[key].get<double>() == doctest::Approx(predicted[key].get<double>()));
}

TEST_CASE("predict: extrapolation takes one line, and a file lists all of it") {
  const TemporaryFolder work;
  work.write("config.json", R"({"model": "llama3-8b", "profile": "h100", "stack": "megatron-core",
    "plan": {"tensor": 1, "data": 8, "pipeline": 2, "global_batch": 128, "micro_batch": 1, "recompute": "none",
    "sharding": "optimizer"}})");
  const json answer = run_json("predict config.json", work);
  std::vector<std::string> beyond;
  for (const std::string sentence : answer["provenance"]["fallbacks"]) {
    if (has(sentence, ": outside the measured sizes: ")) beyond.push_back(sentence);
  }
  REQUIRE(beyond.size() >= 2);
  const auto told = run_vtrain("predict config.json --extrapolated all.csv", work.path());
  REQUIRE(told.exit_code == 0);
  const std::string text = told.out;
  CHECK(text.find("outside measured sizes") == text.rfind("outside measured sizes"));
  CHECK(has(text, "outside measured sizes: " + std::to_string(beyond.size()) + " kernels, the furthest "));
  const std::vector<std::string> rows = lines_of(slurp(work / "all.csv"));
  REQUIRE(rows.size() == beyond.size() + 1);
  CHECK(rows[0] == "kernel,size,unit,nearest_measured,factor,predictions");
  double before = 1e300;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    std::vector<std::string> cells;
    std::istringstream row(rows[i]);
    for (std::string cell; std::getline(row, cell, ',');)
      cells.push_back(cell);
    REQUIRE(cells.size() == 6);
    const double asked = std::stod(cells[1]);
    const double nearest = std::stod(cells[3]);
    const double factor = std::stod(cells[4]);
    CHECK(factor == doctest::Approx(std::max(asked, nearest) / std::min(asked, nearest)).epsilon(1e-3));
    CHECK(factor > 1);
    CHECK(factor <= before);
    CHECK(cells[5] == "1");
    before = factor;
    CHECK(std::ranges::any_of(beyond, [&](const std::string& b) { return b.starts_with(cells[0] + ": "); }));
  }
  CHECK(run_vtrain("predict config.json --extrapolated all.csv", work.path()).exit_code == 2);
}

TEST_CASE("plan: plans of the same degrees within 0.5 % share a line") {
  const std::string command = "plan llama3-8b --cluster 2x8:h100 --global-batch 128 --top ";
  const TemporaryFolder work;
  const json plans = run_json(command + "0", work)["counts"][0]["plans"];
  // Lines by the rule, from the list of all plans.
  std::vector<std::vector<json>> lines;
  for (const json& plan : plans) {
    const auto belongs = [&](const std::vector<json>& line) {
      for (const char* key :
           {"tensor", "context", "expert", "expert_tensor", "pipeline", "data", "replicate"}) {
        if (line[0][key] != plan[key]) return false;
      }
      return plan["iteration_time_s"].get<double>() < 1.005 * line[0]["iteration_time_s"].get<double>();
    };
    const auto found = std::ranges::find_if(lines, belongs);
    if (found == lines.end())
      lines.push_back({plan});
    else
      found->push_back(plan);
  }
  REQUIRE(lines.size() < plans.size());
  const auto told = run_vtrain(command + "4", work.path());
  REQUIRE(told.exit_code == 0);
  CHECK(run_json(command + "4", work)["counts"][0]["plans"].size() == 4);
  std::size_t rows = 0;
  std::size_t folded = 0;
  for (const std::string& line : lines_of(told.out)) {
    for (std::size_t i = 1; i <= 5; ++i) {
      const std::string label = std::to_string(i);
      if (line.starts_with(label + "  ")) ++rows;
      if (!line.starts_with(label + " and ")) continue;
      if (!has(line, " more within 0.5 %: ")) continue;
      ++folded;
      CHECK(line.starts_with(label + " and " + std::to_string(lines[i - 1].size() - 1) + " more within"));
    }
  }
  CHECK(rows == 4);
  CHECK(folded == static_cast<std::size_t>(
                      std::count_if(lines.begin(), lines.begin() + 4,
                                    [](const std::vector<json>& line) { return line.size() > 1; })));
}

TEST_CASE("plan, scale: lengths of sequences may be given in K and M, powers of two") {
  const TemporaryFolder work;
  const auto length = [&](const std::string& text) {
    return run_json("plan llama3-8b --cluster 32x8:h100 --global-batch 256 --sequence-length " + text,
                    work)["sequence_length"];
  };
  CHECK(length("8K") == 8192);
  CHECK(length("16k") == 16'384);
  CHECK(length("4096") == 4096);
  CHECK(run_json("scale --gpus 64 --days 14 --sequence-length 4K", work)["best"]["sequence_length"] == 4096);
  for (const char* wrong : {"1.5K", "0K", "K", "8G", "9999999M", "-1K"}) {
    CAPTURE(wrong);
    const auto result = run_vtrain(
        std::string("plan llama3-8b --gpus 8 --global-batch 256 --sequence-length=") + wrong, work.path());
    CHECK(result.exit_code == 2);
    CHECK(has(result.err, "--sequence-length"));
  }
}
