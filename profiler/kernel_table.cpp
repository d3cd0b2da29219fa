#include "profiler/kernel_table.hpp"

#include <stdexcept>

#include "profiler/error.hpp"

namespace vtrain::profiler {

std::string collective_key(Collective collective, std::int64_t num_gpus, std::int64_t num_nodes,
                           std::int64_t bytes) {
  return std::string(name_of(collective)) + " gpus=" + std::to_string(num_gpus) +
         " nodes=" + std::to_string(num_nodes) + " bytes=" + std::to_string(bytes);
}

const OperatorRow* KernelTable::find(const std::string& key) const {
  const auto found = positions_.find(key);
  if (found == positions_.end() || found->second >= operators_.size()) return nullptr;
  const OperatorRow& row = operators_[found->second];
  return row.key == key ? &row : nullptr;
}

void KernelTable::claim(const std::string& key, std::size_t position) {
  if (!positions_.try_emplace(key, position).second) throw std::logic_error("measured already: " + key);
}

void KernelTable::begin_session(Session session) {
  sessions_.push_back(std::move(session));
  skipped_.clear();
}

Session& KernelTable::session() {
  if (sessions_.empty()) throw std::logic_error("the kernel table has no session");
  return sessions_.back();
}

void KernelTable::add(CollectiveRow row) {
  if (sessions_.empty()) throw std::logic_error("the kernel table has no session");
  row.session = sessions_.size() - 1;
  claim(row.key, collectives_.size());
  collectives_.push_back(std::move(row));
}

void KernelTable::add(SkippedRow row) {
  skipped_.push_back(std::move(row));
}

KernelTable open_table(const std::filesystem::path& file, const std::string& made_by,
                       const DeviceFacts& device, const SoftwareFacts& software) {
  if (!std::filesystem::exists(file)) return {made_by, device, software};
  try {
    KernelTable table = KernelTable::parse(read_whole(file));
    const auto differs = [](const std::string& there, const std::string& here) {
      throw InputError("the table was recorded with " + there + ", this is " + here +
                       ": choose another folder");
    };
    if (table.device().name != device.name) differs(table.device().name, device.name);
    if (table.device() != device) differs("another " + device.name + " (clocks, memory)", "one that differs");
    if (table.software() != software)
      differs("another driver or other libraries", "a newer or older installation");
    return table;
  } catch (const InputError& error) {
    throw InputError(file.string() + ": " + error.what());
  }
}

}  // namespace vtrain::profiler
