/// SQLite databases with errors as values. Only this header and its source name SQLite.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace vtrain {

/// A connection to a database, for the classes below.
struct Connection {
  std::filesystem::path file{};
  sqlite3* database = nullptr;

  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();
  /// The last error, with this code, as one of the file.
  Error error(int code) const;
};

/// A prepared statement. Parameters and columns are numbered from 0.
class Statement {
 public:
  void bind(int parameter, std::int64_t value);
  /// Binds a number; NaN is NULL.
  void bind(int parameter, double value);
  /// Binds a text, which must stay until the statement is reset.
  void bind(int parameter, std::string_view text);
  void bind_null(int parameter);

  /// Goes to the next row. False: there is none.
  Result<bool> step();
  /// Runs a statement without rows and makes it ready to run again.
  Result<void> run();
  /// Makes it ready to run again. Parameters keep their values.
  void reset();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  int num_columns() const;
  std::string column_name(int column) const;

 private:
  friend class Database;
  Statement(std::shared_ptr<const Connection> connection, sqlite3_stmt* statement);

  std::shared_ptr<const Connection> connection_;
  std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)> statement_;
};

/// An open database, for one thread. Errors name its file: a full disk is of the kind `Failed`, a lock that
/// another program holds and a file that is no database are `InvalidInput`, others `Io`.
class Database {
 public:
  enum class Access : std::uint8_t { Read, Write };  ///< `Write` makes a file that does not exist

  static Result<Database> open(const std::filesystem::path& file, Access access);

  /// Runs statements without parameters and without rows.
  Result<void> run(const std::string& sql);
  /// Prepares one statement, to be run any number of times.
  Result<Statement> prepare(const std::string& sql) const;
  /// The single number that a query gives; 0 without a row.
  Result<std::int64_t> number(const std::string& sql) const;
  /// The single text that a query gives; empty without a row.
  Result<std::string> text(const std::string& sql) const;
  /// The bytes of the database, as a file has them.
  Result<std::string> image() const;
  /// Copies the database as it is at one instant to a file, while others go on writing. The file appears under
  /// its name when it is complete.
  Result<void> copy_to(const std::filesystem::path& copy) const;
  /// File of the database.
  const std::filesystem::path& file() const { return connection_->file; }

 private:
  explicit Database(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}

  std::shared_ptr<Connection> connection_;
};

/// A name in quotes, as SQL reads it: `"policy"`.
std::string sql_name(std::string_view name);

}  // namespace vtrain
