#include "workloads/config/stack_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/io/json_reader.hpp"

namespace vtrain {
namespace {

Result<Stack> read(const std::string& text) {
  const auto document = JsonDocument::parse("{\"stack\": " + text + "}", "s.json");
  REQUIRE(document);
  return read_stack(*document, document->root());
}

std::string error_of(const std::string& text) {
  const auto stack = read(text);
  REQUIRE_FALSE(stack);
  return stack.error().describe();
}

TEST_CASE("stack_json: a name is that stack, an object changes some of it") {
  const Stack bridge = find_stack("megatron-bridge").value();
  CHECK(read(R"("megatron-bridge")")->summary == bridge.summary);
  CHECK(read(R"({"base": "megatron-bridge"})")->summary == bridge.summary);
  const Stack stack = read(R"({"base": "megatron-bridge", "dispatch": "all-to-all", "graphs": "layer",
      "overlap": {"tensor": false}, "memory": {"selective": "experts"}, "wider": {"last_layers": 14}})")
                          .value();
  CHECK(stack.name == "megatron-bridge");
  CHECK(stack.summary == bridge.summary + "; changed: graphs, dispatch, overlap, memory, wider");
  CHECK(stack.dispatch == TokenDispatch::AllToAll);
  CHECK(stack.graphs == CudaGraphs::Layer);
  CHECK_FALSE(stack.overlap.tensor);
  CHECK(stack.overlap.data_parallel);
  CHECK(stack.memory.selective == SelectiveRecompute::Experts);
  CHECK(stack.memory.gradient_bytes == bridge.memory.gradient_bytes);
  CHECK(stack.wider == WiderProducts{.last_layers = 14});
}

TEST_CASE("stack_json: what is written is read again") {
  CHECK(stack_to_json(find_stack("torchtitan").value()) == "torchtitan");
  for (
      const std::string text :
      {R"({"base":"fsdp-eager","attention":"flash-2","gradient_bytes":2.0,"memory":{"gradient_bytes":2.0}})",
       R"({"base":"torchtitan-eager","memory":{"loss_bytes":4.0,"loss_tokens":256}})",
       R"({"base":"transformers-eager","loss_bytes_per_logit":16.0,"loss_conversion_bytes":0.0,"updates_weights":false})",
       R"({"base":"megatron-bridge","fuses_experts":true,"fuses_router":false,"data_parallel":{"contention":0.03,"memory_traffic":1.0},"memory":{"selective":"activations","offloads_expert_inputs":true},"eager":{"activation":true},"wider":{"prediction":true}})"}) {
    CAPTURE(text);
    CHECK(stack_to_json(read(text).value()).dump() == text);
  }
}

TEST_CASE("stack_json: errors name the field") {
  CHECK(error_of(R"("torchtitans")").starts_with("s.json:1: stack: unknown stack 'torchtitans'"));
  CHECK(error_of(R"({"base": "torchtitans"})").starts_with("s.json:1: stack.base: unknown stack"));
  CHECK(error_of("3") == "s.json:1: stack: expected a JSON object, found '3'");
  CHECK(error_of(R"({"graphs": "layer"})").starts_with("s.json:1: stack.base: missing"));
  CHECK(error_of(R"({"base": "torchtitan", "overlap": {"tensors": true}})")
            .starts_with("s.json:1: stack.overlap.tensors: unknown key"));
  CHECK(error_of(R"({"base": "torchtitan", "gradient_bytes": 16})")
            .starts_with("s.json:1: stack.gradient_bytes: "));
  CHECK(error_of(R"({"base": "torchtitan", "loss_bytes_per_logit": 8, "loss_conversion_bytes": 12})") ==
        "s.json:1: stack.loss_conversion_bytes: expected at most loss_bytes_per_logit, 8, found '12'");
}

}  // namespace
}  // namespace vtrain
