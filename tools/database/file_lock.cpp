#include "tools/database/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/io/file.hpp"

namespace vtrain {
namespace {

/// True if the path still leads to the open file: its last holder may have removed it.
bool is_in_place(const std::filesystem::path& path, int descriptor) {
  struct stat open_file {};
  struct stat named {};
  return ::fstat(descriptor, &open_file) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

}  // namespace

Result<FileLock> FileLock::beside(const std::filesystem::path& file, std::string_view held) {
  const std::filesystem::path path = file.string() + "-lock";
  constexpr mode_t kReadableByAll = 0644;
  for (;;) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kReadableByAll);
    if (descriptor < 0) return fail(io_error(path, "write", errno));
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int code = errno;
      ::close(descriptor);
      if (code != EWOULDBLOCK) return fail(io_error(path, "lock", code));
      return fail({.file = file.string(), .message = std::string(held)});
    }
    if (is_in_place(path, descriptor)) return FileLock(path, descriptor);
    ::close(descriptor);
  }
}

FileLock::FileLock(const std::filesystem::path& path, int descriptor)
    : descriptor_(descriptor), removal_([path] { return ::unlink(path.c_str()) == 0; }) {}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  removal_ = UnfinishedWork();  // before the lock ends, or it would remove the next one's file
  ::close(descriptor_);
}

}  // namespace vtrain
