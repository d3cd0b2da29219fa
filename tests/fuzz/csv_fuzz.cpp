#include <cstdint>
#include <cstdlib>

#include "core/io/csv.hpp"

/// Checks that any bytes give an error with a message, or rows with a field for every column.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto reader = vtrain::CsvReader::open({reinterpret_cast<const char*>(data), size}, "input");
  if (!reader) {
    if (reader.error().message.empty()) std::abort();
    return 0;
  }
  const int num_columns = static_cast<int>(reader->columns().size());
  std::int64_t line = 1;
  for (;;) {
    const auto row = reader->next();
    if (!row) {
      if (row.error().message.empty() || row.error().line <= 0) std::abort();
      return 0;
    }
    if (!*row) return 0;
    if (reader->line() <= line) std::abort();
    line = reader->line();
    for (int column = 0; column < num_columns; ++column) {
      const auto integer = reader->integer(column, -1000, 1000);
      if (integer && (*integer < -1000 || *integer > 1000)) std::abort();
      const auto number = reader->number(column, 0, 1);
      if (number && !(*number >= 0 && *number <= 1)) std::abort();
    }
  }
}
