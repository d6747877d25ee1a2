// stepsim results: what a store holds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "sim/explore/selection_text.hpp"
#include "sim/verbs/arguments.hpp"
#include "sim/verbs/pages.hpp"
#include "sim/verbs/store_arguments.hpp"
#include "sim/verbs/verb.hpp"

namespace stepsim {
namespace verb_results {

struct Arguments {
  std::string store;
  Query query;
  std::string columns;
  OutputArguments outputs;
};

std::vector<std::string> words(const std::string& list) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at <= list.size() && !list.empty();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::size_t from = std::min(list.find_first_not_of(' ', at), comma);
    result.push_back(list.substr(from, comma - from));
    at = comma + 1;
  }
  return result;
}

int run(const Arguments& args, const std::string&) {
  args.outputs.require_writable();
  require_pages(args.outputs);
  return with_store(args.store, Store::Use::read, [&](Store& store) {
    Query query = args.query;
    query.columns = words(args.columns);
    const std::vector<std::string> sweeps = store.sweeps();
    if (!query.sweep.empty() && std::find(sweeps.begin(), sweeps.end(), query.sweep) == sweeps.end()) {
      throw InputError({{args.store, 0, "--sweep", fmt::format("has no sweep \"{}\"; it has {}", query.sweep, sweeps.empty() ? "none" : fmt::format("{}", fmt::join(sweeps, ", ")))}});
    }
    const bool to_file = args.outputs.wants("--csv") || args.outputs.wants("--json");
    if (to_file) {
      const Selection selection = store.select(query);
      args.outputs.write("--csv", [&] { return to_csv(selection); });
      args.outputs.write("--json", [&] { return to_json(selection); });
    }
    args.outputs.write("--html", [&] {
      Query all = query;
      all.columns = table_columns();
      const std::string name = std::filesystem::path(args.store).stem().string();
      return to_html(store.select(all), query.sweep.empty() ? name : query.sweep);
    });
    if (args.outputs.wants_standard_output()) return 0;
    const bool chosen = !query.columns.empty();
    if (!chosen) query.columns = table_columns();
    const Selection shown = store.select(query);
    std::string text = chosen ? plain_table(shown) : points_table(shown) + "\n" + table_notes(store.varied_keys(query.sweep));
    if (shown.rows.empty()) text = "no rows\n";
    write_output("-", text);
    return 0;
  });
}

std::function<int()> declare(CLI::App& verb, const std::string& program) {
  const auto args = std::make_shared<Arguments>();
  verb.add_option("store", args->store, "a file that sweep or search has written")->required();
  verb.add_option("--sweep", args->query.sweep, "only the rows of this sweep or search");
  verb.add_option("--where", args->query.where,
                  "only rows for which this holds: \"plan.parallel.pipeline >= 8 and fits and step_time_s < 12s\"");
  verb.add_option("--sort", args->query.order, "by this column, or several with commas between them; -COLUMN: the largest first");
  verb.add_option("--columns", args->columns, "these columns, with commas between them (report: the whole report)");
  verb.add_option("--limit", args->query.limit, "at most so many rows")->check(CLI::Range(0, 1'000'000'000));
  args->outputs.declare(verb, "--csv", "write the rows as CSV to this file (-: standard output)");
  args->outputs.declare(verb, "--json", "write the rows as JSON");
  args->outputs.declare(verb, "--html", "write a page that works offline: step time against memory, a row a point");
  return [args, program] { return run(*args, program); };
}

}  // namespace verb_results

Verb results_verb() { return {"results", "filter and export what a sweep or search has stored", verb_results::declare}; }

}  // namespace stepsim
