#include "docs/measured/normalise/raw_case.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/unit/normalise/measured_records.hpp"
#include "workloads/validation/case_prediction.hpp"

namespace vtrain {
namespace {

TEST_CASE("raw_case: a complete record") {
  const RawCase measured = only_case(
      R"({"id": "x", "framework": "Megatron-Bridge/Megatron-Core", "quality": "A", )" + kModel +
      R"(, "system": {"gpu": "A100-SXM4-80GB", "num_gpus": 16}, "precision": "BF16", "recompute": "none",
          "parallel": {"tp": 2, "pp": 2, "cp": 1, "vp": 2, "dp": 4}, "batch": {"global_batch": 64, "micro_batch": 1},
          "measured": {"tokens_per_s_per_gpu": 4096, "mem_alloc_gib": 2.5}})");
  CHECK(measured.missing.empty());
  CHECK(measured.group == "mbridge-a100");
  CHECK(measured.stack.name == "megatron-bridge");
  CHECK(measured.model.kv_heads() == 4);
  CHECK(measured.model.is_gated());
  CHECK(!measured.model.tied_embeddings);
  CHECK(measured.plan.data == 4);
  CHECK(measured.plan.virtual_stages == 2);
  CHECK(measured.plan.sequence_parallel);
  CHECK(measured.plan.sharding == Sharding::Optimizer);
  CHECK(measured.plan.precision == Precision::Bf16);
  CHECK(measured.plan.recompute == Recompute::None);
  // 64 sequences of 2048 tokens at 16 x 4096 tokens/s.
  CHECK(measured.measured.count() == doctest::Approx(2));
  CHECK(measured.allocated->value == 2.5 * 1073741824);
  CHECK(!measured.reserved);
  CHECK(measured.assumed == std::vector<std::string>{"release: before all that recipes name"});
}

TEST_CASE("raw_case: sizes beyond every cluster are no plan, whatever their product is in 64 bits") {
  const auto read = [](const std::string& parallel, const std::string& batch) {
    return parse_raw_cases(
        one_case(R"({"id": "x", "framework": "Megatron-Bridge/Megatron-Core", "quality": "A", )" + kModel +
                 R"(, "system": {"gpu": "A100-SXM4-80GB", "num_gpus": 16}, "precision": "BF16",
                    "recompute": "none", "parallel": {)" +
                 parallel + R"(}, "batch": {)" + batch + R"(}, "measured": {"tokens_per_s_per_gpu": 4096}})"),
        "cases.json");
  };
  const auto large =
      read(R"("tp": 4194304, "pp": 4194304, "cp": 1048576)", R"("global_batch": 64, "micro_batch": 1)");
  REQUIRE_FALSE(large);
  CHECK(large.error().field.ends_with("tp"));
  const auto batches = read(R"("tp": 1, "pp": 1)",
                            R"("global_batch": 64, "micro_batch": 1000000000, "grad_accum": 1000000000)");
  REQUIRE(batches);
  CHECK(batches->cases.at(0).plan.global_batch == 64);
}

TEST_CASE("raw_case: what a record lacks is listed, what is completed is said") {
  const RawCase measured = only_case(
      R"({"id": "x", "framework": "something", "system": {"gpu": "TPU v5", "num_gpus": 8}, "precision": "bf16",
          "model": {"name": "unheard-of", "seq_len": 4096}, "parallel": {}, "batch": {"global_batch": 8},
          "measured": {}, "quality": "C"})");
  CHECK(measured.missing.size() == 6);  // quality, framework, GPU, architecture, plan, time
  CHECK(!measured.has_micro_batch);
  CHECK(measured.assumed == std::vector<std::string>{"recomputation: none"});

  const RawCase from_zoo = only_case(
      R"record({"id": "x", "framework": "Megatron-Bridge", "system": {"gpu": "A100", "num_gpus": 8},
          "precision": "BF16", "model": {"name": "Qwen3_30B_a3B (tokendrop)", "seq_len": 4096},
          "recompute": "none", "parallel": {"tp": 1, "pp": 1, "ep": 8},
          "batch": {"global_batch": 8, "micro_batch": 1}, "measured": {"iteration_s": 1}})record");
  CHECK(from_zoo.missing.empty());
  CHECK(from_zoo.model.experts.num_experts == 128);
  CHECK(from_zoo.model.sequence_length == 4096);
  CHECK(from_zoo.group == "mbridge-a100-moe");
  REQUIRE(from_zoo.assumed.size() == 2);
  CHECK(from_zoo.assumed[0].find("qwen3-30b-a3b") != std::string::npos);
}

TEST_CASE("raw_case: options that a record names") {
  const auto read = [](const std::string& framework, const std::string& more = "") {
    return only_case(R"({"id": "x", "framework": ")" + framework + R"(", )" + kModel +
                     R"(, "system": {"gpu": "H100", "num_gpus": 16}, "precision": "bf16", "recompute": "none",
                         "parallel": {)" +
                     more + R"("tp": 2, "pp": 1}, "batch": {"global_batch": 64, "micro_batch": 1},
                         "measured": {"iteration_s": 1}})");
  };
  const Stack plain = read("Megatron-LM 2024").stack;
  CHECK(plain.name == "megatron-core");
  CHECK(!plain.overlap.data_parallel);
  CHECK(!plain.overlap.tensor);
  const Stack overlapped = read("Megatron-LM 2024, --overlap-grad-reduce --tp-comm-overlap").stack;
  CHECK(overlapped.overlap.data_parallel);
  CHECK(overlapped.overlap.tensor);
  CHECK(read("Megatron-LM 2022").stack.name == "megatron-2022");
  CHECK(read("Megatron-LM (May 2022)").stack.name == "megatron-2022");
  CHECK(read("Megatron-LM v3.0 (Selene, 2023)").stack.name == "megatron-2022");
  CHECK(read("Megatron-LM (Apr 2021)").group == "megatron21-h100");
  CHECK(read("Megatron-LM 2020").group == "megatron20-h100");
  CHECK(read("Megatron-LM 2026").stack.name == "megatron-core");
  CHECK(read("Megatron-LM").stack.name == "megatron-2021");
  CHECK(read("Megatron-LM, sequences of 2048").stack.name == "megatron-2021");
  CHECK(read("Megatron-LM", R"("sp": true, )").stack.name == "megatron-2022");
  CHECK(read("Megatron-LM (Apr 2021)", R"("sp": true, )").stack.name == "megatron-2021");
}

TEST_CASE("raw_case: rotary positions come without biases unless the record has them") {
  const auto has_bias = [](const std::string& keys) {
    return only_case(R"json({"id": "x", "framework": "Megatron-LM 2024", "model": {"name": "x", "layers": 2,
        "hidden": 64, "heads": 4, "seq_len": 128)json" +
                     keys + "}}")
        .model.has_bias;
  };
  CHECK(has_bias(""));
  CHECK_FALSE(has_bias(R"(, "bias": false)"));
  CHECK_FALSE(has_bias(R"(, "pos": "rope")"));
  CHECK(has_bias(R"(, "pos": "rope", "bias": true)"));
}

TEST_CASE("raw_case: NeuSight's runs name models, GPUs and times only") {
  const auto read = [](const std::string& model, const std::string& gpu, int num_gpus,
                       const std::string& parallel) {
    return only_case(
        R"json({"id": "x", "framework": "PyTorch 2.1 eager (HF transformers)", "precision": "fp32",
            "recompute": "none", "quality": "B", "model": {"name": ")json" +
        model + R"(", "seq_len": 1024}, "system": {"gpu": ")" + gpu + R"(", "num_gpus": )" +
        std::to_string(num_gpus) + R"(}, "parallel": )" + parallel +
        R"(, "batch": {"global_batch": 4}, "measured": {"iteration_s": 1.5}})");
  };
  const std::string alone = R"({"tp": 1, "pp": 1, "dp": 1})";
  const RawCase single = read("gpt2_large", "NVIDIA_A100_80GB_PCIe", 1, alone);
  CHECK(single.missing.empty());
  CHECK(single.group == "transformers-a100-pcie");
  CHECK(single.model.num_layers == 36);
  CHECK(single.plan.micro_batch == 4);
  CHECK(single.plan.precision == Precision::Fp32);
  CHECK(single.stack.name == "transformers-eager");
  CHECK_FALSE(single.stack.updates_weights);
  CHECK(single.stack.loss_bytes(Precision::Fp32) == 16);
  CHECK(single.assumed.size() == 3);  // architecture, micro-batch, what is timed

  const RawCase replicas = read("gpt2_large", "NVIDIA_H100_80GB_HBM3", 4, R"({"tp": 1, "pp": 1, "dp": 4})");
  CHECK(replicas.missing.empty());
  CHECK(replicas.group == "accelerate-h100");
  CHECK(replicas.stack.name == "megatron-2021");
  CHECK(replicas.stack.updates_weights);
  CHECK(replicas.plan.data == 4);
  CHECK(replicas.plan.micro_batch == 1);
  CHECK_FALSE(replicas.plan.sequence_parallel);

  const RawCase wide = read("gpt3_xl", "Tesla_V100-PCIE-32GB", 1, alone);
  CHECK(wide.profile == "v100-pcie");
  CHECK(wide.model.hidden_size == 3072);
  CHECK(read("opt_13", "V100-SXM3-32GB (DGX-2)", 1, alone).profile == "v100-sxm3");
  CHECK(read("opt_13", "NVIDIA_A100-PCIE-40GB", 1, alone).profile == "a100-pcie-40gb");
  CHECK(read("opt_13", "V100-SXM3-32GB (DGX-2)", 1, alone).model.activation == Activation::Relu);
  CHECK(read("bert_large", "NVIDIA_A100-SXM4-40GB", 1, alone).model.is_bidirectional);
  CHECK(read("opt_13", "NVIDIA_H100_PCIe", 1, alone).missing.size() == 1);
  CHECK(read("switchxl4", "NVIDIA_A100_80GB_PCIe", 1, alone).missing.size() == 1);
}

/// A record of FSDP on 8 H200 with replaceable parts.
struct Record {
  std::string model = R"("activation": "swiglu", "pos": "rope")";
  std::string system = R"("gpu": "H200", "num_gpus": 8)";
  std::string parallel = R"("tp": 2, "pp": 1)";
  std::string more = R"("recompute": "full")";
  std::string measured = R"("iteration_s": 1)";

  RawCase read() const {
    return only_case(
        R"({"id": "x", "framework": "something", "stack": "torchtitan-eager", "precision": "bf16",
                         "model": {"name": "Llama", "layers": 8, "hidden": 1024, "heads": 16, "seq_len": 2048, )" +
        model + R"(}, "system": {)" + system + R"(}, "parallel": {)" + parallel +
        R"(}, "batch": {"global_batch": 64, "micro_batch": 1}, "measured": {)" + measured + "}, " + more +
        "}");
  }
  std::string missing() const {
    const std::vector<std::string> list = read().missing;
    return list.size() == 1 ? list.front() : std::to_string(list.size()) + " things";
  }
};

TEST_CASE("raw_case: a record can name the stack, the profile and the cluster") {
  const RawCase measured =
      Record{.system = R"("gpu": "H200 of ours", "profile": "h100", "num_gpus": 8, "gpus_per_node": 4,
                          "node_network_gbit_s": 400)"}
          .read();
  CHECK(measured.missing.empty());
  CHECK(measured.stack.name == "torchtitan-eager");
  CHECK(measured.plan.sharding == Sharding::Full);
  CHECK(measured.group == "torchtitan-eager-h100");
  CHECK(measured.profile == "h100:gpus_per_node=4,nvlink_domain=4,node_network_bandwidth=50GB/s");
  CHECK(measured.gpus_per_node == 4);
  CHECK(measured.node_network->value == 50e9);
  CHECK(error_of_case(R"({"id": "x", "framework": "torchtitan", "stack": "torchtitans"})")
            .starts_with("cases.json:1: cases[0].stack: unknown stack 'torchtitans'"));
}

TEST_CASE("raw_case: fewer GPUs a node are a slower iteration, and so is a slower network") {
  const auto seconds = [](const std::string& system) {
    const RawCase measured =
        Record{.system = R"("gpu": "H200", "num_gpus": 64)" + system, .parallel = R"("tp": 8, "pp": 1)"}
            .read();
    const MeasuredCases cases{.file = "cases.json", .cases = {measured}};
    CaseTargets targets = CaseTargets::open("").value();
    const CasePredictions predictions = predict_cases(cases, targets);
    REQUIRE(predictions.predicted.size() == 1);
    return predictions.predicted[0].predicted.count();
  };
  const double whole = seconds("");
  CHECK(seconds(R"(, "gpus_per_node": 8, "node_network_gbit_s": 3200)") == whole);
  CHECK(seconds(R"(, "gpus_per_node": 4)") > whole);
  CHECK(seconds(R"(, "node_network_gbit_s": 100)") > whole);
}

TEST_CASE("raw_case: weights sharded over fewer GPUs than there are replicas make sets") {
  const auto plan = [](const std::string& fsdp, const std::string& system = "") {
    return Record{.system = R"("gpu": "H200", "num_gpus": 64)" + system,
                  .parallel = R"("tp": 2, "pp": 1, "fsdp": )" + fsdp}
        .read()
        .plan;
  };
  CHECK(plan("32").replicate == 1);
  CHECK(plan("8").replicate == 4);
  CHECK(plan("true").replicate == 1);
  CHECK(plan("true").sharding == Sharding::Full);
  for (const char* const off : {"false", "0", "1"}) {
    CAPTURE(off);
    CHECK(plan(off).sharding == Sharding::None);
  }
  // A node of eight GPUs holds four replicas of two.
  CHECK(plan(R"("HYBRID_SHARD")", R"(, "gpus_per_node": 8)").replicate == 8);
  const auto missing = [](const std::string& fsdp) {
    return Record{.parallel = R"("tp": 2, "pp": 1, "fsdp": )" + fsdp}.missing();
  };
  CHECK(missing(R"("HYBRID_SHARD")") == "gpus_per_node, over which HYBRID_SHARD shards");
  CHECK(missing("3") == "a plan that fits together: weights are sharded over 3 of 4 replicas");
  CHECK(error_of_case(R"({"id": "x", "framework": "torchtitan", "parallel": {"fsdp": [8]}})")
            .starts_with("cases.json:1: cases[0].parallel.fsdp: expected a degree"));
}

TEST_CASE("raw_case: the same run on another network is another case") {
  const auto choice = [](const std::string& more) {
    return Record{.system = R"("gpu": "H200", "num_gpus": 8)" + more}.read().choice();
  };
  CHECK(choice("") == choice(R"(, "gpus_per_node": 8)"));
  CHECK(choice("") != choice(R"(, "node_network_gbit_s": 100)"));
  CHECK(choice(R"(, "node_network_gbit_s": 100)") != choice(R"(, "node_network_gbit_s": 200)"));
  CHECK(choice(R"(, "profile": "h100")") != choice(R"(, "profile": "h200")"));
}

TEST_CASE("raw_case: a value that nobody knows is missing, not something else") {
  CHECK(Record{}.read().missing.empty());
  CHECK(Record{.model = R"("activation": "SwiGLU", "pos": "RoPE")"}.read().model.is_gated());
  CHECK(Record{.model = R"("activation": "silu")"}.missing() ==
        "the activation: gelu, swiglu or squared_relu, found 'silu'");
  CHECK(Record{.model = R"("pos": "alibi")"}.missing() == "the positions: learned or rope, found 'alibi'");
  CHECK(Record{.more = R"("recompute": "ful")"}.missing() ==
        "the recomputation: none, selective or full, found 'ful'");
  CHECK(Record{.parallel = R"("tp": 2, "pp": 1, "fsdp": "SHARDED")"}.missing() ==
        "the sharding: FULL_SHARD, HYBRID_SHARD, SHARD_GRAD_OP or NO_SHARD, found 'SHARDED'");
  CHECK(Record{.parallel = R"("tp": 2, "pp": 1, "fsdp": "NO_SHARD")"}.read().plan.sharding == Sharding::None);
  // 64 x 2,048 tokens in 1 s on 8 GPUs.
  CHECK(Record{.measured = R"("iteration_s": 1, "tokens_per_s": 131000, "tokens_per_s_per_gpu": 16400)"}
            .read()
            .missing.empty());
  CHECK(Record{.measured = R"("iteration_s": 1, "tokens_per_s": 16384)"}.missing() ==
        "one iteration time: iteration_s, tokens_per_s and tokens_per_s_per_gpu say 1 s and 8 s");
  CHECK(Record{.parallel = R"("tp": 3, "pp": 1)"}.read().missing.front() ==
        "a plan that fits together: 8 GPUs are no multiple of tp x pp x cp = 3");
  CHECK(Record{.system = R"("gpu": "H200", "num_gpus": 8, "network": "slow")",
               .more = R"("recompute": "full", "compile": true)"}
            .read()
            .unread == std::vector<std::string>{"compile", "system.network"});
  // A model of the zoo has its own vocabulary.
  CHECK(only_case(R"({"id": "x", "framework": "torchtitan", "model": {"name": "Llama 3 8B", "seq_len": 8192,
                      "vocab": 32000}})")
            .unread == std::vector<std::string>{"model.vocab"});
}

TEST_CASE("raw_case: fully sharded runs and their gradients") {
  const std::string start = R"({"id": "x", "framework": "Composer/FSDP + flash attention", )" + kModel +
                            R"(, "system": {"gpu": "A100-SXM4-80GB", "num_gpus": 8}, "precision": "amp_bf16",
                               "recompute": "full", "parallel": {"tp": 1, "pp": 1, "fsdp": "FULL_SHARD",
                               "mixed_precision": )";
  const std::string end = R"(}, "batch": {"global_batch": 100, "micro_batch": 3, "grad_accum": 4},
                             "measured": {"tokens_per_s": 196608}})";
  const RawCase measured = only_case(start + R"("DEFAULT")" + end);
  CHECK(measured.plan.sharding == Sharding::Full);
  CHECK(measured.plan.recompute == Recompute::Full);
  CHECK(measured.stack.gradient_bytes == 4);
  // A batch of 100 does not divide over 8 x 3; 8 x 3 x 4 sequences ran.
  CHECK(measured.plan.global_batch == 96);
  CHECK(measured.measured.count() == doctest::Approx(1));
  CHECK(only_case(start + R"("PURE")" + end).stack.gradient_bytes == 2);
}

TEST_CASE("raw_case: weights that are kept after the forward pass, and LLM Foundry's large runs") {
  const auto read = [](const std::string& model, int num_gpus, const std::string& parallel) {
    return only_case(R"({"id": "x", "framework": "Composer/FSDP + flash attention", "precision": "amp_bf16",
                         "recompute": "none", "model": {"name": ")" +
                     model + R"(", "layers": 4, "hidden": 1024, "ffn_hidden": 4096, "heads": 8, "kv_heads": 8,
                         "activation": "gelu", "pos": "learned", "seq_len": 2048, "vocab": 50368},
                         "system": {"gpu": "H100-SXM5-80GB", "num_gpus": )" +
                     std::to_string(num_gpus) + R"(}, "parallel": {"tp": 1, "pp": 1, )" + parallel +
                     R"(}, "batch": {"global_batch": 1024, "micro_batch": 2},
                         "measured": {"iteration_s": 1}})");
  };
  CHECK(read("MPT-7b", 8, R"("zero": 2)").plan.sharding == Sharding::Gradients);
  CHECK(read("MPT-7b", 8, R"("fsdp": "SHARD_GRAD_OP")").plan.sharding == Sharding::Gradients);
  const std::string full = R"("zero": 3, "fsdp": "FULL_SHARD")";
  const auto check = [&](const char* model, int num_gpus, Sharding sharding, AttentionKernel attention) {
    CAPTURE(model);
    const RawCase measured = read(model, num_gpus, full);
    CHECK(measured.missing.empty());
    CHECK(measured.plan.sharding == sharding);
    CHECK(measured.stack.attention == attention);
    const bool differs = sharding != Sharding::Full || attention != AttentionKernel::Flash1;
    CHECK(measured.assumed.empty() != differs);
  };
  check("MPT-3b", 64, Sharding::Full, AttentionKernel::Flash1);
  check("MPT-3b", 128, Sharding::Gradients, AttentionKernel::Flash2);
  check("MPT-7b", 128, Sharding::Full, AttentionKernel::Flash2);
  check("MPT-13b", 128, Sharding::Full, AttentionKernel::Flash1);
}

TEST_CASE("raw_case: runs of torchtitan, compiled only where they say so") {
  const auto read = [](const std::string& framework, const std::string& precision, const std::string& gpu,
                       const std::string& batch = R"("local_batch": 16)",
                       const std::string& page = "docs/performance.md") {
    return only_case(R"({"id": "x", "framework": ")" + framework + R"(", "source": {"path": ")" + page +
                     R"("}, )" + kModel + R"(, "system": {"gpu": ")" + gpu +
                     R"(", "num_gpus": 32}, "precision": ")" + precision +
                     R"(", "recompute": "selective op", "parallel": {"tp": 2, "pp": 2},
                         "batch": {"global_batch": 128, )" +
                     batch + R"(}, "measured": {"iteration_s": 1}})");
  };
  const RawCase eager = read("torchtitan (FSDP2)", "bf16", "A100-SXM4-80GB");
  CHECK(eager.missing.empty());
  CHECK(eager.stack.name == "torchtitan-eager");
  CHECK(eager.plan.sharding == Sharding::Full);
  CHECK(eager.plan.recompute == Recompute::Selective);
  CHECK(eager.plan.micro_batch == 8);  // 16 sequences on two stages
  // Eight replicas with 16 each; others run a single micro-batch if they say so.
  const std::string all_at_once = R"("micro_batch": 16)";
  CHECK(read("torchtitan", "bf16", "H100", all_at_once).plan.micro_batch == 8);
  CHECK(read("torchtitan", "bf16", "H100", R"("micro_batch": 4)").plan.micro_batch == 4);
  CHECK(read("NeMo 25", "bf16", "H100", all_at_once).plan.micro_batch == 16);
  CHECK(eager.group == "torchtitan-a100");
  CHECK_FALSE(eager.stack.overlap.tensor);
  const RawCase compiled = read("torchtitan + torch.compile + Async TP", "bf16 + Float8", "H100-SXM5-96GB");
  CHECK(compiled.stack.name == "torchtitan-2024");
  CHECK(compiled.stack.overlap.tensor);
  CHECK(compiled.plan.precision == Precision::Fp8);
  // The loss is compiled from April 2025 on.
  const auto stack_on = [&](const std::string& page) {
    return read("torchtitan + torch.compile", "bf16", "H100", R"("local_batch": 16)", page).stack.name;
  };
  CHECK(stack_on("benchmarks/llama3_h100_202412_torchtitan.md") == "torchtitan-2024");
  CHECK(stack_on("benchmarks/llama3_h100_2025-03_torchtitan.md") == "torchtitan-2024");
  CHECK(stack_on("benchmarks/llama3_h100_2025-04_torchtitan.md") == "torchtitan");
  CHECK(stack_on("benchmarks/llama3-8b_h200_202506_trainy.md") == "torchtitan");
  CHECK(stack_on("benchmarks/llama3_h100_2048_16_torchtitan.md") == "torchtitan-2024");
  // A page on asynchronous tensor parallelism has compiled runs without it, too.
  const std::string page = "benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md";
  const RawCase vanilla = read("torchtitan, vanilla TP", "bf16", "H100", R"("local_batch": 16)", page);
  CHECK(vanilla.stack.name == "torchtitan");
  CHECK_FALSE(vanilla.stack.overlap.tensor);
  CHECK(read("torchtitan, async TP", "bf16", "H100", R"("local_batch": 16)", page).stack.overlap.tensor);
  const RawCase rows = read("torchtitan + torch.compile + Async TP", "float8 row-wise", "H100");
  CHECK(rows.stack.name == "torchtitan-rowwise");
  CHECK_FALSE(rows.stack.overlap.tensor);
  // Their H100 have 96 GB and 500 W; nobody else's are taken for such.
  CHECK(compiled.profile == "h100-500w");
  CHECK(read("torchtitan", "bf16", "H100").profile == "h100-500w");
  CHECK(read("NeMo 25", "bf16", "H100").profile == "h100");
  CHECK(read("NeMo 25", "bf16", "H100 96GB").profile == "h100-500w");
}

TEST_CASE("raw_case: models that pages of NeMo call otherwise than the zoo") {
  const auto read = [](const std::string& name) {
    return only_case(
        R"({"id": "x", "framework": "NeMo 24.07", "quality": "B", "system": {"gpu": "H100", "num_gpus": 128},
            "precision": "FP8", "recompute": "not stated", "parallel": {"tp": 8, "pp": 4, "cp": 1, "vp": 1},
            "batch": {"global_batch": 32, "micro_batch": 1}, "measured": {"iteration_s": 1},
            "model": {"name": ")" +
        name + R"(", "seq_len": 4096}})");
  };
  const RawCase largest = read("Nemotron-340B");
  CHECK(largest.missing.empty());
  CHECK(largest.group == "nemo-h100");
  CHECK(largest.model.hidden_size == 18432);
  CHECK(read("Nemotron-15B").model.num_layers == 32);
  CHECK(read("Qwen3 MoE 30B").model.experts.num_experts == 128);
  CHECK(read("Nemotron-22B").model.num_layers == 40);
  // What their recipes do not fuse.
  CHECK(largest.stack.loss_bytes_per_logit == find_stack("megatron-core")->loss_bytes_per_logit);
  CHECK(largest.stack.eager.activation);
  CHECK(largest.model.dropout == Dropout{});
  CHECK(read("GPT3-20B").model.dropout == Dropout{.attention = true, .hidden = true});
  CHECK(!read("GPT3-20B").stack.eager.activation);
  CHECK(read("Nemotron-8B").model.ffn_size == 16384);
  CHECK(read("GPT3-20B").model.num_layers == 44);
  CHECK(read("GPT3-5B").model.hidden_size == 4096);
}

TEST_CASE("raw_case: a precision that nobody knows is missing, not single precision") {
  const auto precision = [](const std::string& name) {
    return only_case(R"({"id": "x", "framework": "Megatron-LM", )" + kModel +
                     R"(, "system": {"gpu": "A100", "num_gpus": 8}, "precision": ")" + name +
                     R"(", "recompute": "none", "parallel": {"tp": 1, "pp": 1},
                         "batch": {"global_batch": 8, "micro_batch": 1}, "measured": {"iteration_s": 1}})");
  };
  CHECK(precision("FP32").plan.precision == Precision::Fp32);
  CHECK(precision("fp16 mixed").plan.precision == Precision::Fp16);
  CHECK(precision("MXFP8").plan.precision == Precision::Fp8);
  CHECK(precision("bf16 and float8").plan.precision == Precision::Fp8);
  CHECK(precision("NVFP4").plan.precision == Precision::Fp4);
  CHECK(precision("bfloat16").plan.precision == Precision::Bf16);
  CHECK(precision("amp_bf16 (no fp8)").plan.precision == Precision::Bf16);
  CHECK(precision("int8").missing ==
        std::vector<std::string>{"the precision: fp32, fp16, bf16, fp8 or fp4, found 'int8'"});
}

TEST_CASE("raw_case: the two tables of the public release") {
  const std::string columns =
      "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor "
      "parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n";
  const auto single = parse_raw_cases(columns + "8,16,2,1024,16,8,1024,2,2,2,250.5\n", "t.csv");
  REQUIRE(single);
  CHECK_FALSE(single->are_measured);
  REQUIRE(single->cases.size() == 1);
  CHECK(single->cases[0].plan.recompute == Recompute::None);
  CHECK(single->cases[0].measured.count() == doctest::Approx(0.2505));

  const auto multi =
      parse_raw_cases("Parameters (billion)," + columns + "0.2,8,16,2,1024,16,8,1024,2,2,2,250.5\n", "t.csv");
  REQUIRE(multi);
  CHECK(multi->are_measured);
  CHECK(multi->cases[0].plan.recompute == Recompute::Full);
  CHECK(multi->cases[0].stack.name == "megatron-2022");
  CHECK(single->cases[0].stack.name == "megatron-2021");

  const auto wrong = parse_raw_cases(columns + "8,16,2,1024,16,8,1024,2,2,2,fast\n", "t.csv");
  REQUIRE(!wrong);
  CHECK(wrong.error().line == 2);
  CHECK(wrong.error().field == "iteration time (ms)");
  const auto contradictory = parse_raw_cases(columns + "8,16,2,1024,16,8,1024,2,1,2,250.5\n", "t.csv");
  REQUIRE(!contradictory);
  CHECK(contradictory.error().describe() ==
        "t.csv:2: GPUs: expected 4, the product of the degrees of parallelism, found '8'");
  const auto missing = parse_raw_cases("a,b\n1,2\n", "t.csv");
  REQUIRE(!missing);
  CHECK(missing.error().message.find("column missing") != std::string::npos);
}

TEST_CASE("raw_case: one record that cannot be read leaves the others") {
  const auto cases = parse_raw_cases(
      R"({"cases": [{"id": "x", "parallel": {"tp": "two"}}, {"parallel": {"tp": 0}}, {"id": "y"}]})",
      "c.json");
  REQUIRE(cases);
  REQUIRE(cases->cases.size() == 3);
  CHECK(cases->cases[0].id == "x");
  CHECK(cases->cases[0].missing.front().find("cases[0].parallel.tp: expected a whole number") !=
        std::string::npos);
  CHECK(cases->cases[1].id == "record 2");
  CHECK(cases->cases[2].id == "y");

  const std::string columns =
      "Parameters (billion),# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence "
      "length,tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n";
  const auto rows =
      parse_raw_cases("\xEF\xBB\xBF" + columns +
                          "0.2,8,16,2,1024,16,8,1024,2,2,2,fast\n0.2,8,16,2,1024,16,8,1024,2,2,2,250.5\n",
                      "t.csv");
  REQUIRE(rows);
  REQUIRE(rows->cases.size() == 2);
  CHECK(rows->cases[0].id == "line 2");
  CHECK(rows->cases[0].missing.front().find("t.csv:2: iteration time (ms): ") != std::string::npos);
  CHECK(rows->cases[1].missing.empty());
}

TEST_CASE("raw_case: two of global batch, micro-batch and accumulation tell the third") {
  const auto read = [](const std::string& batch) {
    return only_case(R"({"id": "x", "framework": "torchtitan", )" + kModel +
                     R"(, "system": {"gpu": "H100", "nodes": 2, "gpus_per_node": 4}, "precision": "bf16",
                         "recompute": "none", "parallel": {"tp": 1, "pp": 1, "vp": 0}, "batch": {)" +
                     batch + R"(}, "measured": {"iteration_s": 1}})");
  };
  CHECK(read(R"("global_batch": 96, "micro_batch": null, "grad_accum": 4)").plan.micro_batch == 3);
  CHECK(read(R"("micro_batch": 3, "grad_accum": 4)").plan.global_batch == 96);
  CHECK(read(R"("global_batch": 96, "micro_batch": 3, "grad_accum": 0)").plan.num_micro_batches() == 4);
  const RawCase rounded = read(R"("global_batch": 100, "micro_batch": 3, "grad_accum": 4)");
  CHECK(rounded.plan.global_batch == 96);
  CHECK(rounded.assumed == std::vector<std::string>{"global batch: 96, which the record rounds to 100"});
  const RawCase contradictory = read(R"("global_batch": 100, "micro_batch": 3, "grad_accum": 40)");
  REQUIRE(contradictory.missing.size() == 1);
  CHECK(contradictory.missing[0].starts_with("one global batch: 100 is no multiple of 8 replicas"));
}

TEST_CASE("raw_case: a time that the record derives counts where nothing else is measured") {
  const auto read = [](const std::string& derived) {
    return Record{.more = R"("recompute": "full", "derived": {)" + derived + "}",
                  .measured = R"("mfu_pct": 40)"}
        .read();
  };
  CHECK(read(R"("iteration_s": 2.5)").measured == Seconds(2.5));
  CHECK(read(R"("iteration_s": 2.5, "iteration_s_from_flops": 2)").measured == Seconds(2));
  CHECK(read("").missing.front().starts_with("the iteration time: "));
}

TEST_CASE("raw_case: what a record says of recomputation, replicas, releases and compilation") {
  const auto recompute = [](const char* text) {
    return Record{.more = fmt::format(R"("recompute": "{}")", text)}.read().plan.recompute;
  };
  CHECK(recompute("None") == Recompute::None);
  CHECK(recompute("no full recomputation") == Recompute::None);
  CHECK(recompute("Full") == Recompute::Full);
  CHECK(recompute("Selective op") == Recompute::Selective);
  CHECK(recompute("per-op SAC") == Recompute::Selective);
  CHECK(recompute("AC: none") == Recompute::None);
  CHECK(Record{.more = R"("recompute": "not given")"}.read().missing.empty());
  CHECK(Record{.parallel = R"("tp": 2, "pp": 1, "dp": 4)"}.read().missing.empty());
  CHECK(Record{.parallel = R"("tp": 2, "pp": 1, "dp": 3)"}.read().missing.front() ==
        "a plan that fits together: tp x pp x cp x dp = 6 of 8 GPUs");
  // Two sets of two replicas that share weights.
  CHECK(Record{.parallel = R"("tp": 2, "pp": 1, "dp": 2, "fsdp": 2)"}.read().plan.replicate == 2);

  // Recipes name HybridEP from 26.02 on, wherever the release stands.
  const auto dispatch = [](const std::string& id, const std::string& title) {
    return only_case(R"({"id": ")" + id + R"(", "source": {"title": ")" + title + R"("}, )" + kModel +
                     R"(, "framework": "Megatron-Bridge"})")
        .stack.dispatch;
  };
  CHECK(dispatch("x", "summary, 25.11 NeMo Container") == TokenDispatch::OnePerGpu);
  CHECK(dispatch("x", "summary (26.04 NeMo Container)") == TokenDispatch::HybridEp);
  CHECK(dispatch("mbridge_26.04_x", "") == TokenDispatch::HybridEp);
  CHECK(dispatch("x_126.045", "") == TokenDispatch::OnePerGpu);

  const auto torchtitan = [](const std::string& framework, const std::string& more) {
    return only_case(R"({"id": "x", "framework": ")" + framework + R"(", )" + kModel + ", " + more + "}")
        .stack;
  };
  CHECK(torchtitan("torchtitan, no torch.compile", R"("precision": "bf16")").name == "torchtitan-eager");
  CHECK(torchtitan("torchtitan", R"("parallel": {"compile": true})").name == "torchtitan-2024");
  CHECK(torchtitan("torchtitan", R"("caveats": ["torch.compile on"])").name == "torchtitan-2024");
  CHECK(torchtitan("torchtitan", R"("caveats": ["torch.compile not stated"])").name == "torchtitan-eager");
  CHECK(torchtitan("torchtitan", R"("caveats": ["row-wise float8"])").name == "torchtitan-rowwise");
  CHECK(torchtitan("torchtitan", R"("precision": "float8")").name == "torchtitan-2024");
  CHECK_FALSE(torchtitan("torchtitan, torch.compile, async TP off", R"("x": 1)").overlap.tensor);
  CHECK(torchtitan("torchtitan", R"("parallel": {"async_tp": true})").overlap.tensor);
}

TEST_CASE("raw_case: a model of experts is that of the zoo, though the record has sizes of a dense one") {
  const auto read = [](const std::string& name, const std::string& more, int hidden = 4096) {
    return only_case(
        R"({"id": "x", "framework": "Megatron-LM 2024", "model": {"name": ")" + name +
        fmt::format(R"(", "layers": 32, "hidden": {}, "heads": 32, "seq_len": 4096{}}}}})", hidden, more));
  };
  CHECK(read("Mixtral 8x7B", R"(, "ffn_hidden": 14336, "kv_heads": 8, "vocab": 32000, "activation": "swiglu",
             "pos": "rope")")
            .model.experts.num_experts == 8);
  // So is one whose record leaves sizes out: all heads would have keys and values, and a GELU.
  CHECK(read("Llama 3 8B", "").model.kv_heads() == 8);
  // Another hidden size under the name is another model.
  CHECK(read("Llama 3 8B", "", 2048).model.hidden_size == 2048);
  // What the record does say stands.
  CHECK(read("Llama 3 8B", R"(, "kv_heads": 16)").model.kv_heads() == 16);
  CHECK(read("Llama 3 8B", R"(, "kv_heads": 16)").model.ffn_size == 14336);
  const RawCase unknown = read("unheard-of", "");
  CHECK(unknown.model.kv_heads() == 32);
  CHECK(std::ranges::find(unknown.assumed, "kv_heads: as GPT-3 has it") != unknown.assumed.end());
}

TEST_CASE("raw_case: files that are none") {
  CHECK(!parse_raw_cases("", "x"));
  CHECK(!parse_raw_cases("{", "x"));
  CHECK(!parse_raw_cases("{}", "x"));
  CHECK(!parse_raw_cases(R"({"cases": 3})", "x"));
  CHECK(!parse_raw_cases(R"({"cases": [3]})", "x"));
  const auto wrong = parse_raw_cases(R"({"cases": [{"id": "x", "parallel": {"tp": "two"}}]})", "x");
  REQUIRE(!wrong);
  CHECK(wrong.error().field == "cases[0].parallel.tp");
}

TEST_CASE("raw_case: a missing micro-batch is that of the fastest plan that fits") {
  for (const std::string recompute : {"full", "none"}) {
    CAPTURE(recompute);
    auto cases = parse_raw_cases(one_case(R"json({"id": "x", "framework": "Megatron-LM (Apr 2021)",
                   "model": {"name": "gpt3-6.7b", "seq_len": 2048},
                   "system": {"gpu": "A100-SXM4-80GB", "num_gpus": 8}, "precision": "fp16 mixed",
                   "recompute": ")json" + recompute +
                                          R"(", "parallel": {"tp": 2, "pp": 1, "dp": 4, "zero": 0},
                   "batch": {"global_batch": 64, "micro_batch": null}, "measured": {"iteration_s": 1}})"),
                                 "cases.json");
    REQUIRE(cases);
    CaseTargets targets = CaseTargets::open("").value();
    const CasePredictions predictions = predict_cases(measured_cases(*cases), targets);
    REQUIRE(predictions.predicted.size() == 1);
    const CasePrediction& prediction = predictions.predicted[0];
    CHECK(prediction.memory.fits());
    CHECK(prediction.measured.assumed.back().starts_with("micro-batch: "));
    int too_large_but_faster = 0;
    for (const std::int64_t micro_batch : {1, 2, 4, 8, 16}) {
      cases->cases[0].plan.micro_batch = micro_batch;
      cases->cases[0].has_micro_batch = true;
      const CasePredictions other = predict_cases(measured_cases(*cases), targets);
      if (other.predicted[0].memory.fits()) {
        CHECK(other.predicted[0].predicted >= prediction.predicted);
      } else if (other.predicted[0].predicted < prediction.predicted) {
        ++too_large_but_faster;
      }
    }
    CHECK((too_large_but_faster > 0) == (recompute == "none"));
  }
}

TEST_CASE("raw_case: published files are read whole") {
  const std::filesystem::path file = VTRAIN_SHARED_DIR "/data/measured/cases.json";
  if (!std::filesystem::exists(file)) {
    MESSAGE("skipped: ", file.string(), " absent");
    return;
  }
  const auto cases = read_raw_cases(file);
  REQUIRE(cases);
  CHECK(cases->cases.size() > 300);
  for (const RawCase& measured : cases->cases) {
    CAPTURE(measured.id);
    CHECK((measured.missing.empty() ? measured.measured.count() > 0 : true));
  }
}

}  // namespace
}  // namespace vtrain
