// SQLite, as little of it as is needed: statements with bound values, rows read back.
#pragma once

#include <memory>
#include <string>

#include "sim/explore/row.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace stepsim {

// What SQLite says is wrong.
class DatabaseError : public std::exception {
 public:
  explicit DatabaseError(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

class Statement {
 public:
  Statement(sqlite3* database, const std::string& sql);  // throws DatabaseError
  Statement& bind(const Cell& value);                    // the next parameter
  Statement& bind(std::int64_t value);
  bool step();                                           // true: there is a row
  void run() { while (step()) {} }
  Statement& reset();  // to bind and run again
  int columns() const;
  std::string name(int column) const;
  Cell cell(int column) const;
  std::string text(int column) const { return to_text(cell(column)); }

 private:
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
  int bound_ = 0;
};

class Database {
 public:
  enum class Access { create, read };
  // ":memory:" for one of its own. Waits up to a minute for another process that writes.
  Database(const std::string& path, Access access);
  void run(const std::string& sql);
  Statement prepare(const std::string& sql) { return Statement(handle_.get(), sql); }

 private:
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
};

// [name], as SQL takes any name without a ]; throws DatabaseError for one that has it.
std::string bracketed(const std::string& name);

}  // namespace stepsim
