// A published training run, as a row of a table of runs has it, and the table's reader.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stepsim {

// One row. Texts are as the source words them ("distributed optimizer (ZeRO-1), overlap"); 0 and "" mean not stated.
struct PublishedRun {
  int line = 0;  // of the file
  std::string id, source, usability, model;
  double params_billion = 0;
  int layers = 0, hidden = 0, ffn = 0, ffn_matrices = 0, heads = 0, kv_heads = 0, head_dim = 0, vocabulary = 0;
  std::string attention;
  bool tied_embeddings = false;
  int experts = 0, top_k = 0, expert_ffn = 0, shared_expert_ffn = 0, dense_layers = 0;
  int sequence_length = 0;
  std::string gpu;
  int gpus = 0, gpus_per_node = 0;
  std::string interconnect;
  int tensor = 1, pipeline = 1, virtual_stages = 0, data = 0, expert = 1, expert_tensor = 0, context = 1;
  std::string shard, sequence_parallel;
  int microbatch = 0, global_batch = 0, accumulation = 0;
  std::string precision, recompute, schedule, flash_attention, notes;
  double step_s = 0;                // measured
  std::optional<double> memory_gb;  // measured peak of a GPU, 1e9 bytes
};

struct RunRow {
  PublishedRun run;
  std::vector<std::string> problems;  // why it cannot be read; empty when it can
};

struct RunFile {
  std::vector<RunRow> rows;
  std::vector<std::string> unread_columns;  // of the file, that no PublishedRun holds
};

// Reads a table of runs: CSV with a line of names first. The columns of PublishedRun must be there, in any order; others
// are listed. A row with a value that is no number where one is due keeps its problems. Throws InputError for what is no
// such table.
RunFile read_runs(const std::string& path);

// Columns whose meaning is used, and those that are known and not used, with the reason.
struct RunColumn {
  std::string name, about;
};
std::vector<RunColumn> used_run_columns();
std::vector<RunColumn> unused_run_columns();

}  // namespace stepsim
