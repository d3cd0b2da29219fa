/// Trackable resources (TRES), as slurm.conf(5) and sacctmgr(1) of Slurm 22.05 write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain::slurm {

/// Names of trackable resources. The first ones are always there.
class TresNames {
 public:
  static constexpr std::uint32_t kCpu = 0;      ///< `cpu`
  static constexpr std::uint32_t kMemory = 1;   ///< `mem`, in MB
  static constexpr std::uint32_t kNode = 2;     ///< `node`
  static constexpr std::uint32_t kBilling = 3;  ///< `billing`
  static constexpr std::uint32_t kGpu = 4;      ///< `gres/gpu`, GPUs of all types

  TresNames();
  /// The number of a name, added when new; in any case of letters.
  std::uint32_t add(std::string_view name);
  /// The name with a number that `add` returned, in lower case.
  const std::string& operator[](std::uint32_t number) const { return names_[number]; }
  /// Number of names.
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
};

/// One resource with its amount, limit or weight.
struct TresAmount {
  std::uint32_t tres = 0;  ///< number in `TresNames`
  double amount = 0;       ///< a count; memory in MB

  friend bool operator==(const TresAmount&, const TresAmount&) = default;
};

/// Amounts of some resources, each once.
using TresList = std::vector<TresAmount>;

/// Amount of a resource in a list; 0 if the list lacks it.
double amount_of(const TresList& list, std::uint32_t tres);
/// Adds to the amount of a resource in a list.
void add_amount(TresList& list, std::uint32_t tres, double amount);

/// Reads `cpu=4,mem=500G,gres/gpu=8`: memory in MB, or with a suffix of K, M, G, T or P in units of 1024. A
/// negative number removes a limit in sacctmgr, and is left out. The error carries only the message.
Result<TresList> parse_tres_list(std::string_view text, TresNames& names);
/// Reads weights, as `CPU=1.0,Mem=0.25G,GRES/gpu=2.0`. A suffix of memory means "for each GB"; the weights
/// returned are for each MB. Errors: a negative weight.
Result<TresList> parse_tres_weights(std::string_view text, TresNames& names);

}  // namespace vtrain::slurm
