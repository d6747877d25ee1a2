#include "workloads/published/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "sim/base/errors.hpp"
#include "sim/base/fields.hpp"
#include "workloads/published/csv_table.hpp"

namespace stepsim {
namespace {

struct Cell {
  const std::string& text;
  std::string_view column;
  std::vector<std::string>& problems;
};

using Read = void (*)(const Cell&, PublishedRun&);

void refuse(const Cell& cell, std::string_view due) {
  cell.problems.push_back(fmt::format("{}: \"{}\" is not {}", cell.column, cell.text, due));
}

bool number(const Cell& cell, double& into) {
  const char* end = cell.text.data() + cell.text.size();
  double value = 0;
  const auto [at, error] = std::from_chars(cell.text.data(), end, value);
  if (error != std::errc() || at != end || !std::isfinite(value) || value < 0 || value > 1e12) {
    refuse(cell, "a number");
    return false;
  }
  into = value;
  return true;
}

// Where nothing is stated the value stays as it is.
void whole(const Cell& cell, int& into) {
  double value = 0;
  if (cell.text.empty() || !number(cell, value)) return;
  if (value != std::floor(value) || value > 1e9) return refuse(cell, "a whole number");
  into = static_cast<int>(value);
}

void positive(const Cell& cell, int& into) {
  whole(cell, into);
  if (!cell.text.empty() && into < 1) refuse(cell, "1 or more");
}

template <int PublishedRun::*Field>
void due(const Cell& cell, PublishedRun& run) {
  if (cell.text.empty()) return cell.problems.push_back(fmt::format("{}: not stated", cell.column));
  positive(cell, run.*Field);
}
template <int PublishedRun::*Field>
void degree(const Cell& cell, PublishedRun& run) { positive(cell, run.*Field); }
template <int PublishedRun::*Field>
void count(const Cell& cell, PublishedRun& run) { whole(cell, run.*Field); }
template <std::string PublishedRun::*Field>
void text(const Cell& cell, PublishedRun& run) { run.*Field = cell.text; }

void params(const Cell& cell, PublishedRun& run) {
  if (!cell.text.empty()) number(cell, run.params_billion);
}
void tied(const Cell& cell, PublishedRun& run) {
  if (cell.text != "0" && cell.text != "1") return refuse(cell, "0 or 1");
  run.tied_embeddings = cell.text == "1";
}
void measured(const Cell& cell, PublishedRun& run) {
  if (cell.text.empty()) return cell.problems.push_back("step_s: not stated, so that there is nothing to compare with");
  if (number(cell, run.step_s) && (run.step_s < 1e-6 || run.step_s > 1e6)) refuse(cell, "a step's time, 1e-6 to 1e6 seconds");
}
void memory(const Cell& cell, PublishedRun& run) {
  double value = 0;
  if (!cell.text.empty() && number(cell, value)) run.memory_gb = value;
}

struct Column {
  std::string_view name, about;
  Read read;
};

using R = PublishedRun;

const std::vector<Column>& columns() {
  static const std::vector<Column> table = {
      {"id", "names the row", text<&R::id>},
      {"source", "who published it; families are made of it", text<&R::source>},
      {"usability", "high: fully specified", text<&R::usability>},
      {"model", "names the model", text<&R::model>},
      {"params_B", "held against the parameters counted from the shape", params},
      {"layers", "", due<&R::layers>},
      {"hidden", "", due<&R::hidden>},
      {"ffn", "width of the feed-forward network", due<&R::ffn>},
      {"ffn_matrices", "3 gated, 2 plain", due<&R::ffn_matrices>},
      {"heads", "", due<&R::heads>},
      {"kv_heads", "", due<&R::kv_heads>},
      {"head_dim", "of MLA: its part without rotary embedding", due<&R::head_dim>},
      {"attn", "MHA, GQA, MQA, or MLA q1536 kv512 rope64 v128", text<&R::attention>},
      {"vocab", "", due<&R::vocabulary>},
      {"tied_embed", "0 or 1", tied},
      {"experts", "empty: a dense model", count<&R::experts>},
      {"topk", "", count<&R::top_k>},
      {"moe_ffn", "width of a routed expert", count<&R::expert_ffn>},
      {"shared_expert_ffn", "width of the shared experts together", count<&R::shared_expert_ffn>},
      {"dense_layers", "first layers without experts", count<&R::dense_layers>},
      {"seq", "tokens of a sequence", due<&R::sequence_length>},
      {"gpu", "picks the cluster", text<&R::gpu>},
      {"gpus", "", due<&R::gpus>},
      {"gpus_per_node", "", due<&R::gpus_per_node>},
      {"interconnect", "bandwidth between nodes", text<&R::interconnect>},
      {"TP", "", degree<&R::tensor>},
      {"PP", "", degree<&R::pipeline>},
      {"VPP", "", degree<&R::virtual_stages>},
      {"DP", "", degree<&R::data>},
      {"shard", "ZeRO stage, its overlaps and wire precision", text<&R::shard>},
      {"EP", "", degree<&R::expert>},
      {"ETP", "", degree<&R::expert_tensor>},
      {"CP", "", degree<&R::context>},
      {"SP", "yes or no", text<&R::sequence_parallel>},
      {"mbs", "sequences of a microbatch", due<&R::microbatch>},
      {"gbs", "sequences of a step", due<&R::global_batch>},
      {"grad_acc", "held against gbs, mbs and DP", degree<&R::accumulation>},
      {"precision", "", text<&R::precision>},
      {"recompute", "", text<&R::recompute>},
      {"schedule", "", text<&R::schedule>},
      {"flash_attn", "yes, or no: scores in memory", text<&R::flash_attention>},
      {"step_s", "measured seconds of a step", measured},
      {"mem_gb", "measured memory, where stated: GB, or GiB where notes say \"allocated GiB\"", memory},
      {"notes", "facts that stand in no column (TP overlap, DDP, layer split, experts' dispatcher)", text<&R::notes>},
  };
  return table;
}

// [field] which of columns() it is, or -1. Problems of the line of names are gathered.
std::vector<int> places_of(const CsvRow& names, std::vector<Problem>& problems, const std::string& path) {
  std::vector<int> places;
  std::vector<int> seen(columns().size(), 0);
  for (const std::string& name : names.fields) {
    const auto at = std::find_if(columns().begin(), columns().end(), [&](const Column& c) { return c.name == name; });
    places.push_back(at == columns().end() ? -1 : static_cast<int>(at - columns().begin()));
    if (places.back() >= 0 && ++seen[static_cast<std::size_t>(places.back())] == 2) {
      problems.push_back({path, names.line, name, "stands twice in the line of names"});
    }
  }
  for (std::size_t c = 0; c < columns().size(); ++c) {
    if (seen[c] > 0) continue;
    const std::string near = nearest(columns()[c].name, names.fields);
    problems.push_back({path, names.line, std::string(columns()[c].name),
                        near.empty() ? "is missing in the line of names"
                                     : fmt::format("is missing in the line of names; is \"{}\" meant?", near)});
  }
  return places;
}

RunRow read_row(const CsvRow& row, const std::vector<int>& places) {
  RunRow out;
  out.run.line = row.line;
  if (row.fields.size() != places.size()) {
    out.problems.push_back(fmt::format("has {} fields, the line of names {}", row.fields.size(), places.size()));
  }
  for (std::size_t i = 0; i < std::min(row.fields.size(), places.size()); ++i) {
    if (places[i] < 0) continue;
    const Column& column = columns()[static_cast<std::size_t>(places[i])];
    column.read({row.fields[i], column.name, out.problems}, out.run);
  }
  // PyTorch counts in powers of 1024, and notes say so where a source does.
  if (out.run.memory_gb && out.run.notes.find("allocated GiB") != std::string::npos) *out.run.memory_gb *= 1.073741824;
  if (out.run.id.empty()) out.run.id = fmt::format("line {}", row.line);
  return out;
}

}  // namespace

RunFile read_runs(const std::string& path) {
  const std::vector<CsvRow> rows = read_csv_table(path);
  std::vector<Problem> problems;
  const std::vector<int> places = places_of(rows[0], problems, path);
  if (!problems.empty()) throw InputError(problems);
  if (rows.size() == 1) throw InputError({{path, 0, "", "holds no run, only the line of names"}});
  RunFile file;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) file.unread_columns.push_back(rows[0].fields[i]);
  }
  std::map<std::string, int> line_of;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    RunRow row = read_row(rows[r], places);
    const auto [first, fresh] = line_of.try_emplace(row.run.id, row.run.line);
    if (!fresh) row.problems.push_back(fmt::format("id: {} stands in line {}, too", row.run.id, first->second));
    file.rows.push_back(std::move(row));
  }
  return file;
}

std::vector<RunColumn> used_run_columns() {
  std::vector<RunColumn> used;
  for (const Column& column : columns()) used.push_back({std::string(column.name), std::string(column.about)});
  return used;
}

std::vector<RunColumn> unused_run_columns() {
  return {{"source_url", "where the source stands"},
          {"year", "of the source"},
          {"arch", "follows from experts"},
          {"step_time_s", "step_s has it, or what follows from the next ones"},
          {"tflops_per_gpu", "sources count FLOPs in different ways"},
          {"tokens_per_s_gpu", "step_s follows from it"},
          {"samples_per_s", "step_s follows from it"},
          {"mfu_pct", "sources count FLOPs in different ways"},
          {"hfu_pct", "sources count FLOPs in different ways"},
          {"step_s_from", "how step_s was obtained"},
          {"tflops_counting", "how the source counts FLOPs"}};
}

}  // namespace stepsim
