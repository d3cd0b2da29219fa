/// Logs of training runs, as frameworks print them: arguments, iterations and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Frameworks whose logs are read.
enum class LogFramework : std::uint8_t {
  Megatron,        ///< Megatron-LM, Megatron-DeepSpeed and others with its line of an iteration
  MegatronBridge,  ///< Megatron-Bridge, which prints `Step Time` too
  NeMo,            ///< NeMo with PyTorch Lightning
  Torchtitan,      ///< torchtitan
  DeepSpeed,       ///< DeepSpeed's own lines, of its engine or of its pipeline
  Wandb,           ///< a CSV file that Weights & Biases exports
};

/// `Megatron-LM`, `torchtitan` and so on.
std::string_view name_of(LogFramework framework);

/// Figure that a log has of an iteration.
enum class StepUnit : std::uint8_t {
  Time,          ///< seconds of an iteration
  TokensPerGpu,  ///< tokens a second on each GPU
  Tokens,        ///< tokens a second on all GPUs
  Samples,       ///< sequences a second on all GPUs
};

/// One argument of a run, as the log prints it.
struct LogArgument {
  std::string name{};
  std::string value{};
  std::int64_t line = 0;  ///< 1-based
};

/// Forms in which a log prints arguments.
enum class ArgumentForm : std::uint8_t {
  None,         ///< it prints none
  Block,        ///< Megatron-LM's table, `name ..... value`
  Json,         ///< torchtitan's document; names are paths, `training.seq_len`
  DeepSpeed,    ///< the table of DeepSpeed's engine
  CommandLine,  ///< options of a command that the shell printed, names without their hyphens
};

/// Number of forms.
inline constexpr std::size_t kNumArgumentForms = 5;

/// A line that reports on one iteration, or on all since the line before.
struct LoggedStep {
  std::int64_t iteration = 0;  ///< number of the last iteration that the line covers
  double value = 0;            ///< above 0; in the log's unit
  std::int64_t line = 0;       ///< 1-based
  std::size_t start = 0;       ///< position of the start of the run that it belongs to
};

/// A log as read.
struct TrainingLog {
  std::string file{};  ///< name as given
  LogFramework framework = LogFramework::Megatron;
  StepUnit unit = StepUnit::Time;
  ArgumentForm form = ArgumentForm::None;
  std::vector<LogArgument> arguments{};  ///< arguments of the first start
  std::vector<LoggedStep> steps{};       ///< lines of iterations, at least one
  bool begins_amid =
      false;  ///< the text begins in the middle of a run: without its start, and not at its first line
  std::size_t num_starts = 1;        ///< 1 and the restarts
  std::int64_t num_repeated = 0;     ///< lines that only repeat those of another rank
  std::int64_t global_batch = 0;     ///< sequences of an iteration, as its lines say; 0: they don't
  std::optional<Bytes> allocated{};  ///< largest peak of tensors on a GPU
  std::optional<Bytes> reserved{};   ///< largest peak of the allocator on a GPU
};

/// Reads a log. Colours, time stamps and the labels of ranks are passed over, and of several ranks the first
/// one counts. A restart of the same run is counted.
///
/// Errors name file and line: a text without a line of an iteration that is known, lines of two frameworks,
/// two starts whose arguments differ in more than paths, names and schedules, a global batch that changes,
/// and a table of several runs.
Result<TrainingLog> parse_training_log(std::string_view text, const std::string& file);

/// Reads a log from a file, compressed or not.
Result<TrainingLog> read_training_log(const std::filesystem::path& path);

/// Reads a CSV file of Weights & Biases: one run, a row for each step. `parse_training_log` calls it for a
/// text whose first line is such a header.
Result<TrainingLog> parse_wandb_export(std::string_view text, const std::string& file);

/// True if the first line of a text names a column of steps and one that `parse_wandb_export` reads.
bool is_wandb_export(std::string_view text);

}  // namespace vtrain
