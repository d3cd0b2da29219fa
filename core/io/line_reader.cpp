#include "core/io/line_reader.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"

namespace vtrain {

LineReader::LineReader(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

Result<bool> LineReader::next() {
  while (!rest_.empty()) {
    ++number_;
    const void* newline = std::memchr(rest_.data(), '\n', rest_.size());
    const std::size_t length =
        newline ? static_cast<std::size_t>(static_cast<const char*>(newline) - rest_.data()) : rest_.size();
    line_ = rest_.substr(0, length);
    rest_.remove_prefix(newline ? length + 1 : length);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    if (line_.size() > kMaxLine) {
      return fail(
          {.file = file_,
           .line = number_,
           .message = fmt::format("line of {} bytes, at most {} are accepted", line_.size(), kMaxLine)});
    }
    if (!trim(line_).empty()) return true;
  }
  return false;
}

}  // namespace vtrain
