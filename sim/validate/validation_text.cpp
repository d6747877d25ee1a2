// Validation -> a terminal report of at most 100 columns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/table.hpp"
#include "sim/report/words.hpp"
#include "sim/validate/validation.hpp"

namespace stepsim {
namespace {

std::string signed_percent(double fraction) { return fmt::format("{:+.1f} %", 100 * fraction); }
std::string percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }

void add_row(Table& table, const ErrorSummary& s, bool memory) {
  std::vector<std::string> cells = {s.name, fmt::format("{}", s.rows), fmt::format("{}", s.simulated)};
  if (s.simulated > 0) {
    cells.insert(cells.end(), {signed_percent(s.signed_median), percent(s.mean_absolute), percent(s.percentile_90)});
  } else {
    cells.insert(cells.end(), {"-", "-", "-"});
  }
  if (memory) cells.push_back(s.memory_rows > 0 ? fmt::format("{} ({})", signed_percent(s.memory_signed_median), s.memory_rows) : "-");
  table.row(cells);
}

std::string summaries(const std::string& title, const std::vector<ErrorSummary>& of) {
  const bool memory = std::any_of(of.begin(), of.end(), [](const ErrorSummary& s) { return s.memory_rows > 0; });
  std::vector<Column> columns = {{title, true, true}, {"rows"}, {"simulated"}, {"signed median"}, {"mean |error|"}, {"90th |error|"}};
  if (memory) columns.push_back({"memory (rows)"});
  Table table(columns);
  for (const ErrorSummary& s : of) add_row(table, s, memory);
  return table.text() + "\n";
}

std::string worst_rows(const Validation& v, int count) {
  std::vector<const RunResult*> rows;
  for (const RunResult& r : v.results) {
    if (r.simulated()) rows.push_back(&r);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const RunResult* a, const RunResult* b) { return std::abs(a->error) > std::abs(b->error); });
  if (rows.size() > static_cast<std::size_t>(count)) rows.resize(static_cast<std::size_t>(count));
  if (rows.empty()) return "";
  Table table({{"worst rows", true, true}, {"measured"}, {"simulated"}, {"error"}, {"the simulated step is", true, true}});
  for (const RunResult* r : rows) {
    table.row({r->run.id, fmt::format("{:.4g} s", r->run.step_s), fmt::format("{:.4g} s", r->predicted_s), signed_percent(r->error), r->cause.substr(0, r->cause.find(';'))});
  }
  return table.text() + "\n";
}

// What goes along with the errors of a family, said once each.
std::string companions(const Validation& v) {
  std::map<std::string, std::string> of_family;
  for (const RunResult& r : v.results) {
    const std::size_t at = r.cause.find(';');
    if (at != std::string::npos) of_family[r.family] = r.cause.substr(at + 2);
  }
  std::string text;
  for (const auto& [family, what] : of_family) text += wrap(family + ": " + what + ".", page_width) + "\n";
  return text.empty() ? "" : text + "\n";
}

std::string not_simulated(const Validation& v) {
  std::string text;
  int count = 0;
  for (const RunResult& r : v.results) {
    if (r.simulated()) continue;
    ++count;
    std::string why;
    for (const std::string& p : r.problems) why += (why.empty() ? "" : "; ") + p;
    text += "  " + wrap(fmt::format("{} (line {}): {}", r.run.id, r.run.line, why), page_width - 2, 4) + "\n";
  }
  return count == 0 ? "" : fmt::format("{} row{} could not be simulated:\n{}\n", count, count == 1 ? "" : "s", text);
}

std::string assumptions(const Validation& v) {
  std::map<std::string, int> rows;
  for (const RunResult& r : v.results) {
    for (const std::string& id : r.assumptions) ++rows[id];
  }
  std::string text;
  for (const Assumption& a : run_assumptions()) {
    const auto at = rows.find(std::string(a.id));
    if (at != rows.end()) text += "  " + wrap(fmt::format("{} ({} rows): {}", a.id, at->second, a.about), page_width - 2, 4) + "\n";
  }
  return text.empty() ? "" : "Assumptions where rows are silent:\n" + text + "\n";
}

// Elements in the order of what they are worth.
std::string ablations(const Validation& v) {
  if (v.ablations.empty()) return "";
  std::vector<const Ablation*> rows;
  for (const Ablation& a : v.ablations) rows.push_back(&a);
  const auto worth = [&](const Ablation* a) { return a->instead.empty() ? -1 : std::abs(a->families_alike.signed_median - v.families_alike.signed_median); };
  std::stable_sort(rows.begin(), rows.end(), [&](const Ablation* a, const Ablation* b) { return worth(a) > worth(b); });
  Table table({{"decided otherwise", true, true}, {"rows"}, {"signed median"}, {"mean |error|"}, {"instead", true, true}});
  table.row({"(nothing)", fmt::format("{}", v.families_alike.simulated), signed_percent(v.families_alike.signed_median), percent(v.families_alike.mean_absolute), ""});
  for (const Ablation* a : rows) {
    std::string instead;
    for (const std::string& set : a->instead) instead += (instead.empty() ? "" : ", ") + set;
    if (a->refused > 0) instead += fmt::format(" ({} rows refuse)", a->refused);
    const bool none = a->instead.empty();
    table.row({a->id, fmt::format("{}", a->rows), none ? "-" : signed_percent(a->families_alike.signed_median),
               none ? "-" : percent(a->families_alike.mean_absolute), none ? "no key" : instead});
  }
  return "Families alike, with one element at a time decided otherwise:\n" + table.text() + "\n";
}

}  // namespace

std::string scoreboard(const Validation& v) {
  std::vector<ErrorSummary> all = v.families;
  all.push_back(v.families_alike);
  all.push_back(v.rows_alike);
  for (ErrorSummary& s : all) s.memory_rows = 0;
  return summaries("family", all);
}

std::string to_text(const Validation& v, int worst) {
  std::string text = fmt::format("{}", v.file);
  for (const std::string& setting : v.settings) text += ", " + setting;
  text += "\n\n" + summaries("family", v.families);
  text += summaries("overall", {v.families_alike, v.rows_alike});
  text += summaries("GPU", v.gpus) + summaries("model", v.models);
  text += worst_rows(v, worst) + companions(v) + not_simulated(v) + ablations(v) + assumptions(v);
  text += wrap("Error: simulated over measured step time, less 1. Families weigh equally, whatever their size: mean |error| "
                  "is the mean of theirs; medians weigh a row by 1 / rows of its family.", page_width) + "\n";
  return text;
}

}  // namespace stepsim
