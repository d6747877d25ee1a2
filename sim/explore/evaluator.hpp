// One point: read, known already or simulated, and never an exception. Runs in workers.
#pragma once

#include <array>
#include <atomic>
#include <set>
#include <string>

#include "sim/engine/child.hpp"
#include "sim/explore/key.hpp"
#include "sim/explore/row.hpp"

namespace stepsim {

// Keys that a worker of this run has taken on, seen by all of them.
class Claims {
 public:
  explicit Claims(std::size_t points);
  bool claim(const std::string& key);  // false: somebody has

 private:
  std::size_t size_;
  SharedArray<std::atomic<std::uint64_t>> taken_;
};

struct Evaluated {
  std::string key;
  bool bounded = false;  // evaluate_brief: takes more than the limit; `row` is empty
  bool known = false;  // in the store, or taken on by another worker: `row` is empty
  Row row;

  bool operator==(const Evaluated&) const = default;
};

using KeyText = std::array<char, 33>;  // a key and a zero; empty: not known yet

class Evaluator {
 public:
  // `claims`: none where no two points are the same.
  Evaluator(const Options& options, std::set<std::string> known, Claims* claims)
      : options_(options), known_(std::move(known)), claims_(claims) {
    program_version();  // every key holds it: found out once, before workers are forked
  }

  // Loads the request's model and cluster into the cache that workers forked from now on share. Problems are left to
  // evaluate().
  void warm(const Request& request);
  // `key` is written as soon as it is known, so that a crash can be told whose it was.
  Evaluated evaluate(const Request& request, KeyText* key = nullptr);
  // Time and memory alone (brief_report), under a key of its own.
  Evaluated evaluate_brief(const Request& request, double limit_s);

 private:
  template <class RowOf>
  Evaluated evaluate(const Request& request, KeyText* key, bool brief, const RowOf& row_of);

  Options options_;
  std::set<std::string> known_;
  Claims* claims_;
  InputCache cache_;
  KeyMaker keys_;
};

// Across a pipe.
std::string pack(const Evaluated& evaluated);
Evaluated unpack(const std::string& text);

}  // namespace stepsim
