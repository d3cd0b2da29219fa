#include "docs/measured/normalise/recorded_words.hpp"

#include <doctest/doctest.h>

#include <string>

namespace vtrain {
namespace {

TEST_CASE("recorded_words: what a text denies it does not affirm") {
  CHECK(has_unnegated_part("fp8 with compile", "compile"));
  CHECK_FALSE(has_unnegated_part("bf16", "fp8"));
  CHECK_FALSE(has_unnegated_part("amp bf16 no fp8", "fp8"));
  CHECK_FALSE(has_unnegated_part("without torch compile", "compile"));
  CHECK_FALSE(has_unnegated_part("async tp off", "async tp"));
  CHECK_FALSE(has_unnegated_part("w o compile", "compile"));
  CHECK_FALSE(has_unnegated_part("a100 8b nocompile", "compile"));
  CHECK_FALSE(has_unnegated_part("torch compile not stated", "compile"));
  CHECK_FALSE(has_unnegated_part("torch compile was not used", "compile"));
  CHECK_FALSE(has_unnegated_part("bf16 compile no", "compile"));
  // A word within another, and a clause of its own, deny nothing.
  CHECK(has_unnegated_part("nano fp8", "fp8"));
  CHECK(has_unnegated_part("fp8 no precision column in this table", "fp8"));
  CHECK(has_unnegated_part("mxfp8", "fp8"));
  CHECK(has_unnegated_part("bf16 not fp8", "bf16"));
  CHECK_FALSE(has_unnegated_part("bf16 not fp8", "fp8"));
  // One of several places is enough.
  CHECK(has_unnegated_part("no fp8 then fp8", "fp8"));
}

TEST_CASE("recorded_words: releases among other words") {
  CHECK(named_release("summary, 26.06 NeMo Container") == 26.06);
  CHECK(named_release("summary (26.04.01 NeMo Container)") == 26.04);
  CHECK(named_release("mbridge_25.11_DGX-GB300") == 25.11);
  CHECK_FALSE(named_release("v3.10.12 of 126.045"));
  CHECK_FALSE(named_release("ab.cd"));
  CHECK(named_release("TE 2.11, 20.50 TFLOP/s, 24.07") == 24.07);
  CHECK_FALSE(named_release(""));
}

}  // namespace
}  // namespace vtrain
