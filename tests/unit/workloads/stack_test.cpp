#include "workloads/stack.hpp"

#include <doctest/doctest.h>

#include <string>

#include "core/gpu_profile.hpp"

namespace vtrain {
namespace {

TEST_CASE("stack: every stack has a name of its own, in order, and says what it is") {
  std::string last;
  for (const Stack& stack : all_stacks()) {
    CAPTURE(stack.name);
    CHECK(stack.name > last);
    last = stack.name;
    CHECK(stack.summary.size() > 20);
    CHECK(find_stack(stack.name)->name == stack.name);
    CHECK(stack.traffic_factor >= 1);
    CHECK(stack.overlap.contention >= 0);
    CHECK(stack.overlap.contention <= 1);
    // Unfused attention keeps its scores, fused attention does not.
    CHECK(stack.memory.keeps_scores == (stack.attention == AttentionKernel::Unfused));
    CHECK(stack.memory.keeps_dropout_masks == stack.has_dropout);
  }
}

TEST_CASE("stack: GPUs with fp8 train with today's Megatron, older ones with that of the paper") {
  CHECK(default_stack(load_gpu_profile("a100").value()).name == "megatron-2021");
  CHECK(default_stack(load_gpu_profile("h100").value()).name == "megatron-core");
}

TEST_CASE("stack: a misspelt name finds the nearest") {
  const auto stack = find_stack("megatron-bridg");
  REQUIRE(!stack);
  CHECK(stack.error().kind == ErrorKind::NotFound);
  CHECK(stack.error().message == "unknown stack 'megatron-bridg'; did you mean 'megatron-bridge'?");
  CHECK(find_stack("qqqqqqqqqqqqqqqqqqqqqqqqqqqqq").error().message.find("'torchtitan'") !=
        std::string::npos);
}

}  // namespace
}  // namespace vtrain
