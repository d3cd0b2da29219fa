#include "policies/base/policy_info.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"

namespace vtrain {
namespace {

Error unknown_parameter(const PolicyInfo& policy, std::string_view name) {
  const auto known = names_of(policy.parameters);
  const std::string list = known.empty() ? "It has none." : fmt::format("It has {}.", list_names(known));
  return {.message = fmt::format("policy '{}' has no parameter '{}'{} {}", policy.name, name,
                                 guess_or_stop(name, known), list)};
}

}  // namespace

PolicyArguments::PolicyArguments(const PolicyInfo& policy) : policy_(&policy) {
  values_.reserve(policy.parameters.size());
  for (const PolicyParameter& parameter : policy.parameters)
    values_.emplace_back(parameter.default_value);
}

Result<PolicyArguments> PolicyArguments::parse(const PolicyInfo& policy, std::string_view text) {
  PolicyArguments arguments(policy);
  if (text.empty()) return arguments;
  std::vector<std::string_view> given;
  for (const std::string_view pair : split(text, ',')) {
    const auto assignment = split_once(pair, '=');
    const std::string_view key = assignment.first;
    if (!assignment.second)
      return fail({.field = std::string(policy.name), .message = expected_found("parameter=value", pair)});
    const auto parameter = std::ranges::find(policy.parameters, key, &PolicyParameter::name);
    if (parameter == policy.parameters.end()) return fail(unknown_parameter(policy, key));
    if (std::ranges::find(given, key) != given.end()) {
      return fail({.field = fmt::format("{}:{}", policy.name, key), .message = "expected once, found twice"});
    }
    given.push_back(key);
    std::string& value = arguments.values_[static_cast<std::size_t>(parameter - policy.parameters.begin())];
    value = *assignment.second;
    const auto& choices = parameter->choices;
    if (!choices.empty() && std::ranges::find(choices, value) == choices.end())
      return fail(arguments.bad_value(key, "one of " + list_names(choices)));
  }
  if (auto checked = arguments.check_conditions(given); !checked) return fail(std::move(checked.error()));
  return arguments;
}

std::string_view PolicyArguments::operator[](std::string_view parameter) const {
  const auto found = std::ranges::find(policy_->parameters, parameter, &PolicyParameter::name);
  if (found == policy_->parameters.end()) {
    throw std::logic_error(
        fmt::format("policy '{}' asks for '{}', which its table lacks", policy_->name, parameter));
  }
  return values_[static_cast<std::size_t>(found - policy_->parameters.begin())];
}

bool PolicyArguments::ignores_gpu_types() const {
  return policy_->ignores_gpu_types ||
         std::ranges::any_of(policy_->parameters, [&](const PolicyParameter& parameter) {
           return parameter.ignores_gpu_types && (*this)[parameter.name] != parameter.default_value;
         });
}

Error PolicyArguments::bad_value(std::string_view parameter, std::string_view expected) const {
  return {.field = fmt::format("{}:{}", policy_->name, parameter),
          .message = expected_found(expected, (*this)[parameter])};
}

Result<void> PolicyArguments::check_conditions(std::span<const std::string_view> given) const {
  for (const PolicyParameter& parameter : policy_->parameters) {
    if (std::ranges::find(given, parameter.name) == given.end()) continue;
    for (const PolicyParameter* next = &parameter; !next->condition.empty();) {
      const auto [name, value] = split_once(next->condition, '=');
      if ((*this)[name] != value)
        return fail({.field = fmt::format("{}:{}", policy_->name, parameter.name),
                     .message = fmt::format("has no effect with {}={}", name, (*this)[name])});
      next = &*std::ranges::find(policy_->parameters, name, &PolicyParameter::name);
    }
  }
  return {};
}

std::string guess_or_stop(std::string_view word, std::span<const std::string_view> known) {
  const std::string meant = did_you_mean(word, known);
  return meant.empty() ? "." : "; " + meant;
}

}  // namespace vtrain
