/// Lines of text held in memory, as views.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// The lines of a text that hold more than blanks. Accepts a UTF-8 byte-order mark, CRLF and a missing final
/// newline.
class LineReader {
 public:
  /// Longest accepted line in bytes; a longer one is an error, so that binary junk cannot exhaust memory.
  static constexpr std::size_t kMaxLine = 1 << 20;

  /// `text` must outlive the reader; `file` is used in errors.
  LineReader(std::string_view text, std::string file);

  /// Moves to the next line that is not blank: true, or false at the end. After the error of an overlong
  /// line, the next call continues after that line.
  Result<bool> next();
  /// The current line without its end.
  std::string_view line() const { return line_; }
  /// The current line's 1-based number in the file.
  std::int64_t number() const { return number_; }
  /// File name as given, for errors.
  const std::string& file() const { return file_; }

 private:
  std::string_view rest_;
  std::string file_;
  std::string_view line_;
  std::int64_t number_ = 0;
};

}  // namespace vtrain
