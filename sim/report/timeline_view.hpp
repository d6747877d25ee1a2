// A timeline in a size that a page can draw: chosen ranks, events packed as whole numbers, the shortest merged.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/graph/step_graph.hpp"
#include "sim/graph/timeline.hpp"

namespace stepsim {

// Ranks that show what all do: all of a graph of at most `most`, else the first of each program and speed, then those
// with most of the critical path, in order of rank.
std::vector<std::size_t> shown_ranks(const StepGraph& graph, const Timeline& timeline, std::size_t most);

// JSON: {"end_s", "unit_s", "merged_below_s", "ranks", "ranks_simulated", "kinds": [{"name", "phase", "dimension",
// "chunk", "operation", "algorithm", "group_size"}], "rows": [{"rank", "count", "stage", "lanes": [{"name",
// "dimension", "items": [...]}]}], "path": [...]}.
// Times in the lists are whole multiples of unit_s. An item is seven numbers: gap after the item before it in its lane,
// duration, kind, microbatch, layer, slack, events merged into it (-1: does not apply, or differs). Items of a lane
// never overlap. When there are more than `most_items` events, neighbours that fit together into merged_below_s become
// one item of the kind that takes most of it, with their least slack; longer events stay as they are. A path item is
// four numbers: row (-1: a rank that is not shown), begin, duration, kind.
std::string timeline_json(const StepGraph& graph, const Timeline& timeline, std::size_t most_items = 150'000,
                          std::size_t most_ranks = 64);

}  // namespace stepsim
