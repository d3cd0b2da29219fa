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

  /// Moves to the next line that is not blank: true, or false at the end. After the error of a line that is
  /// too long the next call goes on behind it.
  Result<bool> next();
  /// The line at hand without its end.
  std::string_view line() const { return line_; }
  /// Its 1-based number in the file.
  std::int64_t number() const { return number_; }
  /// As given, for errors.
  const std::string& file() const { return file_; }

 private:
  std::string_view rest_;
  std::string file_;
  std::string_view line_;
  std::int64_t number_ = 0;
};

}  // namespace vtrain
