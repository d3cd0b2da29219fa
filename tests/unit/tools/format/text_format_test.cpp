#include "tools/format/text_format.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace vtrain;

TEST_CASE("output_format: durations have the unit that their rounded digits fit") {
  CHECK(as_duration(0.9994) == "999 ms");
  CHECK(as_duration(0.9997) == "1 s");
  CHECK(as_duration(0.9994e-3) == "999 us");
  CHECK(as_duration(0.9997e-3) == "1 ms");
  CHECK(as_duration(59.96) == "1 m 00 s");
  CHECK(as_duration(-3600) == "-1 h 00 m");
  CHECK(as_days(86400) == "1.0 d");
  CHECK(iteration_text(Seconds(0.99994)) == "999.9 ms");
  CHECK(iteration_text(Seconds(0.99997)) == "1.000 s");
  CHECK(iteration_text(Seconds(999.94)) == "999.9 s");
  CHECK(iteration_text(Seconds(999.97)) == "1,000 s");
}

TEST_CASE("output_format: text is cut at blanks") {
  CHECK(wrap_text("one two three", 7) == "one two\nthree");
  CHECK(wrap_text("one two three", 8, 2) == "one two\n  three");
  CHECK(wrap_text("incomprehensible", 5) == "incomprehensible");
  CHECK(wrap_text("a incomprehensible b", 5) == "a\nincomprehensible\nb");
  CHECK(wrap_text("\u00e9\u00e9 \u00e9\u00e9", 5) == "\u00e9\u00e9 \u00e9\u00e9");
  CHECK(wrap_text("", 5).empty());
  CHECK(wrap_text("one two three\nfour", 8, 1) == "one two\n three\n four");
}

TEST_CASE("output_format: work below a hundred GPU-hours has three digits") {
  CHECK(as_gpu_hours(0) == "0 GPU-hours");
  CHECK(as_gpu_hours(10 / 3600.0) == "0.00278 GPU-hours");
  CHECK(as_gpu_hours(3603 / 3600.0) == "1 GPU-hour");
  CHECK(as_gpu_hours(7.109) == "7.11 GPU-hours");
  CHECK(as_gpu_hours(104'321.4) == "104,321 GPU-hours");
}

TEST_CASE("output_format: values that do not exist are a dash") {
  const double none = std::nan("");
  CHECK(as_duration(none) == "-");
  CHECK(as_days(none) == "-");
  CHECK(as_percent(none) == "-");
  CHECK(as_load(none) == "-");
  CHECK(short_number(none) == "-");
}
