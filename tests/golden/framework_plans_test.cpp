/// `vtrain predict` of plans in the formats of training frameworks. Each gives exactly the prediction of the
/// equal plan in vtrain's own JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

using vtrain::testing::run_command;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

namespace {

/// A prediction without the parts that name its source.
nlohmann::json figures_of(const TemporaryFolder& work, const std::string& arguments) {
  const auto run = run_vtrain("predict --json --profile h100 " + arguments, work.path());
  REQUIRE_MESSAGE(run.exit_code == 0, run.err);
  nlohmann::json json = nlohmann::json::parse(run.out);
  json.erase("config");
  json.erase("provenance");
  json.erase("settings");
  return json;
}

std::string error_of(const TemporaryFolder& work, const std::string& arguments) {
  const auto run = run_vtrain("predict --profile h100 " + arguments, work.path());
  CHECK(run.exit_code == 2);
  return run.err;
}

const char* const kScript = R"(#!/bin/bash
GPUS_PER_NODE=8
NUM_NODES=${NUM_NODES:-2}
TP=4
SEQ=4096
MODEL_ARGS=(
    --num-layers 32 --hidden-size 4096 # sizes
    --ffn-hidden-size 14336 --num-attention-heads 32
    --group-query-attention --num-query-groups 8
    --seq-length $SEQ --max-position-embeddings $SEQ
    --swiglu --normalization RMSNorm --position-embedding-type rope
    --untie-embeddings-and-output-weights --disable-bias-linear
    --attention-dropout 0 --hidden-dropout 0 --vocab-size 128256
)
if [ $TP -gt 1 ]; then
  MODEL_ARGS+=(--sequence-parallel)
fi
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \
    "${MODEL_ARGS[@]}" --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size 2 --micro-batch-size 1 --global-batch-size $((8*16)) \
    --use-distributed-optimizer --bf16 --recompute-activations --lr 3e-4 --my-own-option
)";

const char* const kOwnOfScript =
    R"({"model": {"num_layers": 32, "hidden_size": 4096, "ffn_size": 14336, "num_heads": 32,
  "num_kv_heads": 8, "sequence_length": 4096, "activation": "swiglu", "normalization": "rms_norm",
  "positions": "rotary", "tied_embeddings": false, "has_bias": false, "vocab_size": 128512,
  "dropout": {"attention": false, "hidden": false}},
 "stack": "megatron-core",
 "plan": {"tensor": 4, "pipeline": 2, "data": 2, "global_batch": 128, "micro_batch": 1, "recompute": "selective",
          "sequence_parallel": true, "sharding": "optimizer", "precision": "bf16"}})";

}  // namespace

TEST_CASE("framework plans: a launch script of Megatron-LM is its plan") {
  const TemporaryFolder work;
  work.write("train.sh", kScript);
  work.write("own.json", kOwnOfScript);
  const nlohmann::json own = figures_of(work, "own.json");
  CHECK(figures_of(work, "train.sh") == own);
  // From standard input, and with options in place of the script's.
  const auto piped =
      run_command("sh -c 'cat train.sh | " VTRAIN_PROGRAM " predict --json --profile h100 -'", work.path());
  REQUIRE_MESSAGE(piped.exit_code == 0, piped.err);
  CHECK(nlohmann::json::parse(piped.out)["iteration_time_ns"] == own["iteration_time_ns"]);
  const auto shown = run_vtrain("predict train.sh --profile h100", work.path());
  CHECK(shown.out.find("stack megatron-core") != std::string::npos);
  CHECK(shown.err.find("unknown settings are not taken into account: --my-own-option") != std::string::npos);
}

TEST_CASE("framework plans: options of Megatron-LM describe the plan of a model") {
  const TemporaryFolder work;
  work.write("own.json", R"({"model": "llama3-8b", "stack": "megatron-core",
 "plan": {"tensor": 4, "data": 16, "global_batch": 128, "micro_batch": 1, "recompute": "none",
          "sequence_parallel": true, "sequence_length": 8192, "precision": "bf16"}})");
  const nlohmann::json own = figures_of(work, "own.json");
  CHECK(figures_of(work,
                   "llama3-8b --gpus 64 --tensor-model-parallel-size 4 --micro-batch-size 1 "
                   "--global-batch-size 128 --sequence-parallel --bf16") == own);
  CHECK(figures_of(work, "llama3-8b --gpus 64 --plan tp=4,mbs=1,gbs=128") == own);
  CHECK(figures_of(work, "llama3-8b --plan tp=4,dp=16,mbs=1,gbs=128,seq=8192") == own);
}

TEST_CASE("framework plans: torchtitan's TOML, with key names of 2025 and of 2024") {
  const TemporaryFolder work;
  work.write("own.json", R"({"model": "llama3-8b", "stack": "torchtitan",
 "plan": {"tensor": 2, "data": 32, "global_batch": 64, "micro_batch": 2, "recompute": "selective",
          "sequence_parallel": true, "sharding": "full", "precision": "bf16"}})");
  work.write("new.toml", R"([model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 2
seq_len = 8192
[parallelism]
tensor_parallel_degree = 2
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
[compile]
enable = true
)");
  work.write("old.toml", R"([model]
name = "llama3"
flavor = "8B"
[training]
batch_size = 2
seq_len = 8192
tensor_parallel_degree = 2
data_parallel_shard_degree = -1
compile = true
[experimental]
pipeline_parallel_degree = 1
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
)");
  CHECK(figures_of(work, "new.toml --gpus 64") == figures_of(work, "own.json"));
  CHECK(figures_of(work, "old.toml --gpus 64") == figures_of(work, "own.json --stack torchtitan-2024"));
}

TEST_CASE("framework plans: torchtitan's TOML may compile the loss alone") {
  const TemporaryFolder work;
  work.write("own.json", R"({"model": "deepseek-v2-lite",
 "stack": {"base": "torchtitan-eager", "loss_bytes_per_logit": 8, "loss_conversion_bytes": 0,
           "memory": {"loss_bytes": 4}},
 "plan": {"data": 8, "expert": 8, "global_batch": 32, "micro_batch": 4, "recompute": "selective",
          "sharding": "full", "sequence_length": 4096, "precision": "bf16"}})");
  const std::string settings = R"([model]
name = "deepseek_v3"
flavor = "16B"
[training]
local_batch_size = 4
seq_len = 4096
[parallelism]
expert_parallel_degree = 8
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
[compile]
)";
  work.write("loss.toml", settings + "enable = true\ncomponents = [\"loss\"]\n");
  work.write("nothing.toml", settings + "enable = false\ncomponents = [\"loss\"]\n");
  CHECK(figures_of(work, "loss.toml --gpus 8") == figures_of(work, "own.json"));
  CHECK(figures_of(work, "nothing.toml --gpus 8") == figures_of(work, "own.json --stack torchtitan-eager"));
  const auto shown = run_vtrain("predict loss.toml --gpus 8 --profile h100", work.path());
  CHECK(shown.out.find("compile.components: the loss is compiled, layers are not") != std::string::npos);
}

TEST_CASE("framework plans: DeepSpeed's JSON with a model") {
  const TemporaryFolder work;
  work.write("own.json", R"({"model": "llama3-8b", "stack": "fsdp-eager",
 "plan": {"data": 64, "global_batch": 256, "micro_batch": 2, "recompute": "full", "sharding": "full",
          "precision": "bf16"}})");
  work.write("ds.json", R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2,
 "zero_optimization": {"stage": 3, "overlap_comm": true}, "bf16": {"enabled": true},
 "activation_checkpointing": {"partition_activations": false}})");
  CHECK(figures_of(work, "ds.json --model llama3-8b --gpus 64") == figures_of(work, "own.json"));
  CHECK(error_of(work, "ds.json --gpus 64").find("--model: missing") != std::string::npos);
  // Keys of microsoft/DeepSpeed@38327e07f that change memory or time.
  work.write("cpu.json", R"({"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3,
 "cpu_offload_param": true}})");
  CHECK(error_of(work, "cpu.json --model llama3-8b --gpus 64").find("cpu_offload_param") !=
        std::string::npos);
  work.write("half.json", R"({"train_micro_batch_size_per_gpu": 2, "fp16": {"enabled": true,
 "fp16_master_weights_and_grads": true}})");
  CHECK(error_of(work, "half.json --model llama3-8b --gpus 64").find("master weights in 16 bits") !=
        std::string::npos);
}

TEST_CASE("framework plans: NeMo's YAML") {
  const TemporaryFolder work;
  work.write("own.json", kOwnOfScript);
  work.write("nemo.yaml", R"(trainer:
  num_nodes: 2
  devices: 8
  precision: bf16
model:
  micro_batch_size: 1
  global_batch_size: 128
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  encoder_seq_length: 4096
  max_position_embeddings: ${.encoder_seq_length}
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: ${sum:14000, 336}
  num_attention_heads: 32
  num_query_groups: 8
  hidden_dropout: 0.0
  attention_dropout: 0.0
  normalization: rmsnorm
  bias: false
  activation: fast-swiglu
  position_embedding_type: rope
  share_embeddings_and_output_weights: false
  activations_checkpoint_granularity: selective
  sequence_parallel: true
  transformer_engine: true
  vocab_size: 128256
  optim:
    name: mcore_distributed_optim
)");
  CHECK(figures_of(work, "nemo.yaml") == figures_of(work, "own.json"));
}

TEST_CASE("framework plans: what cannot be modelled or read is an error with its line") {
  const TemporaryFolder work;
  const std::string sizes =
      "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --micro-batch-size 1";
  work.write("ramp.sh", "python pretrain_gpt.py " + sizes + " \\\n  --rampup-batch-size 16 16 1000\n");
  CHECK(error_of(work, "ramp.sh --gpus 8") ==
        "error: ramp.sh:2: --rampup-batch-size: batches that grow during training are not modelled; give one "
        "--global-batch-size; found '16 16 1000'\n");
  work.write("quote.sh", "X=1\nY=\"no end\n");
  CHECK(error_of(work, "quote.sh") == "error: quote.sh:2: the quote \" has no end\n");
  work.write("unset.sh", "python pretrain_gpt.py " + sizes + " \\\n  --tensor-model-parallel-size $TP\n");
  CHECK(error_of(work, "unset.sh --gpus 8").find("unset.sh:2: --tensor-model-parallel-size: ") !=
        std::string::npos);
  work.write("half.sh", "if [ 1 = 1 ]; then\n  python pretrain_gpt.py " + sizes + "\n");
  CHECK(error_of(work, "half.sh") == "error: half.sh:1: 'if' has no 'fi'\n");
  work.write("bad.toml", "[model]\nname = \"llama3\nflavor = 8\n");
  CHECK(error_of(work, "bad.toml --gpus 8").find("error: bad.toml:2: malformed TOML: ") == 0);
  work.write("bad.yaml", "model:\n  - [1\ntrainer: x\n");
  CHECK(error_of(work, "bad.yaml --gpus 8").find("malformed YAML: ") != std::string::npos);
  work.write("recipe.py", "import nemo\n");
  CHECK(error_of(work, "recipe.py").find("recipe.py: a program in Python cannot be read") !=
        std::string::npos);
  work.write("lora.yaml", "model:\n  num_layers: 2\n  peft:\n    peft_scheme: lora\n");
  CHECK(run_vtrain("predict lora.yaml --gpus 8", work.path()).exit_code == 2);
}
