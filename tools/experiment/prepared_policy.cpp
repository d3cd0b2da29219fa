#include "tools/experiment/prepared_policy.hpp"

#include "tools/experiment/file_hash.hpp"

namespace vtrain {
namespace {

Result<PreparedPolicy> prepare_policy(const std::string& spec) {
  auto arguments = PolicyArguments::parse(spec);
  if (!arguments) return fail(std::move(arguments.error()));
  auto policy = arguments->policy().make(*arguments);
  if (!policy) return fail(std::move(policy.error()));
  PreparedPolicy prepared{spec, *std::move(arguments), *std::move(policy)};
  for (const PolicyParameter& parameter : prepared.arguments.policy().parameters) {
    if (!parameter.is_file) continue;
    std::string path(prepared.arguments[parameter.name]);
    auto file = path_and_hash(path);  // at once: it is to be that of what was read
    if (!file) return fail(std::move(file.error()));
    prepared.files.emplace_back(std::move(path), *std::move(file));
  }
  return prepared;
}

}  // namespace

Result<std::vector<PreparedPolicy>> prepare_policies(const std::vector<std::string>& specs) {
  std::vector<PreparedPolicy> policies;
  for (const std::string& spec : specs) {
    auto policy = prepare_policy(spec);
    if (!policy) return fail(std::move(policy.error()));
    policies.push_back(*std::move(policy));
  }
  return policies;
}

}  // namespace vtrain
