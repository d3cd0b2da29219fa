// Files that are replaced as a whole.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include "profiler/kernel_table.hpp"

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
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  if (!stream || !(content << stream.rdbuf())) fail(file, "read");
  return std::move(content).str();
}

}  // namespace vtrain::profiler
