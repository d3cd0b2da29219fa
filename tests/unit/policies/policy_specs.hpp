/// Policies for which a property is checked.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "sched/simulation/policy.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vtrain::testing {

/// Given specs, and the spec of every built-in policy for which `keep` is true. Includes the file that
/// `gittins` needs; `slurm` replays the files of a cluster, which other tests have.
class PolicySpecs {
 public:
  PolicySpecs(std::vector<std::string> some, const std::function<bool(const Policy&)>& keep)
      : specs_(std::move(some)) {
    const auto sample = folder_.write("sample.csv", "duration\n3\n9\n10\n40\n100\n");
    for (const PolicyInfo& info : PolicyRegistry::built_in().policies()) {
      std::string spec(info.name);
      if (spec == "slurm") continue;
      if (spec == "gittins") spec += ":delta=10,queues=20;60,distribution=" + sample.string();
      const auto policy = make_policy(spec);
      REQUIRE(policy);
      if (keep(**policy)) specs_.push_back(spec);
    }
  }
  auto begin() const { return specs_.begin(); }
  auto end() const { return specs_.end(); }

 private:
  TemporaryFolder folder_;
  std::vector<std::string> specs_;
};

}  // namespace vtrain::testing
