#include "workloads/settings/launch_script.hpp"

#include <doctest/doctest.h>

#include <string>

#include "workloads/config/megatron_config.hpp"
#include "workloads/settings/shell_arithmetic.hpp"

namespace {

/// The settings of a script as `name=value@line`, one after the other.
std::string settings_of(const std::string& text) {
  const auto script = vtrain::parse_launch_script(text, "x.sh");
  if (!script) return script.error().describe();
  std::string all;
  for (const vtrain::NamedSetting& setting : script->settings)
    all += (all.empty() ? "" : " ") + setting.name + "=" + setting.value + "@" + std::to_string(setting.line);
  return all;
}

}  // namespace

TEST_CASE("launch script: variables, arrays, defaults and arithmetic are expanded") {
  CHECK(
      settings_of("N=2\nA=(--num-layers $((N * (3 + 1)))\n --hidden-size ${H:-64})\npython x.py ${A[@]}\n") ==
      "--num-layers=8@2 --hidden-size=64@3");
  CHECK(settings_of("A='--num-layers 2 '\nA+=\" --swiglu\"\nx.py $A --seq-length=8 # --no\n") ==
        "--num-layers=2@1 --swiglu=@2 --seq-length=8@3");
  CHECK(settings_of("python x.py \\\n  --num-layers \\\n  4\n") == "--num-layers=4@2");
  CHECK(settings_of("--num-layers 4 --split 969,30,1") == "--num-layers=4@1 --split=969,30,1@1");
}

TEST_CASE("launch script: branches are chosen by tests") {
  const std::string branches =
      "if [ \"$T\" = a ]; then X=1; elif [[ $T == b && ! -z $T ]]; then X=2; else X=3; fi\n"
      "case $T in a|c) Y=4;; *) Y=5;; esac\n"
      "[ $X -gt 1 ] && Z=6 || Z=7\n"
      "x.py --num-layers $X --hidden-size $Y --seq-length $Z\n";
  CHECK(settings_of("T=a\n" + branches) == "--num-layers=1@5 --hidden-size=4@5 --seq-length=7@5");
  CHECK(settings_of("T=b\n" + branches) == "--num-layers=2@5 --hidden-size=5@5 --seq-length=6@5");
}

TEST_CASE("launch script: launchers and Slurm give the number of GPUs") {
  CHECK(settings_of("torchrun --nproc_per_node 8 --nnodes=2 x.py --num-layers 4\n") ==
        "--nproc_per_node=8@1 --nnodes=2@1 --num-layers=4@1");
  CHECK(settings_of("#SBATCH --nodes=4 --gres=gpu:h100:8\nsrun bash -c \"x.py --num-layers 4\"\n") ==
        "--nodes=4@1 --gres=8@1 --num-layers=4@2");
  CHECK(settings_of("sbatch <<EOF\nx.py --num-layers 4\nEOF\n") == "--num-layers=4@2");
}

TEST_CASE("launch script: an unfinished script is an error with its line") {
  CHECK(settings_of("a\nb 'c\n") == "x.sh:2: the quote ' has no end");
  CHECK(settings_of("A=(1 2\n") == "x.sh:1: '(' has no end");
  CHECK(settings_of("x.py --num-layers ${A\n") == "x.sh:1: '${' has no end");
  CHECK(settings_of("for x in 1; do\nx.py --num-layers 1\n") == "x.sh:1: 'for' has no 'done'");
  CHECK(settings_of("fi\n") == "x.sh:1: 'fi' without a beginning");
  CHECK(settings_of("echo hello\n").find("no training command") != std::string::npos);
  std::string doubling = "A=--num-layers\n";
  for (int i = 0; i < 40; ++i)
    doubling += "A=\"$A$A\"\n";
  CHECK(settings_of(doubling).find("expanded beyond 4,000,000 characters") != std::string::npos);
}

TEST_CASE("launch script: arithmetic knows precedence and refuses what has no value") {
  const auto value = [](std::string_view text) {
    return vtrain::shell_arithmetic(text, [](std::string_view name) -> std::optional<std::int64_t> {
      if (name == "N") return 8;
      return std::nullopt;
    });
  };
  CHECK(value("2 + 3 * N - 1") == 25);
  CHECK(value("(N > 4 && N % 3 == 2) ? -N / 2 : 1") == -4);
  CHECK(value("N / 0") == std::nullopt);
  CHECK(value("M + 1") == std::nullopt);
  CHECK(value("9223372036854775807 + 1") == std::nullopt);
}

TEST_CASE("launch script: lists of layers are in Python's notation") {
  CHECK(vtrain::parse_layer_list("([0]*1+[1,1]*2)*1") == std::vector<std::int64_t>{0, 1, 1, 1, 1});
  CHECK(vtrain::parse_layer_list("[1]*1000000000") == std::nullopt);
  CHECK(vtrain::parse_layer_list("[1") == std::nullopt);
}

TEST_CASE("megatron config: the arguments that a run prints are read as well") {
  const std::vector<vtrain::NamedSetting> printed = {{"num_layers", "4"},
                                                     {"hidden_size", "64"},
                                                     {"num_attention_heads", "4"},
                                                     {"seq_length", "128"},
                                                     {"micro_batch_size", "1"},
                                                     {"global_batch_size", "16"},
                                                     {"world_size", "8"},
                                                     {"bf16", "True"},
                                                     {"fp8", "None"},
                                                     {"rampup_batch_size", "None"},
                                                     {"add_bias_linear", "False"},
                                                     {"tensor_model_parallel_size", "2"},
                                                     {"sequence_parallel", "True"},
                                                     {"padded_vocab_size", "512"},
                                                     {"optimizer_cpu_offload", "False"}};
  const auto config = vtrain::megatron_config(printed, "train.log");
  REQUIRE_MESSAGE(config.has_value(), (config ? "" : config.error().describe()));
  CHECK(config->plan.data == 4);
  CHECK(config->plan.sequence_parallel);
  CHECK(config->model.vocab_size == 512);
  CHECK_FALSE(config->model.has_bias);
  CHECK(config->plan.precision == vtrain::Precision::Bf16);
  CHECK(config->settings->unknown.empty());
}
