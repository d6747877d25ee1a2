#include "sim/vary.hpp"

#include <set>

#include "sim/base/errors.hpp"

namespace stepsim {
namespace {

std::vector<std::string> values_of(const std::string& list) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : list) {
    if (quote != 0) {
      quote = c == quote ? 0 : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  return values;
}

}  // namespace

std::vector<std::vector<std::string>> combinations(const std::vector<std::string>& sweeps, const std::vector<std::string>& set) {
  std::vector<std::vector<std::string>> all(1);
  std::vector<Problem> problems;
  std::set<std::string> keys;
  for (const std::string& override : set) keys.insert(override.substr(0, override.find('=')));
  for (const std::string& sweep : sweeps) {
    const std::size_t equals = sweep.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems.push_back({"--vary", 0, sweep, "write DOCUMENT.KEY=VALUE,VALUE,..., such as plan.schedule=1f1b,zb-h1"});
      continue;
    }
    const std::string key = sweep.substr(0, equals);
    if (!keys.insert(key).second) {
      problems.push_back({"--vary", 0, key, "is varied or set already"});
      continue;
    }
    std::vector<std::vector<std::string>> longer;
    for (const auto& combination : all) {
      for (const std::string& value : values_of(sweep.substr(equals + 1))) {
        if (value.empty()) problems.push_back({"--vary", 0, key, "a value between two commas is missing"});
        longer.push_back(combination);
        longer.back().push_back(key + "=" + value);
      }
    }
    all = std::move(longer);
  }
  if (!problems.empty()) throw InputError(problems);
  return all;
}

std::string name_of_combination(const std::vector<std::string>& overrides) {
  std::string name;
  for (const std::string& o : overrides) name += (name.empty() ? "" : "/") + o.substr(o.find('=') + 1);
  return name;
}

}  // namespace stepsim
