#include "core/io/staged_folder.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

/// Texts of files by name, relative to a folder.
using Tree = std::map<std::string, std::string>;

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Tree tree_of(const fs::path& folder) {
  Tree tree;
  if (!fs::exists(folder)) return tree;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) tree[entry.path().lexically_relative(folder).string()] = text_of(entry.path());
  }
  return tree;
}

std::size_t count_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// Results of a tool that lists its files in `list`.
const Tree kOldResults = {
    {"list", "list\na\nsub/b\ngone/b\n"}, {"a", "old"}, {"sub/b", "old"}, {"gone/b", "old"}};
const Tree kNewResults = {{"list", "list\na\nsub/c\n"}, {"a", "new"}, {"sub/c", "new"}};
const Tree kNextResults = {{"list", "list\nlast\n"}, {"last", "next"}};

std::vector<fs::path> own_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::istringstream lines(text_of(folder / "list"));
  for (std::string line; std::getline(lines, line);)
    files.emplace_back(line);
  return files;
}

/// Files in the folder that are not results.
const Tree kOthers = {{"notes", "mine"}, {"sub/notes", "mine"}, {"mine/deep/x", "mine"}};

Tree with_others(Tree results) {
  results.insert(kOthers.begin(), kOthers.end());
  return results;
}

Result<void> replace(const fs::path& folder, const Tree& results) {
  auto staged = StagedFolder::create(folder, own_files, [] {});
  if (!staged) return fail(staged.error());
  for (const auto& [name, text] : results) {
    if (auto added = staged->add(name, text); !added) return added;
  }
  return staged->commit();
}

/// A folder `D` with old results and other files.
void make_old(const TemporaryFolder& work) {
  for (const auto& [name, text] : with_others(kOldResults))
    work.write("D/" + name, text);
}

/// Prevents this process from exchanging files, as on NFS.
void forbid_exchange() {
  constexpr unsigned kFlags = offsetof(seccomp_data, args) + 4 * sizeof(std::uint64_t);  // of renameat2
  std::array<sock_filter, 6> program = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RENAME_EXCHANGE, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {program.size(), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    ::_exit(3);
}

/// True if the next system call of a traced process can change files for other processes.
bool is_about_to_change_files(pid_t child) {
  static const std::set<std::uint64_t> kCalls = {
#ifdef SYS_rename  // newer processors have only those with a descriptor
      SYS_rename,    SYS_mkdir,  SYS_rmdir,    SYS_unlink,   SYS_chmod,   SYS_chown,
#endif
      SYS_renameat2, SYS_linkat, SYS_unlinkat, SYS_fchmodat, SYS_mkdirat, SYS_fchownat,
      SYS_renameat,  SYS_write,  SYS_fsync,    SYS_flock,    SYS_fchmod,
  };
  __ptrace_syscall_info info{};
  ::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
  if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return false;
  const bool creates = info.entry.nr == SYS_openat && (info.entry.args[2] & O_CREAT) != 0;
  return creates || kCalls.contains(info.entry.nr);
}

/// Replaces the folder in a process that is killed before its system call number `when` that changes files,
/// counted from 1. Returns false if there were fewer calls.
bool killed_at_call(std::size_t when, const fs::path& folder, bool can_exchange) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!can_exchange) forbid_exchange();
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(4);
    ::raise(SIGSTOP);
    ::_exit(replace(folder, kNewResults) ? 0 : 5);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD);  // tells system calls from signals
  for (std::size_t calls = 0; WIFSTOPPED(status);) {
    calls += is_about_to_change_files(child) ? 1 : 0;
    if (calls == when) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return true;
    }
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
  }
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  return false;
}

void check_every_call(bool can_exchange) {
  std::size_t whole_old = 0;
  std::size_t whole_new = 0;
  std::size_t missing = 0;
  for (std::size_t when = 1;; ++when) {
    CAPTURE(when);
    const TemporaryFolder work;
    make_old(work);
    const auto inode = [&] {
      struct stat status {};
      return ::stat((work / "D/mine/deep/x").c_str(), &status) == 0 ? status.st_ino : 0;
    };
    const ino_t before = inode();
    if (!killed_at_call(when, work / "D", can_exchange)) {
      CHECK(tree_of(work / "D") == with_others(kNewResults));
      CHECK(count_in(work.path()) == 1);
      break;
    }
    const Tree found = tree_of(work / "D");
    const bool is_old = found == with_others(kOldResults);
    const bool is_new = found == with_others(kNewResults);
    whole_old += is_old ? 1 : 0;
    whole_new += is_new ? 1 : 0;
    missing += found.empty() ? 1 : 0;
    CHECK((is_old || is_new || (!can_exchange && found.empty())));
    CHECK((found.empty() || inode() == before));
    REQUIRE(replace(work / "D", kNextResults));
    CHECK(tree_of(work / "D") == with_others(kNextResults));
    CHECK(inode() == before);
    CHECK(count_in(work.path()) == 1);
  }
  CHECK(whole_old > 20);
  CHECK(whole_new > 10);
  CHECK(missing == (can_exchange ? 0U : 1U));
}

TEST_CASE(
    "staged_folder: killed before any system call it leaves the old folder or the new one, as a whole") {
  check_every_call(true);
}

TEST_CASE("staged_folder: so it does where folders cannot be exchanged, or none until the next run") {
  check_every_call(false);
}

TEST_CASE("staged_folder: a new folder appears when all is written, with its parents") {
  const TemporaryFolder work;
  {
    auto staged = StagedFolder::create(work / "x/D", own_files, [] {});
    REQUIRE(staged);
    REQUIRE(staged->add("a", "half"));
    CHECK(!fs::exists(work / "x/D"));
  }
  CHECK_FALSE(fs::exists(work / "x"));
  REQUIRE(replace(work / "x/D", kNewResults));
  CHECK(tree_of(work / "x/D") == kNewResults);
  CHECK(count_in(work / "x") == 1);
}

TEST_CASE("staged_folder: what others put there keeps its kind, permissions and content") {
  const TemporaryFolder work;
  make_old(work);
  const fs::path folder = work / "D";
  fs::create_symlink("nowhere", folder / "mine/link");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_directory(folder / "empty");
  ::chmod((folder / "notes").c_str(), 0400);
  ::chmod((folder / "mine/deep").c_str(), 0500);
  ::chmod((folder / "a").c_str(), 0600);
  ::chmod(folder.c_str(), 02750);
  REQUIRE(replace(folder, kNewResults));
  const auto permissions = [&](std::string_view name) {
    return static_cast<int>(fs::status(folder / name).permissions());
  };
  CHECK(fs::read_symlink(folder / "mine/link") == "nowhere");
  CHECK(fs::is_fifo(folder / "pipe"));
  CHECK(fs::is_directory(folder / "empty"));
  CHECK(!fs::exists(folder / "gone"));
  CHECK(permissions("notes") == 0400);
  CHECK(permissions("mine/deep") == 0500);
  CHECK(permissions("a") == 0600);
  CHECK(permissions("") == 02750);
  CHECK(fs::hard_link_count(folder / "notes") == 1);
  CHECK(count_in(work.path()) == 1);
}

TEST_CASE("staged_folder: a symbolic link stays one, to the new folder") {
  const TemporaryFolder work;
  make_old(work);
  fs::create_directory(work / "links");
  fs::create_directory_symlink("../D", work / "links/L");
  fs::create_directory_symlink("../made", work / "links/dangling");
  REQUIRE(replace(work / "links/L/", kNewResults));
  REQUIRE(replace(work / "links/dangling", kNewResults));
  CHECK(fs::read_symlink(work / "links/L") == "../D");
  CHECK(tree_of(work / "D") == with_others(kNewResults));
  CHECK(tree_of(work / "made") == kNewResults);
  CHECK(count_in(work / "links") == 2);
}

TEST_CASE("staged_folder: a live writer is waited for, what dead ones left beside it goes") {
  const TemporaryFolder work;
  make_old(work);
  work.write(".other.vtrain-writing/building/a", "half");
  work.write(".mine/notes", "no staging folder");
  auto live = StagedFolder::create(work / "live", own_files, [] {});
  REQUIRE(live);
  REQUIRE(live->add("a", "half"));
  auto first = StagedFolder::create(work / "D", own_files, [] {});
  REQUIRE(first);
  CHECK(!fs::exists(work / ".other.vtrain-writing"));
  CHECK(fs::exists(work / ".live.vtrain-writing/building/a"));
  std::promise<void> waits;
  auto second = std::async(std::launch::async, [&] {
    auto staged = StagedFolder::create(work / "D", own_files, [&] { waits.set_value(); });
    return staged && staged->add("list", "list\nlast\n") && staged->add("last", "next") && staged->commit();
  });
  waits.get_future().wait();
  for (const auto& [name, text] : kNewResults)
    REQUIRE(first->add(name, text));
  CHECK(second.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
  REQUIRE(first->commit());
  CHECK(second.get());
  CHECK(tree_of(work / "D") == with_others(kNextResults));
  REQUIRE(live->commit());
  CHECK(count_in(work.path()) == 3);
}

TEST_CASE("staged_folder: a new name is taken once") {
  const TemporaryFolder work;
  auto first = StagedFolder::try_create_new(work / "D", own_files);
  REQUIRE(first);
  REQUIRE(*first);
  const auto second = StagedFolder::try_create_new(work / "D", own_files);
  REQUIRE(second);
  CHECK(!*second);
  REQUIRE((*first)->commit());
  CHECK(!StagedFolder::try_create_new(work / "D", own_files).value());
  CHECK(count_in(work.path()) == 1);
}

TEST_CASE("staged_folder: a folder that cannot be replaced is found out before") {
  const TemporaryFolder work;
  make_old(work);
  work.write("file", "");
  const auto message = [&](const fs::path& folder, const std::vector<fs::path>& names) {
    const auto checked = StagedFolder::check(folder, names);
    return checked ? std::string() : checked.error().describe().substr(work.path().string().size() + 1);
  };
  const std::vector<fs::path> names = {"list", "a", "sub/c"};
  CHECK(message(work / "D", names) == "");
  CHECK(message(work / "none/D", names) == "");
  CHECK(message(work / "file", names) == "file: cannot create the folder: Not a directory");
  CHECK(message(work / "file/D", names) == "file/D: cannot create the folder: Not a directory");
  CHECK(
      message(work / std::string(240, 'x'), names).ends_with("cannot create the folder: File name too long"));
  CHECK(message(work / "D", {"mine"}) == "D/mine: expected a regular file or nothing, found a folder");
  CHECK(message(work / "D", {"a/b"}) == "D/a: expected a folder or nothing, found a regular file");
  REQUIRE(::mkfifo((work / "D/pipe").c_str(), 0600) == 0);
  CHECK(message(work / "D", {"pipe"}) == "D/pipe: expected a regular file or nothing, found a named pipe");
  CHECK(StagedFolder::check("/", names).error().message.starts_with("is a mount point"));
  CHECK(StagedFolder::check("/proc", names).error().message.starts_with("is a mount point"));
  const fs::path before = fs::current_path();
  fs::current_path(work / "D/mine");
  for (const std::string name : {".", "..", "../../D/"}) {
    CAPTURE(name);
    CHECK(StagedFolder::check(name, names)
              .error()
              .message.starts_with("is the current folder or one above it"));
  }
  CHECK(StagedFolder::check("new", names));
  fs::current_path(before);
}

TEST_CASE("staged_folder: a folder in which another is being written is left alone") {
  const TemporaryFolder work;
  make_old(work);
  auto inner = StagedFolder::create(work / "D/mine/inner", own_files, [] {});
  REQUIRE(inner);
  const auto refused = replace(work / "D", kNewResults);
  REQUIRE(!refused);
  CHECK(refused.error().message.starts_with("another run is writing there"));
  REQUIRE(inner->add("a", "new"));
  REQUIRE(inner->commit());
  REQUIRE(replace(work / "D", kNewResults));
  Tree expected = with_others(kNewResults);
  expected["mine/inner/a"] = "new";
  CHECK(tree_of(work / "D") == expected);
  CHECK(count_in(work.path()) == 1);
}

}  // namespace
}  // namespace vtrain
