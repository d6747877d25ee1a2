// An SQLite file of results. Points are known by their key (key.hpp), each computed once whatever asks for it; entries
// say which points a sweep asks for, in its order. Everything is on disk before the next point ends, so that a kill at
// any time loses only what was running.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/explore/database.hpp"
#include "sim/explore/row.hpp"

namespace stepsim {

struct Entry {
  std::int64_t position = 0;                          // in its sweep, from 0
  std::string label;                                  // "8/zb-h1"
  std::vector<std::pair<std::string, Cell>> varied;   // key -> value, as filters see it

  bool operator==(const Entry&) const = default;
};

// A table read from a store.
struct Selection {
  std::vector<std::string> names;
  std::vector<std::vector<Cell>> rows;
};

struct Query {
  std::string sweep;                 // empty: all
  std::string where;                 // an expression over the columns (expression.hpp), empty: all
  std::string order;                 // columns with commas between them, "-" before one for the largest first; empty: sweep and position
  std::vector<std::string> columns;  // empty: all but the report
  std::int64_t limit = -1;           // rows; -1: all
};

class Store {
 public:
  enum class Use {
    write,         // created when missing; write-ahead log
    write_shared,  // the same on a file system that several machines see: no write-ahead log, which needs shared memory
    read,          // must exist
  };
  // Throws DatabaseError, also when the file is something else.
  Store(const std::string& path, Use use);

  // Keys of points that need not be computed: all, or all but the failed ones.
  std::set<std::string> known(bool failed_too);
  void put(const std::string& key, const Row& row);
  Row get(const std::string& key);  // of a known key

  // The sweep consists of these entries from now on (of a shard: those of its positions): `entry` of numbers below `count`.
  // `keep`: entries that have not changed keep their results.
  void begin(const std::string& sweep, std::size_t count, const std::function<Entry(std::size_t)>& entry, bool keep = false);
  void add(const std::string& sweep, const Entry& entry, const std::string& key);
  void settle(const std::string& sweep, std::int64_t position, const std::string& key);
  std::vector<std::string> sweeps();
  std::vector<std::string> varied_keys(const std::string& sweep);  // empty: of all

  // Columns: sweep, position, label, every varied key, ending ("pending" while there is no result), error, those of
  // row.hpp, report. Throws InputError, naming the option, for a wrong expression or an unknown column.
  Selection select(const Query& query);

  // Takes over what another store has: entries, and points that are missing or failed here. Doing so again changes nothing.
  void merge(const std::string& path);

 private:
  void make_view();
  void check_query(const Query& query);

  Database database_;
};

}  // namespace stepsim
