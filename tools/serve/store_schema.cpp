#include "tools/serve/store_schema.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "core/io/file.hpp"
#include "core/io/input.hpp"

namespace vtrain::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kUpgrades = {
    R"(CREATE TABLE input (
         sequence INTEGER PRIMARY KEY,
         time_ns INTEGER NOT NULL,
         kind TEXT NOT NULL,
         tenant TEXT NOT NULL,
         key TEXT NOT NULL,
         body TEXT NOT NULL
       ) STRICT;
       CREATE UNIQUE INDEX input_key ON input (tenant, key) WHERE key <> '';)",
    R"(CREATE TABLE snapshot (
         only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
         sequence INTEGER NOT NULL,
         body TEXT NOT NULL
       ) STRICT;)",
    R"(CREATE TABLE past_job (
         id INTEGER PRIMARY KEY,
         tenant TEXT NOT NULL,
         state TEXT NOT NULL,
         body TEXT NOT NULL
       ) STRICT;
       CREATE INDEX past_job_tenant ON past_job (tenant, id);)",
};

/// Modes of the journal, which stays in the file, and of commits.
constexpr std::string_view kDurable = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";

/// The first bytes of an SQLite file, as "The Database File Format" of SQLite describes them.
struct FileHeader {
  std::string_view bytes;

  bool is_sqlite() const { return bytes.starts_with(std::string_view("SQLite format 3\0", 16)); }
  std::int64_t number_at(std::size_t offset) const {
    std::int64_t number = 0;
    for (const char byte : bytes.substr(offset, 4))
      number = number * 256 + static_cast<unsigned char>(byte);
    return number;
  }
  std::int64_t version() const { return number_at(60); }
  std::int64_t application() const { return number_at(68); }
};

/// Brings a database to the newest version in one step.
Result<void> upgrade(Database& database) {
  const auto version = database.number("PRAGMA user_version");
  if (!version) return fail(version.error());
  if (*version == std::ssize(kUpgrades)) return {};
  std::string sql = "BEGIN IMMEDIATE;";
  for (std::size_t i = static_cast<std::size_t>(*version); i < kUpgrades.size(); ++i)
    sql += kUpgrades[i];
  sql += fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT", kStoreApplication,
                     kUpgrades.size());
  return database.run(sql);
}

/// Makes new names in the folder of a file durable.
Result<void> sync_folder(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool is_durable = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int code = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!is_durable) return fail(io_error(folder, "write", code));
  return {};
}

/// Makes a new state under a temporary name, then renames it.
Result<void> make_store(const fs::path& file) {
  const fs::path temporary = file.string() + ".new";
  std::error_code code;
  for (const char* const ending : {"", "-journal", "-wal", "-shm"})
    fs::remove(temporary.string() + ending, code);  // of a process that was killed
  {
    auto database = Database::open(temporary, Database::Access::Write);
    if (!database) return fail(std::move(database.error()));
    if (auto made = upgrade(*database); !made) return made;
    if (auto ready = database->run(std::string(kDurable)); !ready) return ready;
  }
  fs::rename(temporary, file, code);
  if (code) return fail(io_error(file, "write", code.value()));
  return sync_folder(file);
}

}  // namespace

std::span<const std::string_view> store_upgrades() {
  return kUpgrades;
}

Result<void> check_store(const fs::path& file) {
  auto opened = InputFile::open(file);
  if (!opened) return fail(std::move(opened.error()));
  constexpr std::size_t kHeader = 100;
  std::string bytes(kHeader, '\0');
  const auto got = opened->read(bytes);
  if (!got) return fail(got.error());
  const auto refuse = [&file](std::string message) {
    return fail(Error{.file = file.string(), .message = std::move(message)});
  };
  const FileHeader header{bytes};
  if (*got < kHeader || !header.is_sqlite() || header.application() != kStoreApplication)
    return refuse("expected the state of a vtrain service, found another file");
  if (header.version() > std::ssize(kUpgrades)) {
    return refuse(fmt::format("has version {} of the state, this program knows {}: use a newer vtrain",
                              header.version(), kUpgrades.size()));
  }
  // A process that was killed while it changed the mode of a copy left a journal, which only a writer undoes.
  std::error_code none;
  const bool has_journal = fs::exists(file.string() + "-journal", none);
  auto database = Database::open(file, has_journal ? Database::Access::Write : Database::Access::Read);
  if (!database) return fail(std::move(database.error()));
  const auto verdict = database->text("PRAGMA quick_check(1)");
  if (!verdict) return fail(verdict.error());
  if (*verdict != "ok") return refuse("the database is damaged: " + *verdict);
  return {};
}

Result<Database> open_store(const fs::path& file) {
  std::error_code code;
  if (!fs::exists(file, code)) {
    if (auto made = make_store(file); !made) return fail(std::move(made.error()));
  }
  if (auto checked = check_store(file); !checked) return fail(std::move(checked.error()));
  auto database = Database::open(file, Database::Access::Write);
  if (!database) return database;
  if (auto ready = database->run(std::string(kDurable)); !ready) return fail(std::move(ready.error()));
  if (auto upgraded = upgrade(*database); !upgraded) return fail(std::move(upgraded.error()));
  return database;
}

}  // namespace vtrain::serve
