// routing: how tokens choose their experts; recorded counts from a file of their own.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "sim/base/read_files.hpp"
#include "workloads/plan_reading.hpp"

namespace stepsim {
namespace {

constexpr double kSteepest = 10;  // of a Zipf law: the first expert then gets all tokens but one in a thousand
constexpr std::size_t kMostCounts = 10'000'000;

using Counts = std::vector<std::vector<double>>;

// What a number is due for; "" when it is one that counts.
std::string read_count(std::string_view text, double& into) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t') || text.ends_with('\r')) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(into)) {
    return fmt::format("\"{}\" is not a count of tokens", text);
  }
  return into < 0 ? fmt::format("{} is negative; a count of tokens is due", text) : "";
}

// A line a layer, or one line, or a column: counts between commas. Empty lines and those that begin with # are skipped.
void read_csv(Reading& reading, const std::string& path, Counts& counts) {
  note_read(path);
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) {
    reading.problems.push_back({path, 0, "", "cannot be read"});
    return;
  }
  std::string line;
  std::size_t total = 0;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.starts_with('#')) continue;
    auto& list = counts.emplace_back();
    std::string_view rest = line;
    while (true) {
      const std::size_t comma = rest.find(',');
      const std::string wrong = read_count(rest.substr(0, comma), list.emplace_back());
      if (!wrong.empty() || ++total > kMostCounts) {
        reading.problems.push_back({path, number, "", wrong.empty() ? "too many counts" : wrong});
        return;
      }
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  if (counts.size() < 2 || std::any_of(counts.begin(), counts.end(), [](const auto& l) { return l.size() > 1; }))
    return;
  std::vector<double> column;
  for (const auto& list : counts) column.push_back(list[0]);
  counts = {column};
}

// counts: [a number an expert], or a list of such lists.
void read_yaml(Reading& reading, const std::string& path, Counts& counts) {
  std::optional<Fields> f = open_document(reading, path, {});
  if (!f) return;
  const std::optional<YAML::Node> node = f->node("counts", required());
  f->finish();
  if (!node) return;
  if (!node->IsSequence())
    return f->problem("counts", "write a list with a number for each expert, or a list of such lists");
  const bool nested = node->size() > 0 && (*node)[0].IsSequence();
  if (!nested) counts.emplace_back();
  for (const YAML::Node& item : *node) {
    if (item.IsSequence() != nested)
      return f->problem("counts", "lists and single numbers stand side by side; write one or the other");
    if (nested) counts.emplace_back();
    for (std::size_t i = 0; i < (nested ? item.size() : 1); ++i) {
      const YAML::Node number = nested ? YAML::Node(item[i]) : item;
      const std::string wrong =
          read_count(number.IsScalar() ? number.Scalar() : "a list", counts.back().emplace_back());
      if (!wrong.empty()) return f->problem("counts", wrong);
    }
  }
}

void read_counts(Reading& reading, Fields& f, Routing& routing) {
  namespace fs = std::filesystem;
  const std::string path = (fs::path(f.origin("balance").folder()) / routing.balance).lexically_normal().string();
  if (std::error_code ignored; !fs::exists(path, ignored)) return f.problem("balance", fmt::format("there is no file {}", path));
  const std::size_t before = reading.problems.size();
  if (path.ends_with(".csv")) {
    read_csv(reading, path, routing.counts);
  } else {
    read_yaml(reading, path, routing.counts);
  }
  if (reading.problems.size() > before) return;
  if (routing.counts.empty()) return f.problem("balance", fmt::format("{} holds no counts", path));
  for (std::size_t i = 0; i < routing.counts.size(); ++i) {
    const auto& list = routing.counts[i];
    if (std::any_of(list.begin(), list.end(), [](double c) { return c > 0; })) continue;
    return f.problem("balance", fmt::format("list {} of {} has no count above 0", i + 1, path));
  }
}

void read_zipf(Fields& f, Routing& routing) {
  const std::string_view text = std::string_view(routing.balance).substr(5);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), routing.zipf);
  const bool number = !text.empty() && error == std::errc() && end == text.data() + text.size();
  if (number && routing.zipf >= 0 && routing.zipf <= kSteepest) return;
  f.problem("balance", fmt::format("\"{}\" is not an exponent from 0 to {}; as in zipf:1.2", text, kSteepest));
  routing.zipf = 0;
}

}  // namespace

void read_routing(Reading& reading, Fields& top, Routing& routing) {
  Fields f = top.mapping("routing", or_default("balanced, to any node"));
  f.text("balance", routing.balance, or_default("every expert gets as many tokens"));
  const std::string& balance = routing.balance;
  if (balance.starts_with("zipf:")) {
    routing.kind = Routing::Balance::zipf;
    read_zipf(f, routing);
  } else if (balance.ends_with(".csv") || balance.ends_with(".yaml") || balance.ends_with(".yml")) {
    routing.kind = Routing::Balance::counts;
    read_counts(reading, f, routing);
  } else if (balance != "uniform") {
    const std::string near = nearest(balance, {"uniform", "zipf:1"});
    f.problem("balance",
              fmt::format("\"{}\" is neither uniform, nor zipf:EXPONENT, nor a .csv or .yaml file of recorded "
                          "counts{}",
                          balance, near.empty() ? "" : "; did you mean " + near + "?"));
  }
  f.integer("max_nodes", routing.max_nodes, or_default("a token may go to any node"), 0, kMostRanks);
  f.finish();
}

}  // namespace stepsim
