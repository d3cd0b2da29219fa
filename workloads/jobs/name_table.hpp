/// Names that repeat in a trace (tenants, models), each stored once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vtrain {

/// Numbers names from 0 in the order in which they are first seen. Expected O(1) a look-up.
class NameTable {
 public:
  /// The number of `name`, added when new.
  std::uint32_t add(std::string_view name);
  /// The name of a number that `add` returned.
  const std::string& operator[](std::uint32_t number) const { return names_[number]; }
  /// How many names there are.
  std::size_t size() const { return names_.size(); }
  /// All names, by number.
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

}  // namespace vtrain
