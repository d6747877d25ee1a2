#include "sim/verbs/store_arguments.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sim/base/errors.hpp"
#include "sim/explore/selection_text.hpp"
#include "sim/report/table.hpp"
#include "sim/report/words.hpp"

namespace stepsim {
namespace {

constexpr int kBest = 10;

std::int64_t count(Store& store, const std::string& sweep, const std::string& where) {
  return static_cast<std::int64_t>(store.select({sweep, where, "", {"position"}, -1}).rows.size());
}

}  // namespace

int with_store(const std::string& path, Store::Use use, const std::function<int(Store&)>& work) {
  std::error_code none;
  if (use == Store::Use::read && !std::filesystem::exists(path, none)) {
    throw InputError({{path, 0, "", "there is no such file"}});
  }
  try {
    Store store(path, use);
    return work(store);
  } catch (const DatabaseError& e) {
    throw InputError({{path, 0, "", e.what()}});
  }
}

std::string sweep_summary(Store& store, const std::string& sweep) {
  const std::int64_t all = count(store, sweep, ""), done = count(store, sweep, "ending = 'done'");
  const std::int64_t small = count(store, sweep, "ending = 'done' and fits = 0");
  std::string text;
  if (done > 0) {
    text += points_table(store.select({sweep, "ending = 'done'", "-fits,-tokens_per_s_per_gpu", table_columns(), kBest}));
    const std::string which = done > kBest ? fmt::format("The best {} of {} points: those that fit in memory first, then by tokens/s/GPU.\n", kBest, done) : "";
    text += "\n" + which + table_notes(store.varied_keys(sweep));
  }
  text += fmt::format("\n{} points: {} simulated", all, done);
  if (small > 0) text += fmt::format(" ({} do not fit in memory)", small);
  for (const char* ending : {"refused", "failed", "pending"}) {
    const std::int64_t number = count(store, sweep, fmt::format("ending = '{}'", ending));
    if (number > 0) text += fmt::format(", {} {}", number, ending);
  }
  return text + "\n";
}

}  // namespace stepsim
