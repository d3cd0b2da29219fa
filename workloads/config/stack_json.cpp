#include "workloads/config/stack_json.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/io/json_reader.hpp"
#include "workloads/config/field_json.hpp"

namespace vtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Names = std::span<const std::string_view>;

constexpr std::string_view kStackKey = "stack";
constexpr std::string_view kBaseKey = "base";

/// The names of attention kernels, in the order of `AttentionKernel`.
Names attention_kernel_names() {
  static constexpr std::array<std::string_view, kNumAttentionKernels> kNames = {"unfused", "flash-1",
                                                                                "flash-2", "flash-3"};
  return kNames;
}

/// The names of dispatches, in the order of `TokenDispatch`.
Names dispatch_names() {
  static constexpr std::array<std::string_view, 3> kNames = {"all-to-all", "one-per-gpu", "hybrid-ep"};
  return kNames;
}

/// The names of CUDA graphs, in the order of `CudaGraphs`.
Names graph_names() {
  static constexpr std::array<std::string_view, 4> kNames = {"none", "router", "layer", "iteration"};
  return kNames;
}

/// The names of selective recomputation, in the order of `SelectiveRecompute`.
Names selective_names() {
  static constexpr std::array<std::string_view, 5> kNames = {
      "attention-scores", "every-second-product", "norms-and-activations", "experts", "activations"};
  return kNames;
}

constexpr std::int64_t kMostLossBytes = 1000;  // a logit
constexpr std::int64_t kMostGradientBytes = 8;

constexpr auto kStackFields = std::to_array<Field<Stack>>({
    {.key = "attention", .member = named_member<&Stack::attention, attention_kernel_names>()},
    {.key = "loss_bytes_per_logit", .member = &Stack::loss_bytes_per_logit, .high = kMostLossBytes},
    {.key = "loss_conversion_bytes", .member = &Stack::loss_conversion_bytes, .high = kMostLossBytes},
    {.key = "graphs", .member = named_member<&Stack::graphs, graph_names>()},
    {.key = "fuses_experts", .member = &Stack::fuses_experts},
    {.key = "fuses_router", .member = &Stack::fuses_router},
    {.key = "gradient_bytes", .member = &Stack::gradient_bytes, .low = 1, .high = kMostGradientBytes},
    {.key = "dispatch", .member = named_member<&Stack::dispatch, dispatch_names>()},
    {.key = "updates_weights", .member = &Stack::updates_weights},
});

constexpr auto kOverlapFields = std::to_array<Field<OverlapRule>>({
    {.key = "data_parallel", .member = &OverlapRule::data_parallel},
    {.key = "tensor", .member = &OverlapRule::tensor},
});

constexpr auto kDataParallelFields = std::to_array<Field<DataParallelCost>>({
    {.key = "contention", .member = &DataParallelCost::contention, .high = 1},
    {.key = "memory_traffic", .member = &DataParallelCost::memory_traffic, .high = 100},
});

constexpr auto kMemoryFields = std::to_array<Field<MemoryRules>>({
    {.key = "gradient_bytes", .member = &MemoryRules::gradient_bytes, .low = 1, .high = kMostGradientBytes},
    {.key = "selective", .member = named_member<&MemoryRules::selective, selective_names>()},
    {.key = "loss_bytes", .member = &MemoryRules::loss_bytes, .high = kMostLossBytes},
    {.key = "loss_tokens", .member = &MemoryRules::loss_tokens, .high = kMaxSequenceLength},
    {.key = "offloads_expert_inputs", .member = &MemoryRules::offloads_expert_inputs},
});

constexpr auto kEagerFields = std::to_array<Field<EagerParts>>({
    {.key = "activation", .member = &EagerParts::activation},
});

constexpr auto kWiderFields = std::to_array<Field<WiderProducts>>({
    {.key = "last_layers", .member = &WiderProducts::last_layers, .high = 1'000'000},
    {.key = "attention", .member = &WiderProducts::attention},
    {.key = "latent_experts", .member = &WiderProducts::latent_experts},
    {.key = "prediction", .member = &WiderProducts::prediction},
    {.key = "space_output", .member = &WiderProducts::space_output},
});

static_assert(kWiderFields.size() == num_members<WiderProducts>(), "a member of WiderProducts lacks a row");

/// A part of a stack with the fields that JSON may change.
template <class Part>
struct StackPart {
  std::string_view key;
  Part Stack::*member;
  std::span<const Field<Part>> fields;
};

constexpr std::tuple kStackParts = {
    StackPart<OverlapRule>{"overlap", &Stack::overlap, kOverlapFields},
    StackPart<DataParallelCost>{"data_parallel", &Stack::data_parallel, kDataParallelFields},
    StackPart<MemoryRules>{"memory", &Stack::memory, kMemoryFields},
    StackPart<EagerParts>{"eager", &Stack::eager, kEagerFields},
    StackPart<WiderProducts>{"wider", &Stack::wider, kWiderFields}};

/// Calls `visit` with each part of a stack.
template <class Visit>
void for_each_stack_part(const Visit& visit) {
  std::apply([&visit](const auto&... parts) { (visit(parts), ...); }, kStackParts);
}

/// The fields whose values differ, as JSON.
template <class Struct>
ordered_json changes(std::span<const Field<Struct>> fields, const Struct& base, const Struct& changed) {
  const ordered_json all = fields_to_json(fields, changed);
  ordered_json differing = ordered_json::object();
  for (const Field<Struct>& field : fields) {
    if (field_text(field, base) != field_text(field, changed))
      differing[std::string(field.key)] = all.at(std::string(field.key));
  }
  return differing;
}

/// Reads what an object changes of a stack.
Result<Stack> read_changes(const JsonDocument& document, const json& object, Stack stack) {
  JsonFields fields(document, object);
  const std::span<const Field<Stack>> table = kStackFields;
  std::vector<std::string_view> keys = keys_of(table);
  keys.push_back(kBaseKey);
  for_each_stack_part([&keys](const auto& part) { keys.push_back(part.key); });
  fields.allow_only(keys);
  read_fields(fields, table, stack);
  if (fields.error()) return fail(*fields.error());
  Result<void> read;
  for_each_stack_part([&](const auto& part) {
    const auto found = object.find(part.key);
    if (!read || found == object.end() || found->is_null()) return;
    JsonFields of_part(document, *found);
    of_part.allow_only(keys_of(part.fields));
    read_fields(of_part, part.fields, stack.*part.member);
    if (of_part.error()) read = fail(*of_part.error());
  });
  if (!read) return fail(std::move(read.error()));
  if (stack.loss_conversion_bytes > stack.loss_bytes_per_logit) {
    return fail(document.error_at(
        object, "loss_conversion_bytes",
        expected_found(fmt::format("at most loss_bytes_per_logit, {}", stack.loss_bytes_per_logit),
                       fmt::format("{}", stack.loss_conversion_bytes))));
  }
  return stack;
}

/// What differs from the base, without its name.
ordered_json all_changes(const Stack& base, const Stack& stack) {
  ordered_json object = changes<Stack>(kStackFields, base, stack);
  for_each_stack_part([&](const auto& part) {
    ordered_json of_part = changes(part.fields, base.*part.member, stack.*part.member);
    if (!of_part.empty()) object[std::string(part.key)] = std::move(of_part);
  });
  return object;
}

}  // namespace

Result<Stack> read_stack(const JsonDocument& document, const json& object) {
  const auto found = object.find(kStackKey);
  if (found == object.end() || found->is_null()) return fail(document.error_at(object, kStackKey, "missing"));
  if (found->is_string()) {
    auto named = find_stack(found->get<std::string>());
    if (!named) return fail(document.error_at(object, kStackKey, std::move(named.error().message)));
    return named;
  }
  JsonFields fields(document, *found);
  const std::string name = fields.string(kBaseKey);
  if (fields.error()) return fail(*fields.error());
  const auto base = find_stack(name);
  if (!base) return fail(document.error_at(*found, kBaseKey, base.error().message));
  auto stack = read_changes(document, *found, *base);
  if (!stack) return stack;
  std::vector<std::string> changed;
  const ordered_json differing = all_changes(*base, *stack);
  for (const auto& [key, value] : differing.items())
    changed.push_back(key);
  if (!changed.empty()) stack->summary += fmt::format("; changed: {}", fmt::join(changed, ", "));
  return stack;
}

ordered_json stack_to_json(const Stack& stack) {
  const ordered_json differing = all_changes(find_stack(stack.name).value(), stack);
  if (differing.empty()) return stack.name;
  ordered_json object = {{std::string(kBaseKey), stack.name}};
  object.update(differing);
  return object;
}

}  // namespace vtrain
