#include "profiler/kernel_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "profiler/error.hpp"

namespace vtrain::profiler {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const char* action) {
  throw std::runtime_error(file.string() + ": cannot " + action + ": " + std::strerror(errno));
}

void write_all(int descriptor, const fs::path& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(file, "write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  // The name must not point at data that a power cut can still lose.
  if (::fsync(descriptor) != 0) fail(file, "write");
}

}  // namespace

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

void write_whole(const fs::path& file, std::string_view text) {
  std::error_code ignored;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  const fs::path temporary = file.string() + ".part." + std::to_string(::getpid());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(temporary, "create");
  try {
    write_all(descriptor, temporary, text);
    if (::close(descriptor) != 0 || std::rename(temporary.c_str(), file.c_str()) != 0) fail(file, "write");
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

std::string read_whole(const fs::path& file) {
  // A named pipe would be waited for.
  if (fs::exists(file) && !fs::is_regular_file(file))
    throw InputError(file.string() + ": expected a regular file");
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  if (!stream || !(content << stream.rdbuf())) fail(file, "read");
  return std::move(content).str();
}

}  // namespace vtrain::profiler
