/// Traces from text and to text, for tests of readers and writers.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "core/io/input.hpp"
#include "tests/support/temporary_folder.hpp"
#include "traces/trace_format.hpp"

namespace vtrain::testing {

/// Reads a text that must be recognised as `format`; an error ends the test case.
inline Trace read_text(const std::string& text, std::string_view format) {
  auto trace = parse_trace(text, "file");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->format == format);
  return *std::move(trace);
}

/// Number of rows that were skipped for a reason.
inline std::int64_t skipped(const Trace& trace, std::string_view reason) {
  for (const auto& entry : trace.skipped.reasons()) {
    if (entry.text == reason) return entry.count;
  }
  return 0;
}

/// Text that a format's writer writes.
inline std::string written(const Trace& trace,
                           Result<void> (*write)(const Trace&, const std::filesystem::path&)) {
  const TemporaryFolder folder;
  const auto path = folder / "trace";
  const auto done = write(trace, path);
  REQUIRE_MESSAGE(done.has_value(), done.error().describe());
  return read_file(path, InputKind::Trace).value();
}

}  // namespace vtrain::testing
