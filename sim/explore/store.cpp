#include "sim/explore/store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/fields.hpp"
#include "sim/explore/expression.hpp"
#include "sim/explore/key.hpp"

namespace stepsim {
namespace {

constexpr int kApplication = 0x53545350;  // "STSP": marks the file as ours
constexpr int kSchema = 1;

std::int64_t pragma(Database& database, const std::string& name) {
  Statement asked = database.prepare("PRAGMA " + name);
  const Cell cell = asked.step() ? asked.cell(0) : Cell{};
  const auto* number = std::get_if<double>(&cell);
  return number == nullptr ? 0 : static_cast<std::int64_t>(*number);
}

bool has_tables(Database& database) { return database.prepare("SELECT 1 FROM sqlite_master LIMIT 1").step(); }

void create(Database& database) {
  database.run(fmt::format(
      "BEGIN IMMEDIATE;"
      "CREATE TABLE IF NOT EXISTS points(key TEXT PRIMARY KEY, version TEXT NOT NULL, ending TEXT NOT NULL, error TEXT);"
      "CREATE TABLE IF NOT EXISTS entries(sweep TEXT, position INTEGER, label TEXT, varied TEXT, key TEXT,"
      "  PRIMARY KEY(sweep, position));"
      "PRAGMA application_id = {};"
      "PRAGMA user_version = {};"
      "COMMIT",
      kApplication, kSchema));
}

// Columns that came after the file was made; the report stands last.
void add_missing_columns(Database& database) {
  std::set<std::string> present;
  Statement info = database.prepare("PRAGMA table_info(points)");
  while (info.step()) present.insert(info.text(1));
  const auto add = [&](std::string_view name, bool is_text) {
    if (present.contains(std::string(name))) return;
    database.run(fmt::format("ALTER TABLE points ADD COLUMN {} {}", name, is_text ? "TEXT" : "REAL"));
  };
  for (const RowColumn& c : row_columns()) add(c.name, c.is_text);
  add("report", true);
}

std::string column_list() {
  std::string list = "key, version, ending, error";
  for (const RowColumn& c : row_columns()) list += fmt::format(", {}", c.name);
  return list + ", report";
}

std::string to_json(const std::vector<std::pair<std::string, Cell>>& varied) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [key, value] : varied) {
    if (const auto* number = std::get_if<double>(&value)) {
      json[key] = *number;
    } else {
      json[key] = to_text(value);
    }
  }
  return json.dump();
}

class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) { database_.run("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (!done_) database_.prepare("ROLLBACK").run();
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    database_.run("COMMIT");
    done_ = true;
  }

 private:
  Database& database_;
  bool done_ = false;
};

}  // namespace

Store::Store(const std::string& path, Use use)
    : database_(path, use == Use::read ? Database::Access::read : Database::Access::create) {
  const bool ours = pragma(database_, "application_id") == kApplication;
  if (!ours && has_tables(database_)) throw DatabaseError("is a database of something else than stepsim's results");
  if (!ours && use == Use::read) throw DatabaseError("holds no results of stepsim");
  if (ours && pragma(database_, "user_version") > kSchema) throw DatabaseError("was written by a newer stepsim");
  if (use == Use::read) return;
  database_.run(use == Use::write ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"
                                  : "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL");
  if (!ours) create(database_);
  add_missing_columns(database_);
}

std::set<std::string> Store::known(bool failed_too) {
  std::set<std::string> keys;
  Statement all = database_.prepare(failed_too ? "SELECT key FROM points" : "SELECT key FROM points WHERE ending <> 'failed'");
  while (all.step()) keys.insert(all.text(0));
  return keys;
}

void Store::put(const std::string& key, const Row& row) {
  const std::size_t cells = row_columns().size();
  std::string marks = "?, ?, ?, ?, ?";
  for (std::size_t i = 0; i < cells; ++i) marks += ", ?";
  Statement put = database_.prepare(fmt::format("INSERT OR REPLACE INTO points({}) VALUES({})", column_list(), marks));
  put.bind(key).bind(program_version()).bind(std::string(to_text(row.ending)));
  put.bind(row.error.empty() ? Cell{} : Cell{row.error});
  for (std::size_t i = 0; i < cells; ++i) put.bind(i < row.cells.size() ? row.cells[i] : Cell{});
  put.bind(row.report.empty() ? Cell{} : Cell{row.report}).run();
}

Row Store::get(const std::string& key) {
  Statement asked = database_.prepare(fmt::format("SELECT {} FROM points WHERE key = ?", column_list()));
  if (!asked.bind(key).step()) throw DatabaseError("has no point " + key);
  Row row;
  const std::string ending = asked.text(2);
  for (const Ending e : {Ending::done, Ending::refused, Ending::failed}) {
    if (ending == to_text(e)) row.ending = e;
  }
  row.error = asked.text(3);
  const int cells = static_cast<int>(row_columns().size());
  for (int i = 0; row.ending == Ending::done && i < cells; ++i) row.cells.push_back(asked.cell(4 + i));
  row.report = asked.text(4 + cells);
  return row;
}

void Store::begin(const std::string& sweep, std::size_t count, const std::function<Entry(std::size_t)>& entry, bool keep) {
  Transaction all(database_);
  database_.run("CREATE TEMP TABLE IF NOT EXISTS listed(position INTEGER PRIMARY KEY); DELETE FROM listed");
  Statement put = database_.prepare(fmt::format(
      "INSERT INTO entries(sweep, position, label, varied) VALUES(?, ?, ?, ?) ON CONFLICT(sweep, position) DO UPDATE SET "
      "key = {}, label = excluded.label, varied = excluded.varied",
      keep ? "CASE WHEN label = excluded.label AND varied = excluded.varied THEN key END" : "NULL"));
  Statement list = database_.prepare("INSERT INTO listed VALUES(?)");
  for (std::size_t i = 0; i < count; ++i) {
    const Entry e = entry(i);
    put.reset().bind(sweep).bind(e.position).bind(e.label).bind(to_json(e.varied)).run();
    list.reset().bind(e.position).run();
  }
  database_.prepare("DELETE FROM entries WHERE sweep = ? AND position NOT IN (SELECT position FROM listed)").bind(sweep).run();
  all.commit();
}

void Store::add(const std::string& sweep, const Entry& entry, const std::string& key) {
  Statement put = database_.prepare("INSERT OR REPLACE INTO entries(sweep, position, label, varied, key) VALUES(?, ?, ?, ?, ?)");
  put.bind(sweep).bind(entry.position).bind(entry.label).bind(to_json(entry.varied)).bind(key).run();
}

void Store::settle(const std::string& sweep, std::int64_t position, const std::string& key) {
  Statement set = database_.prepare("UPDATE entries SET key = ? WHERE sweep = ? AND position = ?");
  set.bind(key).bind(sweep).bind(position).run();
}

std::vector<std::string> Store::sweeps() {
  std::vector<std::string> names;
  Statement all = database_.prepare("SELECT DISTINCT sweep FROM entries ORDER BY sweep");
  while (all.step()) names.push_back(all.text(0));
  return names;
}

std::vector<std::string> Store::varied_keys(const std::string& sweep) {
  std::vector<std::string> keys;
  Statement all = database_.prepare(
      "SELECT k.key FROM entries, json_each(entries.varied) AS k WHERE (? = '' OR sweep = ?) GROUP BY k.key ORDER BY "
      "min(entries.rowid), min(k.id)");
  all.bind(sweep).bind(sweep);
  while (all.step()) keys.push_back(all.text(0));
  return keys;
}

void Store::make_view() {
  std::set<std::string> present;
  Statement info = database_.prepare("PRAGMA table_info(points)");
  while (info.step()) present.insert(info.text(1));
  std::string view = "DROP VIEW IF EXISTS temp.rows; CREATE TEMP VIEW rows AS SELECT e.sweep, e.position, e.label";
  for (const std::string& key : varied_keys("")) {
    // ' is doubled in an SQL text; a " cannot stand in a key of an input.
    std::string quoted;
    for (const char c : key) quoted += c == '\'' ? "''" : std::string(1, c);
    view += fmt::format(", json_extract(e.varied, '$.\"{}\"') AS {}", quoted, bracketed(key));
  }
  view += ", coalesce(p.ending, 'pending') AS ending, p.error";
  for (const RowColumn& c : row_columns()) {
    view += present.contains(std::string(c.name)) ? fmt::format(", p.{}", c.name) : fmt::format(", NULL AS {}", c.name);
  }
  database_.run(view + ", p.report FROM entries e LEFT JOIN points p ON p.key = e.key");
}

namespace {

// "-fits,step_time_s": what has no number there stands last.
std::vector<std::pair<std::string, bool>> keys_of_order(const std::string& columns) {
  std::vector<std::pair<std::string, bool>> keys;  // and whether it descends
  for (std::size_t at = 0; at < columns.size();) {
    const std::size_t comma = std::min(columns.find(',', at), columns.size());
    const bool descending = columns[at] == '-';
    keys.emplace_back(columns.substr(at + (descending ? 1 : 0), comma - at - (descending ? 1 : 0)), descending);
    at = comma + 1;
  }
  return keys;
}
std::string order_of(const std::string& columns) {
  std::string order;
  for (const auto& [by, descending] : keys_of_order(columns)) {
    order += fmt::format("{0} IS NULL, {0}{1}, ", bracketed(by), descending ? " DESC" : "");
  }
  return order;
}

}  // namespace

// Asks for each part by itself, so that what is wrong is said of the option that has it.
void Store::check_query(const Query& query) {
  std::vector<std::string> columns;
  {
    Statement all = database_.prepare("SELECT * FROM rows");
    for (int i = 0; i < all.columns(); ++i) columns.push_back(all.name(i));
  }
  std::vector<Problem> problems;
  const auto no_column = [&](const char* option, const std::string& name) {
    const std::string near = nearest(name, columns);
    problems.push_back({"", 0, option, fmt::format("there is no column {}{}", name, near.empty() ? "" : "; did you mean " + near + "?")});
  };
  const auto check_names = [&](const char* option, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) no_column(option, name);
    }
  };
  std::vector<std::string> sorted_by;
  for (const auto& [name, descending] : keys_of_order(query.order)) sorted_by.push_back(name);
  check_names("--columns", query.columns);
  check_names("--sort", sorted_by);
  if (!query.where.empty()) {
    try {
      database_.prepare("SELECT 1 FROM rows WHERE (" + to_sql(query.where) + ")");
    } catch (const DatabaseError& e) {
      constexpr std::string_view kNoColumn = "no such column: ";
      const std::string why = e.what();
      if (why.starts_with(kNoColumn)) {
        no_column("--where", why.substr(kNoColumn.size()));
      } else {
        problems.push_back({"", 0, "--where", fmt::format("\"{}\" is no condition: {}", query.where, why)});
      }
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
}

Selection Store::select(const Query& query) {
  make_view();
  check_query(query);
  std::string wanted;
  for (const std::string& name : query.columns) wanted += (wanted.empty() ? "" : ", ") + bracketed(name);
  std::string sql = fmt::format("SELECT {} FROM rows WHERE (? = '' OR sweep = ?)", wanted.empty() ? "*" : wanted);
  if (!query.where.empty()) sql += " AND (" + to_sql(query.where) + ")";
  sql += " ORDER BY " + order_of(query.order) + "sweep, position";
  if (query.limit >= 0) sql += fmt::format(" LIMIT {}", query.limit);
  Statement asked = database_.prepare(sql);
  asked.bind(query.sweep).bind(query.sweep);
  Selection selection;
  std::vector<int> shown;
  for (int i = 0; i < asked.columns(); ++i) {
    if (query.columns.empty() && asked.name(i) == "report") continue;
    shown.push_back(i);
    selection.names.push_back(asked.name(i));
  }
  while (asked.step()) {
    auto& row = selection.rows.emplace_back();
    for (const int i : shown) row.push_back(asked.cell(i));
  }
  return selection;
}

void Store::merge(const std::string& path) {
  { Store(path, Use::write_shared); }  // is ours, and has all columns
  database_.prepare("ATTACH ? AS shard").bind(path).run();
  try {
    Transaction all(database_);
    const std::string list = column_list();
    database_.run(fmt::format(
        "INSERT OR REPLACE INTO points({0}) SELECT {0} FROM shard.points AS s WHERE NOT EXISTS (SELECT 1 FROM "
        "main.points AS m WHERE m.key = s.key AND (m.ending <> 'failed' OR s.ending = 'failed'))",
        list));
    // An entry without a key never takes the place of one that has it.
    database_.run(
        "INSERT INTO entries(sweep, position, label, varied, key) SELECT sweep, position, label, varied, key FROM "
        "shard.entries WHERE true ON CONFLICT(sweep, position) DO UPDATE SET label = excluded.label, varied = "
        "excluded.varied, key = coalesce(excluded.key, key)");
    all.commit();
  } catch (...) {
    database_.run("DETACH shard");
    throw;
  }
  database_.run("DETACH shard");
}

}  // namespace stepsim
