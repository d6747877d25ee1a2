#include "sim/explore/database.hpp"

#include <filesystem>
#include <sqlite3.h>

#include "sim/base/read_files.hpp"

namespace stepsim {

Statement::Statement(sqlite3* database, const std::string& sql)
    : database_(database), statement_(nullptr, sqlite3_finalize) {
  sqlite3_stmt* made = nullptr;
  const char* rest = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &made, &rest) != SQLITE_OK) throw DatabaseError(sqlite3_errmsg(database));
  statement_.reset(made);
  if (made == nullptr) throw DatabaseError("nothing is asked");
  if (rest != nullptr && std::string_view(rest).find_first_not_of(" \n\t") != std::string_view::npos) {
    throw DatabaseError("more than one statement");
  }
}

Statement& Statement::bind(const Cell& value) {
  const int at = ++bound_;
  int result = SQLITE_OK;
  if (const auto* number = std::get_if<double>(&value)) {
    result = sqlite3_bind_double(statement_.get(), at, *number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    result = sqlite3_bind_text(statement_.get(), at, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
  } else {
    result = sqlite3_bind_null(statement_.get(), at);
  }
  if (result != SQLITE_OK) throw DatabaseError(sqlite3_errmsg(database_));
  return *this;
}

Statement& Statement::bind(std::int64_t value) {
  if (sqlite3_bind_int64(statement_.get(), ++bound_, value) != SQLITE_OK) throw DatabaseError(sqlite3_errmsg(database_));
  return *this;
}

bool Statement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  throw DatabaseError(sqlite3_errmsg(database_));
}

Statement& Statement::reset() {
  sqlite3_reset(statement_.get());
  bound_ = 0;
  return *this;
}

int Statement::columns() const { return sqlite3_column_count(statement_.get()); }
std::string Statement::name(int column) const { return sqlite3_column_name(statement_.get(), column); }

Cell Statement::cell(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_.get(), column);
    default: {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
      return std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
    }
  }
}

Database::Database(const std::string& path, Access access) : handle_(nullptr, sqlite3_close) {
  if (path != ":memory:") note_read(path);
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) throw DatabaseError("is a folder; a file that sweep or search has written is due");
  sqlite3* opened = nullptr;
  const int flags = access == Access::read ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int result = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  handle_.reset(opened);
  if (result != SQLITE_OK) throw DatabaseError(opened == nullptr ? "no memory" : sqlite3_errmsg(opened));
  sqlite3_busy_timeout(opened, 60'000);
  // "no_such_column" in an expression is a mistake and not a text.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
}

void Database::run(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw DatabaseError(sqlite3_errmsg(handle_.get()));
  }
}

std::string bracketed(const std::string& name) {
  if (name.find(']') != std::string::npos) throw DatabaseError("a name with ] in it: " + name);
  return "[" + name + "]";
}

}  // namespace stepsim
