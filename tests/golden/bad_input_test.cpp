/// Bad input exits 2, says where and what, and leaves nothing behind.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

namespace {

/// One wrong command: the file it reads, its arguments, and the pieces that the message must hold.
struct BadInput {
  std::string what;
  std::string file_name;
  std::string content;
  std::string arguments;
  std::vector<std::string> message;
};

constexpr std::string_view kHeader = "job_id,submit_s,num_gpus,duration_s\n";

std::string trace(const std::string& rows) {
  return std::string(kHeader) + rows;
}

std::string replay(const std::string& more) {
  return "replay --trace jobs.csv --cluster 2x8 --out out " + more;
}

/// A vTrain configuration in which one line was replaced.
std::string config(const std::string& from, const std::string& to) {
  std::string text = R"({
  "num_gpus": 32,
  "tensor_parallel_size": 4,
  "data_parallel_size": 2,
  "pipeline_parallel_size": 4,
  "global_batch_size": 64,
  "micro_batch_size": 4,
  "num_layers": 24,
  "hidden_size": 2048,
  "num_attention_heads": 16,
  "max_length": 1024,
  "trace_path": "traces"
})";
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::vector<BadInput> bad_inputs() {
  const std::string good = trace("a,0,1,10\n");
  return {
      {"malformed JSON",
       "c.json",
       "{\n  \"num_gpus\": 8,\n  oops\n}",
       "predict c.json",
       {"c.json:3", "malformed JSON"}},
      {"unknown key",
       "c.json",
       config("\"num_layers\"", "\"num_layer\""),
       "predict c.json",
       {"c.json:8", "num_layer", "num_layers"}},
      {"layers do not divide",
       "c.json",
       config("\"num_layers\": 24", "\"num_layers\": 25"),
       "predict c.json",
       {"c.json", "num_layers", "25"}},
      {"GPUs do not multiply up",
       "c.json",
       config("\"num_gpus\": 32", "\"num_gpus\": 31"),
       "predict c.json",
       {"c.json:2", "num_gpus", "32", "31"}},
      {"negative number",
       "c.json",
       config("\"hidden_size\": 2048", "\"hidden_size\": -1"),
       "predict c.json",
       {"c.json:9", "hidden_size", "-1"}},
      {"overflowing number",
       "c.json",
       config("\"hidden_size\": 2048", "\"hidden_size\": 99999999999999999999"),
       "predict c.json",
       {"c.json:9", "hidden_size", "expected"}},
      {"missing configuration", "x", "", "predict nowhere.json", {"nowhere.json", "No such file"}},
      {"too few columns",
       "jobs.csv",
       trace("a,0,1,10\nb,0,1\n"),
       replay(""),
       {"jobs.csv:3", "expected 4 columns, found 3"}},
      {"zero duration",
       "jobs.csv",
       trace("a,0,1,0\n"),
       replay(""),
       {"jobs.csv:2: duration_s", "expected", "'0'"}},
      {"NaN duration",
       "jobs.csv",
       trace("a,0,1,nan\n"),
       replay(""),
       {"jobs.csv:2: duration_s", "expected", "'nan'"}},
      {"part of a GPU",
       "jobs.csv",
       trace("a,0,1,10\nb,0,1.5,10\n"),
       replay(""),
       {"jobs.csv:3: num_gpus", "expected a whole number", "'1.5'"}},
      {"duplicated id", "jobs.csv", trace("a,0,1,10\na,5,1,10\n"), replay(""), {"jobs.csv:3: job_id", "'a'"}},
      {"job larger than the cluster, strictly",
       "jobs.csv",
       trace("a,0,17,10\n"),
       replay("--strict"),
       {"a", "17", "16"}},
      {"unknown policy",
       "jobs.csv",
       good,
       replay("--policy edff"),
       {"unknown policy 'edff'", "Did you mean 'edf'?", "vtrain policies"}},
      {"unknown parameter", "jobs.csv", good, replay("--policy las:timers=peer"), {"timers", "timer"}},
      {"bad parameter value",
       "jobs.csv",
       good,
       replay("--policy las:timer=soon"),
       {"timer", "exact", "peer", "'soon'"}},
      {"unknown placement",
       "jobs.csv",
       good,
       replay("--placement best"),
       {"placement", "count", "yarn", "'best'"}},
      {"nearly a placement",
       "jobs.csv",
       good,
       replay("--placement consolidated"),
       {"placement", "Did you mean 'consolidate'?"}},
      {"deadline before the submission, strictly",
       "jobs.csv",
       "job_id,submit_s,num_gpus,duration_s,deadline_s\na,10.5,1,10,9\n",
       replay("--strict"),
       {"deadline_s: job 'a'", "none before the submission at 10.5", "found '9'"}},
      {"GPU type that the cluster lacks, strictly",
       "jobs.csv",
       "job_id,submit_s,num_gpus,gpu_type,duration_s\na,0,1,v100,10\n",
       "replay --trace jobs.csv --cluster 2x8:a100+1x8:p100 --strict",
       {"job 'a'", "gpu_type", "'a100' and 'p100'", "found 'v100'"}},
      {"job too large for its GPU type, strictly",
       "jobs.csv",
       "job_id,submit_s,num_gpus,gpu_type,duration_s\na,0,9,p100,10\n",
       "replay --trace jobs.csv --cluster 2x8:a100+1x8:p100 --strict --placement best-fit",
       {"job 'a'", "num_gpus", "'p100'", "found '9'"}},
      {"NVLink islands that do not divide a node",
       "cluster.json",
       R"({"groups": [{"num_nodes": 2, "gpus_per_node": 8, "gpus_per_island": 3}]})",
       "compare --cluster cluster.json",
       {"cluster.json", "gpus_per_island", "divisor", "'3'"}},
      {"bad cluster",
       "jobs.csv",
       good,
       "replay --trace jobs.csv --cluster 0x8 --out out",
       {"cluster", "0x8"}},
      {"unknown format", "jobs.csv", good, replay("--format slurm9"), {"format", "'slurm9'"}},
      {"unwritable output folder",
       "jobs.csv",
       good,
       "replay --trace jobs.csv --cluster 2x8 --out jobs.csv/sub",
       {"jobs.csv/sub"}},
      {"binary junk", "jobs.csv", std::string("\x7f\x45LF\0\1\2", 7), replay(""), {"jobs.csv"}},
      {"truncated gzip", "jobs.csv", "\x1f\x8b\x08", replay(""), {"jobs.csv", "gzip"}},
      {"empty file", "jobs.csv", "", replay(""), {"jobs.csv", "expected a trace", "''"}},
      {"unknown model", "x", "", "plan gpt3-175 --gpus 8", {"unknown model 'gpt3-175'", "'gpt3-175b'"}},
      {"plan without GPUs", "x", "", "plan gpt3-175b", {"--gpus", "--cluster"}},
      {"no GPUs", "x", "", "plan gpt3-175b --gpus 0", {"--gpus", "from 1", "'0'"}},
      {"GPU counts that are no numbers", "x", "", "plan gpt3-175b --gpus 8,many", {"--gpus", "'many'"}},
      {"falling range of GPUs",
       "x",
       "",
       "plan gpt3-175b --gpus 64-8",
       {"--gpus", "a rising range", "'64-8'"}},
      {"a range with a colon", "x", "", "plan gpt3-175b --gpus 8:64", {"--gpus", "as 64-512", "'8:64'"}},
      {"more GPU counts than anyone reads", "x", "", "plan gpt3-175b --gpus 1-1000000", {"--gpus", "4096"}},
      {"GPUs that divide nothing", "x", "", "plan gpt3-175b --gpus 7", {"gpt3-175b", "7 GPUs"}},
      {"more GPUs than the cluster",
       "x",
       "",
       "plan gpt3-175b --gpus 512 --cluster 8x8:a100",
       {"--gpus", "64"}},
      {"cluster of two kinds",
       "x",
       "",
       "plan gpt3-175b --cluster 8x8:a100+2x4:a100",
       {"--cluster", "one kind"}},
      {"GPUs without a profile", "x", "", "plan gpt3-175b --cluster 8x8:b999", {"'b999'"}},
      {"unknown objective", "x", "", "plan gpt3-175b --gpus 8 --objective money", {"--objective", "money"}},
      {"deadline without unit",
       "x",
       "",
       "plan gpt3-175b --gpus 8 --tokens 1B --deadline 30",
       {"--deadline", "'30'"}},
      {"deadline without tokens",
       "x",
       "",
       "plan gpt3-175b --gpus 8 --deadline 30d",
       {"--deadline", "--tokens"}},
      {"tokens of no number", "x", "", "plan gpt3-175b --gpus 8 --tokens lots", {"--tokens", "'lots'"}},
      {"negative price", "x", "", "plan gpt3-175b --gpus 8 --price=-1", {"--price"}},
      {"unknown key of a plan",
       "x",
       "",
       "plan gpt3-175b --gpus 512 --beside tensr=8",
       {"--beside", "'tensr'", "'tensor'"}},
      {"bad value of a plan",
       "x",
       "",
       "plan gpt3-175b --gpus 512 --beside tensor=0",
       {"--beside: tensor", "'0'"}},
      {"plan of a missing model file",
       "x",
       "",
       "plan nowhere.json --gpus 8",
       {"nowhere.json", "No such file"}},
      {"plan of a model with an unknown key",
       "m.json",
       "{\n \"num_layers\": 4, \"hidden_size\": 512, \"num_heads\": 8, \"sequence_length\": 512, "
       "\"vocab_size\": 1000,\n \"num_head\": 8\n}",
       "plan m.json --gpus 8 --global-batch 8",
       {"m.json:3", "num_head", "num_heads"}},
      {"plan of a model without a known batch",
       "m.json",
       "{\"num_layers\": 4, \"hidden_size\": 512, \"num_heads\": 8, \"sequence_length\": 512, "
       "\"vocab_size\": 1000}",
       "plan m.json --gpus 8",
       {"--global-batch", "missing"}},
      {"unknown stack",
       "x",
       "",
       "plan gpt3-175b --gpus 512 --stack megatron",
       {"--stack", "unknown stack 'megatron'"}},
      {"misspelt stack",
       "x",
       "",
       "scale --gpus 512 --days 3 --stack megatron-cor",
       {"--stack", "did you mean 'megatron-core'?"}},
      {"unknown precision",
       "x",
       "",
       "plan gpt3-175b --gpus 512 --precision fp12",
       {"--precision", "bf16", "'fp12'"}},
      {"a precision that the GPU does not have",
       "x",
       "",
       "plan gpt3-175b --gpus 512 --profile a100 --precision fp8",
       {"--precision", "'fp32', 'fp16' and 'bf16'", "a100", "'fp8'"}},
      {"a configuration in a precision that the GPU does not have",
       "c.json",
       R"({"model": "llama3-8b", "plan": {"tensor": 1, "data": 8, "pipeline": 1, "global_batch": 8,
           "micro_batch": 1, "recompute": "none", "precision": "fp4"}})",
       "predict c.json --profile h100",
       {"c.json: precision", "'bf16' and 'fp8'", "h100", "'fp4'"}},
      {"scale without days", "x", "", "scale --gpus 64", {"--days"}},
      {"no days", "x", "", "scale --gpus 64 --days 0", {"--days"}},
      {"several GPU counts to scale on",
       "x",
       "",
       "scale --gpus 64,128 --days 3",
       {"--gpus", "one number", "'64,128'"}},
      {"unknown curves", "jobs.csv", good, replay("--curves best"), {"--curves", "'best-plan'", "'best'"}},
      {"unknown cost of interruption",
       "jobs.csv",
       good,
       replay("--interruption-cost cheap"),
       {"--interruption-cost", "elasticflow", "'cheap'"}},
      {"checkpoints by a misspelt name",
       "jobs.csv",
       good,
       replay("--checkpoints dally"),
       {"--checkpoints", "daly", "'dally'"}},
      {"Daly's interval without failures",
       "jobs.csv",
       good,
       replay("--checkpoints daly"),
       {"--checkpoints", "--failures mtbf="}},
      {"checkpoint bandwidth without a unit",
       "jobs.csv",
       good,
       replay("--checkpoint-bandwidth 10"),
       {"--checkpoint-bandwidth", "10GB/s", "'10'"}},
      {"checkpoint sizes of jobs without models",
       "jobs.csv",
       good,
       replay("--interruption-cost checkpoint --placement yarn"),
       {"job 'a'", "model", "--assign"}},
      {"failures of nodes where there are none",
       "jobs.csv",
       good,
       replay("--failures mtbf=100h"),
       {"--failures", "'count'", "--placement yarn"}},
      {"misspelt key of failures",
       "jobs.csv",
       good,
       replay("--placement yarn --failures mtbf=100h,repiar=4h"),
       {"--failures", "repiar", "'repair'"}},
      {"failures of a GPU type that the cluster does not have",
       "jobs.csv",
       good,
       "replay --trace jobs.csv --cluster 2x8:a100 --out out --placement yarn --failures mtbf:h100=100h",
       {"--failures", "mtbf:h100", "'h100'"}},
      {"an outage of a node that does not exist",
       "outages.csv",
       "node,kind,begin_s,end_s\n1,drain,0,5\n2,failure,3,4\n",
       "replay --cluster 2x8:a100 --out out --placement yarn --outages outages.csv",
       {"outages.csv:3", "node", "from 0 to 1", "'2'"}},
      {"an outage that ends before it begins",
       "outages.csv",
       "node,begin_s,end_s\n1,7,5\n",
       "replay --cluster 2x8:a100 --out out --placement yarn --outages outages.csv",
       {"outages.csv:2", "end_s", "after begin_s", "'5'"}},
      {"no file of outages",
       "jobs.csv",
       good,
       replay("--placement yarn --outages nowhere.csv"),
       {"nowhere.csv", "No such file"}},
      {"failures under a policy that computes progress itself",
       "jobs.csv",
       good,
       replay("--placement yarn --failures mtbf=100h --policy las:preset=elasticflow"),
       {"las:preset=elasticflow", "failures"}},
      {"unknown option",
       "jobs.csv",
       good,
       replay("--polcy=fifo"),
       {"error: --polcy: unknown option; did you mean '--policy'?\nRun 'vtrain replay --help' for more.\n"}},
      {"unknown option that resembles none",
       "jobs.csv",
       good,
       replay("--colour blue"),
       {"error: --colour: unknown option\n"}},
      {"a misspelt option that another error would hide",
       "jobs.csv",
       good,
       "replay --trce jobs.csv --cluster --out out",
       {"error: --trce: unknown option; did you mean '--trace'?\n"}},
      {"an argument too many", "jobs.csv", good, replay("fifo"), {"error: fifo: unexpected argument\n"}},
      {"an option without its value", "jobs.csv", good, replay("--policy"), {"error: --policy: 1 required"}},
      {"unknown command",
       "x",
       "",
       "plann llama3-8b --gpus 8",
       {"error: plann: unknown command; did you mean 'plan'?\nRun 'vtrain --help' for more.\n"}},
      {"unknown command of a command",
       "x",
       "",
       "trace inf jobs.csv",
       {"error: inf: unknown command; did you mean 'info'?\nRun 'vtrain trace --help' for more.\n"}},
      {"no command", "x", "", "", {"error: expected a command: 'predict', 'plan'", "'vtrain --help'"}},
      {"no command of a command",
       "x",
       "",
       "trace",
       {"error: expected a command: ", "'info'", "'vtrain trace --help'"}},
  };
}

}  // namespace

TEST_CASE("bad input: exit 2, a message that names the place, nothing left behind") {
  for (const BadInput& bad : bad_inputs()) {
    CAPTURE(bad.what);
    const TemporaryFolder work;
    work.write(bad.file_name, bad.content);
    const auto result = run_vtrain(bad.arguments, work.path());
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out == "");
    for (const std::string& piece : bad.message) {
      CAPTURE(piece);
      CHECK(result.err.find(piece) != std::string::npos);
    }
    CHECK_FALSE(fs::exists(work.path() / "out" / "jobs.csv"));
    CHECK_FALSE(fs::exists(work.path() / "out"));
  }
}

TEST_CASE("bad input: a deadline before its submission is said, and missed") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s,deadline_s\na,10,1,5,3\nb,10,1,5,300\n");
  const auto result = run_vtrain("replay --trace jobs.csv --cluster 1x8 --policy edf", work.path());
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("1 job with a deadline before the submission, which nothing can meet\n") !=
        std::string::npos);
  CHECK(result.out.find("edf            50.0 %") != std::string::npos);
}
