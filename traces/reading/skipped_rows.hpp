/// Counts the rows of a trace that a reader leaves out, so that nothing is dropped silently.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vtrain {

/// Rows of a trace that are no jobs to replay (never started, no GPU, still running), by reason.
class SkippedRows {
 public:
  /// How many of the first lines of each reason are kept.
  static constexpr std::size_t kLinesKept = 3;

  /// The rows of one reason.
  struct Reason {
    std::string_view text;  ///< for instance `no GPU requested`; a string that outlives the program
    std::int64_t count = 0;
    /// 1-based lines of the file, at most `kLinesKept`; none where rows of several files are counted.
    std::vector<std::int64_t> first_lines{};
  };

  /// Counts one row. `reason` is a string literal; `line` is its 1-based line in the file.
  void add(std::string_view reason, std::int64_t line);
  /// Counts the rows of another file as well, without their lines.
  void add(const SkippedRows& others);
  /// All reasons, in the order in which they first came up.
  std::span<const Reason> reasons() const { return reasons_; }
  /// How many rows were left out.
  std::int64_t total() const;

 private:
  /// The reason with this text, added when new.
  Reason& find(std::string_view text);

  std::vector<Reason> reasons_;
};

}  // namespace vtrain
