#include "tools/database/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/io/file.hpp"
#include "core/io/unfinished.hpp"

namespace vtrain {

Connection::~Connection() {
  sqlite3_close(database);
}

Statement::Statement(std::shared_ptr<const Connection> connection, sqlite3_stmt* statement)
    : connection_(std::move(connection)),
      statement_(statement, [](sqlite3_stmt* ended) { sqlite3_finalize(ended); }) {}

void Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter + 1, value);
}

void Statement::bind(int parameter, double value) {
  if (std::isnan(value))
    bind_null(parameter);
  else
    sqlite3_bind_double(statement_.get(), parameter + 1, value);
}

void Statement::bind(int parameter, std::string_view text) {
  const char* const data = text.empty() ? "" : text.data();  // a null pointer would be NULL
  sqlite3_bind_text(statement_.get(), parameter + 1, data, static_cast<int>(text.size()), SQLITE_STATIC);
}

void Statement::bind_null(int parameter) {
  sqlite3_bind_null(statement_.get(), parameter + 1);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return fail(connection_->error(code));
}

Result<void> Statement::run() {
  const auto stepped = step();
  reset();
  if (!stepped) return fail(stepped.error());
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return is_null(column) ? std::nan("") : sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text), size);
}

int Statement::num_columns() const {
  return sqlite3_column_count(statement_.get());
}

std::string Statement::column_name(int column) const {
  return sqlite3_column_name(statement_.get(), column);
}

Result<Database> Database::open(const std::filesystem::path& file, Access access) {
  const int flags =
      (access == Access::Read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
      SQLITE_OPEN_NOMUTEX;  // a connection is for one thread
  auto connection = std::make_shared<Connection>();
  connection->file = file;
  const int code = sqlite3_open_v2(file.c_str(), &connection->database, flags, nullptr);
  if (code != SQLITE_OK) return fail(connection->error(code));
  sqlite3_extended_result_codes(connection->database, 1);
  constexpr int kPatienceMs = 10'000;  // for readers that hold up a checkpoint
  sqlite3_busy_timeout(connection->database, kPatienceMs);
  return Database(std::move(connection));
}

Result<void> Database::run(const std::string& sql) {
  const int code = sqlite3_exec(connection_->database, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(connection_->error(code));
  return {};
}

Result<Statement> Database::prepare(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(connection_->database, sql.c_str(), static_cast<int>(sql.size()) + 1,
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return fail(connection_->error(code));
  return Statement(connection_, statement);
}

Result<std::int64_t> Database::number(const std::string& sql) const {
  auto query = prepare(sql);
  if (!query) return fail(std::move(query.error()));
  const auto stepped = query->step();
  if (!stepped) return fail(stepped.error());
  return *stepped ? query->integer(0) : 0;
}

Result<std::string> Database::text(const std::string& sql) const {
  auto query = prepare(sql);
  if (!query) return fail(std::move(query.error()));
  const auto stepped = query->step();
  if (!stepped) return fail(stepped.error());
  return *stepped ? query->text(0) : std::string();
}

Result<std::string> Database::image() const {
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(connection_->database, "main", &size, 0);
  if (bytes == nullptr) return fail(connection_->error(SQLITE_NOMEM));
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return image;
}

Result<void> Database::copy_to(const std::filesystem::path& copy) const {
  const std::filesystem::path temporary = copy.string() + ".tmp";
  std::error_code code;
  std::filesystem::remove(temporary, code);  // of a process that was killed
  UnfinishedWork unfinished([temporary] {
    std::error_code ignored;
    return std::filesystem::remove(temporary, ignored);
  });
  {
    auto target = open(temporary, Access::Write);
    if (!target) return fail(std::move(target.error()));
    sqlite3* const to = target->connection_->database;
    sqlite3_backup* const backup = sqlite3_backup_init(to, "main", connection_->database, "main");
    if (backup == nullptr) return fail(target->connection_->error(sqlite3_errcode(to)));
    constexpr int kAllPages = -1;
    const int copied = sqlite3_backup_step(backup, kAllPages);
    const int finished = sqlite3_backup_finish(backup);
    if (copied != SQLITE_DONE) return fail(target->connection_->error(copied));
    if (finished != SQLITE_OK) return fail(target->connection_->error(finished));
    // The copy is in the mode of the original, WAL, whose first reader would need two more files.
    if (auto plain = target->run("PRAGMA journal_mode = DELETE"); !plain) return plain;
  }
  std::filesystem::rename(temporary, copy, code);
  if (code) return fail(io_error(copy, "write", code.value()));
  unfinished.finish();
  return {};
}

Error Connection::error(int code) const {
  const int last_errno = errno;   // SQLite forgets it where a transaction is rolled back
  constexpr int kPrimary = 0xff;  // the rest of an extended code says more
  std::string message = database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database);
  const auto failure = [this](ErrorKind kind, std::string what) {
    return Error{.kind = kind, .file = file.string(), .message = std::move(what)};
  };
  switch (code & kPrimary) {
    case SQLITE_FULL:
      return io_error(file, "write", ENOSPC);
    case SQLITE_NOTADB:
      return failure(ErrorKind::InvalidInput, "expected an SQLite database, found another file");
    case SQLITE_CORRUPT:
      return failure(ErrorKind::InvalidInput, "the database is damaged");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return failure(ErrorKind::InvalidInput, "another program is using the database");
    case SQLITE_IOERR: {
      const bool is_full = last_errno == ENOSPC || last_errno == EDQUOT || last_errno == EFBIG;
      return is_full ? io_error(file, "write", last_errno) : failure(ErrorKind::Io, std::move(message));
    }
    default:
      return failure(ErrorKind::Io, std::move(message));
  }
}

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name)
    text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace vtrain
