#include "workloads/release/release_config.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/workloads/release_files.hpp"
#include "workloads/iteration/graph_builder.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/release/release_predictor.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

/// A plan without remainders: 2 x 4 x 3 = 24 GPUs, 6 layers, 2 micro-batches of 2.
json good() {
  return {{"num_gpus", 24},          {"tensor_parallel_size", 2},
          {"data_parallel_size", 4}, {"pipeline_parallel_size", 3},
          {"global_batch_size", 16}, {"micro_batch_size", 2},
          {"num_layers", 6},         {"hidden_size", 64},
          {"num_attention_heads", 4}};
}

Result<VtrainConfig> parse(const json& config) {
  return parse_vtrain_config(config.dump(1), "plan.json");
}

/// The error of a configuration with one changed key.
Error error_of(const std::string& key, const json& value) {
  json config = good();
  config[key] = value;
  const auto parsed = parse(config);
  REQUIRE(!parsed);
  CHECK(parsed.error().kind == ErrorKind::InvalidInput);
  CHECK(parsed.error().file == "plan.json");
  return parsed.error();
}

bool mentions(const Error& error, const std::string& text) {
  return error.message.find(text) != std::string::npos;
}

TEST_CASE("vtrain_config: a complete file") {
  const auto config = parse(good());
  REQUIRE(config);
  CHECK(config->plan == ParallelPlan{2, 4, 3, 16, 2, Recompute::Full});
  CHECK(config->plan.num_micro_batches() == 2);
  CHECK(config->model.name == "plan");
  CHECK(config->model.num_layers == 6);
  CHECK(config->model.vocab_size == 50257);
  CHECK(config->model.sequence_length == 2048);
  CHECK(config->machine.node_size == 8);
  CHECK_FALSE(config->machine.inter_node_bandwidth.has_value());
  CHECK(config->machine.intra_node_bandwidth == 150);
  CHECK(config->machine.gpu_name == "A100");
}

TEST_CASE("vtrain_config: sizes that are null follow from the others") {
  json config = good();
  config["num_gpus"] = nullptr;
  CHECK(parse(config));
  config = good();
  config["data_parallel_size"] = nullptr;
  config["num_gpus"] = 29;  // 29 / (2 * 3), rounded down
  auto parsed = parse(config);
  REQUIRE(parsed);
  CHECK(parsed->plan.data == 4);
  config["num_gpus"] = 5;
  CHECK(!parse(config));
  config["tensor_parallel_size"] = nullptr;
  parsed = parse(config);
  REQUIRE(!parsed);
  CHECK(parsed.error().field == "data_parallel_size");
  config = good();
  config["num_gpus"] = nullptr;
  config["pipeline_parallel_size"] = nullptr;
  parsed = parse(config);
  REQUIRE(!parsed);
  CHECK(parsed.error().field == "pipeline_parallel_size");
}

TEST_CASE("vtrain_config: more GPUs than can be counted") {
  json config = good();
  config["num_gpus"] = nullptr;
  config["tensor_parallel_size"] = 1 << 20;
  config["data_parallel_size"] = 1 << 20;
  const auto parsed = parse(config);
  REQUIRE(!parsed);
  CHECK(parsed.error().field == "tensor_parallel_size");
}

TEST_CASE("vtrain_config: a plan of one stage has one micro-batch") {
  json config = good();
  config["num_gpus"] = 8;
  config["pipeline_parallel_size"] = 1;
  config["micro_batch_size"] = 1;
  const auto parsed = parse(config);
  REQUIRE(parsed);
  CHECK(parsed->plan.micro_batch == 4);
  CHECK(parsed->plan.num_micro_batches() == 1);
}

TEST_CASE("vtrain_config: a plan that does not divide names both fields") {
  Error error = error_of("num_gpus", 25);
  CHECK(error.field == "num_gpus");
  CHECK(mentions(error, "= 24, found '25'"));
  error = error_of("global_batch_size", 18);
  CHECK(error.field == "global_batch_size");
  CHECK(mentions(error, "a multiple of data_parallel_size (4), found '18'"));
  error = error_of("micro_batch_size", 3);
  CHECK(error.field == "global_batch_size");
  CHECK(mentions(error, "micro_batch_size (3)"));
  error = error_of("num_layers", 7);
  CHECK(error.field == "num_layers");
  CHECK(mentions(error, "pipeline_parallel_size (3)"));
  error = error_of("hidden_size", 66);
  CHECK(error.field == "hidden_size");
  CHECK(mentions(error, "num_attention_heads (4)"));
  error = error_of("num_attention_heads", 1);
  CHECK(error.field == "num_attention_heads");
  CHECK(mentions(error, "tensor_parallel_size (2)"));
}

TEST_CASE("vtrain_config: a plan without a single micro-batch") {
  // 16 sequences over 4 ranks leave 4, less than the micro-batch of 8, although 16 is a multiple of 8.
  const Error error = error_of("micro_batch_size", 8);
  CHECK(error.field == "micro_batch_size");
  CHECK(mentions(error, "at most global_batch_size / data_parallel_size = 4"));
}

TEST_CASE("vtrain_config: numbers out of range, with the line") {
  for (const json& bad : {json(-1), json(0), json(1e30), json(1.5), json("8"), json(9223372036854775808U)}) {
    CAPTURE(bad.dump());
    for (const char* key : {"num_gpus", "tensor_parallel_size", "data_parallel_size",
                            "pipeline_parallel_size", "global_batch_size", "micro_batch_size", "num_layers",
                            "hidden_size", "num_attention_heads", "max_length", "vocab_size", "node_size"}) {
      const Error error = error_of(key, bad);
      CHECK(error.field == key);
      CHECK(error.line > 0);
      CHECK(mentions(error, "expected a whole number"));
      CHECK(mentions(error, "found '"));
    }
  }
  for (const json& bad : {json(-1), json(0), json(1e300), json("8")}) {
    CHECK(error_of("inter_node_bandwidth", bad).field == "inter_node_bandwidth");
    CHECK(error_of("intra_node_bandwidth", bad).field == "intra_node_bandwidth");
  }
  CHECK(error_of("use_checkpoint", 1).field == "use_checkpoint");
}

TEST_CASE("vtrain_config: an unknown key names the nearest known one") {
  const Error error = error_of("micro_batchsize", 1);
  CHECK(error.field == "micro_batchsize");
  CHECK(mentions(error, "did you mean 'micro_batch_size'?"));
}

TEST_CASE("vtrain_config: malformed JSON and wrong documents") {
  const auto cut = parse_vtrain_config("{\"num_gpus\": 8,\n\"num_layers\"", "plan.json");
  REQUIRE(!cut);
  CHECK(cut.error().line == 2);
  CHECK(!parse_vtrain_config("", "plan.json"));
  CHECK(!parse_vtrain_config("[]", "plan.json"));
  CHECK(!parse_vtrain_config("7", "plan.json"));
  CHECK(!parse_vtrain_config(std::string(100, '['), "plan.json"));
}

TEST_CASE("vtrain_semantics: parameters of a rank") {
  VtrainConfig config = *parse(good());
  // Per layer, h = 64, t = 2: 2 * 64 + 192 * 32 + 96 + 64 * 32 + 64 + 2 * 64 + 64 * 128 + 128 + 256 * 32 + 64
  // = 25,184 and two layers a stage; stage 0 has (50257 / 2) * 64 + 2048 * 64 more, the last (50257 / 2)
  // * 64.
  CHECK(gradient_bytes(config, 1).value == 2.0 * (2 * 25184));
  CHECK(gradient_bytes(config, 0).value == 2.0 * (2 * 25184 + 25128 * 64 + 2048 * 64));
  CHECK(gradient_bytes(config, 2).value == 2.0 * (2 * 25184 + 25128 * 64));
}

TEST_CASE("vtrain_semantics: which all-reduce tables a plan needs") {
  VtrainConfig config = *parse(good());
  CHECK(needed_tables(config) == std::vector<std::int64_t>{2, 4});
  config.plan.data = 2;
  CHECK(needed_tables(config) == std::vector<std::int64_t>{2});
  config.plan.data = 9;
  config.plan.tensor = 1;
  CHECK(needed_tables(config).empty());
  // Tensor parallelism that fills a node leaves gradients to the network between nodes.
  config.plan.tensor = 8;
  config.plan.data = 4;
  CHECK(needed_tables(config) == std::vector<std::int64_t>{8});
}

TEST_CASE("vtrain_semantics: a prediction from files, with its provenance") {
  const ReleaseFiles files;
  const auto prediction = predict_vtrain(*parse(good()), files.folder(), files.folder());
  REQUIRE(prediction);
  const VtrainProvenance& from = prediction->provenance;
  CHECK(from.trace_file == (files.folder() / "trace_64_2_2").string());
  // The tensor collective is 2 * 2048 * 64 * 2 bytes = 0.5 MiB, rounded to the even 0, which no table has.
  // The gradients of stage 0 and 2 are about 3 MiB, also between rows; those of stage 1 are 0.096 MiB.
  CHECK(from.measured_collectives == 0);
  CHECK(from.fallback_collectives == 4);
  CHECK(from.modelled_collectives == 0);
  CHECK(from.operators_without_kernels == std::vector<std::string>{"WU_logit"});
  // Backward and weight update of stage 0: 3 backward operators twice, 2 + 1 forward twice, 3 recomputed
  // twice, 3 updates.
  const IterationTimes times = fast_iteration_times(prediction->work);
  CHECK(times.stages[0].compute.count() == 100 * (2 * 3 + 2 * 3 + 2 * 3 + 3));
  for (const GraphDetail detail : {GraphDetail::Operators, GraphDetail::Kernels}) {
    const auto graph = build_graph(prediction->work, detail);
    REQUIRE(graph);
    CHECK(simulated_iteration_times(prediction->work, *graph).iteration.count() ==
          doctest::Approx(times.iteration.count()));
  }
}

TEST_CASE("vtrain_semantics: folders come from trace_path unless given") {
  const ReleaseFiles files;
  std::filesystem::create_directories(files.folder() / "a100");
  for (const char* name : {"AR_GPU2_1M_1024M_LUT", "AR_GPU4_1M_1024M_LUT"}) {
    std::filesystem::rename(files.folder() / name, files.folder() / "a100" / name);
  }
  VtrainConfig config = *parse(good());
  CHECK(predict_vtrain(config, files.folder(), ""));
  auto prediction = predict_vtrain(config, "", "");
  REQUIRE(!prediction);
  CHECK(prediction.error().field == "trace_path");
  config.machine.trace_path = files.folder().string();
  CHECK(predict_vtrain(config, "", ""));
}

TEST_CASE("vtrain_semantics: what is missing is named") {
  const ReleaseFiles files;
  const VtrainConfig config = *parse(good());
  std::filesystem::remove(files.folder() / "AR_GPU4_1M_1024M_LUT");
  auto prediction = predict_vtrain(config, files.folder(), files.folder());
  REQUIRE(!prediction);
  CHECK(prediction.error().file.ends_with("AR_GPU4_1M_1024M_LUT"));
  files.write("AR_GPU4_1M_1024M_LUT", "size,time,busbw\n1073741824,5000,200\n");
  files.write(
      "trace_64_2_2",
      "1,0,TIMESTAMP,\"forward start loss\"\n2,1,RUNTIME,211,1,7\n3,0,TIMESTAMP,\"forward end loss\"\n"
      "4,1,KERNEL,\"k\",7\n");
  prediction = predict_vtrain(config, files.folder(), files.folder());
  REQUIRE(!prediction);
  CHECK(mentions(prediction.error(), "Fwd_transformer"));
  CHECK(!mentions(prediction.error(), "Fwd_loss"));
  std::filesystem::remove(files.folder() / "trace_64_2_2");
  prediction = predict_vtrain(config, files.folder(), files.folder());
  REQUIRE(!prediction);
  CHECK(prediction.error().file.ends_with("trace_64_2_2"));
}

}  // namespace
}  // namespace vtrain
