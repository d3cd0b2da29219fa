#include "workloads/jobs/name_table.hpp"

namespace vtrain {

std::uint32_t NameTable::add(std::string_view name) {
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  numbers_.emplace(name, number);
  return number;
}

}  // namespace vtrain
