/// Files that violate their format. Every reader must return the same jobs, a counted skip or an error with a
/// place.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "tests/support/packed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trace_examples.hpp"
#include "traces/trace_format.hpp"

using vtrain::kTraceExamples;
using vtrain::parse_trace;
using vtrain::read_trace;
using vtrain::testing::gzip;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::zstd;

namespace {

/// The text with each `\n` replaced by another line end.
std::string with_line_ends(std::string_view text, std::string_view line_end) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += line_end;
    } else {
      out += c;
    }
  }
  return out;
}

/// Begin and end of each field in the last line of a table.
std::vector<std::pair<std::size_t, std::size_t>> last_fields(std::string_view name, std::string_view text) {
  static const std::map<std::string_view, char> kSeparators = {{"gavel", '\t'}, {"swf", ' '}, {"sacct", '|'}};
  const auto found = kSeparators.find(name);
  const char separator = found == kSeparators.end() ? ',' : found->second;
  const std::size_t end = text.ends_with('\n') ? text.size() - 1 : text.size();
  const std::size_t line_end = text.rfind('\n', end - 1);
  std::size_t begin = line_end == std::string_view::npos ? 0 : line_end + 1;
  std::vector<std::pair<std::size_t, std::size_t>> fields;
  for (std::size_t i = begin; i <= end; ++i) {
    if (i < end && text[i] != separator) continue;
    fields.emplace_back(begin, i);
    begin = i + 1;
  }
  return fields;
}

/// Begin and end of each value in a JSON text: from a colon up to a comma or a bracket.
std::vector<std::pair<std::size_t, std::size_t>> json_values(std::string_view text) {
  std::vector<std::pair<std::size_t, std::size_t>> values;
  for (std::size_t i = text.find(':'); i < text.size(); i = text.find(':', i + 1)) {
    const bool quoted = i > 0 && text[i - 1] == '"' && i + 1 < text.size() && text[i + 1] == '"';
    const std::size_t end = quoted ? text.find('"', i + 2) + 1 : text.find_first_of(",}]", i);
    if (text[i - 1] == '"') values.emplace_back(i + 1, end);
  }
  return values;
}

/// Checks that the text gives jobs or an error that can be shown. Strict reading must accept no more than
/// lenient reading.
void check_outcome(const std::string& text, std::string_view name) {
  const auto trace = parse_trace(text, "file", name);
  const auto strict = parse_trace(text, "file", name, {.strict = true});
  for (const auto* result : {&trace, &strict}) {
    if (result->has_value()) {
      CHECK_FALSE((*result)->workload.jobs.empty());
    } else {
      const std::string shown = result->error().describe();
      CHECK(shown.starts_with("file"));
      CHECK(vtrain::is_printable(shown));
    }
  }
  if (!trace) CHECK_FALSE(strict.has_value());
  if (trace && trace->skipped.total() > 0) CHECK_FALSE(strict.has_value());
}

}  // namespace

TEST_CASE("hostile input: CRLF, a byte-order mark, blank lines and a missing final newline change nothing") {
  for (const auto& entry : kTraceExamples) {
    const std::string_view name = entry[0];
    const std::string_view example = entry[1];
    CAPTURE(std::string(name));
    const std::string text(example);
    const auto plain = parse_trace(text, "file", name);
    REQUIRE_MESSAGE(plain.has_value(), plain.error().describe());
    std::string without_end = text;
    while (without_end.ends_with('\n'))
      without_end.pop_back();
    for (const std::string& variant : {with_line_ends(text, "\r\n"), "\xef\xbb\xbf" + text, without_end,
                                       text + "\n\n", "\xef\xbb\xbf" + with_line_ends(without_end, "\r\n")}) {
      const auto trace = parse_trace(variant, "file", "auto", {.strict = true});
      REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
      CHECK(trace->format == name);
      REQUIRE(trace->workload.jobs.size() == 1);
      CHECK(trace->workload.jobs[0].name == plain->workload.jobs[0].name);
      CHECK(trace->workload.jobs[0].submit == plain->workload.jobs[0].submit);
      CHECK(trace->workload.jobs[0].duration == plain->workload.jobs[0].duration);
      CHECK(trace->workload.jobs[0].num_gpus == plain->workload.jobs[0].num_gpus);
    }
  }
}

TEST_CASE("hostile input: every field with a value that it cannot have") {
  const std::string kLong(2000, '9');
  for (const auto& entry : kTraceExamples) {
    const std::string_view name = entry[0];
    const std::string_view example = entry[1];
    CAPTURE(std::string(name));
    const bool json = name == "jsonl" || name == "batsim" || name == "philly-log";
    const auto fields = json ? json_values(example) : last_fields(name, example);
    REQUIRE(fields.size() >= 4);
    for (const auto& [begin, end] : fields) {
      for (const std::string& value :
           {std::string(), std::string("nan"), std::string("None"), std::string("NULL"), std::string("-1"),
            std::string("0"), std::string("-0.5"), std::string("1e300"), std::string("99999999999999999999"),
            std::string("2017-13-45 99:99:99"), std::string("9999-12-31 23:59:59"), std::string("inf"),
            std::string("\xff\x01", 2), std::string("a\0b", 3), kLong}) {
        CAPTURE(value.substr(0, 30));
        std::string text(example);
        text.replace(begin, end - begin, value);
        check_outcome(text, name);
        if (!json) continue;
        text = example;
        text.replace(begin, end - begin, '"' + value + '"');
        check_outcome(text, name);
      }
    }
  }
}

TEST_CASE("hostile input: a file cut off anywhere, and with any byte changed") {
  for (const auto& entry : kTraceExamples) {
    const std::string_view name = entry[0];
    const std::string_view example = entry[1];
    CAPTURE(std::string(name));
    for (std::size_t i = 1; i < example.size(); ++i)
      check_outcome(std::string(example.substr(0, i)), name);
    for (std::size_t i = 0; i < example.size(); ++i) {
      for (const char c : {'\0', '"', ',', '\n', '{', '\xff'}) {
        std::string text(example);
        text[i] = c;
        check_outcome(text, name);
      }
    }
  }
}

TEST_CASE("hostile input: the last row twice is one job, an error, or two where rows have no ids") {
  for (const auto& entry : kTraceExamples) {
    const std::string_view name = entry[0];
    const std::string_view example = entry[1];
    if (name == "batsim" || name == "philly-log") continue;  // no rows; their own tests have it
    CAPTURE(std::string(name));
    const std::string text(example);
    const std::size_t before = text.rfind('\n', text.size() - 2);
    const std::string last = text.substr(before == std::string::npos ? 0 : before + 1);
    const auto trace = parse_trace(text + last, "file", name);
    const auto strict = parse_trace(text + last, "file", name, {.strict = true});
    const bool numbered = name == "pollux" || name == "pcs" || name == "gavel";
    const bool by_hand = name == "vtrain" || name == "jsonl" || name == "slurm-batch";
    CHECK(trace.has_value() == !by_hand);
    if (trace) {
      CHECK(trace->workload.jobs.size() + static_cast<std::size_t>(trace->skipped.total()) == 2);
      if (trace->skipped.total() > 0) CHECK(trace->skipped.reasons()[0].first_lines.size() == 1);
    }
    if (!numbered) CHECK_FALSE(strict.has_value());
  }
}

TEST_CASE("hostile input: packed files are read, and cut off anywhere they are errors") {
  const TemporaryFolder folder;
  const auto path = folder / "trace";
  for (const auto& entry : kTraceExamples) {
    const std::string_view name = entry[0];
    const std::string_view example = entry[1];
    CAPTURE(std::string(name));
    for (const std::string& packed : {gzip(example), zstd(example)}) {
      REQUIRE(vtrain::write_file(path, packed));
      const auto whole = read_trace(path.string());
      REQUIRE_MESSAGE(whole.has_value(), whole.error().describe());
      CHECK(whole->format == name);
      for (std::size_t size = 4; size < packed.size(); size += 7) {
        REQUIRE(vtrain::write_file(path, packed.substr(0, size)));
        const auto cut = read_trace(path.string());
        REQUIRE_FALSE(cut.has_value());
        CHECK(cut.error().describe().starts_with(path.string()));
      }
    }
  }
}
