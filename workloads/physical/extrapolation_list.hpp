/// List of the kernels and messages that predictions extrapolate.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/kernels/evidence.hpp"

namespace vtrain {

struct Fallbacks;

/// Collects the extrapolated kernels and messages of several predictions, one entry for each name.
class ExtrapolationList {
 public:
  /// Adds those of a prediction that `uses` jobs, plans or configurations use.
  void add(const Fallbacks& fallbacks, std::int64_t uses = 1);

  /// True if nothing is extrapolated.
  bool empty() const { return entries_.empty(); }
  /// Largest distance of a size from the nearest measured one (`Reach::factor`); 1 if nothing is
  /// extrapolated.
  double furthest() const;
  /// Text of `extrapolated.csv`, the furthest first: name, size asked for, its unit, nearest measured size,
  /// factor, and the uses, which `counted` names. Of several sizes of one name it has the furthest.
  std::string to_csv(std::string_view counted) const;

 private:
  struct Entry {
    Reach reach{};
    std::int64_t uses = 0;
  };

  std::map<std::string, Entry> entries_;
};

}  // namespace vtrain
