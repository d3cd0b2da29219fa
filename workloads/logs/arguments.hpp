/// Arguments of runs in the forms in which logs print them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/logs/training_log.hpp"

namespace vtrain {

/// Collects the arguments of a log line by line. It knows the blocks of Megatron-LM, torchtitan and
/// DeepSpeed, and commands with options that a shell printed.
class ArgumentCollector {
 public:
  /// Takes the next line, without the label of its rank. `label` is that label: a document continues only
  /// on lines of its own rank. True if the line opens a block, or is a command.
  bool take(std::string_view line, std::string_view label, std::int64_t number);

  /// Closes a block that is still open, as a log cut off has one.
  void close();

  /// Arguments since the last start, by form; those of a newer block replace those of the one before.
  const std::vector<LogArgument>& found(ArgumentForm form) const {
    return found_[static_cast<std::size_t>(form)];
  }
  /// Forgets all arguments.
  void clear();

 private:
  bool opens_block(std::string_view line, std::string_view label, std::int64_t number);
  void take_inside(std::string_view line, std::string_view label, std::int64_t number);
  void take_json_line(std::string_view line);
  std::vector<LogArgument>& list(ArgumentForm form) { return found_[static_cast<std::size_t>(form)]; }

  std::array<std::vector<LogArgument>, kNumArgumentForms> found_{};
  ArgumentForm open_ = ArgumentForm::None;  ///< form of the block that is open
  std::string label_{};                     ///< rank of the open block
  std::int64_t first_line_ = 0;             ///< line at which the open block began
  std::int64_t num_lines_ = 0;              ///< lines of the open block
  std::string json_{};                      ///< text of an open document
  std::int64_t depth_ = 0;                  ///< brackets of the document that are open
};

/// True if an argument may change the time of an iteration: none for paths, names, seeds and schedules, which
/// differ from start to start of one run.
bool may_change_speed(std::string_view name);

/// The first argument of `later` that may change the speed and that `first` has with another value, or
/// lacks; null if there is none.
const LogArgument* first_difference(const std::vector<LogArgument>& first,
                                    const std::vector<LogArgument>& later);

}  // namespace vtrain
