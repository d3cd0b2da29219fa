/// Logs in the formats of the frameworks; the lines are of our own writing.
#include "workloads/logs/training_log.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace vtrain;

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string megatron_step(int iteration, double milliseconds) {
  return fmt::format(
      " [2026-01-02 03:04:05] iteration {:8}/     500 | consumed samples: {:12} | elapsed time per iteration "
      "(ms): {:.1f} | throughput per GPU (TFLOP/s/GPU): 412.3 | global batch size:   128 | lm loss: 2.0E+00 "
      "|\n",
      iteration, 128 * iteration, milliseconds);
}

std::string megatron_block(int micro_batch, const std::string& save) {
  return fmt::format(
      "------------------------ arguments ------------------------\n"
      "  hidden_size ..................................... 4096\n"
      "  micro_batch_size ................................ {}\n"
      "  save ............................................ {}\n"
      "  a_name_that_is_so_long_that_no_dots_are_left_for  1\n"
      "-------------------- end of arguments ---------------------\n",
      micro_batch, save);
}

TrainingLog read(const std::string& text) {
  auto log = parse_training_log(text, "run.log");
  REQUIRE_MESSAGE(log, (log ? "" : log.error().describe()));
  return *log;
}

std::string error_of(const std::string& text) {
  const auto log = parse_training_log(text, "run.log");
  REQUIRE_FALSE(log);
  return log.error().describe();
}

std::string value_of(const TrainingLog& log, const std::string& name) {
  const auto found = std::find_if(log.arguments.begin(), log.arguments.end(),
                                  [&](const LogArgument& argument) { return argument.name == name; });
  return found == log.arguments.end() ? "absent" : found->value;
}

}  // namespace

TEST_CASE("training log: Megatron-LM's arguments, iterations and memory, with their lines") {
  const TrainingLog log = read("using world size: 8\n" + megatron_block(2, "/a") + megatron_step(1, 9000) +
                               "[Rank 3] (after 1 iterations) memory (MB) | allocated: 100.0 | max "
                               "allocated: 2048.0 | reserved: 1.0 | "
                               "max reserved: 3072.0\n"
                               "[Rank 0] (after 1 iterations) memory (MB) | allocated: 100.0 | max "
                               "allocated: 1024.0 | reserved: 1.0 | "
                               "max reserved: 4096.0\n" +
                               megatron_step(2, 812.5));
  CHECK(log.framework == LogFramework::Megatron);
  CHECK(log.unit == StepUnit::Time);
  CHECK(log.form == ArgumentForm::Block);
  REQUIRE(log.arguments.size() == 4);
  CHECK(log.arguments[0].name == "hidden_size");
  CHECK(log.arguments[0].value == "4096");
  CHECK(log.arguments[0].line == 3);
  CHECK(value_of(log, "a_name_that_is_so_long_that_no_dots_are_left_for") == "1");
  REQUIRE(log.steps.size() == 2);
  CHECK(log.steps[1].iteration == 2);
  CHECK(log.steps[1].value == 0.8125);
  CHECK(log.steps[1].line == 11);
  CHECK(log.num_starts == 1);
  // The largest of all ranks, in units of 2^20 bytes.
  CHECK(log.allocated.value().value == 2 * kGiB);
  CHECK(log.reserved.value().value == 4 * kGiB);
}

TEST_CASE("training log: Megatron-Bridge is known by its own line, alone or beside Megatron's") {
  const std::string own = "Step Time : 2.34s GPU utilization: 663.5MODEL_TFLOP/s/GPU\n";
  const TrainingLog both = read(own + megatron_step(1, 2341.2) + own + megatron_step(2, 2341.2));
  CHECK(both.framework == LogFramework::MegatronBridge);
  CHECK(both.steps[0].value == 2341.2 / 1e3);  // Megatron's line has more digits
  const TrainingLog alone = read(own + own);
  CHECK(alone.framework == LogFramework::MegatronBridge);
  REQUIRE(alone.steps.size() == 2);
  CHECK(alone.steps[1].iteration == 2);
  CHECK(alone.steps[1].value == 2.34);
}

TEST_CASE("training log: NeMo counts steps over all epochs, and a label of the process is passed over") {
  const TrainingLog log = read(
      "(pretraining, pid=4112) Training epoch 0, iteration 99/99 | lr: 3e-06 | global_step: 99 | "
      "max_memory_reserved: 2147483648 | max_memory_allocated: 1073741824 | train_step_timing in s: 46.86\n"
      "(pretraining, pid=4112) Training epoch 1, iteration 0/99 | lr: 3e-06 | global_step: 100 | "
      "train_step_timing in s: 46.8 | consumed_samples: 10240\n");
  CHECK(log.framework == LogFramework::NeMo);
  REQUIRE(log.steps.size() == 2);
  CHECK(log.steps[1].iteration == 100);
  CHECK(log.steps[1].value == 46.8);
  CHECK(log.num_starts == 1);
  CHECK(log.allocated.value().value == kGiB);
  CHECK(log.reserved.value().value == 2 * kGiB);
}

TEST_CASE("training log: torchtitan's colours are removed, and other ranks repeat its lines") {
  const auto line = [](int rank, int step, const std::string& tokens) {
    return fmt::format(
        "{}: 2026-03-04 00:44:44,441 - root - INFO - \x1b[36mstep: {:4}  \x1b[32mloss:  3.4370  "
        "\x1b[33mmemory: "
        "12.50GiB(86.69%)  \x1b[34mtps: {}  \x1b[35mmfu: 39.73%\x1b[39m\n",
        rank, step, tokens);
  };
  const TrainingLog log = read(
      "1: [titan] - INFO - Running with args: {\n"
      "1:   \"training\": {\"seq_len\": 8192,\n"
      "0: of another rank\n"
      "1:                \"compile\": true},\n"
      "1:   \"note\": \"a } in a text\"\n"
      "1: }\n" +
      line(1, 10, "6,785") + line(0, 10, "6,784") + line(0, 20, "6,801") + line(1, 20, "1,006,800"));
  CHECK(log.framework == LogFramework::Torchtitan);
  CHECK(log.unit == StepUnit::TokensPerGpu);
  CHECK(log.form == ArgumentForm::Json);
  CHECK(value_of(log, "training.seq_len") == "8192");
  CHECK(value_of(log, "training.compile") == "true");
  CHECK(value_of(log, "note") == "a } in a text");
  REQUIRE(log.steps.size() == 2);
  CHECK(log.steps[0].value == 6785);
  CHECK(log.steps[1].value == 1'006'800);
  CHECK(log.num_starts == 1);
  CHECK(log.num_repeated == 2);
  CHECK(log.reserved.value().value == 12.5 * kGiB);
  // The older name of the rate; ranks without a label.
  const std::string old =
      "root - INFO - step:  9  loss:  8.9  memory: 33.11GiB(74.54%)  wps: 1,948  mfu: 26%\n";
  CHECK(read(old + old + old).steps.size() == 1);
}

TEST_CASE("training log: the rates of DeepSpeed's engine, and the times of its pipeline") {
  const TrainingLog engine = read(
      "[2026-01-01 00:00:00,000] [INFO] [config.py:1003:print]   train_batch_size ............. 16\n"
      "[2026-01-01 00:00:00,000] [INFO] [config.py:1003:print]   train_micro_batch_size_per_gpu  4\n"
      "[2026-01-01 00:00:00,000] [INFO] [timer.py:260:stop] epoch=0/micro_step=80/global_step=10, "
      "RunningAvgSamplesPerSec=58.7, CurrSamplesPerSec=61.25, MemAllocated=6.01GB, MaxMemAllocated=19.5GB\n");
  CHECK(engine.framework == LogFramework::DeepSpeed);
  CHECK(engine.unit == StepUnit::Samples);
  CHECK(engine.steps[0].iteration == 10);
  CHECK(engine.steps[0].value == 61.25);
  CHECK(engine.allocated.value().value == 19.5 * kGiB);
  const TrainingLog old = read("[timer.py:189:stop] 0/40, SamplesPerSec=83.5, MemAllocated=0.26GB\n");
  CHECK(old.steps[0].iteration == 40);
  CHECK(old.steps[0].value == 83.5);
  const TrainingLog pipe = read("steps: 200 loss: 5.5508 iter time (s): 0.936 samples/sec: 136.706\n");
  CHECK(pipe.unit == StepUnit::Time);
  CHECK(pipe.steps[0].iteration == 200);
  CHECK(pipe.steps[0].value == 0.936);
}

TEST_CASE("training log: options of a command that the shell printed are arguments") {
  const TrainingLog log = read(
      "+ torchrun --nproc-per-node 8 train.py --training.seq_len=4096 --compile.enable --name 'a b' --count "
      "-1 2>&1 | tee --append out.log\n" +
      megatron_step(1, 10));
  CHECK(log.form == ArgumentForm::CommandLine);
  CHECK(value_of(log, "training.seq_len") == "4096");
  CHECK(value_of(log, "compile.enable") == "");
  CHECK(value_of(log, "name") == "a b");
  CHECK(value_of(log, "nproc-per-node") == "8");
  CHECK(value_of(log, "count") == "-1");
  CHECK(value_of(log, "append") == "absent");
}

TEST_CASE("training log: restarts of one run are counted, other arguments are another run") {
  const std::string first = megatron_block(2, "/a") + megatron_step(1, 10) + megatron_step(2, 10);
  // Restarted from a checkpoint; the folder may differ.
  const TrainingLog again = read(first + megatron_block(2, "/b") + megatron_step(3, 10));
  CHECK(again.num_starts == 2);
  CHECK(again.steps[2].start == 1);
  CHECK(value_of(again, "save") == "/a");
  // Without arguments a number that goes back tells of the restart.
  CHECK(read(megatron_step(5, 10) + megatron_step(6, 10) + megatron_step(7, 10) + megatron_step(4, 10))
            .num_starts == 2);
  CHECK(error_of(first + megatron_block(4, "/a") + megatron_step(1, 10)) ==
        "run.log:11: micro_batch_size: the log has two runs: here the argument is '4', in line 3 it is '2'. "
        "Give "
        "each run as a log of its own");
  // A part of a log has no start; one line in ten iterations may be the first one.
  CHECK(read(megatron_step(45, 10) + megatron_step(46, 10)).begins_amid);
  CHECK_FALSE(read(megatron_step(10, 10) + megatron_step(20, 10)).begins_amid);
  CHECK_FALSE(read(megatron_block(2, "/a") + megatron_step(45, 10) + megatron_step(46, 10)).begins_amid);
  // An attempt without an iteration is no run.
  const TrainingLog second = read(megatron_block(4, "/a") + "CUDA out of memory\n" + first);
  CHECK(value_of(second, "micro_batch_size") == "2");
  CHECK(second.num_starts == 1);
}

TEST_CASE("training log: lines of two frameworks, and none that is known, are errors with their line") {
  CHECK(error_of(megatron_step(1, 10) + "step: 1 loss: 2.0 tps: 100\n") ==
        "run.log:2: the log has two runs: this is a line of torchtitan, line 1 is one of Megatron-LM. Give "
        "each "
        "run as a log of its own");
  CHECK(
      error_of("Epoch 1\nloss 2.0\n").starts_with("run.log:2: no line of a training iteration up to here. "));
  std::string grown = megatron_step(2, 10);
  grown.replace(grown.find("size:   128"), 11, "size:   256");
  CHECK(error_of(megatron_step(1, 10) + grown) ==
        "run.log:2: global batch size: 256 here, and 128 in line 1: a batch that grows is not predicted. "
        "Give a "
        "part of the log with one batch");
  CHECK(error_of("").starts_with("run.log:1: no line of a training iteration"));
  CHECK(error_of("step: 1 loss: 2.0 tps: 0\n").starts_with("run.log:1: no line"));
}

TEST_CASE("training log: exports of Weights & Biases, of a chart and of a history") {
  const TrainingLog chart = read(
      "\"Step\",\"my run - iteration-time\",\"my run - iteration-time__MIN\",\"my run - "
      "iteration-time__MAX\"\n"
      "\"10\",\"1.5\",\"1.4\",\"1.6\"\n\"20\",\"\",\"\",\"\"\n\"30\",\"1.25\",\"1.2\",\"1.3\"\n");
  CHECK(chart.framework == LogFramework::Wandb);
  REQUIRE(chart.steps.size() == 2);
  CHECK(chart.steps[1].iteration == 30);
  CHECK(chart.steps[1].value == 1.25);
  CHECK(chart.steps[1].line == 4);
  // Differences of the time since the start, by steps: 6 s in 2 steps.
  const TrainingLog history = read("_step,_runtime,loss\n1,100,3\n3,106,2.9\n4,109,2.8\n");
  REQUIRE(history.steps.size() == 2);
  CHECK(history.steps[0].value == 3);
  CHECK(history.steps[1].value == 3);
  const TrainingLog rates = read("_step,_runtime,throughput(tps)\n1,100,5000\n2,103,6000\n");
  CHECK(rates.unit == StepUnit::TokensPerGpu);
  CHECK(error_of("Step,a - tps,b - tps\n1,2,3\n") ==
        "run.log:1: b - tps: the table has two runs: 'a - tps' is the other one. Export each run alone");
  CHECK(error_of("_step,tps\n1,fast\n").starts_with("run.log:2: tps: "));
  CHECK(error_of("_step,tps\n1,\n") == "run.log:2: no row has a value of 'tps'");
}
