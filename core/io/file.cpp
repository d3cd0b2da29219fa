#include "core/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace vtrain {
namespace {

std::string system_message(int code) {
  return std::strerror(code);
}

/// A new file next to `path`, open for writing, with the permissions of any new file.
std::pair<std::string, int> open_temporary(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter = 0;
  constexpr mode_t kLessTheUmask = 0666;
  for (;;) {
    std::string name = fmt::format("{}.{}-{}.tmp", path.string(), ::getpid(), counter++);
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kLessTheUmask);
    if (descriptor >= 0 || errno != EEXIST) return {std::move(name), descriptor};
  }
}

}  // namespace

Error io_error(const std::filesystem::path& path, std::string_view action, int code) {
  const bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  return {.kind = is_full ? ErrorKind::Failed : ErrorKind::Io,
          .file = path.string(),
          .message = fmt::format("cannot {}: {}", action, system_message(code))};
}

std::filesystem::path link_target(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  std::error_code code;
  for (int i = 0; i < kMostLinks; ++i) {
    const auto target = std::filesystem::read_symlink(path, code);
    if (code) break;
    path = path.parent_path() / target;
  }
  return path;
}

Result<void> check_files_differ(std::string_view what, const std::vector<std::string>& files) {
  std::map<std::filesystem::path, std::string> seen;  // first names by real paths
  for (const std::string& file : files) {
    std::error_code ignored;
    const auto real_path = std::filesystem::weakly_canonical(file, ignored);
    const auto [first, is_new] = seen.try_emplace(ignored ? std::filesystem::path(file) : real_path, file);
    if (is_new) continue;
    const std::string& name = first->second;
    return fail(
        {.file = file,
         .message = fmt::format("the {} is given twice{}", what, name == file ? "" : ", first as " + name)});
  }
  return {};
}

std::optional<int> standard_stream(const std::filesystem::path& path) {
  struct stat wanted {};
  if (::stat(path.c_str(), &wanted) != 0) return std::nullopt;
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && status.st_dev == wanted.st_dev &&
        status.st_ino == wanted.st_ino) {
      return descriptor;
    }
  }
  return std::nullopt;
}

OutputFile::OutputFile(std::filesystem::path path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      pending_(std::move(other.pending_)),
      failure_(other.failure_) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view text) {
  constexpr std::size_t kBuffer = 1 << 16;
  if (pending_.size() + text.size() < kBuffer) {
    pending_ += text;
    return;
  }
  write_now(pending_);
  pending_.clear();
  write_now(text);
}

void OutputFile::write_now(std::string_view text) {
  while (!text.empty() && failure_ == 0) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      failure_ = errno;
    }
  }
}

Result<void> OutputFile::finish() {
  if (descriptor_ >= 0) {
    write_now(pending_);
    pending_.clear();
    // Some file systems report a full disk only here.
    if (::close(std::exchange(descriptor_, -1)) != 0 && failure_ == 0) failure_ = errno;
  }
  if (failure_ != 0) return fail(io_error(path_, "write", failure_));
  return {};
}

AtomicFile::AtomicFile(OutputFile file, UnfinishedWork unfinished, std::filesystem::path path,
                       std::filesystem::path temporary)
    : file_(std::move(file)),
      unfinished_(std::move(unfinished)),
      path_(std::move(path)),
      temporary_(std::move(temporary)) {}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  const auto in_place = [&path](int descriptor) -> Result<AtomicFile> {
    if (descriptor < 0) return fail(io_error(path, "write", errno));
    return AtomicFile({path, descriptor}, UnfinishedWork([] { return false; }), path, {});
  };
  // Standard output is not opened anew, which would begin at the start of the file; nor renamed, which would
  // take its name from what others write to it.
  if (const auto stream = standard_stream(path)) return in_place(::fcntl(*stream, F_DUPFD_CLOEXEC, 0));
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    return in_place(::open(path.c_str(), O_WRONLY | O_CLOEXEC));  // fails for a folder
  }
  auto target = link_target(path);
  const auto hold = hold_off_interrupts();
  const auto temporary = open_temporary(target);
  const std::string& name = temporary.first;
  const int descriptor = temporary.second;
  if (descriptor < 0) return fail(io_error(path, "write", errno));
  UnfinishedWork unfinished([name] { return ::unlink(name.c_str()) == 0 || errno == ENOENT; });
  constexpr mode_t kPermissions = 07777;
  if (exists) ::fchmod(descriptor, status.st_mode & kPermissions);
  OutputFile file(target, descriptor);
  return AtomicFile(std::move(file), std::move(unfinished), std::move(target), name);
}

Result<void> AtomicFile::commit() {
  if (auto finished = file_.finish(); !finished) return finished;
  const auto hold = hold_off_interrupts();
  if (!temporary_.empty() && ::rename(temporary_.c_str(), path_.c_str()) != 0)
    return fail(io_error(path_, "write", errno));
  unfinished_.finish();
  return {};
}

Result<void> write_file(const std::filesystem::path& path, std::string_view content) {
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  file->write(content);
  return file->commit();
}

}  // namespace vtrain
