#include "policies/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

namespace vtrain {
namespace {

std::string error_of(const std::string& spec) {
  const auto policy = make_policy(spec);
  REQUIRE_FALSE(policy);
  CHECK(policy.error().kind != ErrorKind::Failed);
  return policy.error().describe();
}

}  // namespace

TEST_CASE("registry: every row has a name of its own, a summary and a factory") {
  std::set<std::string_view> names;
  for (const PolicyInfo& policy : PolicyRegistry::built_in().policies()) {
    CAPTURE(policy.name);
    CHECK(names.insert(policy.name).second);
    CHECK_FALSE(policy.summary.empty());
    REQUIRE(static_cast<bool>(policy.make));
    std::set<std::string_view> parameters;
    for (const PolicyParameter& parameter : policy.parameters) {
      CHECK(parameters.insert(parameter.name).second);
      CHECK_FALSE(parameter.summary.empty());
    }
  }
  for (const std::string_view name :
       {"fifo", "chronus", "fit-first", "sjf", "srtf", "srsf", "las", "gittins", "edf"}) {
    CHECK(names.count(name) == 1);
  }
}

TEST_CASE("registry: every policy but gittins and slurm, which need files, is made from its defaults") {
  for (const PolicyInfo& policy : PolicyRegistry::built_in().policies()) {
    CAPTURE(policy.name);
    const bool needs_file = policy.name == "gittins" || policy.name == "slurm";
    CHECK(make_policy(policy.name).has_value() != needs_file);
  }
}

TEST_CASE("registry: parameters follow a colon, separated by commas") {
  CHECK(make_policy("las:attained=time,queues=3250;7200"));
  CHECK(make_policy("las: timer=peer , attained=gpu-time"));
  CHECK(make_policy("las:"));
  CHECK(make_policy(" fifo "));
}

TEST_CASE("registry: a choice is checked even where another one leaves it without use") {
  CHECK(error_of("edf:growth=greedy,resize=maybe") ==
        "edf:resize: expected one of 'yes' and 'no', found 'maybe'");
  CHECK(error_of("chronus:prefer=now") ==
        "chronus:prefer: expected one of 'adaptive', 'early' and 'late', found 'now'");
  for (const PolicyInfo& policy : PolicyRegistry::built_in().policies()) {
    for (const PolicyParameter& parameter : policy.parameters) {
      CAPTURE(parameter.name);
      const auto& choices = parameter.choices;
      CHECK((choices.empty() ||
             std::find(choices.begin(), choices.end(), parameter.default_value) != choices.end()));
    }
  }
}

TEST_CASE("registry: slots are durations of whole seconds") {
  for (const char* slot : {"60s", "1m", "24h", "1d"})
    CHECK(make_policy(std::string("elasticflow:slot=") + slot));
  for (const char* slot : {"60", "0", "0.5s", "1.5m1", "25h", "-1", "m", ""})
    CHECK_FALSE(make_policy(std::string("elasticflow:slot=") + slot));
}

TEST_CASE("registry: an unknown policy is told with the nearest name") {
  const std::string all =
      "`vtrain policies` lists all " + std::to_string(PolicyRegistry::built_in().policies().size()) + ".";
  CHECK(error_of("edff") == "unknown policy 'edff'; did you mean 'edf'? " + all);
  CHECK(error_of("EDF") == "unknown policy 'EDF'; did you mean 'edf'? " + all);
  CHECK(error_of("quantum") == "unknown policy 'quantum'. " + all);
  CHECK(error_of("") == "unknown policy ''. " + all);
  CHECK(error_of(":a=b") == "unknown policy ''. " + all);
}

TEST_CASE("registry: an unknown parameter is told with the known ones") {
  CHECK(error_of("las:atained=time") ==
        "policy 'las' has no parameter 'atained'; did you mean 'attained'? It has 'attained', 'queues' "
        "and 'timer'.");
  CHECK(error_of("fifo:x=1") == "policy 'fifo' has no parameter 'x'. It has none.");
}

TEST_CASE("registry: a parameter is name=value and given once") {
  CHECK(error_of("las:time") == "las: expected parameter=value, found 'time'");
  CHECK(error_of("las:timer=peer,,") == "las: expected parameter=value, found ''");
  CHECK(error_of("las:timer=peer,timer=exact") == "las:timer: expected once, found twice");
}

TEST_CASE("registry: ElasticFlow's las has two thresholds of whole GPU-seconds") {
  const std::string queues = "elasticflow-las:queues=";
  CHECK(make_policy(queues + "1;2"));
  for (const char* wrong : {"0.5;1", "1;1.5", "3600"}) {
    CAPTURE(wrong);
    CHECK(error_of(queues + wrong) ==
          std::string("elasticflow-las:queues: expected two thresholds of whole GPU-seconds, found '") +
              wrong + "'");
  }
  CHECK(make_policy("las:queues=0.5;1"));
}

TEST_CASE("registry: ElasticFlow's presets have names of their own, and the former spelling is understood") {
  const auto now = [](std::string_view spec) {
    const auto arguments = PolicyRegistry::built_in().parse(spec);
    REQUIRE_MESSAGE(arguments, arguments.error().describe());
    return std::string(arguments->policy().name) + " " + arguments->hint();
  };
  const std::string goes = "; the former spelling goes with the next version";
  CHECK(now("elasticflow-las:slot=5m") == "elasticflow-las ");
  CHECK(now("las:preset=elasticflow,slot=5m") ==
        "elasticflow-las 'las:preset=elasticflow,slot=5m' is 'elasticflow-las:slot=5m' now" + goes);
  CHECK(now("edf:preset=elasticflow") ==
        "elasticflow-edf 'edf:preset=elasticflow' is 'elasticflow-edf' now" + goes);
  CHECK(now("edf:resize=no,preset=none") == "edf 'edf:resize=no,preset=none' is 'edf:resize=no' now" + goes);
  CHECK(error_of("las:timer=peer,preset=elasticflow") ==
        "policy 'elasticflow-las' has no parameter 'timer'. It has 'queues' and 'slot'.");
  CHECK(error_of("las:slot=12h") ==
        "policy 'las' has no parameter 'slot'. It has 'attained', 'queues' and 'timer'.");
}

TEST_CASE("registry: policies can be added under names that are free") {
  PolicyRegistry registry;
  const std::size_t built_in = registry.policies().size();
  const auto make = [](const PolicyArguments& arguments) -> Result<std::unique_ptr<Policy>> {
    if (arguments["order"] == "backward") return fail(arguments.bad_value("order", "forward"));
    return make_policy("fifo");
  };
  const PolicyInfo mine{
      .name = "mine",
      .summary = "a policy from outside",
      .parameters = {{.name = "order", .default_value = "forward", .summary = "who is first"}},
      .make = make};
  REQUIRE(registry.add(mine));
  CHECK(registry.policies().size() == built_in + 1);
  CHECK(registry.make("mine:order=forward"));
  CHECK(registry.make("mine:order=backward").error().describe() ==
        "mine:order: expected forward, found 'backward'");
  CHECK(registry.make("min").error().describe().find("did you mean 'mine'?") != std::string::npos);
  CHECK(registry.add(mine).error().describe() == "policy: there is one with the name 'mine'");
  PolicyInfo odd = mine;
  odd.name = "mine:too";
  CHECK(registry.add(odd).error().describe() ==
        "policy: expected a name of lower-case letters, digits and '-', found 'mine:too'");
  CHECK_FALSE(make_policy("mine"));
}

TEST_CASE("registry: a parameter that has no effect beside the others is refused") {
  CHECK(error_of("edf:resize=no,growth=greedy") == "edf:growth: has no effect with resize=no");
  // Every condition names a parameter of the policy and one of its choices.
  for (const PolicyInfo& policy : PolicyRegistry::built_in().policies()) {
    for (const PolicyParameter& parameter : policy.parameters) {
      if (parameter.condition.empty()) continue;
      CAPTURE(parameter.name);
      const auto named =
          std::find_if(policy.parameters.begin(), policy.parameters.end(), [&](const PolicyParameter& other) {
            return parameter.condition.starts_with(std::string(other.name) + "=");
          });
      REQUIRE(named != policy.parameters.end());
      const std::string_view value = parameter.condition.substr(named->name.size() + 1);
      CHECK(std::find(named->choices.begin(), named->choices.end(), value) != named->choices.end());
    }
  }
}

}  // namespace vtrain
